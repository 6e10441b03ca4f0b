"""What can be computed again, and from what: worked out on the profile of a pass.

A value is a storage at a version.  A value is at hand in the backward pass if it is one of what
outlives the pass, of what came from outside, or the last one of a storage that is saved; another
can be made by an operator that can run again, if the values that it reads are at hand or can be
made.  The rules are those of the planner (docs/simulator.md, "Replays"); operators that it must not
run again are told to it.
"""
from dataclasses import dataclass, field


@dataclass
class Use:
    """What an operator of the forward pass does with values.  reads: with what it overwrites;
    taken: of them the ones overwritten, by value that is made; makes: values."""
    reads: list = field(default_factory=list)
    taken: dict = field(default_factory=dict)
    makes: list = field(default_factory=list)


class Flow:
    """Values of a pass.  model: its Model; packs: (key, operators before it) of each; calls: the
    Call of each operator, by id; refused: ids of those that must not be run again."""

    def __init__(self, model, packs, calls, refused=()):
        self.model = model
        self.version, self.producer, self.uses = {}, {}, []
        self.seen = self.versions_at(packs)
        self.blank, self.made = set(), set()
        self.makers = {i for i, use in enumerate(self.uses) if use.makes} # operators
        self.barred = set() # of these
        for i, use in enumerate(self.uses):
            self.judge(i, use, None if id(calls[i]) in refused else calls[i])
        self.droppable = {key for key in model.movable if self.can_drop(key)}

    def versions_at(self, packs):
        """Numbers the versions; returns that of each key at its packs."""
        seen, model, at = {}, self.model, 0
        for i, op in enumerate(model.ops[:model.forward]):
            while at < len(packs) and packs[at][1] <= i:
                key = packs[at][0]
                seen.setdefault(key, set()).add(self.version.get(key, 0))
                at += 1
            self.uses.append(self.use(i, op))
        for key, _ in packs[at:]:
            seen.setdefault(key, set()).add(self.version.get(key, 0))
        return seen

    def use(self, i, op):
        use = Use([(key, self.version.get(key, 0)) for key in op.reads])
        for key in op.writes:
            before = (key, self.version.get(key, 0))
            made = (key, before[1] + 1)
            self.version[key] = made[1]
            if before[1] or key not in self.model.fresh:
                use.taken[made] = before
                if before not in use.reads:
                    use.reads.append(before)
            use.makes.append(made)
            self.producer[made] = i
        return use

    def outlives(self, key):
        return key in self.model.persistent

    def at_hand(self, value):
        """Whether a value can be held or fetched in the backward pass."""
        key, version = value
        if self.outlives(key):
            return True
        if version != self.version.get(key, 0):
            return False
        return key not in self.model.fresh or key in self.model.movable or key in self.model.held

    def judge(self, i, use, call):
        """Whether operator i can be run again; if it cannot, it makes nothing that can be made."""
        op, possible = self.model.ops[i], call is not None and call.again
        for value in use.reads:
            if value in self.blank:
                possible = possible and call.whole and value in use.taken.values()
            elif not self.at_hand(value) and value not in self.made:
                possible = False
        if any(key not in self.model.fresh and not self.outlives(key) for key in op.writes):
            possible = False # an input, which is not copied for that
        if not possible:
            if use.makes:
                self.barred.add(i)
        elif op.name.startswith(("aten.empty", "aten.new_empty")):
            self.blank.update(use.makes)
        else:
            self.made.update(use.makes)

    def can_drop(self, key):
        """Whether the value of a key that is saved can be made again."""
        value = (key, self.version.get(key, 0))
        return value in self.made and self.seen.get(key) == {value[1]}

    def replay(self, key, present):
        """What makes a dropped key again: operators in order, and the values that they find.
        present: whether a value that is at hand is there, by key."""
        target = (key, self.version[key])
        ops, sources, stack = set(), [], [target]
        while stack:
            value = stack.pop()
            if value != target and self.at_hand(value) and present(value[0]):
                if value not in sources:
                    sources.append(value)
            elif self.producer[value] not in ops:
                ops.add(self.producer[value])
                stack += self.uses[self.producer[value]].reads
        return sorted(ops), sources

    def maker(self, key):
        """The operator that makes the value of a key that is saved."""
        return self.producer[(key, self.version[key])]

    def needed(self, dropped):
        """Operators that some replay may run if these keys are dropped."""
        return {op for key in dropped for op in self.replay(key, lambda k: k not in dropped)[0]}
