"""planezip.torch.offload() on real and on random models: training within a budget leaves the same
losses, parameters, gradients and random numbers, to the last bit; and what happens when a tier is
full, a process dies, or several train together.

PZ_RANDOM_MODELS: which random models, as 20, the default, for the first ones, or as 100-200.
"""
import contextlib
import gc
import itertools
import os
import resource
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest
import warnings
from collections import Counter
from pathlib import Path

from support import needs, optional

torch = optional("torch")
ready = torch and optional("torchvision") and optional("transformers")
if ready:
    import planezip.torch
    import random_models
    import training

BUDGETS = ("70%", "50%", "30%")
TIERS = ("memory", "disk")
STEPS = 20


def random_seeds():
    """Of the random models that are wanted."""
    first, _, end = os.environ.get("PZ_RANDOM_MODELS", "20").rpartition("-")
    return range(int(first or 0), int(end))


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def offload(self, model, tier="memory", **options):
        """An offload without a line in the log, closed at the end of the test."""
        options.setdefault("log", False)
        made = planezip.torch.offload(
            model, tier=tier, directory=self.folder if tier == "disk" else None, **options)
        self.addCleanup(made.close)
        return made

    def python(self, program, *arguments, **options):
        """A process that runs a program in Python with this one's modules."""
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)),
                           OMP_NUM_THREADS="1")
        return subprocess.Popen([sys.executable, "-c", textwrap.dedent(program), *arguments],
                                env=environment, text=True, **options)


@needs(ready, "torch with torchvision and transformers")
class Models(Case):
    def check(self, name):
        """Budgets and tiers beside one plain training; the last ones swap, or drop, all that they
        can."""
        task = training.TASKS[name]
        plain = training.train(task, STEPS)
        for budget, tier, plan in (*itertools.product(BUDGETS, TIERS, ("auto",)),
                                   *itertools.product(BUDGETS[:1], TIERS, ("swap",)),
                                   (BUDGETS[0], "memory", "drop")):
            with self.subTest(budget=budget, tier=tier, plan=plan):
                self.check_one(task, plain, budget=budget, tier=tier, plan=plan)

    def check_one(self, task, plain, **options):
        made = []

        def wrap(model):
            made.append(self.offload(model, **options))
            return made[0]

        within = training.train(task, STEPS, wrap)
        self.assertEqual(within.differences(plain), [])
        self.check_moved(made[0].report().seen, options["plan"])
        made[0].close()

    def check_moved(self, seen, plan):
        """That the last step did what its plan is for."""
        swapped, dropped = seen.get("swapped", 0), seen.get("dropped", 0)
        moved = {"swap": swapped, "drop": dropped, "auto": swapped + dropped}[plan]
        self.assertGreater(moved, 5, seen)

    def test_resnet50(self):
        self.check("resnet50")

    def test_vit(self):
        self.check("vit")

    def test_gpt2(self):
        self.check("gpt2")

    def test_unet(self):
        self.check("unet")


@needs(ready, "torch with torchvision and transformers")
class RandomModels(Case):
    """Each with a budget, a tier, a codec and a way to train of its own."""
    def options(self, seed):
        codec = ("planezip2", "planezip", None)[seed // 6 % 3]
        return {"budget": BUDGETS[seed % 3], "tier": TIERS[seed // 3 % 2], "codec": codec,
                "plan": ("auto", "auto", "swap", "drop")[seed // 4 % 4], "seed": seed}

    def train(self, seed, within):
        """Losses, gradients, buffers and where the generator stands, after some steps."""
        torch.manual_seed(seed)
        model = random_models.RandomModel(seed).train()
        batch = random_models.batch_of(model).requires_grad_()
        offload = self.offload(model, **self.options(seed)) if within else None
        step = (self.accumulated, self.twice_forward, self.twice_backward, self.plain)[seed % 4]
        losses = []
        for i in range(5):
            run = offload(step) if offload else step
            losses.append(run(model, batch))
            if i == 2: # what does not train, between steps
                model.eval()(batch.detach())
                model.train()
        if offload:
            self.moved.update({(self.options(seed)["plan"], what): count
                               for what, count in offload.report().seen.items()})
            offload.close()
        return [*losses, *model.buffers(), batch.grad, torch.get_rng_state(),
                *(p.grad for p in model.parameters() if p.grad is not None)]

    @staticmethod
    def plain(model, batch):
        loss = model(batch)
        loss.backward()
        return loss.detach()

    @staticmethod
    def accumulated(model, batch):
        return RandomModels.plain(model, batch) + RandomModels.plain(model, batch * 0.5)

    @staticmethod
    def twice_forward(model, batch):
        one, two = model(batch), model(batch * 0.5)
        (one + two).backward()
        return one.detach()

    @staticmethod
    def twice_backward(model, batch):
        loss = model(batch)
        loss.backward(retain_graph=True)
        loss.backward()
        return loss.detach()

    def test_the_same_bits(self):
        self.moved = Counter() # tensors by plan and by what happened to them
        for seed in random_seeds():
            with self.subTest(seed=seed):
                plain, within = self.train(seed, False), self.train(seed, True)
                self.assertEqual(len(plain), len(within))
                self.assertEqual([i for i, (one, two) in enumerate(zip(plain, within))
                                  if not training.same(one, two)], [])
        for plan in {self.options(seed)["plan"] for seed in random_seeds()}:
            self.assertGreater(self.moved[plan, "swapped"], 0)
            if plan == "drop":
                self.assertGreater(self.moved[plan, "dropped"], 0)


def perceptron(layers=6):
    return torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU())
                                 for _ in range(layers)))


def steps_of(model, step, count):
    """Losses of some steps on the same batch, each with gradients of its own."""
    batch, losses = torch.ones(64, 256), []
    for _ in range(count):
        model.zero_grad()
        losses.append(step(model, batch))
    return losses


def step_of_squares(model, batch):
    loss = model(batch).square().mean()
    loss.backward()
    return loss.detach()


@needs(ready, "torch with torchvision and transformers")
class Failures(Case):
    """A tier without room keeps tensors, and a step that has failed can be tried again."""
    def check_same(self, offload, model):
        wanted = steps_of(model, step_of_squares, 1)[0]
        gradient = model[0][0].weight.grad.clone()
        for loss in steps_of(model, offload(step_of_squares), 4):
            self.assertTrue(training.same(loss, wanted))
        self.assertTrue(training.same(model[0][0].weight.grad, gradient))

    def test_host_budget_exhausted(self):
        model = perceptron()
        offload = self.offload(model, budget="30%", plan="swap", host_budget="128KiB", codec=None)
        self.check_same(offload, model)
        self.assertLessEqual(offload.stats()["pool"]["peak_bytes"], 128 << 10)
        self.assertGreater(offload.stats()["engine"]["directions"]["out"]["failed"], 0)

    def test_disk_full(self):
        model = perceptron()
        offload = self.offload(model, "disk", budget="30%", plan="swap")
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 17, before[1]))
        try:
            self.check_same(offload, model)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        failed = offload.stats()["engine"]["directions"]["out"]["failed"]
        self.assertGreater(failed, 0)
        self.check_same(offload, model) # there is room again
        self.assertEqual(offload.stats()["engine"]["directions"]["out"]["failed"], failed)

    def test_a_step_that_failed_can_be_retried(self):
        model = perceptron()
        offload = self.offload(model, "disk", budget="30%", plan="swap")

        def fails(model, batch):
            model(batch)
            raise ArithmeticError("in the middle")

        for _ in range(3):
            with self.assertRaisesRegex(ArithmeticError, "in the middle"):
                steps_of(model, offload(fails), 1)
            self.check_same(offload, model)

    def test_killed_in_the_middle_of_a_step(self):
        """Nothing is left in the directory, where there was a file without a name."""
        child = self.python("""
            import sys, time
            import torch, planezip.torch
            from test_offload_models import perceptron
            model = perceptron()
            offload = planezip.torch.offload(model, "1MiB", tier="disk", directory=sys.argv[1],
                                             plan="swap")
            with offload:
                loss = model(torch.ones(64, 256)).sum()
                offload.store.engine.wait()
                print(offload.stats()["engine"]["disk_bytes"], flush=True)
                time.sleep(600)
            """, str(self.folder), stdout=subprocess.PIPE)
        with child:
            self.assertGreater(int(child.stdout.readline()), 0)
            files = [os.readlink(path) for path in Path(f"/proc/{child.pid}/fd").iterdir()]
            self.assertTrue([name for name in files if name.startswith(str(self.folder))])
            child.send_signal(signal.SIGKILL)
        self.assertEqual(child.returncode, -signal.SIGKILL)
        self.assertEqual(list(self.folder.iterdir()), [])


def resident_bytes():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


@needs(ready, "torch with torchvision and transformers")
class Order(Case):
    """Backward passes come when they like."""
    def check(self, run):
        """Losses and gradients with plans of all kinds, beside those of plain training.
        run(model, batch, around): a step, with a context somewhere in it."""
        plain = self.train(run, contextlib.nullcontext())
        for options in ({"plan": "swap"}, {"plan": "drop"}, {"budget": "60%"}):
            with self.subTest(**options):
                around = self.offload(None, **options)
                within = self.train(run, around)
                self.assertTrue(all(map(training.same, plain, within)))
                self.assertEqual(around.stats()["engine"]["swaps"], 0)

    def train(self, run, around):
        torch.manual_seed(1)
        model, found = perceptron(3), []
        for _ in range(4):
            model.zero_grad()
            found += run(model, torch.randn(64, 256), around)
            found += [parameter.grad.clone() for parameter in model.parameters()]
        return found

    def test_after_the_step(self):
        def run(model, batch, around):
            with around:
                loss = model(batch).square().sum()
            loss.backward()
            return [loss.detach()]
        self.check(run)

    def test_in_the_next_step(self):
        def run(model, batch, around):
            with around:
                loss = model(batch).square().sum()
            with around:
                other = model(batch[:8]).square().sum()
                loss.backward()
                other.backward()
            return [loss.detach(), other.detach()]
        self.check(run)

    def test_passes_that_interleave(self):
        def run(model, batch, around):
            with around:
                one, two = model(batch).square().sum(), model(batch * 2).square().sum()
                one.backward()
                three = model[0](batch[:8]).square().sum() # fewer saved tensors than before
                two.backward()
                three.backward()
            return [one.detach(), two.detach(), three.detach()]
        self.check(run)

    def test_other_processes(self):
        """What forks in the middle of a step, as loaders of data do, leaves it alone."""
        def run(model, batch, around):
            with around:
                loss = model(batch).square().sum()
                child = os.fork()
                if child == 0:
                    del loss
                    gc.collect()
                    os._exit(0)
                self.assertEqual(os.waitpid(child, 0)[1], 0)
                loss.backward()
            return [loss.detach()]

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning) # of forks beside threads
            self.check(run)


@needs(ready, "torch with torchvision and transformers")
class Memory(Case):
    def test_flat_over_many_steps(self):
        """Neither objects nor memory grow from step 100 to step 500.  No losses are kept: a number
        a step between what is freed makes plain training grow as well."""
        for tier in TIERS:
            with self.subTest(tier):
                model = perceptron()
                offload = self.offload(model, tier, budget="30%")
                run = offload(step_of_squares)
                steps_of(model, run, 100)
                gc.collect()
                objects, resident = len(gc.get_objects()), resident_bytes()
                for _ in range(400):
                    steps_of(model, run, 1)
                gc.collect()
                self.assertLess(len(gc.get_objects()) - objects, 200)
                self.assertLess(resident_bytes() - resident, 8 << 20)
                self.assertEqual(offload.stats()["engine"]["swaps"], 0)


class Special(torch.Tensor if torch else object):
    """A tensor of a class that nobody here knows."""


@needs(ready, "torch with torchvision and transformers")
class Together(Case):
    """With what else changes how autograd saves."""
    def results(self, around, loss, weight, steps=4):
        """Losses and gradients of some steps."""
        torch.manual_seed(1)
        found = []
        for _ in range(steps):
            weight.grad = None
            with around:
                made = loss(torch.randn(64, 256))
                made.backward()
            found += [made.detach(), weight.grad]
        return found

    def check(self, loss, weight, **options):
        """The report of the last step, whose results are those of plain training."""
        around = self.offload(None, **options)
        plain = self.results(contextlib.nullcontext(), loss, weight)
        within = self.results(around, loss, weight)
        self.assertTrue(all(map(training.same, plain, within)))
        return around.report()

    def weight(self):
        return torch.randn(256, 256, requires_grad=True)

    def test_subclasses_stay(self):
        weight = self.weight()

        def loss(batch):
            return (batch @ weight).as_subclass(Special).sin().square().sum().as_subclass(
                torch.Tensor)

        for plan in ("swap", "drop"):
            self.assertGreater(self.check(loss, weight, plan=plan).seen["special"], 0)

    def test_tiny_ones_stay(self):
        around, weight = self.offload(None, plan="swap"), self.weight()
        self.results(around, lambda batch: (batch @ weight)[0, :64].clone().sin().sum(), weight, 1)
        self.assertGreater(around.report().seen["tiny"], 0)

    def test_vmap(self):
        weight = self.weight()

        def loss(batch):
            return torch.vmap(lambda row: (row @ weight).sin() * row)(batch).square().sum()

        self.assertGreater(self.check(loss, weight, plan="swap").seen["swapped"], 0)
        self.assertGreater(self.check(loss, weight, plan="drop").seen["dropped"], 0)

    def test_function_transforms_are_refused(self):
        """By PyTorch itself, in so many words; the next step is well again."""
        weight = self.weight()
        around = self.offload(None, plan="swap")
        with self.assertRaisesRegex(RuntimeError, "saved tensor hooks"), around:
            torch.func.grad(lambda x: (x @ weight).sin().sum())(torch.ones(64, 256))
        self.results(around, lambda batch: (batch @ weight).sin().sum(), weight)

    def test_compiled(self):
        """What a compiled function saves is swapped, or dropped, too."""
        model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU(),
                                    torch.nn.Dropout(0.1), torch.nn.Linear(256, 256))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore") # about hooks, and what PyTorch itself uses
            compiled = torch.compile(model, backend="aot_eager")
            for plan in ("swap", "drop"):
                report = self.check(lambda batch: compiled(batch).square().sum(), model[0].weight,
                                    plan=plan)
                self.assertGreater(report.seen["swapped" if plan == "swap" else "dropped"], 0)


@needs(ready, "torch with torchvision and transformers")
class Distributed(Case):
    PROGRAM = """
        import sys
        import torch, planezip.torch, training
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
        from torch.nn.parallel import DistributedDataParallel

        def sharded(model):
            mesh = init_device_mesh("cpu", (2,))
            for part in (*model.down, *model.up, model):
                fully_shard(part, mesh=mesh)
            return model

        def whole(tensor):
            return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor

        rank, port, wrapper, how, path = int(sys.argv[1]), *sys.argv[2:]
        torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}",
                                             rank=rank, world_size=2)
        torch.manual_seed(1)
        task = training.TASKS["unet"]
        model = {"ddp": DistributedDataParallel, "fsdp": FullyShardedDataParallel,
                 "fsdp2": sharded}[wrapper](task.build().train())
        torch.manual_seed(rank)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        step = training.step_of(task, model, optimizer)
        if how == "within":
            offload = planezip.torch.offload(model, "40%", log=False)
            step = offload(step)
        losses = []
        for _ in range(6):
            losses.append(step(task.batch()))
            optimizer.step()
        if how == "within":
            seen = offload.report().seen
            assert seen.get("swapped", 0) + seen.get("dropped", 0) > 5, seen
        torch.save([*losses, *map(whole, model.state_dict().values())], path)
        torch.distributed.destroy_process_group()
        """

    def run_ranks(self, port, wrapper, how):
        paths = [self.folder / f"{how}{rank}" for rank in range(2)]
        ranks = [self.python(self.PROGRAM, str(rank), str(port), wrapper, how, str(path))
                 for rank, path in enumerate(paths)]
        self.assertEqual([rank.wait(300) for rank in ranks], [0, 0])
        return [torch.load(path) for path in paths]

    def check(self, wrapper):
        port = 20000 + os.getpid() % 20000
        plain, within = (self.run_ranks(port + i, wrapper, how)
                         for i, how in enumerate(("plain", "within")))
        for rank in range(2):
            self.assertTrue(all(map(training.same, plain[rank], within[rank])))
        # What ranks exchange is what they share: parameters, not losses.
        self.assertFalse(training.same(plain[0][0], plain[1][0]))

    def test_data_parallel(self):
        self.check("ddp")

    def test_fully_sharded(self):
        self.check("fsdp2")


if __name__ == "__main__":
    unittest.main()
