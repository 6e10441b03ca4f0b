"""What the profile knows of each operator of the forward pass, and whether it can be run again.

An operator can be if all that it computes with is seen: tensors of plain memory, numbers, and the
default generator.  What it computes must not depend on anything else; the audit of a plan sees to
that.
"""
import functools
from dataclasses import dataclass

import torch

from .. import _operators
from ._eligible import is_simple

# Change what memory a tensor lies in, so that a storage is not what it was.
MOVERS = ("aten::resize_", "aten::resize_as_", "aten::set_")
# Write every element that they are given, whatever was there.
OVERWRITERS = ("aten::bernoulli_", "aten::cauchy_", "aten::copy_", "aten::exponential_",
               "aten::fill_", "aten::geometric_", "aten::log_normal_", "aten::normal_",
               "aten::random_", "aten::uniform_", "aten::zero_")


@dataclass
class Call:
    """func: what was called.  op: its record, None if it touches no storage.  again: whether it can
    be run again; random: whether it draws numbers; whole: whether it overwrites a whole storage."""
    func: object
    op: object
    again: bool
    random: bool
    whole: bool


def leaves(tree):
    """The tensors among arguments or results, as operators have them: in lists, at most."""
    found = []
    for one in tree:
        if isinstance(one, torch.Tensor):
            found.append(one)
        elif isinstance(one, (list, tuple)):
            found += leaves(one)
    return found


def results(result):
    """The tensors that an operator returned, in order."""
    return leaves(result if isinstance(result, (list, tuple)) else (result,))


@functools.lru_cache(maxsize=None)
def statistics(func):
    """Positions of the running statistics, which an operator writes, and which do not matter for
    what it returns, and of the argument that tells; None for other operators."""
    return _operators.STATISTICS.get(func._schema.name)


@functools.lru_cache(maxsize=None)
def may_write(func):
    """Whether an operator may write into an argument."""
    return any(_operators.written_arguments(func)) or statistics(func) is not None


def can_run_again(func, args, kwargs, result):
    """Whether an operator computes with nothing but what is seen here."""
    if func.namespace != "aten" or func._schema.name in MOVERS:
        return False
    if any(isinstance(one, torch.Generator) for one in (*args, *kwargs.values())):
        return False
    return all(map(is_simple, (*leaves(args), *leaves(kwargs.values()), *results(result))))


def overwrites(func, args):
    """Whether an operator writes all of the storage of its first argument, and does not look."""
    return (func._schema.name in OVERWRITERS and isinstance(args[0], torch.Tensor)
            and args[0].numel() * args[0].element_size() == args[0].untyped_storage().nbytes())


class Calls:
    """The operators of a step's forward passes, in order."""

    def __init__(self):
        self.all = []
        self.state = None # of the generator

    def begin(self):
        """Before an operator runs."""
        self.state = torch.get_rng_state()

    def end(self, func, args, kwargs, result, op):
        """After it."""
        # One that may draw numbers, as in training, may not have done so this time.
        random = (torch.Tag.nondeterministic_seeded in func.tags
                  or not torch.equal(self.state, torch.get_rng_state()))
        self.all.append(Call(func, op, can_run_again(func, args, kwargs, result), random,
                             overwrites(func, args)))
