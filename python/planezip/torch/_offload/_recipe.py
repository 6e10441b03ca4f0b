"""Recipes: operators as they were called, to be run again below autograd.

A value is what a storage holds between two operators that write it.  A recipe refers to the values
that it reads; a value knows the recipe that makes it, or what it is held in: so what is dropped
owns, through its value, all that it takes to make it again, and nothing else does.
"""
import contextlib
import functools
import weakref

import torch

from .. import _operators
from ._calls import may_write, results, statistics
from ._payload import tensor_on



@functools.lru_cache(maxsize=None)
def is_allocation(func):
    return _operators.is_allocation(str(func))


@contextlib.contextmanager
def replaying():
    """What runs in this context runs as a recorded operator did: below autograd, autocast and
    modes.  Recipes set whether there are gradients, and the state of the generator."""
    gradients = torch.is_grad_enabled()
    try:
        with torch._C._DisableTorchDispatch(), torch._C._AutoDispatchBelowAutograd(), \
                torch._C._DisableAutocast():
            yield
    finally:
        torch._C._set_grad_enabled(gradients)


class Value:
    """Contents of a storage.  recipe, slot: what makes it, None if that is not recorded.  held:
    what holds the bytes, a Held or a payload; None if nothing does.  dropped: a weak reference to
    the payload of a saved tensor that is dropped with this value."""
    __slots__ = ("nbytes", "recipe", "slot", "held", "dropped", "__weakref__")

    def __init__(self, nbytes, recipe=None, slot=None, held=None):
        self.nbytes, self.recipe, self.slot, self.held = nbytes, recipe, slot, held
        self.dropped = None


class Held:
    """A value in memory that is kept for replays.  tensor: the tensor itself if it has no graph;
    else another one on its storage, as that would be a cycle."""
    __slots__ = ("tensor", "version")

    def __init__(self, tensor, itself=False):
        self.version = tensor._version if itself else None
        self.tensor = tensor if itself else alias(tensor)

    def storage(self):
        if self.version is not None and self.tensor._version != self.version:
            raise RuntimeError("one of the variables that a dropped tensor is computed from has "
                               "been modified by an inplace operation after the step: "
                               f"{self.tensor.dtype} {tuple(self.tensor.shape)} (planezip)")
        return self.tensor.untyped_storage()

    def save(self):
        """Keeps the value in a copy, as its storage is about to be written."""
        self.tensor, self.version = alias(self.tensor, copied(self.tensor.untyped_storage())), None


def alias(tensor, storage=None):
    """A tensor of the same shape, on the same or on another storage, without a graph."""
    storage = tensor.untyped_storage() if storage is None else storage
    return tensor_on(storage, tensor.dtype, tensor.storage_offset(), tensor.shape, tensor.stride())


def copied(storage):
    """Another storage with the same bytes."""
    return tensor_on(storage).clone().untyped_storage()


class Argument:
    """A tensor among the arguments: its value, and how it lies in the storage."""
    __slots__ = ("value", "dtype", "shape", "stride", "offset", "gradient")

    def __init__(self, value, tensor):
        self.value = value
        self.dtype, self.shape, self.stride = tensor.dtype, tensor.shape, tensor.stride()
        self.offset, self.gradient = tensor.storage_offset(), tensor.requires_grad

    def tensor(self, storage):
        """The tensor again."""
        held = self.value.held
        if type(held) is Held and held.version is not None and self.is_same(held.tensor):
            return held.tensor # a number in a tensor stays one
        tensor = tensor_on(storage, self.dtype, self.offset, self.shape, self.stride)
        return tensor.requires_grad_() if self.gradient else tensor

    def is_same(self, tensor):
        return (self.dtype, self.shape, self.stride, self.offset) == (
            tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset())


class Blank:
    """An argument whose contents do not matter: its shape, or a copy of running statistics that
    the operator updates."""
    __slots__ = ("shape", "stride", "dtype", "device", "source")

    def __init__(self, tensor, source=None):
        self.shape, self.stride, self.dtype = tensor.shape, tensor.stride(), tensor.dtype
        self.device = tensor.device
        self.source = source

    def tensor(self):
        if self.source is not None:
            return self.source.clone()
        return torch.empty_strided(self.shape, self.stride, dtype=self.dtype, device=self.device)


class Recipe:
    """A call of an operator.  args, kwargs: with tensors replaced by an Argument or a Blank.
    tensors: those that the Arguments stand for, until enter().
    state: of the generator, None if it draws no numbers.  written: the Arguments that it writes.
    made: weak references to values, by slot: ("out", i) or ("in", position of an Argument)."""
    __slots__ = ("func", "args", "kwargs", "state", "gradients", "arguments", "tensors", "written",
                 "made", "__weakref__")

    def __init__(self, func, args, kwargs, random, value_of):
        self.func, self.arguments, self.tensors, self.made = func, [], [], {}
        self.args = [self.replaced(one, value_of) for one in spared(func, args)]
        self.kwargs = {name: self.replaced(one, value_of) for name, one in kwargs.items()}
        self.state = torch.get_rng_state() if random else None
        self.gradients = torch.is_grad_enabled()
        self.written = self.written_arguments() if may_write(func) else ()

    def replaced(self, one, value_of):
        if isinstance(one, torch.Tensor):
            if is_allocation(self.func):
                return Blank(one)
            self.arguments.append(Argument(value_of(one), one))
            self.tensors.append(one)
            return self.arguments[-1]
        if isinstance(one, (list, tuple)):
            return [self.replaced(part, value_of) for part in one]
        return one

    def written_arguments(self):
        positions, names = _operators.written_arguments(self.func)
        found = [self.args[i] for i in positions if i < len(self.args)]
        found += [self.kwargs[name] for name in names if name in self.kwargs]
        return [one for one in flat(found) if type(one) is Argument]

    def enter(self, args, result, put):
        """Notes the values that the call made, as put(storage, value) for each.  args: all tensors
        that it had."""
        known = {id(tensor.untyped_storage()) for tensor in args}
        for i, tensor in enumerate(results(result)):
            storage = tensor.untyped_storage()
            if id(storage) not in known:
                known.add(id(storage))
                self.make(storage, ("out", i), put)
        for argument in self.written:
            i = next(i for i, one in enumerate(self.arguments) if one is argument)
            self.make(self.tensors[i].untyped_storage(), ("in", i), put)
        self.tensors = None

    def make(self, storage, slot, put):
        value = Value(storage.nbytes(), self, slot)
        self.made[slot] = weakref.ref(value)
        put(storage, value)

    def call(self, storages):
        """Runs the operator again, while replaying().  storages: by id of an Argument.  Returns
        tensors by slot."""
        tensors = {id(one): one.tensor(storages[id(one)]) for one in self.arguments}
        args = [rebuilt(one, tensors) for one in self.args]
        kwargs = {name: rebuilt(one, tensors) for name, one in self.kwargs.items()}
        if self.state is not None:
            torch.set_rng_state(self.state)
        torch._C._set_grad_enabled(self.gradients)
        result = self.func(*args, **kwargs)
        made = {("out", i): tensor for i, tensor in enumerate(results(result))}
        if self.written:
            made.update({("in", i): tensors[id(one)] for i, one in enumerate(self.arguments)})
        return made


def spared(func, args):
    """Arguments with a Blank for each of the running statistics that are updated."""
    found = statistics(func)
    if found is None or not args[found[2]]:
        return args
    return [Blank(one, one.detach()) if i in found[:2] and one is not None else one
            for i, one in enumerate(args)]


def flat(tree):
    for one in tree:
        if isinstance(one, (list, tuple)):
            yield from flat(one)
        else:
            yield one


def rebuilt(one, tensors):
    if type(one) is Argument:
        return tensors[id(one)]
    if type(one) is Blank:
        return one.tensor()
    return [rebuilt(part, tensors) for part in one] if isinstance(one, list) else one
