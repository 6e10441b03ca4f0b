"""Tensors of other libraries through DLPack: CPU memory only, nothing is copied.

The structures are those of dlpack.h, versions 0 and 1; see dmlc.github.io/dlpack.
"""
import ctypes
from ctypes import POINTER, Structure, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint32
from ctypes import c_uint64, c_void_p, py_object

# Device types whose memory a CPU can read: CPU, pinned memory of CUDA and of ROCm.
HOST_DEVICES = frozenset((1, 3, 11))
DEVICE_NAMES = {1: "cpu", 2: "cuda", 3: "cuda_host", 4: "opencl", 7: "vulkan", 8: "metal",
                10: "rocm", 11: "rocm_host", 13: "cuda_managed", 14: "oneapi"}
SUB_BYTE_PADDED = 1 << 2

# Type code and bits: see DLDataTypeCode.
TYPES = {(6, 8): "bool", (4, 16): "bf16", (5, 64): "c64", (5, 128): "c128",
         (2, 16): "f16", (2, 32): "f32", (2, 64): "f64",
         (10, 8): "f8_e4m3", (11, 8): "f8_e4m3fnuz", (12, 8): "f8_e5m2", (13, 8): "f8_e5m2fnuz",
         (14, 8): "f8_e8m0", (15, 6): "f6_e2m3", (16, 6): "f6_e3m2", (17, 4): "f4"}
TYPES |= {(0, bits): f"i{bits}" for bits in (8, 16, 32, 64)}
TYPES |= {(1, bits): f"u{bits}" for bits in (8, 16, 32, 64)}


class DLTensor(Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32),
                ("ndim", c_int32), ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("byte_offset", c_uint64)]


class DLManagedTensorVersioned(Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("manager_ctx", c_void_p),
                ("deleter", c_void_p), ("flags", c_uint64), ("tensor", DLTensor)]


is_capsule = ctypes.pythonapi.PyCapsule_IsValid
is_capsule.argtypes = [py_object, c_char_p]
capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
capsule_pointer.argtypes, capsule_pointer.restype = [py_object, c_char_p], c_void_p


def request(data):
    """A capsule of data, of version 1 where the producer knows it."""
    try:
        return data.__dlpack__(max_version=(1, 0))
    except TypeError: # producers of version 0 do not know the argument
        return data.__dlpack__()


def tensor_of(capsule):
    """The DLTensor in a capsule, which lives as long as the capsule.  The capsule stays unused, so
    that it calls its deleter itself when it goes."""
    if is_capsule(capsule, b"dltensor_versioned"):
        managed = DLManagedTensorVersioned.from_address(
            capsule_pointer(capsule, b"dltensor_versioned"))
        if managed.major != 1:
            raise TypeError(f"planezip: a DLPack tensor has version {managed.major}, expected is 1")
        if managed.flags & SUB_BYTE_PADDED:
            raise TypeError("planezip: a DLPack tensor has a byte for each element of "
                            f"{managed.tensor.bits} bits, expected are packed elements")
        return managed.tensor
    return DLTensor.from_address(capsule_pointer(capsule, b"dltensor"))


def is_c_order(tensor, shape):
    """Whether the elements follow one another in C order."""
    if not tensor.strides or 0 in shape:
        return True
    expected = 1
    for i in reversed(range(len(shape))):
        if shape[i] != 1 and tensor.strides[i] != expected:
            return False
        expected *= shape[i]
    return True


def read(data):
    """(address, type, shape, owner) of an object that speaks DLPack; TypeError if its memory is not
    of the CPU, or its type or order of elements is not known here."""
    device = data.__dlpack_device__()[0]
    if device not in HOST_DEVICES:
        raise TypeError(f"planezip: the data is on device {DEVICE_NAMES.get(int(device), device)}, "
                        "expected is cpu; copy it to the CPU first")
    capsule = request(data)
    tensor = tensor_of(capsule)
    kind = TYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if kind is None:
        raise TypeError(f"planezip: a DLPack tensor has type code {tensor.code} with {tensor.bits} "
                        f"bits and {tensor.lanes} lanes, which no type here has")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    if not is_c_order(tensor, shape):
        strides = tuple(tensor.strides[i] for i in range(tensor.ndim))
        raise TypeError(f"planezip: a DLPack tensor of shape {shape} has strides {strides}, "
                        "expected is C order; make it contiguous first")
    return (tensor.data or 0) + tensor.byte_offset, kind, shape, capsule
