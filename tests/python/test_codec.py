"""compress, decompress and measure, with what Python itself has."""
import array
import ctypes
import io
import mmap
import os
import pickle
import random
import struct
import sys
import threading
import time
import unittest

import planezip
from planezip import _library, _types
from support import floats


def back(data, **options):
    """The tensor that a container holds, without NumPy."""
    return planezip.decompress(data, to="buffer", **options)


class RoundTrip(unittest.TestCase):
    def check(self, data, dtype, shape, told=None):
        tensor = back(planezip.compress(data, told))
        self.assertEqual((tensor.dtype, tensor.shape), (dtype, shape))
        self.assertEqual(bytes(tensor), memoryview(data).tobytes())

    def test_bytes_of_every_size_around_a_chunk(self):
        data = random.Random(1).randbytes(4200)
        for size in (*range(0, 140), *range(4090, 4100), 4200):
            self.check(data[:size], "u8", (size,))

    def test_everything_with_the_buffer_protocol(self):
        raw = floats(2000).tobytes()
        self.check(bytearray(raw), "u8", (8000,))
        self.check(memoryview(raw), "u8", (8000,))
        self.check((ctypes.c_double * 1000).from_buffer_copy(raw), "f64", (1000,))
        with mmap.mmap(-1, 8192) as memory:
            memory.write(raw)
            self.check(memory, "u8", (8192,))

    def test_every_format_of_a_buffer(self):
        for kind, dtype in zip("bBhHiIqQfd", ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64",
                                              "f32", "f64")):
            self.check(array.array(kind, range(100)), dtype, (100,))
        self.check(array.array("l", range(100)), f"i{8 * struct.calcsize('l')}", (100,))
        raw = bytes(range(96))
        for kind, dtype in (("?", "bool"), ("c", "u8"), ("n", "i64"), ("N", "u64"),
                            ("@d", "f64")):
            self.check(memoryview(raw).cast(kind), dtype, (96 // struct.calcsize(kind),))

    def test_shapes(self):
        raw = floats(24).tobytes()
        for shape in ((24,), (4, 6), (2, 3, 4), (1,) * 8 + (24,)):
            self.check(memoryview(raw).cast("f", shape), "f32", shape)
        self.check(memoryview(raw[:4]).cast("f", ()), "f32", ())

    def test_every_type_told(self):
        raw = floats(48).tobytes() # fills whole bytes with elements of 6 bits, too
        for dtype, long_name in _types.LONG_NAMES.items():
            self.check(raw, dtype, (1536 // _types.bits(dtype),), told=dtype)
            self.check(raw, dtype, (1536 // _types.bits(dtype),), told=long_name)

    def test_a_type_of_the_same_size_keeps_the_shape(self):
        view = memoryview(floats(6).tobytes()).cast("H", (3, 4))
        self.check(view, "bf16", (3, 4), told="bf16")

    def test_what_is_not_contiguous_is_copied(self):
        self.check(memoryview(floats(1000))[::3], "f32", (334,))
        self.check(memoryview(floats(1000))[::-1], "f32", (1000,))

    def test_any_address(self):
        raw = bytes(3) + floats(3000).tobytes()
        for start in range(1, 4):
            tensor = back(planezip.compress(memoryview(raw)[start:start + 12000], "f32"))
            self.assertEqual(tensor, raw[start:start + 12000])

    def test_a_tensor_of_our_own(self):
        tensor = planezip.Tensor(floats(6).tobytes(), "bf16", (3, 4))
        again = back(planezip.compress(tensor))
        self.assertEqual((again.dtype, again.shape, bytes(again)), ("bf16", (3, 4), bytes(tensor)))

    def test_several_segments(self):
        data = floats(5 << 20).tobytes() # 20 MiB, segments have 16
        self.assertEqual(back(planezip.compress(data, "f32")), data)

    def test_a_constant_shrinks(self):
        data = array.array("f", [1.5]) * 100000
        self.assertLess(len(planezip.compress(data)), 16000)


class Options(unittest.TestCase):
    def test_every_codec_and_profile(self):
        data = array.array("q", range(3000)).tobytes() + floats(2000).tobytes()
        for dtype in ("bool", "f8_e5m2", "bf16", "i32", "f32", "u64", "f64", "c128"):
            sizes = set()
            for codec in planezip.CODECS:
                for profile in planezip.PROFILES:
                    coded = planezip.compress(data, dtype, codec=codec, profile=profile)
                    self.assertEqual(back(coded), data)
                    sizes.add(len(coded))
            self.assertGreater(len(sizes), 4, dtype)

    def test_planezip2_is_the_default(self):
        data = floats(5000)
        self.assertEqual(planezip.compress(data), planezip.compress(data, codec="planezip2"))
        with planezip.open(planezip.compress(data, name="x")) as file:
            blocks = file["x"].blocks
        self.assertEqual(sum(blocks[mode] for mode in
                             ("exponents", "integers", "differences", "constants")), 157)

    def test_the_same_bytes_with_any_number_of_threads(self):
        data = floats(300000)
        alone = planezip.compress(data)
        for threads in (0, 2, 3, 7):
            self.assertEqual(planezip.compress(data, threads=threads), alone)
            self.assertEqual(back(alone, threads=threads), data.tobytes())

    def test_name(self):
        for name in ("", "weight", "größe", "\udcff"): # the last is no UTF-8
            with planezip.open(planezip.compress(b"abc", name=name)) as file:
                self.assertEqual(list(file), [name])

    def refused(self, text, function, *arguments, error=ValueError, **options):
        with self.assertRaises(error) as caught:
            function(*arguments, **options)
        self.assertIn(text, str(caught.exception))

    def test_values_that_are_refused(self):
        for function in (planezip.compress, planezip.measure):
            self.refused("profile is 'best'; known are native, paper", function, b"a",
                         profile="best")
            self.refused("threads is -1, expected is 0 to 1024", function, b"a", threads=-1)
            self.refused("threads is 1025", function, b"a", threads=1025)
            self.refused("interpreted as an integer", function, b"a", threads=1.5, error=TypeError)
            self.refused("dtype is 'bf17'; known are bool,", function, b"a", "bf17")
        self.refused("codec is 'zip'; known are planezip2,",
                     planezip.compress, b"a", codec="zip")
        self.refused("codec is 'zip'", planezip.measure, b"a", codecs=("zip",))
        self.refused("name is 'a\\x00b', which has a zero byte", planezip.compress, b"",
                     name="a\0b")
        self.refused("to is 'jax'; known are numpy, torch, buffer", planezip.decompress,
                     planezip.compress(b"a"), to="jax")

    def test_unknown_options_are_errors(self):
        for function in (planezip.compress, planezip.decompress, planezip.measure, planezip.open):
            self.refused("level", function, planezip.compress(b"abc"), level=9, error=TypeError)

    def test_data_that_is_refused(self):
        for data in (1.5, [1, 2], "text", None, object()):
            self.refused(f"the data is a {type(data).__name__}, expected is", planezip.compress,
                         data, error=TypeError)
        self.refused("elements of format '>I'", planezip.compress,
                     (ctypes.c_uint32.__ctype_be__ * 4)(), error=TypeError)
        self.refused("elements of format 'P'", planezip.compress, memoryview(bytes(8)).cast("P"),
                     error=TypeError)

    def test_types_that_do_not_fit_the_data(self):
        self.refused("dtype is f64 with 64 bits, but the data has elements of 32 bits",
                     planezip.compress, floats(2), "f64")
        self.refused("dtype is f32 with 32 bits, but the data has 7 bytes", planezip.compress,
                     bytes(7), "f32")
        self.refused("but the data has elements of 8 bits", planezip.compress,
                     memoryview(bytes(8)).cast("B", (2, 4)), "f32")


class Damage(unittest.TestCase):
    def test_every_length(self):
        data = planezip.compress(floats(50))
        for size in range(len(data)):
            with self.assertRaises(planezip.PlaneZipError) as caught:
                back(data[:size])
            self.assertIn(caught.exception.status, ("PZ_ERR_TRUNCATED", "PZ_ERR_FORMAT"))

    def test_every_byte_gives_an_error_or_the_same_tensor(self):
        tensor, errors = floats(300), 0
        data = bytearray(planezip.compress(tensor))
        for i in range(len(data)):
            data[i] ^= 0x41
            try:
                self.assertEqual(back(data), tensor.tobytes())
            except planezip.PlaneZipError:
                errors += 1
            data[i] ^= 0x41
        self.assertGreater(errors, len(data) // 2)

    def test_an_error_has_status_place_and_text(self):
        data = bytearray(planezip.compress(floats(30000), name="w"))
        data[len(data) // 2] ^= 1
        with self.assertRaises(planezip.PlaneZipError) as caught:
            back(data)
        error = caught.exception
        self.assertRegex(error.status, "^PZ_ERR_[A-Z]+$")
        self.assertIn("w", error.where)
        self.assertEqual(str(error), f"{error.text} ({error.where}) [{error.status}]")
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((again.status, again.where, again.text),
                         (error.status, error.where, error.text))

    def test_not_one_tensor(self):
        with self.assertRaisesRegex(ValueError, "has 0 tensors, expected is one; use open()"):
            out = io.BytesIO()
            with planezip._codec.Writer(out.write) as writer:
                writer.finish()
            planezip.decompress(out.getvalue())


class Measure(unittest.TestCase):
    def test_sizes_are_those_of_the_encoder(self):
        data = floats(5000)
        found = planezip.measure(data)
        self.assertEqual(tuple(found), planezip.CODECS)
        for codec, one in found.items():
            with planezip.open(planezip.compress(data, codec=codec, name="x")) as file:
                stored = file["x"]
            self.assertEqual((one.raw_bytes, one.coded_bytes, one.chunks, one.raw_chunks,
                              one.blocks),
                             (stored.nbytes, stored.coded_bytes, stored.chunks, stored.raw_chunks,
                              stored.blocks))
            self.assertEqual(one.ratio, 20000 / one.coded_bytes)
            self.assertEqual(sum(one.blocks.values()), 157)

    def test_one_codec_and_threads(self):
        data = floats(300000)
        alone = planezip.measure(data, codecs="zvc")
        self.assertEqual(list(alone), ["zvc"])
        self.assertEqual(planezip.measure(data, codecs=["zvc"], threads=3), alone)

    def test_nothing(self):
        self.assertEqual(planezip.measure(b"")["planezip2"].ratio, 1)


class TensorClass(unittest.TestCase):
    def test_it_is_a_buffer_that_knows_its_shape(self):
        tensor = back(planezip.compress(memoryview(floats(6)).cast("B").cast("f", (2, 3))))
        self.assertEqual(memoryview(tensor).cast("f", (2, 3)).tolist(),
                         memoryview(floats(6)).cast("B").cast("f", (2, 3)).tolist())
        self.assertEqual(repr(tensor), "<planezip.Tensor f32 (2, 3)>")
        self.assertFalse(tensor.fortran_order)

    def test_pickle(self):
        tensor = planezip.Tensor(bytes(12), "bf16", (2, 3), True)
        again = pickle.loads(pickle.dumps(tensor))
        self.assertEqual((again, again.dtype, again.shape, again.fortran_order),
                         (tensor, "bf16", (2, 3), True))

    def test_a_shape_of_another_size_is_refused(self):
        with self.assertRaisesRegex(ValueError, r"is \(2, 3\) of bf16, but there are 10 bytes"):
            planezip.Tensor(bytes(10), "bf16", (2, 3))
        with self.assertRaisesRegex(ValueError, "no whole number of bytes"):
            planezip.Tensor(bytes(1), "f4", (1,))


class Threads(unittest.TestCase):
    def progress(self, work):
        """How often another thread ran Python code while work() did its.  The interpreter takes its
        lock from nobody here, so the others run only if it is released."""
        ticks, done = [0], threading.Event()

        def tick():
            while not done.is_set():
                ticks[0] += 1
                time.sleep(0.0005)

        interval = sys.getswitchinterval()
        thread = threading.Thread(target=tick)
        thread.start()
        time.sleep(0.01)
        sys.setswitchinterval(1000)
        try:
            before = ticks[0]
            work()
            return ticks[0] - before
        finally:
            sys.setswitchinterval(interval)
            done.set()
            thread.join()

    @unittest.skipIf(hasattr(sys, "_is_gil_enabled") and not sys._is_gil_enabled(), "no lock")
    def test_the_interpreter_runs_meanwhile(self):
        data = floats(4 << 20).tobytes()
        coded = planezip.compress(data, "f32")
        held = ctypes.PyDLL(_library.PATH).pz_stream_measure
        held.argtypes = [_library.Mode, ctypes.c_void_p, ctypes.c_size_t,
                         ctypes.POINTER(_library.Stats)]
        mode, stats = planezip._options.mode("planezip", "native", "f32"), _library.Stats()
        view = memoryview(data)
        address = planezip._memory.address_of(view)
        # The machine may be busy: the best of several tries.  First the proof that the test sees a
        # lock that is held.
        self.assertLessEqual(min(self.progress(lambda: held(mode, address, len(data), stats))
                                 for _ in range(5)), 1)
        for work in (lambda: planezip.compress(data, "f32"),
                     lambda: planezip.measure(data, "f32"), lambda: back(coded)):
            self.assertTrue(any(self.progress(work) > 3 for _ in range(20)))

    def test_many_threads_at_once(self):
        data, wrong = [floats(5000 + i, seed=i) for i in range(8)], []

        def work(mine):
            for _ in range(20):
                coded = planezip.compress(mine, threads=2)
                if back(coded, threads=2) != mine.tobytes():
                    wrong.append(mine)

        threads = [threading.Thread(target=work, args=(mine,)) for mine in data]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_child_after_fork(self):
        data = floats(100000)
        coded = planezip.compress(data, threads=3)
        child = os.fork()
        if child == 0:
            os._exit(0 if planezip.compress(data, threads=3) == coded else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


class InstructionSets(unittest.TestCase):
    def test_all_give_the_same_bytes(self):
        data, active = floats(10000), planezip.isa_active()
        names = planezip.isa_names()
        self.assertEqual(names[0], "scalar")
        self.assertIn(active, names)
        try:
            coded = set()
            for name in names:
                planezip.isa_select(name)
                self.assertEqual(planezip.isa_active(), name)
                coded.add(planezip.compress(data))
            self.assertEqual(len(coded), 1)
        finally:
            planezip.isa_select(active)

    def test_one_that_is_not_here(self):
        with self.assertRaisesRegex(ValueError, "no instruction set 'mmx' here; available are "):
            planezip.isa_select("mmx")


if __name__ == "__main__":
    unittest.main()
