"""planezip.ibp: tables and packed rows, with plain memory, NumPy and torch."""
import copy
import os
import pickle
import random
import subprocess
import sys
import tempfile
import threading
import unittest
from array import array
from pathlib import Path

import planezip
from planezip import ibp
from support import floats, needs, optional

numpy, torch = optional("numpy"), optional("torch")
COLUMNS = 60


def plain_rows(count, dtype="f32", columns=COLUMNS):
    """Rows near one another without NumPy, as a Tensor."""
    raw = floats(count * columns).tobytes()
    size = {"u8": 1, "bf16": 2, "f32": 4, "f64": 8}[dtype]
    raw = b"".join(raw[at + 4 - min(size, 4):at + 4] * max(size // 4, 1)
                   for at in range(0, len(raw), 4))
    return planezip.Tensor(raw, dtype, (count, columns))


class Rows(unittest.TestCase):
    def setUp(self):
        self.raw = plain_rows(500)
        self.table = ibp.Table.learn(self.raw)

    def row(self, k):
        size = self.table.row_bytes
        return bytes(self.raw[k * size:(k + 1) * size])

    def test_every_width(self):
        for dtype in ("u8", "bf16", "f32", "f64"):
            raw = plain_rows(300, dtype)
            table = ibp.Table.learn(raw)
            for layout in ibp.LAYOUTS:
                for threads in (1, 3):
                    rows = table.pack(raw, layout=layout, threads=threads)
                    back = rows.unpack(to="buffer", threads=threads)
                    self.assertEqual((bytes(back), back.dtype, back.shape),
                                     (bytes(raw), dtype, (300, COLUMNS)))
            self.assertGreater(table.measure(raw).saved, 0)

    def test_fetch(self):
        for layout in ibp.LAYOUTS:
            rows = self.table.pack(self.raw, layout=layout)
            found = rows.fetch([499, 0, 7, 7], to="buffer")
            self.assertEqual(found.shape, (4, COLUMNS))
            self.assertEqual(bytes(found), b"".join(map(self.row, (499, 0, 7, 7))))
            self.assertEqual(bytes(rows.fetch(array("B", [3]), to="buffer")), self.row(3))
            self.assertEqual(bytes(rows.fetch(range(2), to="buffer")), self.row(0) + self.row(1))
            self.assertEqual(rows.fetch([], to="buffer").shape, (0, COLUMNS))
            self.assertEqual(bytes(rows.unpack(5, 2, to="buffer")), self.row(5) + self.row(6))
            self.assertEqual(bytes(rows.unpack(498, to="buffer")), self.row(498) + self.row(499))

    def test_append_and_update(self):
        size = self.table.row_bytes
        for layout in ibp.LAYOUTS:
            rows = self.table.pack(planezip.Tensor(self.raw[:3 * size], "f32", (3, COLUMNS)),
                                   layout=layout)
            for at in (*range(3, 40), 40):
                rest = self.raw[at * size:(at + 1) * size if at < 40 else len(self.raw)]
                rows.append(planezip.Tensor(rest, "f32", (len(rest) // size, COLUMNS)))
            self.assertEqual((len(rows), rows.shape), (500, (500,)))
            self.assertEqual(bytes(rows.unpack(to="buffer")), bytes(self.raw))
        rows.update(8, planezip.Tensor(bytes(2 * size), "f32", (2, COLUMNS)))
        self.assertEqual(bytes(rows.unpack(7, 4, to="buffer")),
                         self.row(7) + bytes(2 * size) + self.row(10))
        with self.assertRaisesRegex(ValueError, "condensed"):
            self.table.pack(self.raw).update(0, self.raw)
        with self.assertRaisesRegex(IndexError, "rows 499 to 501 of 500"):
            rows.update(499, planezip.Tensor(bytes(2 * size), "f32", (2, COLUMNS)))

    def test_a_fetch_while_rows_are_appended(self):
        size, part = self.table.row_bytes, 20
        for layout in ibp.LAYOUTS:
            wrong = []
            rows = self.table.pack(planezip.Tensor(self.raw[:size], "f32", (1, COLUMNS)),
                                   layout=layout)

            def look(rows=rows, wrong=wrong):
                while len(rows) < 500:
                    count = len(rows)
                    if bytes(rows.unpack(0, count, to="buffer")) != bytes(self.raw[:count * size]):
                        wrong.append(count)

            looking = threading.Thread(target=look)
            looking.start()
            for at in range(1, 500, part):
                end = min(at + part, 500)
                rows.append(planezip.Tensor(self.raw[at * size:end * size], "f32",
                                            (end - at, COLUMNS)))
            looking.join()
            self.assertEqual(wrong, [])

    def test_out(self):
        rows = self.table.pack(self.raw)
        out = planezip.Tensor(bytes(2 * self.table.row_bytes), "f32", (2, COLUMNS))
        self.assertIs(rows.fetch([1, 2], out=out), out)
        self.assertEqual(bytes(out), self.row(1) + self.row(2))
        with self.assertRaisesRegex(ValueError, r"out is f32 \(2, 60\), expected is f32 \(3, 60\)"):
            rows.fetch([1, 2, 3], out=out)

    def test_pickles_and_copies(self):
        for layout in ibp.LAYOUTS:
            rows = self.table.pack(self.raw, layout=layout)
            for again in (pickle.loads(pickle.dumps(rows)), copy.deepcopy(rows)):
                self.assertEqual(bytes(again.unpack(to="buffer")), bytes(self.raw))
                again.append(self.raw)
                self.assertEqual((len(again), len(rows)), (1000, 500))
            self.assertEqual(bytes(again.unpack(500, to="buffer")), bytes(self.raw))

    def test_damage_is_told_with_its_row(self):
        rows = self.table.pack(self.raw)
        rows.stored.places[8 * 7:8 * 8] = b"\xff" * 8
        with self.assertRaises(planezip.PlaneZipError) as caught:
            rows.unpack(to="buffer")
        self.assertEqual((caught.exception.status, caught.exception.where),
                         ("PZ_ERR_RANGE", "row 6"))

    def test_what_is_refused(self):
        rows = self.table.pack(self.raw)
        for index, text in (([500], "row 500, but there are 500 rows"), ([-1], "row -1, but")):
            with self.assertRaisesRegex(IndexError, text):
                rows.fetch(index)
        for first, count in ((501, None), (-1, None), (0, 501), (5, -1)):
            with self.assertRaises(IndexError):
                rows.unpack(first, count)
        with self.assertRaisesRegex(TypeError, "elements of f32, expected are integers"):
            rows.fetch(self.raw)
        for call in (lambda: rows.unpack(1.5, 2), lambda: rows.unpack(1, 2.0),
                     lambda: self.table.pack(self.raw, layout="slots").update(1.0, self.raw)):
            with self.assertRaisesRegex(TypeError, "as an integer"):
                call()
        for text, call in (
                ("layout is 'packed'; known are condensed, slots",
                 lambda: self.table.pack(self.raw, layout="packed")),
                ("the rows have 60 elements of f64, those of the table 60 of 32 bits",
                 lambda: self.table.pack(plain_rows(3, "f64"))),
                ("the rows have 30 elements of f32",
                 lambda: self.table.pack(plain_rows(3, "f32", 30))),
                ("the rows are u32, those that are packed f32",
                 lambda: rows.append(self.raw, "u32")),
                ("elements of c128, expected are elements of 8, 16, 32 or 64 bits",
                 lambda: ibp.Table.learn(bytes(32), "c128")),
                ("there are no rows to learn from",
                 lambda: ibp.Table.learn(planezip.Tensor(b"", "f32", (0, 4)))),
                ("a row has 0 elements", lambda: ibp.Table.learn(b"")),
                ("a group is a power of two", lambda: ibp.Table.learn(self.raw, group=16)),
                ("group is 4294967360, expected is 0 to 512",
                 lambda: ibp.Table.learn(self.raw, group=(1 << 32) + 64)),
                ("sample_bytes is 18446744073709551616",
                 lambda: ibp.Table.learn(self.raw, sample_bytes=1 << 64)),
                ("sample_bytes is -1", lambda: ibp.Table.learn(self.raw, sample_bytes=-1)),
                ("columns is 18446744073709551656",
                 lambda: ibp.Learner("f32", (1 << 64) + 40)),
                ("a threshold above 0.5",
                 lambda: ibp.Table.learn(self.raw, threshold=0.5))):
            with self.assertRaisesRegex(ValueError, text):
                call()


class Tables(unittest.TestCase):
    def test_of_the_program(self):
        raw = plain_rows(400)
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "rows").write_bytes(raw)
            subprocess.run([sys.executable, "-m", "planezip", "ibp", "learn", "-d", "f32", "-c",
                            str(COLUMNS), "-o", f"{folder}/table", f"{folder}/rows"], check=True)
            table = ibp.Table.load(f"{folder}/table")
            ibp.Table.learn(raw).save(Path(folder, "again"))
            self.assertEqual(sorted(os.listdir(folder)), ["again", "rows", "table"])
            self.assertEqual(Path(folder, "again").read_bytes(),
                             Path(folder, "table").read_bytes())
        self.assertEqual((table.width, table.columns, table.row_bytes), (32, COLUMNS, 240))

    def test_saved_where_something_is(self):
        table = ibp.Table.learn(plain_rows(400))
        with tempfile.TemporaryDirectory() as folder:
            target, link, pipe = (Path(folder, name) for name in ("target", "link", "pipe"))
            target.write_bytes(b"old")
            target.chmod(0o640)
            link.symlink_to("target")
            table.save(link)
            self.assertTrue(link.is_symlink())
            self.assertEqual((target.read_bytes(), target.stat().st_mode & 0o777),
                             (bytes(table), 0o640))
            os.mkfifo(pipe)
            reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            table.save(os.fsencode(pipe))
            self.assertEqual(os.read(reader, 1 << 20), bytes(table))
            os.close(reader)
            self.assertTrue(pipe.is_fifo())
            for wrong, error in ((folder, IsADirectoryError), ("", FileNotFoundError),
                                 (f"{folder}/new/", IsADirectoryError), (1, TypeError)):
                with self.assertRaises(error):
                    table.save(wrong)
            missing = f"{folder}/none/table"
            with self.assertRaises(FileNotFoundError) as caught:
                table.save(missing)
            self.assertEqual(caught.exception.filename, missing)
            self.assertEqual(sorted(os.listdir(folder)), ["link", "pipe", "target"])

    def test_what_would_crash(self):
        learner = ibp.Learner("f32", COLUMNS)
        for copied in (copy.copy, copy.deepcopy, pickle.dumps):
            with self.assertRaisesRegex(TypeError, "a learner cannot be copied"):
                copied(learner)
        for handle in (None, 0, 1):
            with self.assertRaisesRegex(TypeError, "tables are made by"):
                ibp.Table(handle)

    def test_masks_and_values(self):
        rng = random.Random(4)
        raw = b"".join(bytes((rng.randrange(256), 0xa0 | rng.randrange(16))) for _ in range(4000))
        table = ibp.Table.learn(planezip.Tensor(raw, "u16", (1000, 4)), group=64)
        self.assertEqual(table.masks, b"\x00\xf0" * 4)
        self.assertEqual(table.values, b"\x00\xa0" * 4)
        self.assertEqual((table.group, table.invariant), (64, 0.25))
        self.assertEqual(table.measure(planezip.Tensor(raw, "u16", (1000, 4))).saved, 1 / 8)

    def test_learned_in_parts(self):
        raw = plain_rows(900)
        learner = ibp.Learner("f32", COLUMNS, sample_bytes=1 << 14)
        for at in range(0, 900, 90):
            learner.add(planezip.Tensor(raw[at * 240:(at + 90) * 240], "f32", (90, COLUMNS)))
        self.assertEqual(bytes(learner.table()),
                         bytes(ibp.Table.learn(raw, sample_bytes=1 << 14)))
        with self.assertRaisesRegex(ValueError, "60 elements of f64, those before 60 of f32"):
            learner.add(plain_rows(3, "f64"))

    def test_measured_is_packed(self):
        raw = plain_rows(500)
        table = ibp.Table.learn(raw)
        measured = table.measure(raw)
        self.assertEqual((measured.rows, measured.raw_bytes), (500, 500 * 240))
        self.assertEqual(table.pack(raw).nbytes, measured.packed_bytes + 8 * 501)

    def test_damaged(self):
        stored = bytearray(bytes(ibp.Table.learn(plain_rows(99))))
        stored[60] ^= 1
        with self.assertRaisesRegex(planezip.PlaneZipError, "checksum.*PZ_ERR_CHECK"):
            ibp.Table.of_bytes(stored)
        with self.assertRaisesRegex(planezip.PlaneZipError, "ends within"):
            ibp.Table.of_bytes(b"")

    def test_pickles(self):
        table = ibp.Table.learn(plain_rows(99))
        self.assertEqual(bytes(pickle.loads(pickle.dumps(table))), bytes(table))


@needs(numpy, "numpy")
class Arrays(unittest.TestCase):
    def test_numpy(self):
        rng = numpy.random.default_rng(1)
        for dtype in ("uint8", "int16", "float16", "float32", "int32", "int64", "float64",
                      "complex64"):
            raw = rng.normal(20, 2, (6, 50, 24)).astype(dtype)
            table = ibp.Table.learn(raw)
            rows = table.pack(raw)
            back = rows.unpack()
            self.assertEqual((back.dtype, back.shape), (raw.dtype, raw.shape))
            self.assertTrue((back == raw).all())
            index = rng.integers(0, 300, (3, 5))
            for kind in ("int64", "int32", "uint16", "uint64"):
                found = rows.fetch(index.astype(kind))
                self.assertTrue((found == raw.reshape(300, 24)[index]).all())
        out = numpy.empty((3, 5, 24), "complex64")
        self.assertIs(rows.fetch(index[:, ::-1], out=out), out)
        self.assertTrue((out == raw.reshape(300, 24)[index[:, ::-1]]).all())

    def test_out_that_cannot_be_written_to(self):
        raw = numpy.ones((40, 8), "float32")
        rows = ibp.Table.learn(raw).pack(raw)
        for out in (numpy.empty((8, 40), "float32").T, numpy.broadcast_to(raw[:1], (40, 8))):
            with self.assertRaisesRegex(ValueError, "out cannot be written to"):
                rows.unpack(out=out)

    def test_mapped(self):
        with tempfile.TemporaryDirectory() as folder:
            raw = numpy.random.default_rng(2).normal(1, 0.1, (2000, 32)).astype("float32")
            numpy.save(f"{folder}/rows.npy", raw)
            mapped = numpy.load(f"{folder}/rows.npy", mmap_mode="r")
            rows = ibp.Table.learn(mapped).pack(mapped)
            self.assertTrue((rows.unpack(to="numpy") == raw).all())
            del mapped


@needs(torch, "torch")
class Tensors(unittest.TestCase):
    def test_torch(self):
        torch.manual_seed(1)
        for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64, torch.int8,
                      torch.float8_e4m3fn):
            raw = (torch.randn(4, 90, 48) / 16 + 3).to(dtype)
            rows = ibp.Table.learn(raw).pack(raw)
            back = rows.unpack()
            self.assertEqual((type(back), back.dtype, back.shape), (torch.Tensor, dtype, raw.shape))
            self.assertTrue(torch.equal(back.view(torch.uint8), raw.view(torch.uint8)))
            for kind in (torch.int64, torch.int32):
                index = torch.randint(0, 360, (7, 3)).to(kind)
                self.assertTrue(torch.equal(rows.fetch(index).view(torch.uint8),
                                            raw.reshape(360, 48)[index.long()].view(torch.uint8)))
        out = torch.empty(7, 3, 48, dtype=dtype)
        self.assertIs(rows.fetch(index, out=out), out)
        with self.assertRaisesRegex(ValueError, "out cannot be written to"):
            rows.fetch(index, out=torch.empty(3, 7, 48, dtype=dtype).transpose(0, 1))

    def test_out_under_autograd(self):
        raw = torch.randn(40, 8)
        rows = ibp.Table.learn(raw).pack(raw)
        weight, out = torch.randn(40, 8, requires_grad=True), torch.randn(40, 8)
        product = (weight * out).sum()
        rows.unpack(out=out)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            product.backward()
        for call in (lambda: rows.unpack(out=weight),
                     lambda: rows.fetch(range(40), out=weight * 2)):
            with self.assertRaisesRegex(ValueError, "out requires a gradient"):
                call()
        with torch.no_grad():
            rows.unpack(out=weight)
        self.assertTrue(torch.equal(weight, raw))
        with torch.inference_mode():
            self.assertTrue(torch.equal(rows.unpack(out=torch.empty(40, 8)), raw))


if __name__ == "__main__":
    unittest.main()
