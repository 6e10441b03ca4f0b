"""The trace of a profile, for the planner: docs/architecture.md, "Files".

An operator works one byte a nanosecond of what it took, so that on a platform of 1e9 bytes a second
the simulator runs with measured durations.  A storage is read once more by the operator during
which it died, so that it lives as long there as it did here.  What the runtime cannot move is a
buffer, which no plan touches; what of it counts against the budget is told apart.
"""
from dataclasses import dataclass, field, replace

from ...traces import Op, Pass, Storage
from .. import _operators


BARRIER = "barrier"


@dataclass
class Model:
    """A pass that can be planned.

    ops: its operators; forward: how many of them are in the forward pass.  ends: by operator of it
    the keys of what dies while it runs, without being read.  storages, sizes: by key.
    movable: payload number by key.  persistent: keys of what outlives the step; fresh: keys of what
    operators of the pass make; held: of these, what is saved and cannot move.
    fixed_bytes: of what stays from the forward pass to the backward pass whatever is planned.
    document, keys: the trace, and its storages in order; see describe().
    """
    ops: list = field(repr=False)
    forward: int
    storages: dict = field(repr=False)
    sizes: dict = field(repr=False)
    movable: dict
    persistent: set
    fresh: set
    held: set
    fixed_bytes: int
    ends: dict = field(default_factory=dict)
    document: dict = field(repr=False, default=None)
    keys: list = field(default_factory=list)

    def comes_and_goes(self, key):
        return self.storages[key].kind is None

    def describe(self, barred, name="training"):
        """Makes the trace.  barred: operators that must not be run again.  What they make depends
        on an input that they overwrite, a byte that nobody has, so that the planner sees it."""
        ops, storages = list(self.ops), dict(self.storages)
        for i in barred:
            op = ops[i]
            ops[i] = replace(op, reads=[*op.reads, BARRIER], writes=[*op.writes, BARRIER])
            storages[BARRIER] = Storage(1, "uint8", ())
        made = Pass(list(self.with_ends(ops)), storages)
        self.document = made.document(model=name, batch=1, parameters=0, optimizer="sgd")
        self.keys = list(made.numbers())

    def with_ends(self, ops):
        """The operators, and what makes those storages live on that die during one: a view, which
        takes no time, and which no replay has to run."""
        for i, op in enumerate(ops):
            yield op
            if self.ends.get(i):
                yield Op("aten.detach.default", False, list(self.ends[i]), [], view=True)


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


def build(profile, watch):
    """The Model of a pass; None if there is nothing to plan.  watch: the Watch that saw it."""
    record = profile.record
    if record is None or not any(op.backward for op in record.ops):
        return None
    movable = movable_payloads(profile)
    ops = [Op(op.name, op.backward, reads_of(op), list(op.writes), op.view,
              bytes=op.duration_ns or 0) for op in record.ops]
    forward = record.forward_ops()
    for number, position in profile.unpacks:
        read(ops, profile.payloads[number][0], position)
    ends = {}
    for key, position in deaths_in(record, watch.deaths):
        if position <= forward:
            ends.setdefault(position - 1, []).append(key)
        elif lives_on(ops[:forward], key, movable):
            read(ops, key, position - 1)
    storages, held = kinds(record, ops, movable, forward)
    scratch = add_scratch(record.ops, ops, storages, watch.scratch)
    return Model(ops, forward, storages, {key: one.bytes for key, one in storages.items()}, movable,
                 {key for key, one in record.storages.items() if one.kind is not None},
                 {key for key, one in record.storages.items() if one.fresh} | scratch, held,
                 sum(storages[key].bytes for key in held), ends)


def add_scratch(records, ops, storages, scratch):
    """What operators take while they run, as storages that nobody reads; their keys."""
    added = set()
    for record, op in zip(records, ops, strict=True):
        if id(record) in scratch and not op.view:
            key = ("scratch", len(added))
            added.add(key)
            op.writes.append(key)
            storages[key] = Storage(scratch[id(record)], "uint8", (), None, True)
    return added


def deaths_in(record, deaths):
    """Keys of a record's storages that died, and how many operators it had then."""
    return [(key, position) for key, found in deaths.items() if key in record.storages
            for where, position in found if where is record and position > 0]


def reads_of(op):
    """What an operator reads; one that allocates looks at a shape only."""
    return [] if _operators.is_allocation(op.name) else list(op.reads)


def read(ops, key, position):
    op = ops[min(position, len(ops) - 1)]
    if key not in op.reads:
        op.reads.append(key)


def lives_on(forward, key, movable):
    """Whether what dies in the backward pass is read there as far as a plan is concerned: what
    comes from the forward pass and cannot move is no saved tensor."""
    return key in movable or not touched(forward, key)


def touched(ops, key):
    return any(key in op.reads or key in op.writes for op in ops)


def kinds(record, ops, movable, forward):
    """Copies of the storages, with what cannot move as buffers; and the keys of those that were
    made in the forward pass and are there in the backward pass."""
    read_later = {key for op in ops[forward:] for key in op.reads}
    made = {key for op in ops[:forward] for key in op.writes}
    written = made | {key for op in ops[forward:] for key in op.writes}
    storages, held = {}, set()
    for key, old in record.storages.items():
        kind = old.kind
        stays = key in read_later & made and key not in movable
        if kind is None and (stays or not old.fresh or key not in written):
            kind = "buffer"
            if old.fresh:
                held.add(key)
        storages[key] = Storage(old.bytes, old.dtype, (), kind, old.fresh)
    return storages, held
