"""From a profile to a schedule: the C planner decides which tensors leave, and here it is worked
out how many bytes may be under way at each moment, so that memory holds whatever the transfers do.
"""
import bisect
from dataclasses import dataclass

from ..._plan import Planner
from ._schedule import Action, Schedule
from ._trace import build

POLICY = "swap"


@dataclass
class Planned:
    """A schedule with where it comes from: the model, the planner, or neither if nothing could be
    planned, and what was wrong then."""
    schedule: Schedule
    model: object = None
    planner: object = None
    problem: str = ""
    peak_bytes: int = 0 # without a plan, with what cannot move
    budget_bytes: int = 0


def make_plan(profile, deaths, platform, budget, seed, plan="auto"):
    """Plans a pass.  budget: a function from the peak without a plan to bytes; plan: "auto", "swap"
    for everything that can be, a plan as a dictionary, or a function from the trace to one."""
    shapes = [(dtype, shape) for _, dtype, shape, _ in profile.packs]
    keep = Schedule(Action.KEEP, shapes=shapes)
    model = build(profile, deaths, "training")
    if model is None:
        return Planned(keep, problem="no backward pass was recorded with its forward pass")
    ratios = ratios_of(profile, model)
    base = loads(model, frozenset())
    peak = max(base, default=0) + model.fixed_bytes
    limit = budget(peak)
    planner = Planner(model.document, platform, ratios, max(limit - model.fixed_bytes, 1), seed)
    planned = Planned(keep, model, planner, peak_bytes=peak, budget_bytes=limit)
    if plan == "swap":
        planned.schedule = scheduled(profile, model, frozenset(model.movable), peak, shapes)
        return planned
    if plan == "auto":
        fits = planner.make(POLICY)
    else:
        fits = planner.set_plan(plan(model.document) if callable(plan) else plan)
    gone = frozenset(model.movable) if plan == "auto" and not fits else leaving(model, planner)
    if not fits:
        planned.problem, planned.planner = "no plan fits the budget", None
        if plan != "auto":
            planned.problem = "the plan does not fit the budget"
    planned.schedule = scheduled(profile, model, gone, limit, shapes)
    return planned


def ratios_of(profile, model):
    """Ratios of the saved tensors, in the order of the trace's storages."""
    return [profile.payloads[model.movable[key]][2] for key in model.keys if key in model.movable]


def leaving(model, planner):
    """Keys of the storages that the plan does not keep.  What it drops is swapped: this runtime
    does not replay."""
    return frozenset(model.keys[entry["storage"]] for entry in planner.document()["tensors"]
                     if entry["action"] != "keep")


def lives(model):
    """By key of what comes and goes: the operators from which, and up to which, it is used in the
    forward pass, and in the backward pass; None where it is not."""
    persistent = {entry["id"] for entry in model.document["storages"]
                  if entry["kind"] not in ("activation", "input")}
    fixed, found = {model.keys[i] for i in persistent}, {}
    for i, op in enumerate(model.ops):
        for key in (*op.reads, *op.writes):
            if key not in fixed:
                spans = found.setdefault(key, [None, None])
                half = i >= model.forward
                spans[half] = (spans[half][0] if spans[half] else i, i)
    return found


def loads(model, gone):
    """Bytes that are there at each operator, if the storages of some keys are gone between their
    passes, and none are under way."""
    change = [0] * (len(model.ops) + 1)
    for key, (first, second) in lives(model).items():
        if first and second and key not in gone:
            first, second = (first[0], second[1]), None
        for span in (first, second):
            if span:
                change[span[0]] += model.sizes[key]
                change[span[1] + 1] -= model.sizes[key]
    total, result = 0, []
    for step in change[:-1]:
        total += step
        result.append(total)
    return result


def scheduled(profile, model, gone, limit, shapes):
    """The schedule that swaps the storages of some keys."""
    base, spans = loads(model, gone), lives(model)
    room = limit - model.fixed_bytes
    actions = [Action.SWAP if key in gone else Action.KEEP for key, *_ in profile.packs]
    before = [ops for *_, ops in profile.packs]
    order = [(number, position) for number, position in profile.unpacks
             if profile.payloads[number][0] in gone]
    fetches, load = fetch_points(profile, order, base, room)
    until = {number: bisect.bisect_left(before, spans[key][0][1] + 1)
             for number, (key, *_) in profile.payloads.items()
             if key in gone and spans[key][0]}
    return Schedule(
        actions=actions, shapes=shapes, until=until,
        leaving=rooms(before, load, room, model.forward),
        order=[number for number, _ in order], fetches=fetches,
        returning=rooms([position for _, position in order], load, room, len(load)),
        ratios={number: ratio for number, (_, _, ratio) in profile.payloads.items()})


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
