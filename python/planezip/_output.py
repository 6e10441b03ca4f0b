"""What a caller gets: memory for a tensor of a type and a shape, in the form that was asked for.

In Fortran order the shape is that of the array; its memory is that of the reversed shape in C
order.
"""
import importlib
from typing import Any, NamedTuple

from . import _types
from ._memory import WRITABLE, address_of
from ._tensor import Tensor


class Output(NamedTuple):
    """Memory to be filled, and the object of the caller, which holds it."""
    address: int
    nbytes: int
    result: Any


def module(name):
    """A module that may be missing: None then."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None


def needed(name, dtype):
    """A module that the caller asked for."""
    found = module(name)
    if found is None:
        raise ValueError(f"planezip: {name} is not installed, and to needs it for {dtype}; known "
                         f"are {', '.join(MAKERS)}")
    return found


def numpy_type(numpy, dtype):
    """The type of an array, from ml_dtypes where NumPy has none."""
    long_name = _types.LONG_NAMES[dtype]
    if dtype in _types.NUMPY_NAMES:
        return numpy.dtype(long_name)
    kind = getattr(needed("ml_dtypes", dtype), long_name, None)
    if kind is None or 8 * numpy.dtype(kind).itemsize != _types.bits(dtype):
        raise ValueError(f"planezip: to is 'numpy', but arrays have no elements of {dtype}; use "
                         "to='buffer'")
    return numpy.dtype(kind)


def make_numpy(dtype, shape, fortran_order):
    """An array of NumPy."""
    numpy = needed("numpy", dtype)
    array = numpy.empty(shape, numpy_type(numpy, dtype), order="F" if fortran_order else "C")
    return Output(array.__array_interface__["data"][0], array.nbytes, array)


def make_torch(dtype, shape, fortran_order):
    """A tensor of torch in the memory of the CPU."""
    torch = needed("torch", dtype)
    kind = getattr(torch, _types.LONG_NAMES[dtype], None)
    if kind is None:
        raise ValueError(f"planezip: to is 'torch', but torch {torch.__version__} has no {dtype}; "
                         "use to='buffer'")
    tensor = torch.empty(shape[::-1] if fortran_order else shape, dtype=kind, device="cpu")
    return Output(tensor.data_ptr(), tensor.numel() * tensor.element_size(),
                  tensor.permute(*reversed(range(len(shape)))) if fortran_order else tensor)


def make_buffer(dtype, shape, fortran_order):
    """A Tensor of our own."""
    tensor = Tensor(_types.tensor_bytes(dtype, shape), dtype, shape, fortran_order)
    return Output(address_of(memoryview(tensor), WRITABLE), len(tensor), tensor)


MAKERS = {"numpy": make_numpy, "torch": make_torch, "buffer": make_buffer}


def make(dtype, shape, to=None, fortran_order=False):
    """Memory for a tensor.  to: "numpy", "torch" or "buffer"; None for an array where NumPy is
    installed and has the type, and a buffer elsewhere."""
    if to is None:
        to = "numpy" if dtype in _types.NUMPY_NAMES and module("numpy") else "buffer"
    if to not in MAKERS:
        raise ValueError(f"planezip: to is {to!r}; known are {', '.join(MAKERS)}")
    return MAKERS[to](dtype, shape, fortran_order)
