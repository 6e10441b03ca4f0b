"""The trace of a profile, for the planner: docs/architecture.md, "Files".

An operator works one byte a nanosecond of what it took, so that on a platform of 1e9 bytes a second
the simulator runs with measured durations.  A storage is read once more by the operator during
which it died, so that it lives as long there as it did here.  What the runtime cannot move is a
buffer, which no plan touches; what of it counts against the budget is told apart.
"""
from dataclasses import dataclass, field

from ...traces import Op, Pass, Storage


@dataclass
class Model:
    """A trace that can be planned.

    document: the trace.  keys: of its storages, by id.  movable: payload number by key.
    fixed_bytes: of what stays from the forward pass to the backward pass whatever is planned.
    forward: how many operators the forward pass has.
    """
    document: dict
    keys: list
    movable: dict
    fixed_bytes: int
    forward: int
    ops: list = field(repr=False, default_factory=list)
    sizes: dict = field(repr=False, default_factory=dict)


def movable_payloads(profile):
    """Numbers of payloads by key, where a plan may decide."""
    numbers = {}
    for number, (key, *_) in profile.payloads.items():
        numbers.setdefault(key, []).append(number)
    stays = {key for i, (key, *_) in enumerate(profile.packs)
             if i in profile.fixed and profile.fixed[i] != "stays"}
    return {key: found[0] for key, found in numbers.items()
            if len(found) == 1 and key not in stays
            and profile.record.storages[key].kind is None and profile.record.storages[key].fresh}


def build(profile, deaths, name):
    """The Model of a pass; None if there is nothing to plan."""
    record = profile.record
    if record is None or not any(op.backward for op in record.ops):
        return None
    movable = movable_payloads(profile)
    ops = [Op(op.name, op.backward, list(op.reads), list(op.writes), op.view,
              bytes=op.duration_ns or 0) for op in record.ops]
    forward = record.forward_ops()
    for number, position in profile.unpacks:
        read(ops, profile.payloads[number][0], position)
    for key, found in deaths.items():
        for where, position in found:
            if where is record and (position > 0):
                read_at_death(ops, key, position - 1, forward, movable)
    storages, fixed = kinds(record, ops, movable, forward)
    made = Pass(ops, storages)
    document = made.document(model=name, batch=1, parameters=0, optimizer="sgd")
    return Model(document, list(made.numbers()), movable, fixed, forward, ops,
                 {key: storage.bytes for key, storage in storages.items()})


def read(ops, key, position):
    op = ops[min(position, len(ops) - 1)]
    if key not in op.reads:
        op.reads.append(key)


def read_at_death(ops, key, position, forward, movable):
    """What dies in the backward pass, but comes from the forward pass, is read there only if it may
    move: else it is no saved tensor."""
    if key in movable or position < forward or not touched(ops[:forward], key):
        read(ops, key, position)


def touched(ops, key):
    return any(key in op.reads or key in op.writes for op in ops)


def kinds(record, ops, movable, forward):
    """Copies of the storages, with what cannot move as buffers; and the bytes of those that were
    made in the forward pass and are there in the backward pass."""
    read_later = {key for op in ops[forward:] for key in op.reads}
    made = {key for op in ops[:forward] for key in op.writes}
    storages, fixed = {}, 0
    for key, old in record.storages.items():
        kind = old.kind
        if kind is None and (not old.fresh or (key in read_later & made and key not in movable)):
            kind = "buffer"
            fixed += old.bytes if old.fresh else 0
        storages[key] = Storage(old.bytes, old.dtype, (), kind, old.fresh)
    return storages, fixed
