"""The training runtime: offload() keeps what autograd saves within a budget.

Knows PyTorch; the library below it plans, simulates, codes and moves bytes.
"""
from ._offload import Offload


def offload(model=None, budget="2GiB", *, tier="memory", directory=None, host_budget=None,
            link=None, codec="planezip2", plan="auto", drops=True, seed=0, log=True):
    """A context, and decorator, for training steps that keep saved tensors within a budget.

        offload = planezip.torch.offload(model, budget="50%")
        for batch in batches:
            with offload:
                loss = f(batch)
                loss.backward()
            optimizer.step()

    What a step computes is the same, bit for bit, as without it.
    """
    return Offload(model, budget, tier, directory, host_budget, link, codec, plan, drops, seed, log)


__all__ = ["Offload", "offload"]
