"""The operators of a pass as a plan makes them run: with those that its replays run again, and with
the order in which swapped tensors are then needed."""
import itertools
from dataclasses import dataclass, field

from ...traces import Op
from ._schedule import Action


@dataclass
class Rehearsal:
    """ops, sizes: as in a Model.  meets: (number, operator) of swapped payloads, in the order in
    which they are first needed.  readers: how many replays read each, by number."""
    ops: list = field(default_factory=list)
    sizes: dict = field(default_factory=dict)
    meets: list = field(default_factory=list)
    readers: dict = field(default_factory=dict)


class Rehearsing:
    """Goes through a pass.  actions: by key; keep: as in a Schedule."""

    def __init__(self, profile, model, flow, actions, keep):
        self.profile, self.model, self.flow, self.keep = profile, model, flow, keep
        self.actions = actions
        self.dropped = {key for key, action in actions.items() if action is Action.DROP}
        self.back, self.met, self.names = set(), set(), itertools.count()
        self.last_use = {key: i for i, op in enumerate(model.ops) for key in op.reads}
        self.made = Rehearsal(sizes=dict(model.sizes))
        self.go()

    def go(self):
        unpacks = {}
        for number, position in self.profile.unpacks:
            unpacks.setdefault(min(position, len(self.model.ops) - 1), []).append(number)
        for i, op in enumerate(self.model.ops):
            for number in unpacks.get(i, ()):
                self.need(self.profile.payloads[number][0], i)
            self.made.ops.append(op)

    def need(self, key, position):
        """The backward pass comes to a saved tensor."""
        if key in self.dropped and key not in self.back:
            self.replay(key, position)
        elif self.actions.get(key) is Action.SWAP:
            self.meet(key)

    def meet(self, key):
        if key not in self.met:
            self.met.add(key)
            self.made.meets.append((self.model.movable[key], len(self.made.ops)))

    def replay(self, key, position):
        def present(other):
            return other not in self.dropped or (
                other in self.back and position <= self.last_use.get(other, -1))

        steps, sources = self.flow.replay(key, present)
        for source, _ in sources:
            if self.actions.get(source) is Action.SWAP:
                number = self.model.movable[source]
                self.made.readers[number] = self.made.readers.get(number, 0) + 1
        kept = {key} | (self.dropped if self.keep else set())
        self.run(steps, kept)
        self.back |= {key for i in steps for key, _ in self.finals(i) if key in kept}

    def finals(self, i):
        """The values that an operator makes, as far as they are the last ones of a storage."""
        return [value for value in self.flow.uses[i].makes
                if value[1] == self.flow.version[value[0]]]

    def run(self, steps, kept):
        """Puts the operators of a replay in."""
        names = self.named(steps, kept)
        for i in steps:
            use = self.flow.uses[i]
            for key, _ in (value for value in use.reads if value not in names):
                if self.actions.get(key) is Action.SWAP:
                    self.meet(key)
            self.made.ops.append(Op(self.model.ops[i].name, True,
                                    [names.get(value, value[0]) for value in use.reads],
                                    [names[value] for value in use.makes]))

    def named(self, steps, kept):
        """By value that a replay makes the key of the memory that it lies in: its own one if it
        stays, that of its successor if an operator works in place on it, or another one."""
        names, read_later, own = {}, set(), set(steps)
        for i in reversed(steps):
            use = self.flow.uses[i]
            for value in use.makes:
                if value in self.finals(i) and value[0] in kept and value[0] not in self.back:
                    names[value] = value[0]
                name = names.setdefault(value, ("replay", next(self.names)))
                self.made.sizes[name] = self.model.sizes[value[0]]
                before = use.taken.get(value)
                if (before in self.flow.producer and self.flow.producer[before] in own
                        and before not in read_later and before not in names):
                    names[before] = name
            read_later.update(use.reads)
        return names
