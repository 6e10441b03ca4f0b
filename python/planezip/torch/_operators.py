"""What an operator does, from its schema and from its arguments and results: which storages it
reads, writes and allocates, how much it moves, and how much it computes."""
import functools
import logging

import torch
from torch.utils._pytree import tree_leaves

from ..traces import _flops
from ._storages import distinct_bytes, parts



def _without_warning():
    """torch.utils.flop_counter's registry.  When it is imported it warns of kernels that are not
    counted where triton is missing, which is no affair of whoever imports planezip."""
    def silent(record):
        return "triton" not in str(record.msg)

    logger = logging.getLogger("torch.utils.flop_counter")
    logger.addFilter(silent)
    try:
        from torch.utils.flop_counter import flop_registry
    finally:
        logger.removeFilter(silent)
    return flop_registry


flop_registry = _without_warning()

# Update running statistics in training without saying so in their schemas: the positions of the
# statistics and of the argument that tells.
STATISTICS = {"aten::native_batch_norm": (3, 4, 5), "aten::cudnn_batch_norm": (3, 4, 5),
              "aten::miopen_batch_norm": (3, 4, 5)}
# Memory that nobody has written yet.
ALLOCATIONS = ("aten.empty", "aten.new_empty")


@functools.lru_cache(maxsize=None)
def written_arguments(func):
    """Positions and names of the arguments that the schema says are written."""
    arguments = func._schema.arguments
    return (tuple(i for i, a in enumerate(arguments)
                  if a.alias_info is not None and a.alias_info.is_write),
            tuple(a.name for a in arguments if a.alias_info is not None and a.alias_info.is_write))


def tensors(tree):
    """All plain tensors in arguments or results."""
    return [part for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)
            for part in parts(leaf)]


def mutated(func, args, kwargs):
    """The tensors among the arguments that are written."""
    positions, names = written_arguments(func)
    found = [args[i] for i in positions if i < len(args)]
    found += [kwargs[name] for name in names if name in kwargs]
    name = func._schema.name
    if name in STATISTICS:
        mean, variance, training = STATISTICS[name]
        if args[training]:
            found += [args[mean], args[variance]]
    return tensors(found)


def flops(func, args, kwargs, result, written):
    """PyTorch's own count where it has one, else one for each element that is written.  It counts
    the gradient of a weight as if there were no groups, so that is counted here."""
    if func is torch.ops.aten.convolution_backward.default:
        return _flops.backward(args, [tensor.shape for tensor in args[:3]])
    count = flop_registry.get(func._overloadpacket)
    if count is not None:
        return int(count(*args, **kwargs, out_val=result))
    return sum(tensor.numel() for tensor in written)


def outputs(func, kwargs):
    """Tensors that a caller passes to be written only."""
    return tensors([kwargs[argument.name] for argument in func._schema.arguments
                    if argument.is_out and argument.name in kwargs])


def moved(those, only=None):
    """Bytes of tensors, of those of type only."""
    return sum(distinct_bytes(tensor) for tensor in those if only is None or tensor.dtype is only)


def is_allocation(name):
    return name.startswith(ALLOCATIONS)
