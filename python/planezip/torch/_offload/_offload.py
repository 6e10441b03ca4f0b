"""Offload: what a caller has of a training step within a budget."""
import functools
import logging
import threading

from ._amounts import parse_budget, parse_bytes, parse_rate
from ._models import Persistent
from ._schedule import Action, Schedule
from ._step import Step
from ._store import QUEUE_BYTES, Store

log = logging.getLogger("planezip")

TIERS = ("memory", "disk")
PLANS = ("auto", "swap", "keep")


class Offload:
    """Trains within a memory budget: a context around a step, and a decorator of one.

    See planezip.torch.offload() for the options.
    """

    def __init__(self, model, budget, tier, directory, host_budget, link, codec, plan, drops, seed,
                 log):
        if tier not in TIERS:
            raise ValueError(f"planezip: tier is {tier!r}; known are {', '.join(TIERS)}")
        if tier == "disk" and directory is None:
            raise ValueError("planezip: tier 'disk' needs a directory; give directory=...")
        self.budget_bytes, self.budget_share = parse_budget(budget)
        self.plan_option, self.drops, self.seed, self.log = plan, drops, seed, log
        host = parse_bytes("host_budget", host_budget) if host_budget is not None else None
        self.persistent = Persistent(model)
        self.store = Store(tier, directory=directory, host_budget=host, link=parse_rate(link),
                           codec=codec)
        self.schedules = [Schedule(Action.SWAP if plan == "swap" else Action.KEEP,
                                   room=QUEUE_BYTES)]
        self.steps = 0
        self.current = None
        self.owner = None
        self.last = None

    # Steps

    def __enter__(self):
        if self.current is not None:
            raise RuntimeError("planezip: a step of this offload is under way already, in "
                               f"{self.owner}; leave it first, or make another offload")
        if self.store is None:
            raise RuntimeError("planezip: this offload is closed; make another one")
        self.owner = threading.current_thread().name
        self.persistent.begin()
        self.current = Step(self.store, self.schedules, self.persistent)
        self.current.__enter__()
        return self

    def __exit__(self, kind, error, trace):
        step, self.current = self.current, None
        try:
            step.__exit__(kind, error, trace)
        finally:
            self.persistent.end()
        self.last = step
        self.steps += 1
        if kind is None:
            self.learn(step)
        return False

    def __call__(self, function):
        """A function that runs in a step of its own each time."""
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with self:
                return function(*args, **kwargs)
        return wrapped

    def learn(self, step):
        """The order in which tensors came back is that of the next step."""
        while len(self.schedules) < len(step.passes):
            self.schedules.append(Schedule(self.schedules[-1].default, room=QUEUE_BYTES))
        for schedule, done in zip(self.schedules, step.passes, strict=False):
            if not schedule.arriving:
                schedule.order = done.order

    # What happened

    def stats(self):
        """Numbers of the engine and of the last step, as a dictionary."""
        result = {"engine": self.store.engine.stats(), "steps": self.steps,
                  "refused": self.store.refused, "blocked": self.store.blocked}
        if self.store.pool:
            result["pool"] = self.store.pool.stats()
        if self.last:
            result["passes"] = [dict(done.seen) for done in self.last.passes]
        return result

    def close(self):
        """Forgets everything; tensors that are out are gone."""
        store, self.store = self.store, None
        if store:
            store.close()
