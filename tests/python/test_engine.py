"""Pools and engines through the package's private binding."""
import array
import gc
import os
import select
import tempfile
import threading
import unittest
import weakref

from planezip import PlaneZipError
from planezip._engine import Engine, Pool
from planezip._memory import WRITABLE, address_of
from support import floats, needs, optional

numpy = optional("numpy")


class Engines(unittest.TestCase):
    def setUp(self):
        self.data = floats(100000)
        self.pool = Pool(1 << 20, chunk=4096)

    def tearDown(self):
        gc.collect()
        self.assertEqual(self.pool.stats()["used_bytes"], 0)
        self.pool.close()

    def out(self, engine, data=None, **options):
        view = memoryview(self.data if data is None else data).cast("B")
        return engine.out(address_of(view), view.nbytes, "f32", keep=view, **options)

    def check_in(self, swap, data=None):
        data = self.data if data is None else data
        back = bytearray(len(data) * data.itemsize)
        view = memoryview(back)
        self.assertTrue(swap.into(address_of(view, WRITABLE), keep=view))
        swap.wait()
        self.assertEqual(back, data.tobytes())


class Tiers(Engines):
    def test_memory(self):
        engine = Engine("memory", pool=self.pool, segment=16384)
        swap = self.out(engine, token=7)
        self.check_in(swap)
        self.check_in(swap)
        stats = swap.stats()
        self.assertEqual((stats["token"], stats["raw_bytes"], stats["swapped_in"]), (7, 400000, 2))
        self.assertLess(stats["coded_bytes"], 400000)
        used = self.pool.stats()["used_bytes"]
        self.assertEqual(used, -(-stats["coded_bytes"] // 4096) * 4096)
        self.assertEqual(engine.stats()["directions"]["in"]["transfers"], 2)
        swap.free()
        self.assertEqual(self.pool.stats()["used_bytes"], 0)
        self.pool.trim()
        self.assertEqual(self.pool.stats()["mapped_bytes"], 0)
        engine.close()

    def test_disk(self):
        with tempfile.TemporaryDirectory() as folder:
            engine = Engine("disk", directory=folder, codec="planezip")
            swaps = [self.out(engine, token=i) for i in range(5)]
            for swap in swaps:
                self.check_in(swap)
            self.assertEqual(os.listdir(folder), [])
            engine.close()

    def test_full(self):
        engine = Engine("memory", pool=self.pool, bypass="always")
        swaps = [self.out(engine) for _ in range(3)]
        swaps[1].wait()
        with self.assertRaisesRegex(PlaneZipError, "the storage is full.*PZ_ERR_FULL"):
            swaps[2].wait()
        with (self.assertLogs("planezip", "WARNING") as logged,
              self.assertRaisesRegex(PlaneZipError, "PZ_ERR_BUSY")):
            self.pool.close()
        self.assertRegex(logged.output[0], "not freed: 196 chunks of 4096 bytes are out")
        engine.close()

    def test_no_folder(self):
        with self.assertRaisesRegex(PlaneZipError, "no file can be made there") as caught:
            Engine("disk", directory="/no/such/folder")
        self.assertEqual(caught.exception.where, "/no/such/folder")

    def test_pool_that_cannot_be(self):
        with self.assertRaisesRegex(PlaneZipError, "PZ_ERR_ARGUMENT"):
            Pool(10)

    @needs(numpy, "numpy")
    def test_numpy(self):
        engine = Engine("memory", pool=self.pool)
        source = numpy.linspace(0, 1, 50000, dtype=numpy.float32)
        target = numpy.empty_like(source)
        swap = engine.out(source.ctypes.data, source.nbytes, "float32", keep=source)
        swap.into(target.ctypes.data, keep=target)
        swap.wait()
        self.assertTrue((source == target).all())
        engine.close()


class Lives(Engines):
    def test_sources_live_until_they_are_out(self):
        class Source(array.array):
            """One that can be watched."""

        engine = Engine("memory", pool=self.pool)
        data = Source("f", self.data)
        alive = weakref.ref(data)
        swap = self.out(engine, data)
        del data
        self.assertIsNotNone(alive())
        swap.wait()
        self.assertIsNone(alive())
        self.check_in(swap)
        engine.close()

    def test_cancel(self):
        engine = Engine("memory", pool=self.pool, link=(1000, 0), queue=(500000, 0))
        swap = self.out(engine)
        self.assertFalse(swap.done)
        self.assertIsNone(self.out(engine, wait=False))
        self.assertTrue(swap.cancel())
        self.assertTrue(swap.done)
        with self.assertRaisesRegex(PlaneZipError, "PZ_ERR_CANCELLED"):
            swap.wait()
        self.assertEqual(engine.stats()["directions"]["out"]["link_bps"], 1000)
        self.out(engine) # freed at once, in the middle
        engine.close()
        swap.free()

    def test_event(self):
        engine = Engine("memory", pool=self.pool, event=True)
        swap = self.out(engine)
        self.assertEqual(select.select([engine.event], [], [], 60)[0], [engine.event])
        self.assertTrue(swap.done)
        engine.wait()
        engine.close()

    def test_the_interpreter_runs_meanwhile(self):
        engine = Engine("memory", pool=self.pool, link=(2e6, 0))
        swap, turns = self.out(engine), 0
        waiter = threading.Thread(target=swap.wait)
        waiter.start()
        while waiter.is_alive():
            turns += 1
        self.assertGreater(turns, 10)
        self.check_in(swap)
        engine.close()


if __name__ == "__main__":
    unittest.main()
