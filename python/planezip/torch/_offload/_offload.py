"""Offload: what a caller has of a training step within a budget."""
import functools
import json
import logging
import operator
import statistics
import threading
import time
from collections import Counter
from pathlib import Path

import torch

from ..._options import CODECS
from ..._plan import platform_document
from ._amounts import parse_budget, parse_bytes, parse_rate
from ._costs import codec_share, measured
from ._device import memory_of
from ._kept_step import KeptStep
from ._machine import platform_of
from ._models import Persistent
from ._planning import Planning, Wish
from ._process import checked_threshold, give_back
from ._profile import Profile
from ._replay_step import ReplayStep
from ._report import Report, classes_of, rows_of
from ._schedule import Action, Schedule
from ._step import Step
from ._store import QUEUE_BYTES, Store
from ._tape import write_script
from ._timeline import document, write_json

log = logging.getLogger("planezip")

TIERS = ("memory", "disk", "host")
DRIFT = 0.2 # of ratios, that makes a new plan
SETTLING = 3 # steps of a plan that tell how long operators take
PACES = 64 # times as long or as short as in the profile, beyond which a step tells nothing
PLANS = ("auto", "swap", "drop", "keep")


class Offload:
    """Trains within a memory budget: a context around a step, and a decorator of one.

    See planezip.torch.offload() for the options.  The first step is a profile, and so is one after
    a step that was not like the one before.
    """

    def __init__(self, model, budget, *, tier, directory, host_budget, link, codec, plan, drops,
                 seed, log, device, groups, mmap_threshold):
        if tier not in TIERS:
            raise ValueError(f"planezip: tier is {tier!r}; known are {', '.join(TIERS)}")
        if tier == "disk" and directory is None:
            raise ValueError("planezip: tier 'disk' needs a directory; give directory=...")
        if tier == "host" and link is not None:
            raise ValueError("planezip: tier 'host' has a link of its own; leave out link")
        if tier == "host" and mmap_threshold is not None:
            raise ValueError("planezip: mmap_threshold is about memory of the CPU's tensors; leave "
                             "it out with tier 'host'")
        if tier != "host" and groups is not None:
            raise ValueError("planezip: groups is about kernels of a device; leave it out without "
                             "tier 'host'")
        if groups is not None and not 1 <= operator.index(groups) < 2**31:
            raise ValueError(f"planezip: groups is {groups}; expected is 1 or more, or None")
        if codec is not None and codec not in CODECS:
            raise ValueError(f"planezip: codec is {codec!r}; known are {', '.join(CODECS)}, and "
                             "None")
        self.budget, self.seed, self.log = parse_budget(budget), seed, log
        self.plan_option, self.drops = plan_source(plan), drops
        host = parse_bytes("host_budget", host_budget) if host_budget is not None else None
        threshold = None
        if mmap_threshold is not None:
            threshold = checked_threshold(parse_bytes("mmap_threshold", mmap_threshold))
        self.persistent = Persistent(model)
        self.store = Store(tier, memory_of(tier, device, model), directory=directory,
                           host_budget=host, link=parse_rate(link), codec=codec,
                           groups=groups)
        self.schedules = [Schedule(Action.KEEP)] if plan == "keep" else None
        self.planned, self.measured = [], None # of each pass; the platform
        self.profile, self.refused = None, set() # the step that was, ids of its calls
        self.script, self.audit = None, False # of what is dropped; whether it is yet to be trusted
        self.steps = self.plans = 0
        self.paces, self.pace = [], 1 # what operators take of what they took in the profile
        self.announced, self.warned = not log, False
        self.current = self.owner = self.last = None
        self.span = (0, 0)
        self.before = (0, 0)
        if threshold is not None:
            give_back(threshold)

    # Steps

    def __enter__(self):
        if self.current is not None:
            raise RuntimeError("planezip: a step of this offload is under way already, in thread "
                               f"{self.owner}; leave it first, or make another offload")
        self.check_open()
        self.owner = threading.current_thread().name
        self.store.begin_step()
        self.before = self.moved()
        try:
            step = self.new_step()
            self.span = (time.perf_counter_ns(), 0)
            step.__enter__()
        except BaseException:
            self.persistent.end()
            raise
        self.current = step
        return self

    def new_step(self):
        """What the step that begins is."""
        if self.idle:
            return KeptStep(self.profile)
        self.persistent.begin()
        if self.schedules is None:
            return Profile(self.store, self.persistent, self.profile_room())
        if self.script is None:
            return Step(self.store, self.schedules, self.persistent)
        return ReplayStep(self.store, self.schedules, self.persistent, self.script, self.audit)

    @property
    def idle(self):
        """Whether the plan is to leave everything where it is."""
        return self.schedules is not None and not any(one.moves for one in self.schedules)

    def __exit__(self, kind, error, trace):
        step, self.current = self.current, None
        try:
            step.__exit__(kind, error, trace)
        finally:
            self.persistent.end()
        self.span = (self.span[0], time.perf_counter_ns())
        if kind is None:
            self.steps += 1
            self.last = step
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
        """What the next step does, from what this one did."""
        if isinstance(step, Profile):
            self.store.trim()
            if any(profile.packs for profile in step.profiles): # or it was an evaluation
                self.profile, self.refused = step, set()
                self.make_plans()
        elif step.differs:
            if self.log:
                log.info("planezip: %s; the next step is profiled again", step.differs)
            self.schedules = None
        elif self.audit:
            self.end_audit(step)
        elif self.drifts():
            self.schedules = None
        else:
            self.settle()
            if not self.announced and self.planned:
                self.announced = True
                log.info("%s", self.report().line())

    def settle(self):
        """The first steps of a plan tell how long operators take by now: in a profile some run for
        the first time, and in memory that is new.  The median counts."""
        planners = [planned.planner for planned in self.planned]
        if (len(self.paces) == SETTLING or not planners
                or not all(one and one.plan for one in planners)):
            return
        waited = self.store.spent_ns("wait: memory") + self.store.spent_ns("wait: prefetch")
        codec = sum(one.report.codec_ns for one in planners)
        expected = sum(one.report.compute_ns + one.report.replay_ns for one in planners)
        pace = max(self.span[1] - self.span[0] - waited - codec, 1) / max(expected, 1)
        self.paces.append(min(max(self.pace * pace, 1 / PACES), PACES))
        before, self.pace = self.pace, statistics.median(self.paces)
        for one in planners:
            one.change_pace(self.pace / before)

    def drifts(self):
        """Whether what came back from the tier has other ratios than its plan says, so that another
        one might be better; the profile that follows measures all of them again."""
        drift = self.store.drift
        if abs(drift - 1) <= DRIFT or not self.planned:
            return False
        if self.log:
            log.info("planezip: ratios are %.2f of those that were planned; the next step is "
                     "profiled again", drift)
        return True

    def end_audit(self, step):
        """Plans again if something came out as another one."""
        self.audit = False
        for which, number in step.demoted:
            self.refused.add(self.planned[which].makers[number])
        if step.demoted:
            log.info("planezip: %d tensors are not dropped, as they were not the same when "
                     "computed again", len(step.demoted))
            self.make_plans()

    # Plans

    def profile_room(self):
        """Bytes that may be under way in a profile."""
        return min(QUEUE_BYTES, self.budget[0] or QUEUE_BYTES)

    def budget_bytes(self, peak):
        """The budget, where nothing is moved and the peak is that."""
        return self.budget[0] or int(self.budget[1] * peak)

    def make_plans(self):
        """Plans every pass of the profiled step."""
        watch, share = self.profile.watch, 0
        if self.store.codec and self.store.memory.gpu is None: # a device does other work beside
            share = codec_share(self.store.codec, torch.get_num_threads())
        self.measured = platform_of(self.store, share)
        wish = Wish(self.measured, measured(), self.budget_bytes, self.seed, self.plan_option,
                    self.drops, self.refused,
                    compress=self.store.tier == "memory" and not self.store.link)
        self.planned = [Planning(profile, watch, wish).make()
                        for profile in self.profile.profiles]
        self.measured = next((planned.planner.platform for planned in self.planned
                              if planned.planner), self.measured)
        self.schedules = [planned.schedule for planned in self.planned]
        needed = set().union(*(planned.needed for planned in self.planned))
        self.script = write_script(watch.calls.all, needed) if needed else None
        self.audit, self.paces, self.pace = bool(needed), [], 1
        self.plans += 1
        for planned in self.planned:
            if planned.problem and planned.model is not None:
                log.warning("planezip: %s; what can be swapped is, and the peak may be higher; %s",
                            planned.problem, self.advice())
            elif planned.problem and not self.warned:
                self.warned = True
                log.warning("planezip: %s, so that everything of it stays where it is; call "
                            "backward() within the context", planned.problem)

    def advice(self):
        """What to do where no plan fits."""
        if not self.profile.homeless:
            return "give more"
        room = "host_budget" if self.store.tier != "disk" else "host_budget, or room on the disk"
        return (f"give more {room}, as {self.profile.homeless} tensors found no room in the tier "
                "and count as if operators held them")

    @property
    def plan(self):
        """The plan of the first pass as a dictionary, as `planezip plan` writes it; None if there
        is none."""
        planner = self.planned[0].planner if self.planned else None
        return planner.document() if planner is not None and planner.plan else None

    @property
    def trace(self):
        """The trace that it is a plan of, as a dictionary."""
        return self.planned[0].model.document if self.planned and self.planned[0].model else None

    # What happened

    def check_open(self):
        if self.store is None:
            raise RuntimeError("planezip: this offload is closed; make another one")

    def moved(self):
        """Raw and coded bytes that have left."""
        out = self.store.engine.stats()["directions"]["out"]
        return out["raw_bytes"], out["coded_bytes"]

    def report(self):
        """A Report of the last step."""
        self.check_open()
        raw, coded = (now - then for now, then in zip(self.moved(), self.before, strict=True))
        rows = [row for i, planned in enumerate(self.planned) for row in rows_of(planned, i)]
        reports = [planned.planner.report for planned in self.planned
                   if planned.planner is not None and planned.planner.plan]
        seen = Counter()
        for done in self.last.passes if self.last else ():
            seen.update(done.seen)
        fixed = max((p.model.fixed_bytes for p in self.planned if p.model), default=0)
        return Report(
            steps=self.steps, plans=self.plans, tier=self.store.tier,
            codec=self.store.codec or "none", emulated_link_bps=self.store.link,
            budget_bytes=max((p.budget_bytes for p in self.planned), default=0),
            unplanned_peak_bytes=max((p.peak_bytes for p in self.planned), default=0),
            planned_peak_bytes=max(r.peak_bytes for r in reports) + fixed if reports else None,
            seen=dict(seen), swapped_bytes=raw, coded_bytes=coded, refused=self.store.refused,
            replayed=self.store.replayed, replay_ns=self.store.spent_ns("replay"),
            step_ns=self.span[1] - self.span[0],
            predicted_ns=sum(r.total_ns for r in reports) if reports else None,
            predicted_unlimited_ns=sum(r.unlimited_ns for r in reports) if reports else None,
            blocked_ns=self.store.blocked_ns,
            problems=tuple(p.problem for p in self.planned if p.problem),
            tensors=tuple(rows), classes=classes_of(rows))

    def stats(self):
        """Numbers of the engine and its pool since the beginning, as a dictionary."""
        self.check_open()
        result = {"steps": self.steps, "plans": self.plans, "refused": self.store.refused,
                  "blocked_ns": self.store.blocked_ns, "engine": self.store.engine.stats()}
        if self.store.pool:
            result["pool"] = self.store.pool.stats()
        return result

    def timeline(self, path):
        """Writes the last step as a Chrome trace, beside the simulation of its plan."""
        self.check_open()
        planners = [planned.planner for planned in self.planned
                    if planned.planner is not None and planned.planner.plan]
        write_json(path, document(self.store.events, self.span, planners))

    def platform(self, path):
        """Writes this machine, as measured, as a platform that `planezip simulate` takes."""
        if self.measured is None:
            raise RuntimeError("planezip: nothing is measured yet; run a step first")
        write_json(path, platform_document(self.measured))

    def close(self):
        """Forgets everything; tensors that are out are gone."""
        if self.current is not None:
            raise RuntimeError("planezip: a step of this offload is under way; leave it first")
        store, self.store = self.store, None
        if store:
            store.close()


def plan_source(plan):
    """What a Wish has as plan: the name of a way to plan, a plan, or a function that makes one."""
    if callable(plan) or isinstance(plan, dict) or plan in PLANS:
        return plan
    try:
        return json.loads(Path(plan).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"planezip: plan is {plan!r}; known are {', '.join(PLANS)}, and the path "
                         "of a plan") from None
