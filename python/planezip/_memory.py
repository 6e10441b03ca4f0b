"""Addresses of buffers, and buffers at addresses, through the interpreter's stable interface."""
import ctypes
from ctypes import POINTER, byref, c_char_p, c_int, c_ssize_t, c_void_p, py_object

SIMPLE = 0
WRITABLE = 1
READ = 0x100
WRITE = 0x200


class PyBuffer(ctypes.Structure):
    """Py_buffer; of its fields only buf is looked at."""
    _fields_ = [("buf", c_void_p), ("obj", c_void_p), ("len", c_ssize_t), ("itemsize", c_ssize_t),
                ("readonly", c_int), ("ndim", c_int), ("format", c_char_p),
                ("shape", POINTER(c_ssize_t)), ("strides", POINTER(c_ssize_t)),
                ("suboffsets", POINTER(c_ssize_t)), ("internal", c_void_p)]


get_buffer = ctypes.pythonapi.PyObject_GetBuffer
get_buffer.argtypes = [py_object, POINTER(PyBuffer), c_int]
release_buffer = ctypes.pythonapi.PyBuffer_Release
release_buffer.argtypes, release_buffer.restype = [POINTER(PyBuffer)], None
from_memory = ctypes.pythonapi.PyMemoryView_FromMemory
from_memory.argtypes, from_memory.restype = [c_void_p, c_ssize_t, c_int], py_object


def address_of(view, flags=SIMPLE):
    """Where a contiguous memoryview lies; BufferError if it is read-only and flags is WRITABLE.
    The memory stays there as long as the view lives."""
    buffer = PyBuffer()
    get_buffer(view, byref(buffer), flags)
    try:
        return buffer.buf or 0
    finally:
        release_buffer(byref(buffer))


def view_of(address, nbytes, flags=READ):
    """Memory at an address, which lives no longer than whoever gave it says."""
    return from_memory(address, nbytes, flags)
