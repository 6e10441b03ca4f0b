"""From a profile to a schedule: the C planner decides which tensors leave, and here it is worked
out how many bytes may be under way at each moment, so that memory holds whatever the transfers do.
"""
import bisect
import itertools
import math
from copy import copy
from dataclasses import dataclass, field

from ..._plan import Planner
from .._operators import is_allocation
from ._amounts import shown
from ._flow import Flow
from ._rehearsal import Rehearsing
from ._schedule import Action, Schedule
from ._trace import build

WORTHWHILE = 1.3 # a ratio for which the codec is used where it costs time
SLACK = 1.01 # what is not foreseen delays those transfers more that take longer
ACTIONS = {"keep": Action.KEEP, "swap": Action.SWAP, "compress": Action.SWAP, "drop": Action.DROP}


@dataclass
class Planned:
    """A schedule with where it comes from: the model, the planner, or neither if nothing could be
    planned, and what was wrong then.  needed: positions of calls that its replays may run;
    droppable: how many tensors could be dropped."""
    schedule: Schedule
    model: object = None
    planner: object = None
    problem: str = ""
    peak_bytes: int = 0 # without a plan, with what cannot move
    budget_bytes: int = 0
    needed: set = field(default_factory=set)
    makers: dict = field(default_factory=dict) # by number of what is dropped, id of the call
    droppable: int = 0


@dataclass
class Wish:
    """What is asked for.  costs: of operators.  budget: a function from the peak without a plan to
    bytes.  plan: "auto", "swap" for everything that can be, "drop" for everything that can be, and
    to swap the others, a plan as a dictionary, or a function from the trace to one.  refused: ids
    of calls that must not be made again.  compress: whether the codec must be used."""
    platform: object
    costs: object
    budget: object
    seed: int
    plan: object = "auto"
    drops: bool = True
    refused: set = field(default_factory=set)
    compress: bool = False


class Planning:
    """Plans a pass.  watch: the Watch of its profile."""

    def __init__(self, profile, watch, wish):
        self.profile, self.calls, self.wish = profile, watch.calls.all, wish
        self.shapes = [(dtype, shape) for _, dtype, shape, _ in profile.packs]
        self.model = build(profile, watch)
        if self.model is not None:
            positions = {id(call.op): i for i, call in enumerate(self.calls) if call.op}
            self.call_of = [positions.get(id(op)) # of each operator, None if there is none
                            for op in profile.record.ops[:self.model.forward]]
            made = [None if i is None else self.calls[i] for i in self.call_of]
            packs = [(key, ops) for key, *_, ops in profile.packs]
            self.flow = Flow(self.model, packs, made, wish.refused)

    def make(self):
        """The Planned."""
        keep, model = Schedule(Action.KEEP, shapes=self.shapes), self.model
        if model is None:
            return Planned(keep, problem="no backward pass was recorded with its forward pass")
        model.describe(self.flow.barred if self.wish.drops else self.flow.makers)
        peak = max(loads(model, model.ops, {}), default=0) + model.fixed_bytes
        limit = self.wish.budget(peak)
        self.ratios = self.measured_ratios()
        planner = Planner(model.document, copy(self.wish.platform), self.ratios,
                          max(limit - model.fixed_bytes, 1), self.wish.seed)
        planned = Planned(keep, model, planner, peak_bytes=peak, budget_bytes=limit,
                          droppable=len(self.flow.droppable) if self.wish.drops else 0)
        actions = self.decide(planned)
        dropped = {key for key, action in actions.items() if action is Action.DROP}
        planned.needed = {self.call_of[i] for i in self.flow.needed(dropped)}
        planned.makers = {model.movable[key]: id(self.calls[self.call_of[self.flow.maker(key)]])
                          for key in dropped}
        planned.schedule = self.scheduled(actions, limit, self.keeps(planned))
        return planned

    def measured_ratios(self):
        """Ratios of the saved tensors, in the order of the trace's storages."""
        return [self.profile.payloads[self.model.movable[key]][2]
                for key in self.model.keys if key in self.model.movable]

    def ratios_by_number(self):
        """Ratios of all payloads, as they are planned."""
        movable = [key for key in self.model.keys if key in self.model.movable]
        return {**{number: ratio for number, (_, _, ratio) in self.profile.payloads.items()},
                **{self.model.movable[key]: ratio
                   for key, ratio in zip(movable, self.ratios, strict=True)}}

    def decide(self, planned):
        """An action for each key that can move."""
        plan, model, planner = self.wish.plan, self.model, planned.planner
        everything = dict.fromkeys(model.movable, Action.SWAP)
        if plan == "swap":
            return everything
        if plan == "drop":
            droppable = self.flow.droppable if self.wish.drops else ()
            return {**everything, **dict.fromkeys(droppable, Action.DROP)}
        if plan == "auto":
            fits = self.best_of(planner, ("swap", "best") if planned.droppable else ("swap",))
        else:
            fits = self.priced(planner, plan(model.document) if callable(plan) else plan)
        actions = everything if plan == "auto" and not fits else self.actions_of(planner)
        if not fits:
            planned.problem, planned.planner = self.problem(planned), None
        return actions

    def problem(self, planned):
        """What to say where nothing fits."""
        model, limit = self.model, planned.budget_bytes
        load = loads(model, model.ops, dict.fromkeys(model.movable, Action.SWAP))
        least = max(load, default=0)
        text = "no plan fits" if self.wish.plan == "auto" else "the plan does not fit"
        text += f" the budget of {shown(limit)}"
        needed = least + model.fixed_bytes
        if needed > limit:
            share = math.ceil(100 * needed / planned.peak_bytes) # which is enough as a budget
            text += (f", as {model.ops[load.index(least)].name} alone needs {shown(needed)}, "
                     f"{share}% of the peak without a plan")
        return text

    def best_of(self, planner, policies):
        """Makes the plan of the policy that takes the least time; False if none fits."""
        found = []
        for policy, (slack, ratios) in itertools.product(policies, list(self.choices())):
            planner.platform.launch_ns = (self.wish.costs.run if policy == "swap"
                                          else self.wish.costs.replay)
            planner.set_ratios(ratios)
            if planner.make(policy):
                document = planner.document()
                if self.priced(planner, document):
                    found.append((slack * planner.report.total_ns, len(found), document, ratios))
        if not found:
            return False
        *_, document, self.ratios = min(found)
        planner.set_ratios(self.ratios)
        return self.priced(planner, document)

    def choices(self):
        """Ratios to plan with, and a factor that the time of such a plan counts with.  Where the
        codec takes time from operators, it may not pay for tensors that it makes but a little
        smaller, or for any, which then move as they are."""
        yield 1, self.ratios
        if self.wish.platform.software_bps and not self.wish.compress:
            yield SLACK, [ratio if ratio >= WORTHWHILE else 1.0 for ratio in self.ratios]
            yield SLACK, [1.0] * len(self.ratios)

    def priced(self, planner, document):
        """Sets a plan, and the cost of an operator as it is with what the plan records and replays,
        which the simulator knows one number for; False if the plan does not fit."""
        planner.platform.launch_ns = self.wish.costs.run
        fits = planner.set_plan(document)
        if fits and planner.report.dropped:
            needed = self.flow.needed({key for key, action in self.actions_of(planner).items()
                                       if action is Action.DROP})
            ops = sum(not (op.view or is_allocation(op.name)) for op in self.model.ops)
            planner.platform.launch_ns = self.wish.costs.launch(ops, len(needed),
                                                                planner.report.replayed_ops)
            fits = planner.set_plan(document)
        return fits

    def actions_of(self, planner):
        """What a plan says.  What it drops and cannot be made again is swapped."""
        actions = {self.model.keys[entry["storage"]]: ACTIONS[entry["action"]]
                   for entry in planner.document()["tensors"]}
        return {key: Action.SWAP if action is Action.DROP and key not in self.flow.droppable
                else action for key, action in actions.items()}

    def keeps(self, planned):
        """Whether replays keep the dropped tensors that they make on their way."""
        planner = planned.planner
        return not (planner and planner.plan) or planner.document().get("replay") != "free"

    def scheduled(self, actions, limit, keep):
        """The schedule of some actions."""
        profile, model = self.profile, self.model
        rehearsal = Rehearsing(profile, model, self.flow, actions, keep).made
        base = loads(model, rehearsal.ops, actions, rehearsal.sizes)
        spans, room = lives(model, model.ops), limit - model.fixed_bytes
        before = [ops for *_, ops in profile.packs]
        fetches, load = fetch_points(profile, rehearsal.meets, base, room)
        until = {number: bisect.bisect_left(before, spans[key][0][1] + 1)
                 for number, (key, *_) in profile.payloads.items()
                 if actions.get(key, Action.KEEP) is not Action.KEEP and spans[key][0]}
        first = max(model.forward, rehearsal.meets[0][1]) if rehearsal.meets else len(load)
        return Schedule(
            actions=[actions.get(key, Action.KEEP) for key, *_ in profile.packs],
            shapes=self.shapes, until=until, keep=keep, readers=rehearsal.readers,
            leaving=rooms(before, load, room, first),
            order=[number for number, _ in rehearsal.meets], fetches=fetches,
            returning=rooms([at for _, at in rehearsal.meets], load, room, len(load)),
            ratios=self.ratios_by_number(), latest=self.ratios_by_number())


def lives(model, ops):
    """By key of what comes and goes: the operators from which, and up to which, it is used in the
    forward pass, and in the backward pass; None where it is not."""
    found = {}
    for i, op in enumerate(ops):
        ends = model.ends.get(i, ()) if i < model.forward else ()
        for key in (*op.reads, *op.writes, *ends):
            if key not in model.storages or model.comes_and_goes(key):
                spans = found.setdefault(key, [None, None])
                half = i >= model.forward
                spans[half] = (spans[half][0] if spans[half] else i, i)
    return found


def loads(model, ops, actions, sizes=None):
    """Bytes that are there at each operator, if the storages of some keys are gone between their
    passes, and none are under way."""
    change, sizes = [0] * (len(ops) + 1), sizes or model.sizes
    for key, (first, second) in lives(model, ops).items():
        if first and second and actions.get(key, Action.KEEP) is Action.KEEP:
            first, second = (first[0], second[1]), None
        for span in (first, second):
            if span:
                change[span[0]] += sizes[key]
                change[span[1] + 1] -= sizes[key]
    total, result = 0, []
    for step in change[:-1]:
        total += step
        result.append(total)
    return result


def rooms(positions, load, room, end):
    """What is left of the room between each position and the next one."""
    ends = [*positions[1:], end][:len(positions)]
    return [max(room - max(load[start:max(stop, start + 1)], default=0), 0)
            for start, stop in zip(positions, ends, strict=True)]


def fetch_points(profile, order, base, room):
    """For each place in the order how many payloads may have been asked for by then: each as early
    as there is room for it until it is used, and none before the one it follows.  Also the load
    with them."""
    load, positions = list(base), [position for _, position in order]
    asked, earliest = [0] * len(order), 0
    for i, (number, position) in enumerate(order):
        nbytes, start = profile.payloads[number][1], position
        while start > 0 and load[start - 1] + nbytes <= room and start > positions[earliest]:
            start -= 1
        earliest = min(bisect.bisect_left(positions, start, lo=earliest), i)
        for at in range(positions[earliest], position):
            load[at] += nbytes
        asked[earliest] = i + 1
    for i in range(1, len(asked)):
        asked[i] = max(asked[i], asked[i - 1])
    return asked, load
