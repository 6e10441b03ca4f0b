"""Tensors that come through DLPack, from a producer of our own: what others would have to be asked
for is here at will."""
import ctypes
import unittest
from ctypes import CFUNCTYPE, c_char_p, c_int64, c_void_p, py_object

import planezip
from planezip import _dlpack
from support import count, floats

DELETER = CFUNCTYPE(None, c_void_p)
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.argtypes, new_capsule.restype = [c_void_p, c_char_p, c_void_p], py_object


class DLManagedTensor(ctypes.Structure):
    _fields_ = [("tensor", _dlpack.DLTensor), ("manager_ctx", c_void_p), ("deleter", DELETER)]


class Producer:
    """A tensor of another library.  versioned: speaks version 1, else 0, which does not know
    max_version."""

    def __init__(self, raw, code, bits, shape, strides=None, device=1, versioned=True, flags=0,
                 offset=0, lanes=1, major=1):
        self.device, self.versioned = device, versioned
        self.memory = ctypes.create_string_buffer(bytes(offset) + bytes(raw))
        self.shape = (c_int64 * max(1, len(shape)))(*shape)
        self.strides = (c_int64 * len(strides))(*strides) if strides else None
        tensor = _dlpack.DLTensor(ctypes.addressof(self.memory), device, 0, len(shape), code, bits,
                                  lanes, self.shape, self.strides, offset)
        self.managed = (_dlpack.DLManagedTensorVersioned(major, 0, None, None, flags, tensor)
                        if versioned else DLManagedTensor(tensor))

    def __dlpack_device__(self):
        return self.device, 0

    def __dlpack__(self, **options):
        if not self.versioned and options:
            raise TypeError("unexpected keyword")
        assert options in ({}, {"max_version": (1, 0)})
        self.name = b"dltensor_versioned" if self.versioned else b"dltensor"
        return new_capsule(ctypes.addressof(self.managed), self.name, None)


class DLPack(unittest.TestCase):
    def check(self, dtype, raw, code, bits, shape, **options):
        tensor = planezip.decompress(planezip.compress(Producer(raw, code, bits, shape, **options)),
                                     to="buffer")
        self.assertEqual((tensor.dtype, tensor.shape, bytes(tensor)), (dtype, tuple(shape), raw))

    def test_every_type_in_both_versions(self):
        raw = floats(48).tobytes()
        self.assertEqual(len(set(_dlpack.TYPES.values())), 23)
        for (code, bits), dtype in _dlpack.TYPES.items():
            for versioned in (False, True):
                self.check(dtype, raw, code, bits, (1536 // bits,), versioned=versioned)

    def test_shapes_and_orders_that_are_c(self):
        raw = floats(24).tobytes()
        for shape, strides in (((2, 3, 4), (12, 4, 1)), ((24,), None), ((1, 24), (7, 1)),
                               ((24, 1), (1, 99)), ((24,), (1,))):
            self.check("f32", raw, 2, 32, shape, strides=strides)
        self.check("f32", raw[:4], 2, 32, ())
        self.check("f32", b"", 2, 32, (3, 0), strides=(5, 5))

    def test_offset_and_pinned_memory(self):
        self.check("f32", floats(24).tobytes(), 2, 32, (24,), offset=64)
        self.check("f32", floats(24).tobytes(), 2, 32, (24,), device=3)

    def refused(self, text, *arguments, **options):
        with self.assertRaises(TypeError) as caught:
            planezip.compress(Producer(floats(48), *arguments, **options))
        self.assertIn(text, str(caught.exception))

    def test_what_is_refused(self):
        self.refused("is on device cuda, expected is cpu", 2, 32, (48,), device=2)
        self.refused("is on device 77, expected is cpu", 2, 32, (48,), device=77)
        self.refused("shape (6, 8) has strides (1, 6), expected is C order", 2, 32, (6, 8),
                     strides=(1, 6))
        self.refused("type code 2 with 128 bits and 1 lanes", 2, 128, (12,))
        self.refused("type code 2 with 32 bits and 4 lanes", 2, 32, (12,), lanes=4)
        self.refused("a byte for each element of 4 bits", 17, 4, (192,), flags=4)
        self.refused("has version 2, expected is 1", 2, 32, (48,), major=2)

    def test_a_device_is_refused_before_its_memory_is_asked_for(self):
        producer = Producer(b"", 2, 32, (0,), device=2)
        producer.__dlpack__ = None
        with self.assertRaisesRegex(TypeError, "device cuda"):
            planezip.compress(producer)

    def test_a_type_told(self):
        raw = floats(24).tobytes()
        tensor = planezip.decompress(planezip.compress(Producer(raw, 1, 16, (6, 8)), "bf16"),
                                     to="buffer")
        self.assertEqual((tensor.dtype, tensor.shape), ("bf16", (6, 8)))
        self.assertEqual(count(tensor.shape) * 2, len(tensor))


if __name__ == "__main__":
    unittest.main()
