"""Records the operators of a step that replays may need, and sees what is written meanwhile.

Operators are told apart by their order, so a step that differs from the one that the script was
made for is noticed at the first operator that does.  From there on nothing is recorded, and nothing
is dropped; what was recorded before is sufficient in itself.
"""
import enum
import weakref
from dataclasses import dataclass, field

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .. import _operators
from ._calls import can_run_again, leaves, may_write
from ._eligible import is_plain
from ._live import LiveMap
from ._recipe import Held, Recipe, Value

in_backward = torch._C._current_graph_task_id # -1 outside


class Role(enum.IntEnum):
    """What is done about an operator."""
    NONE = 0
    GUARD = 1 # what it writes may be something that is held
    RECORD = 2


@dataclass
class Script:
    """The operators of the forward passes of a step, and the role of each; random: those that draw
    numbers."""
    funcs: list = field(default_factory=list)
    roles: list = field(default_factory=list)
    random: set = field(default_factory=set)


def write_script(calls, needed):
    """The Script of a profile's calls; needed: positions of those that are recorded."""
    end = max(needed, default=-1) + 1
    funcs = [call.func for call in calls[:end]]
    roles = [Role.RECORD if i in needed else role_of(func) for i, func in enumerate(funcs)]
    return Script(funcs, roles, {i for i in needed if calls[i].random})


def role_of(func):
    return Role.GUARD if may_write(func) else Role.NONE


class Tape(TorchDispatchMode):
    """The mode.  holder: a function from a tensor to what holds its bytes already, or None.  lost:
    whether the step was not as the script says.  recorded: how many operators were."""

    def __init__(self, script, holder):
        super().__init__()
        self.script, self.holder = script, holder
        self.values = LiveMap() # of the forward pass
        self.guarded = {} # by id of a storage, weak references to values that are held in it
        self.index = self.recorded = 0
        self.lost = self.quiet = False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self.quiet:
            return func(*args, **kwargs)
        if in_backward() != -1: # as a hook that trains a parameter once its gradient is there
            if self.guarded:
                self.guard(func, args, kwargs)
            return func(*args, **kwargs)
        role = self.role(func)
        if role is Role.NONE:
            return func(*args, **kwargs)
        if role is Role.RECORD and can_run_again(func, args, kwargs, ()):
            return self.record(func, args, kwargs)
        self.guard(func, args, kwargs)
        return func(*args, **kwargs)

    def role(self, func):
        """The role of the operator that comes next."""
        script, i = self.script, self.index
        self.index += 1
        if self.lost or i >= len(script.funcs):
            return role_of(func)
        if script.funcs[i] is not func:
            self.lost = True
            return role_of(func)
        return script.roles[i]

    def record(self, func, args, kwargs):
        """Runs an operator, and notes how."""
        recipe = Recipe(func, args, kwargs, self.index - 1 in self.script.random, self.value_of)
        self.guard(func, args, kwargs)
        result = func(*args, **kwargs)
        recipe.enter(leaves((*args, *kwargs.values())), result, self.values.put)
        self.recorded += 1
        return result

    def value_of(self, tensor):
        """The value that a tensor lies in; one that nobody made is held from now on."""
        storage = tensor.untyped_storage()
        value = self.values.get(storage)
        if value is None:
            value = Value(storage.nbytes(),
                          held=self.holder(tensor) or Held(tensor, itself=tensor.is_leaf))
            self.values.put(storage, value)
        return value

    def guard(self, func, args, kwargs):
        """Before an operator writes: what replays need of it is copied."""
        if not may_write(func):
            return
        for tensor in filter(is_plain, _operators.mutated(func, args, kwargs)):
            storage = tensor.untyped_storage()
            value = self.values.pop(storage)
            reference = self.guarded.pop(id(storage), None) if value is None else weakref.ref(value)
            value = None # so that it is gone if nobody else wants it
            value = reference() if reference is not None else None
            if value is not None and type(value.held) is Held:
                value.held.save()

    def relax(self):
        """The backward pass has begun: only recipes hold values from now on."""
        for _, value in self.values.entries.values():
            if type(value.held) is Held:
                self.guarded[id(value.held.tensor.untyped_storage())] = weakref.ref(value)
        self.values.clear()
