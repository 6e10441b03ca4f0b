"""The training runtime: offload() keeps what autograd saves within a budget.

Knows PyTorch; the library below it plans, simulates, codes and moves bytes.
"""
from ._offload import Offload


def offload(model=None, budget="2GiB", tier="memory", directory=None, *, host_budget=None,
            link=None, codec="planezip2", plan="auto", drops=True, seed=0,
            log=True, device=None, groups=None, mmap_threshold=None):
    """A context, and decorator, for training steps that keep saved tensors within a budget.

        offload = planezip.torch.offload(model, budget="50%")
        for batch in batches:
            with offload:
                loss = f(batch)
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    What a step computes is the same, bit for bit, as without it.  The first step is a profile; the
    plan runs from the second one on.  A step that differs keeps what it saves from there on, and
    the next one is profiled again.

    model: whose parameters and buffers stay where they are; None for every module that runs.
    budget: bytes for what comes and goes in a step, activations and their gradients, as a number, a
    text such as "2GiB", or "50%" of the peak without a plan.
    tier: where tensors are swapped to: "memory", compressed there; "disk", a file without a name in
    directory; or "host", pinned memory, for tensors of a CUDA device, which compresses them itself.
    host_budget: the most bytes that they may take there; what finds no room stays where it is.
    link: emulate a link of a rate, as "1.5GB/s", in each direction; for experiments.
    codec: "planezip2", "planezip2-fast", or "planezip" for format 1; None moves bytes as they are.
    plan: "auto" plans for the budget; "swap" swaps everything, "drop" drops what it can and swaps
    the rest, "keep" keeps all, without a plan; the path of a plan, or a function from the trace to
    one, both as dictionaries.
    drops: whether a plan may drop tensors, to compute them again.
    seed: of the planner.  log: tell about plans through logging, logger "planezip".
    device, groups: of tier "host": the device, as torch takes it, None for that of the model; and
    how many warps code and move tensors at a time, at most, None for no limit.
    mmap_threshold: of tiers "memory" and "disk", with glibc: memory of this size and more, such as
    "1MiB", goes back to the system once it is freed, in all of the process, which so stays within
    the budget and takes longer; None, or MALLOC_MMAP_THRESHOLD_ in the environment, leaves that as
    it is.
    """
    return Offload(model, budget, tier=tier, directory=directory, host_budget=host_budget,
                   link=link, codec=codec, plan=plan, drops=drops, seed=seed, log=log,
                   device=device, groups=groups, mmap_threshold=mmap_threshold)


__all__ = ["Offload", "offload"]
