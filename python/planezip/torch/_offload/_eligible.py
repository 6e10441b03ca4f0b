"""Which saved tensors may leave at all.  What this refuses stays as it is, and is counted."""
import torch

from ... import _types

PLAIN = (torch.Tensor, torch.nn.Parameter)
TINY_BYTES = 4096 # below that a transfer costs more than the memory is worth
KINDS = {getattr(torch, name) for name in _types.LONG_NAMES.values() if hasattr(torch, name)}


def is_plain(tensor):
    """Whether a tensor is no more than a view of a storage."""
    return type(tensor) in PLAIN and tensor.layout is torch.strided and not tensor.is_nested


def is_simple(tensor):
    """Whether storage, place and type of a tensor tell all about it."""
    return (is_plain(tensor)
            and tensor.device.type == "cpu" and not tensor.is_quantized
            and not tensor.is_conj() and not tensor.is_neg())


def refusal(tensor, memory):
    """Why a tensor that is plain must stay; None if it may leave.  memory: see memory_of()."""
    if tensor.device != memory.device:
        return "device"
    if memory.captures():
        return "graph capture"
    if tensor.is_quantized:
        return "quantised"
    if tensor.is_conj() or tensor.is_neg():
        return "conjugate or negative view"
    if tensor.dtype not in KINDS:
        return "type"
    nbytes = tensor.untyped_storage().nbytes()
    if nbytes < TINY_BYTES:
        return "tiny"
    return None
