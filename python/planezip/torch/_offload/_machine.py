"""This machine as a platform of the planner, from what the profile measured."""
from ... import _library as c

# Before anything was measured, and where the tier has no link to measure.
GUESS_BPS = 2e9
LEAST_BPS = 1e6 # that a platform may have


def platform_of(store, share):
    """A c.Platform: operators take what they took, transfers go as fast as they went.

    share: of compute that the codec takes while it runs.
    """
    stats = store.engine.stats()["directions"]
    out, back = stats["out"], stats["in"]
    coded = [one["coded_bps"] for one in (out, back) if one["coded_bps"] > 0]
    rate = min(coded, default=GUESS_BPS) if store.codec else 0
    made = c.Platform(
        name=b"here", description=f"this machine, tier {store.tier}".encode(),
        source=b"measured by planezip.torch.offload; an operator takes a nanosecond a byte",
        math_flops=1e18, math_fraction=1, memory_bps=1e9, memory_fraction=1,
        d2h_bps=link(store, out), h2d_bps=link(store, back), gpus_per_link=1,
        transfer_ns=20000, engine_bps=0 if share else rate,
        software_bps=rate if share else 0, software_share=share if rate else 0)
    return made


def link(store, direction):
    """Bytes a second that a direction moves."""
    measured = direction["moved_bps"] or GUESS_BPS
    return max(min(store.link, measured) if store.link else measured, LEAST_BPS)
