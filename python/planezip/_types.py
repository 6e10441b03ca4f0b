"""Types of elements, docs/container.md, "Types", and what Python's buffers, NumPy and torch call
them."""
import ctypes
from ctypes import byref, c_int, c_uint64

from . import _library as c

# By the short name; NumPy, torch and ml_dtypes use the long ones.
LONG_NAMES = {
    "bool": "bool", "u8": "uint8", "i8": "int8", "u16": "uint16", "i16": "int16", "u32": "uint32",
    "i32": "int32", "u64": "uint64", "i64": "int64", "f16": "float16", "bf16": "bfloat16",
    "f32": "float32", "f64": "float64", "c64": "complex64", "c128": "complex128",
    "f8_e4m3": "float8_e4m3fn", "f8_e5m2": "float8_e5m2", "f8_e8m0": "float8_e8m0fnu",
    "f8_e4m3fnuz": "float8_e4m3fnuz", "f8_e5m2fnuz": "float8_e5m2fnuz",
    "f6_e2m3": "float6_e2m3fn", "f6_e3m2": "float6_e3m2fn", "f4": "float4_e2m1fn",
}

# What NumPy has itself; ml_dtypes adds others.
NUMPY_NAMES = frozenset(("bool", "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f16", "f32",
                         "f64", "c64", "c128"))

# Characters of the module struct, without the integers, whose size differs between systems.
FORMATS = {"?": "bool", "c": "u8", "e": "f16", "f": "f32", "d": "f64", "Zf": "c64", "Zd": "c128"}


def find(name):
    """The short name of a type, for its short, its long and its safetensors name; else None."""
    code = c_int()
    found = c.lib.pz_dtype_named(name.encode(), byref(code)) == c.OK
    return c.lib.pz_dtype_name(code.value).decode() if found else None


def named(dtype):
    """The short name of what a caller calls dtype: a name, or a type of NumPy or torch."""
    text = dtype if isinstance(dtype, str) else (
        getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype))
    name = find(text.removeprefix("torch.")) if getattr(dtype, "isnative", True) else None
    if name is None:
        raise ValueError(f"planezip: dtype is {dtype!r}; known are {', '.join(LONG_NAMES)}")
    return name


def code(name):
    """The number of a type in the library and in files."""
    number = c_int()
    c.check(c.lib.pz_dtype_named(name.encode(), byref(number)))
    return number.value


def of_code(number):
    """The short name of a number."""
    return c.lib.pz_dtype_name(number).decode()


def bits(name):
    """Bits of an element."""
    return c.lib.pz_dtype_bits(code(name))


def of_format(text, item_bytes):
    """The type of an element of a buffer, by its format in the language of the module struct; None
    for structures, pointers, and numbers that are big-endian or have no type here."""
    order, kind = (text[0], text[1:]) if text[:1] in "@=<>!" else ("@", text)
    if order in ">!" and item_bytes > 1:
        return None
    if kind and kind in "bhilqn":
        return f"i{8 * item_bytes}"
    if kind and kind in "BHILQN":
        return f"u{8 * item_bytes}"
    return FORMATS.get(kind)


def tensor_bytes(name, shape):
    """Bytes of a tensor; ValueError if it does not fill whole bytes or is 2^63 bytes or more."""
    total = c_uint64()
    if c.lib.pz_tensor_bytes(code(name), len(shape), c_shape(shape), byref(total)) != c.OK:
        raise ValueError(f"planezip: shape is {tuple(shape)} of {name}, which is no whole number "
                         "of bytes below 2^63")
    return total.value


def c_shape(shape):
    """A shape as the library takes it."""
    return (ctypes.c_uint64 * max(len(shape), 1))(*shape)
