"""The host tier: tensors of a device, which a driver plays that PZ_MOCK_CUDA names: its memory is
the process's, and nothing that it is asked for happens before somebody waits."""
import os
import unittest
from unittest import mock

from planezip import PlaneZipError
from planezip._engine import Device, Engine, Pool
from planezip._memory import WRITABLE, address_of
from support import floats, needs, optional

torch = optional("torch")
if torch:
    import planezip.torch
    import test_offload
    from planezip.torch._offload import _store
    from planezip.torch._offload._device import Played, memory_of

DRIVER = os.environ.get("PZ_MOCK_CUDA")
played = unittest.skipUnless(DRIVER, "PZ_MOCK_CUDA names no driver that plays a device")


@played
class Engines(unittest.TestCase):
    def setUp(self):
        self.device = Device(driver=DRIVER)
        self.pool = Pool(1 << 20, chunk=4096, device=self.device)
        self.engine = Engine("host", pool=self.pool, device=self.device, segment=65536, groups=2,
                             bypass="never")
        self.data = memoryview(floats(50000)).cast("B")

    def tearDown(self):
        self.engine.close()
        self.pool.close()
        self.device.close()

    def test_there_and_back(self):
        swap = self.engine.out(address_of(self.data), self.data.nbytes, "f32", keep=self.data)
        self.assertFalse(swap.done)
        swap.wait()
        self.assertEqual(self.pool.stats()["pinned_bytes"], self.pool.stats()["mapped_bytes"])
        self.assertLess(swap.stats()["coded_bytes"], self.data.nbytes)
        back = memoryview(bytearray(self.data.nbytes))
        self.assertTrue(swap.into(address_of(back, WRITABLE), keep=back))
        swap.join(None)
        swap.wait()
        self.assertEqual(back, self.data)

    def test_not_out_yet(self):
        swap = self.engine.out(address_of(self.data), self.data.nbytes, "f32", keep=self.data)
        back = memoryview(bytearray(self.data.nbytes))
        self.assertFalse(swap.into(address_of(back, WRITABLE), wait=False, keep=back))
        swap.free() # what is on its way there stays until it has ended
        self.engine.wait()
        self.assertEqual(self.pool.stats()["used_bytes"], 0)

    def test_memory_that_is_written_is_held(self):
        swap = self.engine.out(address_of(self.data), self.data.nbytes, "f32", keep=self.data)
        swap.wait()
        back = memoryview(bytearray(self.data.nbytes))
        swap.into(address_of(back, WRITABLE), keep=back)
        swap.free()
        self.assertEqual(back, self.data)

    def test_no_driver(self):
        with self.assertRaises((PlaneZipError, OSError)) as raised:
            Device(driver="libnone.so.1")
        self.assertIn("libnone.so.1", str(raised.exception))


def coding(*args, **options):
    """An engine that leaves nothing uncoded: the device that is played is slower than any link."""
    return Engine(*args, **{**options, "bypass": "never"})


if torch:
    class OnDevice:
        """PyTorch computes on the CPU, so it is the host that waits for the device."""
        def setUp(self):
            super().setUp()
            patch = mock.patch.object(_store, "Engine", coding)
            patch.start()
            self.addCleanup(patch.stop)

        def offload(self, model=None, budget="60%", **options):
            if not {"tier", "link"} & options.keys():
                options.update(tier="host", device=Played(DRIVER))
            return super().offload(model, budget, **options)

    @played
    class Autograd(OnDevice, test_offload.Autograd):
        """All that autograd does."""

    @played
    class Tensors(OnDevice, test_offload.Tensors):
        """All kinds of tensors."""

    @played
    class Training(OnDevice, test_offload.Case):
        def test_budgets(self):
            for budget in ("70%", "50%", "30%"):
                with self.subTest(budget=budget):
                    around = self.check_same(budget=budget)
                    stats = around.stats()
                    self.assertGreater(stats["engine"]["directions"]["in"]["transfers"], 8)
                    self.assertEqual(stats["engine"]["directions"]["in"]["failed"], 0)
                    self.assertEqual(stats["pool"]["pinned_bytes"], stats["pool"]["mapped_bytes"])

        def test_swap(self):
            around = self.check_same(plan="swap")
            report = around.report()
            self.assertGreater(report.seen["swapped"], 0)
            self.assertLess(report.coded_bytes, report.swapped_bytes)
            self.assertIn("swapped to host at ratio", str(report))

        def test_source_is_held_until_it_is_read(self):
            """Without that something else is swapped."""
            def join(self, swap, stream):
                if swap.target is not None:
                    swap.wait()

            with mock.patch.object(Played, "join", join), self.assertRaises(AssertionError):
                self.check_same(plan="swap")

        def test_peak_is_within_the_budget(self):
            model, step = test_offload.Peaks.steps(self)
            around = self.offload(model, "50%", groups=2)
            run = around(step)
            run(), run()
            peak = test_offload.peak_bytes(run)
            self.assertEqual(around.report().problems, ())
            self.assertGreater(around.report().seen["swapped"], 0)
            self.assertLess(peak, 1.05 * around.report().budget_bytes)

        def test_no_room(self):
            around = self.offload(host_budget=65536, plan="swap")
            with self.assertLogs("planezip", "WARNING") as logs:
                for number in range(3):
                    with around:
                        test_offload.simple(self.model(), number)
            self.assertEqual(sum("stays in memory" in line for line in logs.output), 1)
            self.assertGreater(around.stats()["refused"], 1)

        def model(self):
            return test_offload.mixture()

        def test_damage_is_told(self):
            around = self.offload(model := self.model(), plan="swap")
            with around:
                test_offload.simple(model, 0)
            stats = around.store.engine.stats()
            stats["directions"]["in"]["failed"] += 1
            with mock.patch.object(around.store.engine, "stats", lambda: stats), \
                    self.assertRaisesRegex(RuntimeError, "came back damaged"), around:
                pass

    @needs(torch, "torch")
    class Options(unittest.TestCase):
        def test_where_there_is_no_device(self):
            if torch.cuda.is_available():
                self.skipTest("there is one")
            with self.assertRaisesRegex(RuntimeError, "needs a CUDA device"):
                planezip.torch.offload(tier="host")
            with self.assertRaisesRegex(ValueError, "take tier 'memory' on the CPU"):
                memory_of("host", "cpu", None)
            with self.assertRaisesRegex(ValueError, "leave out link"):
                planezip.torch.offload(tier="host", link="1GB/s")
            with self.assertRaisesRegex(ValueError, "leave out device"):
                memory_of("memory", "cuda", None)
