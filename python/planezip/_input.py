"""What a caller hands in, as memory: an address with a type and a shape.

Elements in C order are used where they are.  Others are copied to C order first: arrays of NumPy,
tensors of torch and buffers, each by its own means.  What comes through DLPack is refused then.
"""
import sys
from typing import Any, NamedTuple

from . import _dlpack, _types
from ._memory import address_of
from ._tensor import Tensor


class Input(NamedTuple):
    """Elements in C order.  owner keeps the memory alive and in place.  dtype is None if the source
    has no name for its type that is known here; item_bits is its size then, and found its name."""
    address: int
    nbytes: int
    dtype: str | None
    item_bits: int
    found: str
    shape: tuple
    owner: Any


def of_torch(tensor):
    """A tensor of torch, without its history."""
    if tensor.device.type != "cpu":
        raise TypeError(f"planezip: the tensor is on device {tensor.device}, expected is cpu; copy "
                        "it with .cpu() first")
    if str(tensor.layout) != "torch.strided":
        raise TypeError(f"planezip: the tensor has layout {tensor.layout}, expected is "
                        "torch.strided; convert it with .to_dense() first")
    plain = tensor.detach()
    if type(plain) is not sys.modules["torch"].Tensor:
        raise TypeError(f"planezip: the tensor is a {type(tensor).__name__}, expected is a plain "
                        "torch.Tensor; what else it holds would be lost")
    plain = plain.resolve_conj().resolve_neg().contiguous()
    found = str(plain.dtype).removeprefix("torch.")
    return Input(plain.data_ptr(), plain.numel() * plain.element_size(), _types.find(found),
                 8 * plain.element_size(), found, tuple(plain.shape), plain)


def of_numpy(array):
    """An array of NumPy; its own types, and those of ml_dtypes."""
    if isinstance(array, sys.modules["numpy"].ma.MaskedArray):
        raise TypeError("planezip: the array has a mask, expected is a plain array; pass .data and "
                        ".mask as two arrays")
    if array.dtype.hasobject:
        raise TypeError(f"planezip: the array has elements of type {array.dtype}, which are "
                        "references to objects")
    plain = array if array.flags.c_contiguous else array.copy("C")
    bits = 8 * plain.dtype.itemsize
    known = _types.find(plain.dtype.name) if plain.dtype.isnative else None
    if known is not None and _types.bits(known) != bits: # ml_dtypes gives small types a byte each
        known = None
    return Input(plain.__array_interface__["data"][0], plain.nbytes, known, bits, str(plain.dtype),
                 plain.shape, plain)


def of_buffer(view):
    """A memoryview of anything with the buffer protocol."""
    dtype = _types.of_format(view.format, view.itemsize)
    bits, found, shape = 8 * view.itemsize, f"format {view.format!r}", view.shape
    if not view.c_contiguous:
        view = memoryview(view.tobytes())
    return Input(address_of(view), view.nbytes, dtype, bits, found, shape, view)


def of_tensor(tensor):
    """One of our own, as decompress() returns them."""
    view = memoryview(tensor)
    return Input(address_of(view), view.nbytes, tensor.dtype, _types.bits(tensor.dtype),
                 tensor.dtype, tensor.shape, view)


def of_dlpack(data):
    """Anything that speaks DLPack."""
    address, dtype, shape, owner = _dlpack.read(data)
    return Input(address, _types.tensor_bytes(dtype, shape), dtype, _types.bits(dtype), dtype,
                 shape, owner)


def is_instance(data, module, name):
    """Whether data is of a class of a module, which is not imported for this."""
    return module in sys.modules and isinstance(data, getattr(sys.modules[module], name))


def memory_of(data):
    """Whatever it is, as Input; TypeError if it is no memory of numbers."""
    if isinstance(data, Tensor):
        return of_tensor(data)
    if is_instance(data, "torch", "Tensor"):
        return of_torch(data)
    if is_instance(data, "numpy", "ndarray"):
        return of_numpy(data)
    try:
        view = memoryview(data)
    except TypeError:
        if hasattr(data, "__dlpack__"):
            return of_dlpack(data)
        raise TypeError(f"planezip: the data is a {type(data).__name__}, expected is an array, a "
                        "tensor, or an object with the buffer protocol or DLPack") from None
    return of_buffer(view)


def take(data, dtype=None):
    """data as Input whose dtype is known.  A dtype that is told is taken for the same bytes: its
    elements have the size of those of data, or data is one row of bytes."""
    memory = memory_of(data)
    if dtype is None:
        if memory.dtype is None:
            raise TypeError(f"planezip: the data has elements of {memory.found}, which is none of "
                            "the types here; tell dtype for others of the same size")
        return memory
    told = _types.named(dtype)
    bits = _types.bits(told)
    if bits == memory.item_bits:
        return memory._replace(dtype=told)
    if memory.item_bits != 8 or len(memory.shape) != 1:
        raise ValueError(f"planezip: dtype is {told} with {bits} bits, but the data has elements "
                         f"of {memory.item_bits} bits ({memory.found})")
    if 8 * memory.nbytes % bits != 0:
        raise ValueError(f"planezip: dtype is {told} with {bits} bits, but the data has "
                         f"{memory.nbytes} bytes, which is no whole number of elements")
    return memory._replace(dtype=told, shape=(8 * memory.nbytes // bits,))
