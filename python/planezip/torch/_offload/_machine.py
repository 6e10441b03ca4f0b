"""This machine as a platform of the planner, from what the profile measured."""
import os

import torch

from ... import _library as c

# Before anything was measured, and where the tier has no link to measure.
GUESS_BPS = 2e9
LEAST_BPS = 1e6 # that a platform may have


def platform_of(store):
    """A c.Platform: operators take what they took, transfers go as fast as they went.

    The codec costs compute time only where PyTorch uses all processors; a device does other work
    beside it.
    """
    stats = store.engine.stats()["directions"]
    out, back = stats["out"], stats["in"]
    coded = [one["coded_bps"] for one in (out, back) if one["coded_bps"] > 0]
    rate = min(coded, default=GUESS_BPS) if store.codec else 0
    spare = store.memory.gpu is not None or torch.get_num_threads() < (os.cpu_count() or 1)
    made = c.Platform(
        name=b"here", description=f"this machine, tier {store.tier}".encode(),
        source=b"measured by planezip.torch.offload; an operator takes a nanosecond a byte",
        math_flops=1e18, math_fraction=1, memory_bps=1e9, memory_fraction=1,
        d2h_bps=link(store, out), h2d_bps=link(store, back), gpus_per_link=1,
        transfer_ns=20000, engine_bps=rate if spare else 0,
        software_bps=0 if spare else rate, software_share=0 if spare or not rate else 0.5)
    return made


def link(store, direction):
    """Bytes a second that a direction moves."""
    measured = direction["moved_bps"] or GUESS_BPS
    return max(min(store.link, measured) if store.link else measured, LEAST_BPS)
