"""What an operator costs beside its own work: measured once in a process, on chains of operators
that have next to nothing to do."""
import functools
import time
from dataclasses import dataclass

import torch

from ._recipe import Held, Recipe, Value
from ._replay import Replay

LENGTH, TIMES = 16, 9


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
    found = []
    for _ in range(TIMES):
        start = time.perf_counter_ns()
        run()
        found.append(time.perf_counter_ns() - start)
    return min(found)


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
