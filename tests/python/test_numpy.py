"""Arrays of NumPy in and out, also those of ml_dtypes."""
import contextlib
import io
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import planezip
from planezip import _types
from support import SOURCE, floats, needs, optional

np = optional("numpy")
ml_dtypes = optional("ml_dtypes")
SAMPLE = floats(240)


def sample():
    """6 x 40 floats."""
    return np.array(SAMPLE).reshape(6, 40)


def back(data, **options):
    return planezip.decompress(planezip.compress(data), **options)


@needs(np, "numpy")
class Arrays(unittest.TestCase):
    def same(self, found, expected):
        self.assertIs(type(found), np.ndarray)
        self.assertEqual((found.dtype, found.shape), (expected.dtype, expected.shape))
        self.assertEqual(found.tobytes(), expected.tobytes())
        self.assertTrue(found.flags.writeable)

    def test_every_type(self):
        for name in _types.NUMPY_NAMES:
            array = np.frombuffer(SAMPLE.tobytes(), _types.LONG_NAMES[name])
            self.same(back(array), array)
            self.same(planezip.decompress(planezip.compress(SAMPLE.tobytes(), name)), array)

    def test_nans_keep_their_bits(self):
        array = np.array([0x7F800001, 0xFFC12345, 0x80000000], np.uint32).view(np.float32)
        self.same(back(array), array)

    def test_shapes(self):
        for shape in ((), (0,), (3, 0, 2), (1, 1, 1), (2, 3, 4, 5, 2)):
            array = np.resize(sample(), shape)
            self.same(back(array), array)

    def test_order_and_strides_are_copied_to_c_order(self):
        array = sample()
        for other in (array.T, array[:, 1:], array[::2], array[::-1], np.asfortranarray(array),
                      np.broadcast_to(array[0], (5, 40)),
                      array.reshape(2, 3, 40).transpose(1, 2, 0)):
            found = back(other)
            self.same(found, other)
            self.assertTrue(found.flags.c_contiguous)

    def test_read_only_and_memory_maps(self):
        array = sample()
        array.flags.writeable = False
        self.same(back(array), array)
        with tempfile.NamedTemporaryFile() as file:
            array.tofile(file.name)
            self.same(back(np.memmap(file.name, np.float32, "r", shape=(6, 40))), array)

    def test_an_object_with_dlpack_alone(self):
        class Foreign:
            def __init__(self, array):
                self.array = array

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

            def __dlpack__(self, **options):
                return self.array.__dlpack__(**options)

        array = sample()
        before = sys.getrefcount(array)
        self.same(back(Foreign(array)), array)
        self.assertEqual(sys.getrefcount(array), before)

    def refused(self, text, data, dtype=None, error=TypeError):
        with self.assertRaises(error) as caught:
            planezip.compress(data, dtype)
        self.assertIn(text, str(caught.exception))

    def test_what_is_refused(self):
        self.refused("elements of >f4, which is none", sample().astype(">f4"))
        self.refused("elements of datetime64[D], which is none", np.zeros(3, "M8[D]"))
        self.refused("elements of <U3, which is none", np.array(["abc"]))
        self.refused("elements of [('a', '<i4')", np.zeros(2, [("a", "i4")]))
        self.refused("references to objects", np.array([None]))
        self.refused("has a mask, expected is a plain array", np.ma.array([1, 2], mask=[0, 1]))

    def test_a_type_told(self):
        words = sample().view(np.uint16)
        tensor = planezip.decompress(planezip.compress(words, "bf16"))
        self.assertEqual((type(tensor), tensor.dtype, tensor.shape),
                         (planezip.Tensor, "bf16", (6, 80)))
        self.assertEqual(np.frombuffer(tensor, np.uint16).tolist(), words.ravel().tolist())
        days = np.arange(3).astype("M8[D]")
        self.assertEqual(planezip.decompress(planezip.compress(days, "i64")).tolist(), [0, 1, 2])
        for kind in (np.dtype("i2"), np.float16):
            self.same(planezip.decompress(planezip.compress(words, kind)), words.view(kind))
        self.refused("but the data has elements of 32 bits", sample(), "bf16", ValueError)
        self.refused("dtype is dtype('>f4')", sample(), np.dtype(">f4"), ValueError)

    def test_files(self):
        array = sample()
        with planezip.open(planezip.compress(array, name="a")) as file:
            self.same(file["a"][2:5], array[2:5])
            self.same(file["a"][-1], array[-1])
            self.same(np.stack(list(file["a"])), array)
            into = np.zeros((2, 40), np.float32)
            file["a"].readinto(into, 4 * 40 * 3)
            self.same(into, array[3:5])

    def test_fortran_order_of_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "f.npy")
            np.save(path, np.asfortranarray(sample()))
            subprocess.run([sys.executable, "-m", "planezip", "compress", "-q", path], check=True)
            with planezip.open(f"{path}.pz") as file:
                found = file["f.npy"].read()
        self.assertTrue(found.flags.f_contiguous)
        self.assertEqual(found.tolist(), sample().tolist())

    def test_example_of_the_readme(self):
        text = (SOURCE / "README.md").read_text(encoding="utf-8")
        example = re.search(r"## In Python\n.*?```python\n(.*?)```", text, flags=re.DOTALL).group(1)
        array = np.resize(sample(), (300, 40))
        out = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out):
            path = Path(folder, "model.safetensors.pz")
            path.write_bytes(planezip.compress(array, name="wte.weight"))
            names = {"array": array}
            exec(example.replace("model.safetensors.pz", str(path)), names)
        self.same(names["rows"], array[100:200])
        self.assertRegex(out.getvalue(), r"^\d\.\d+\nf32 \(300, 40\) \d\.\d+\n$")

    def test_buffer_on_request(self):
        self.assertIs(type(back(sample(), to="buffer")), planezip.Tensor)


@needs(ml_dtypes, "ml_dtypes")
class SmallTypes(unittest.TestCase):
    NAMES = ("bf16", "f8_e4m3", "f8_e5m2", "f8_e8m0", "f8_e4m3fnuz", "f8_e5m2fnuz")

    def test_in_and_out(self):
        for name in self.NAMES:
            kind = np.dtype(getattr(ml_dtypes, _types.LONG_NAMES[name]))
            array = np.frombuffer(SAMPLE.tobytes(), kind).reshape(6, -1)
            coded = planezip.compress(array)
            self.assertEqual(planezip.decompress(coded).dtype, name)
            found = planezip.decompress(coded, to="numpy")
            self.assertEqual((found.dtype, found.shape), (kind, array.shape))
            self.assertEqual(found.tobytes(), array.tobytes())
            self.assertEqual(planezip.decompress(planezip.compress(SAMPLE.tobytes(), kind)).dtype,
                             name)

    def test_a_byte_for_each_element_of_four_bits_is_no_f4(self):
        with self.assertRaisesRegex(TypeError, "elements of float4_e2m1fn, which is none"):
            planezip.compress(np.zeros(4, ml_dtypes.float4_e2m1fn))
        with self.assertRaisesRegex(ValueError, "arrays have no elements of f4; use to='buffer'"):
            planezip.decompress(planezip.compress(b"ab", "f4"), to="numpy")


@unittest.skipIf(np, "numpy is installed")
class Without(unittest.TestCase):
    def test_an_array_cannot_be_asked_for(self):
        with self.assertRaisesRegex(ValueError, "numpy is not installed"):
            planezip.decompress(planezip.compress(SAMPLE), to="numpy")

    def test_the_default_is_a_buffer(self):
        self.assertIs(type(planezip.decompress(planezip.compress(SAMPLE))), planezip.Tensor)


if __name__ == "__main__":
    unittest.main()
