"""What an operator costs beside its own work: measured once in a process, on chains of operators
that have next to nothing to do."""
import functools
import statistics
import time
from dataclasses import dataclass

import torch

from ..._engine import Engine, Pool
from ._recipe import Held, Recipe, Value
from ._replay import Replay

LENGTH, TIMES = 16, 9
SAMPLE = 8 << 20 # bytes that the codec works on while operators run


@dataclass(frozen=True)
class Costs:
    """Nanoseconds per operator.  run: for it to be called in a step; record: more, where a replay
    may need it; replay: for a replay to call it."""
    run: int
    record: int
    replay: int

    def launch(self, ops, recorded, replayed):
        """The mean of what operators cost, replays included."""
        whole = self.run * ops + self.record * recorded + self.replay * replayed
        return round(whole / max(ops + replayed, 1))


def fastest(run):
    """The least of some times, in nanoseconds."""
    return min(timed(run) for _ in range(TIMES))


def timed(run):
    """Nanoseconds."""
    start = time.perf_counter_ns()
    run()
    return time.perf_counter_ns() - start


@functools.lru_cache(maxsize=None)
def measured():
    """The Costs on this machine.  Must not run within a step."""
    with torch.enable_grad():
        step = fastest(chain_with_gradients)
    alone = fastest(chain)
    made = recorded_chain()
    record = fastest(recorded_chain)
    replay = fastest(lambda: Replay(made, None, False).run())
    # Forward pass, and the product and the cosine of the backward pass.
    return Costs(step // (3 * LENGTH), max(record - alone, 0) // LENGTH, replay // LENGTH)


def chain_with_gradients():
    one = torch.ones(8, requires_grad=True)
    for _ in range(LENGTH):
        one = one.sin()
    one.sum().backward()


def chain():
    one = torch.ones(8)
    for _ in range(LENGTH):
        one = torch.ops.aten.sin.default(one)


def recorded_chain():
    """The value at the end of a chain of recipes."""
    func, one = torch.ops.aten.sin.default, torch.ones(8)
    value, made = Value(32, held=Held(one)), {}
    for _ in range(LENGTH):
        recipe = Recipe(func, (one,), {}, False, lambda _, value=value: value)
        result = func(one)
        recipe.enter((one,), result, lambda storage, value: made.update(value=value))
        one, value = result, made["value"]
    return value


@functools.lru_cache(maxsize=None)
def codec_share(codec, threads): # threads: of PyTorch, which it depends on
    """The share of its speed that a step loses while the codec works beside it:
    they share processors, or caches and memory.  Both take turns, so that a machine that is busy
    with other things is so for both."""
    engine = Engine("memory", pool=Pool(4 * SAMPLE), codec=codec, bypass="never")
    source = torch.randn(SAMPLE // 4, device="cpu", generator=torch.Generator().manual_seed(1))
    alone, beside = [], []
    try:
        for _ in range(TIMES):
            swap = engine.out(source.data_ptr(), SAMPLE, "float32", measure=True, keep=source)
            found = []
            while not swap.done:
                found.append(timed(some_work))
            beside += found[:-1] # the codec was done before the last one was
            alone += [timed(some_work) for _ in found[:-1]]
    finally:
        engine.close()
    if not alone:
        return 0
    return min(max(1 - statistics.median(alone) / statistics.median(beside), 0), 1)


def some_work():
    """Half a product, half moving memory, as in a step."""
    one = torch.ones(160, 160)
    (one @ one).sum()
    torch.ones(1 << 18).mul_(2)
