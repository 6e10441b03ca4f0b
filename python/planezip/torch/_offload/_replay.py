"""Makes dropped values again: runs recipes in order, from what is in memory or can be fetched, and
lets go of what is made on the way after its last use."""
import torch

from ._payload import Swapped
from ._recipe import copied, replaying


class Replay:
    """One replay.  meet: called with every swapped payload that it reads; keep: whether other
    dropped tensors that it makes on the way stay for their own use.  ops: how many it ran."""

    def __init__(self, target, meet, keep):
        self.target, self.meet, self.keep = target, meet, keep
        self.storages = {} # by id of a value
        self.uses = {} # by id of a value: arguments to come
        self.wanted = {} # by id of a recipe: values that are read, or the target
        self.sources = []
        self.recipes = self.collect()
        self.ops = len(self.recipes)

    def run(self):
        """The storage of the target."""
        state = torch.get_rng_state() if any(r.state is not None for r in self.recipes) else None
        try:
            with replaying():
                for recipe in self.recipes:
                    self.step(recipe)
        finally:
            if state is not None:
                torch.set_rng_state(state)
        for payload in self.sources:
            payload.used()
        return self.storages[id(self.target)]

    # What is to be run

    def collect(self):
        """The recipes, each after those that make what it reads."""
        order, entered, stack = [], set(), [(self.target.recipe, False)]
        self.want(self.target)
        while stack:
            recipe, done = stack.pop()
            if done:
                order.append(recipe)
            elif id(recipe) not in entered:
                entered.add(id(recipe))
                stack.append((recipe, True))
                stack += [(one, False) for one in self.inputs(recipe)]
        return order

    def inputs(self, recipe):
        """The recipes of what a recipe reads and is not there."""
        found = []
        for argument in recipe.arguments:
            value = argument.value
            self.uses[id(value)] = self.uses.get(id(value), 0) + 1
            if not self.there(value):
                self.want(value)
                found.append(value.recipe)
        return found

    def want(self, value):
        wanted = self.wanted.setdefault(id(value.recipe), [])
        if not any(value is one for one in wanted):
            wanted.append(value)

    def there(self, value):
        """Whether a value need not be made."""
        if value.held is not None:
            return True
        dropped = value.dropped and value.dropped()
        storage = dropped.present() if dropped is not None else None
        if storage is not None:
            self.storages[id(value)] = storage
        return storage is not None

    # Running it

    def step(self, recipe):
        made = recipe.call({id(one): self.storage_for(recipe, one) for one in recipe.arguments})
        for argument in recipe.arguments:
            self.use(argument.value)
        wanted = self.wanted[id(recipe)]
        for slot, reference in recipe.made.items():
            value = reference()
            if value is not None and slot in made:
                self.enter(value, made[slot].untyped_storage(),
                           any(value is one for one in wanted))

    def enter(self, value, storage, wanted):
        """A value that a recipe has made."""
        if storage.nbytes() != value.nbytes:
            raise RuntimeError(f"planezip: a dropped tensor of {value.nbytes} bytes came out with "
                               f"{storage.nbytes()} when it was computed again; use drops=False")
        if wanted:
            self.storages[id(value)] = storage
        if self.keep and value is not self.target:
            dropped = value.dropped and value.dropped()
            if dropped is not None:
                dropped.give(storage)

    def storage_for(self, recipe, argument):
        """The storage of an argument; one of its own if the operator writes into it."""
        value = argument.value
        storage = self.storage(value)
        if any(argument is one for one in recipe.written) and not self.is_mine(value):
            return copied(storage)
        return storage

    def is_mine(self, value):
        """Whether nobody but the operator that comes next needs a value that was made here."""
        dropped = value.dropped and value.dropped()
        return (value.held is None and self.uses[id(value)] == 1
                and (dropped is None or dropped.present() is None))

    def storage(self, value):
        found = self.storages.get(id(value))
        if found is None:
            held = value.held
            if isinstance(held, Swapped):
                self.meet(held)
                self.sources.append(held)
            found = self.storages[id(value)] = held.storage()
        return found

    def use(self, value):
        """One use less to come; after the last one the value is let go of."""
        self.uses[id(value)] -= 1
        if self.uses[id(value)] == 0 and value is not self.target:
            self.storages.pop(id(value), None)

