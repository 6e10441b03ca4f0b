"""Tensors without NumPy and torch."""
from . import _types


class Tensor(bytearray):
    """The bytes of a tensor, with the buffer protocol, and what they are.

    dtype: the short name of the type, as "bf16".  shape: a tuple.  fortran_order: whether the first
    dimension is the contiguous one, as some .npy files have it; else it is the last one.  len() is
    the number of bytes.  numpy.frombuffer() and torch.frombuffer() take it without a copy.
    """

    def __init__(self, source=b"", dtype="u8", shape=None, fortran_order=False):
        super().__init__(source)
        self.dtype = _types.named(dtype)
        self.shape = (8 * len(self) // _types.bits(self.dtype),) if shape is None else tuple(shape)
        self.fortran_order = fortran_order
        if _types.tensor_bytes(self.dtype, self.shape) != len(self):
            raise ValueError(f"planezip: shape is {self.shape} of {self.dtype}, but there are "
                             f"{len(self)} bytes")

    def __reduce__(self):
        return type(self), (bytes(self), self.dtype, self.shape, self.fortran_order)

    def __repr__(self):
        return f"<planezip.Tensor {self.dtype} {self.shape}>"
