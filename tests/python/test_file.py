"""open(): containers that the program made, read at random."""
import gc
import os
import random
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
import weakref
from pathlib import Path

import planezip
from support import floats, npy, safetensors

WEIGHT = floats(60 * 5000).tobytes()
MODEL = {"weight": ("F32", [5000, 60], WEIGHT), "bias": ("BF16", [7], bytes(range(14))),
         "scalar": ("I64", [], struct.pack("<q", -5)), "none": ("U8", [0, 3], b""),
         "nibbles": ("F4", [3, 2], b"abc")}


def program(*arguments, **options):
    """Runs the program that the package carries."""
    return subprocess.run([sys.executable, "-m", "planezip", *arguments], check=True, text=True,
                          capture_output=True, **options).stdout


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def compress(self, name, data, *options):
        """The container that the program makes of a file."""
        path = self.folder / name
        path.write_bytes(data)
        program("compress", "-q", *options, str(path))
        return self.folder / f"{name}.pz"

    def model(self):
        return self.compress("m.safetensors", safetensors(MODEL, {"by": "test"}))


class Reading(Files):
    def test_mapping(self):
        with planezip.open(self.model()) as file:
            self.assertEqual(list(file), list(MODEL))
            self.assertEqual(len(file), 5)
            self.assertIn("bias", file)
            self.assertNotIn("bia", file)
            with self.assertRaises(KeyError):
                file["bia"]
            for name, (kind, shape, raw) in MODEL.items():
                self.assertEqual((file[name].name, file[name].dtype.upper(), file[name].shape),
                                 (name, kind, tuple(shape)))
                self.assertEqual(file[name].read(to="buffer"), raw)
            self.assertEqual([tensor.name for tensor in file.tensors], list(MODEL))
            self.assertEqual(dict(file.items()), {t.name: t for t in file.tensors})

    def test_metadata(self):
        with planezip.open(self.model()) as file:
            self.assertEqual(file.metadata["source.format"], b"safetensors")
            self.assertIn(b'"by"', file.metadata["source.header"])
            self.assertEqual(file["bias"].metadata, {})

    def test_sizes(self):
        path = self.model()
        with planezip.open(path) as file:
            weight = file["weight"]
            self.assertEqual(weight.nbytes, len(WEIGHT))
            self.assertEqual(weight.ratio, len(WEIGHT) / weight.coded_bytes)
            self.assertEqual(sum(weight.blocks.values()), -(-len(WEIGHT) // 128))
            self.assertEqual(weight.chunks, -(-len(WEIGHT) // 4096))
            self.assertEqual(file["none"].ratio, 1)
            self.assertLess(sum(t.stored_bytes for t in file.tensors), path.stat().st_size)
            self.assertGreater(weight.stored_bytes, weight.coded_bytes)

    def test_rows(self):
        rng, row = random.Random(2), 240
        with planezip.open(self.model()) as file:
            weight = file["weight"]
            self.assertEqual(len(weight), 5000)
            for _ in range(50):
                start, stop = rng.randint(-5100, 5100), rng.randint(-5100, 5100)
                rows = range(5000)[start:stop]
                part = weight.read(start, stop, to="buffer")
                self.assertEqual(part.shape, (len(rows), 60))
                self.assertEqual(part, WEIGHT[rows.start * row:max(rows.start, rows.stop) * row])
            self.assertEqual(bytes(weight[4999]), WEIGHT[-row:])
            self.assertEqual(bytes(weight[-5000]), WEIGHT[:row])
            self.assertEqual(bytes(weight[10:12]), WEIGHT[2400:2880])
            self.assertEqual(bytes(weight[...]), WEIGHT)
            self.assertEqual(memoryview(file["scalar"][()]).tobytes(), struct.pack("<q", -5))
            self.assertEqual(bytes(file["nibbles"][1:]), b"bc")

    def test_iteration(self):
        with planezip.open(self.compress("a.npy", npy("<u2", (3, 2), bytes(range(12))))) as file:
            rows = [(bytes(row), row.shape) for row in file["a.npy"]]
        self.assertEqual(rows, [(bytes(range(4 * i, 4 * i + 4)), (2,)) for i in range(3)])

    def test_rows_that_are_not_there(self):
        with planezip.open(self.model()) as file:
            for i in (5000, -5001):
                with self.assertRaisesRegex(IndexError, f"row {i} of a tensor with 5000 rows"):
                    file["weight"][i]
            with self.assertRaisesRegex(IndexError, "step 2, expected is 1"):
                file["weight"][::2]
            with self.assertRaisesRegex(TypeError, "no dimensions"):
                file["scalar"][0]
            with self.assertRaises(TypeError):
                file["weight"]["a"]

    def test_rows_of_half_a_byte(self):
        raw = self.folder / "r"
        raw.write_bytes(bytes(6))
        program("compress", "-q", "--dtype", "f4", "--shape", "12", str(raw))
        with planezip.open(f"{raw}.pz") as file:
            self.assertEqual(bytes(file["r"].read(2, 6, to="buffer")), bytes(2))
            with self.assertRaisesRegex(ValueError, "rows 1 to 3 have 4 bits each"):
                file["r"].read(1, 3)

    def test_readinto(self):
        with planezip.open(self.model()) as file:
            into = bytearray(1000)
            for start in (0, 1, 4095, len(WEIGHT) - 1000):
                file["weight"].readinto(into, start)
                self.assertEqual(into, WEIGHT[start:start + 1000])
            file["weight"].readinto(memoryview(into)[:0], len(WEIGHT))
            for start in (-1, len(WEIGHT) - 999):
                with self.assertRaisesRegex(ValueError, f"bytes {start} to "):
                    file["weight"].readinto(into, start)
            with self.assertRaises(BufferError):
                file["weight"].readinto(bytes(10))

    def test_fortran_order(self):
        raw = floats(24).tobytes()
        with planezip.open(self.compress("f.npy", npy("<f4", (4, 6), raw, True))) as file:
            self.assertTrue(file["f.npy"].fortran_order)
            tensor = file["f.npy"].read(to="buffer")
            self.assertEqual((bytes(tensor), tensor.shape, tensor.fortran_order),
                             (raw, (4, 6), True))
            with self.assertRaisesRegex(ValueError, "in Fortran order"):
                file["f.npy"][1:2]

    def test_in_memory_and_by_path(self):
        path = self.model()
        for source in (path, str(path), path.read_bytes(), bytearray(path.read_bytes())):
            with planezip.open(source, threads=2) as file:
                self.assertEqual(file["weight"].read(to="buffer"), WEIGHT)

    def test_only_what_is_needed_is_read(self):
        path = self.model()
        with planezip.open(path) as file:
            read, inner = [], file._source.read
            file._source.read = lambda start, view: read.append(len(view)) or inner(start, view)
            file["weight"][100:110]
            self.assertLess(sum(read), 200000)
            self.assertGreater(sum(read), 0)


class Ends(Files):
    def test_closed(self):
        file = planezip.open(self.model())
        bias = file["bias"]
        descriptor = file._source.descriptor
        file.close()
        file.close()
        with self.assertRaises(OSError):
            os.fstat(descriptor)
        with self.assertRaisesRegex(ValueError, "the file is closed"):
            bias.read()
        self.assertEqual((bias.shape, repr(file)), ((7,), "<planezip.File closed>"))

    def test_forgotten_files_are_closed(self):
        file = planezip.open(self.model())
        descriptor, gone = file._source.descriptor, weakref.ref(file)
        del file
        gc.collect()
        self.assertIsNone(gone())
        with self.assertRaises(OSError):
            os.fstat(descriptor)

    def test_errors_of_files(self):
        with self.assertRaises(FileNotFoundError):
            planezip.open(self.folder / "nothing.pz")
        with self.assertRaises(IsADirectoryError):
            planezip.open(self.folder)
        with self.assertRaisesRegex(planezip.PlaneZipError, "PZ_ERR_"):
            planezip.open(self.model().with_suffix(""))
        with self.assertRaises(TypeError):
            planezip.open(3)

    def test_a_failing_open_leaves_nothing_open(self):
        path = self.folder / "bad.pz"
        path.write_bytes(b"bad" * 100)
        before = os.listdir("/proc/self/fd")
        with self.assertRaises(planezip.PlaneZipError):
            planezip.open(path)
        gc.collect()
        self.assertEqual(os.listdir("/proc/self/fd"), before)

    def test_bytes_behind_the_end_or_missing(self):
        path = self.model()
        whole = path.read_bytes()
        for data in whole + b"more", whole[:-100]:
            path.write_bytes(data)
            with self.assertRaises(planezip.PlaneZipError) as caught:
                planezip.open(path)
            self.assertEqual(caught.exception.status, "PZ_ERR_TRUNCATED")
            self.assertIn("was cut off, or has other bytes behind it", caught.exception.text)
            self.assertNotIn("--", str(caught.exception))

    def test_a_file_that_shrinks(self):
        path = self.model()
        with planezip.open(path) as file:
            os.truncate(path, 3000)
            with self.assertRaises(planezip.PlaneZipError) as caught:
                file["weight"].read()
        self.assertEqual(caught.exception.status, "PZ_ERR_TRUNCATED")

    def test_an_exception_while_reading_arrives(self):
        with planezip.open(self.model()) as file:
            def fail(start, view):
                raise OSError(5, "the disk is gone")
            good, file._source.read = file._source.read, fail
            with self.assertRaisesRegex(OSError, "the disk is gone"):
                file["weight"].read()
            file._source.read = good
            self.assertEqual(file["weight"].read(to="buffer"), WEIGHT)

    def test_several_threads(self):
        wrong = []
        with planezip.open(self.model()) as file:
            def work(seed):
                rng = random.Random(seed)
                for _ in range(50):
                    i = rng.randrange(5000)
                    if bytes(file["weight"][i]) != WEIGHT[240 * i:240 * (i + 1)]:
                        wrong.append(i)
            threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(wrong, [])


class Program(Files):
    def test_what_the_package_writes_the_program_reads(self):
        path = self.folder / "w.pz"
        path.write_bytes(planezip.compress(memoryview(WEIGHT).cast("f"), name="w"))
        program("test", "-q", str(path))
        self.assertIn("f32", program("list", str(path)))
        program("decompress", "-q", "-o", f"{path}.raw", str(path))
        self.assertEqual(Path(f"{path}.raw").read_bytes(), WEIGHT)

    def test_its_version_and_status(self):
        self.assertEqual(program("--version"), f"planezip {planezip.__version__}\n")
        result = subprocess.run([sys.executable, "-m", "planezip", "nonsense"], capture_output=True)
        self.assertEqual(result.returncode, 2)


if __name__ == "__main__":
    unittest.main()
