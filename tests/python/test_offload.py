"""planezip.torch.offload(): each thing that autograd can do, on models that are small."""
import contextlib
import ctypes
import functools
import gc
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
from pathlib import Path
from unittest import mock

from support import needs, optional

torch = optional("torch")
if torch:
    import planezip.torch
    from planezip.torch._offload._amounts import parse_budget, parse_bytes, parse_rate
    from planezip.torch._offload._dropped import Dropped
    from planezip.torch._offload._kept_step import KeptStep
    from planezip.torch._offload._machine import platform_of
    from planezip.torch._offload._payload import Handle, Swapped
    from planezip.torch._offload._recipe import Recipe, Value
    from planezip.torch._offload._replay_step import ReplayStep
    from planezip.torch._offload._scratch import CONFIG, start, stop
    from planezip.torch._offload._step import Step
    from torch import nn
    from torch.nn import functional
    from torch.utils.checkpoint import checkpoint

WIDTH, ROWS = 64, 128


def mixture(width=WIDTH, dropout=0.1):
    """A model with what makes swapping hard: in-place operators, noise, statistics, a branch."""
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(inplace=True),
                         nn.Dropout(dropout), nn.Linear(width, 2 * width), nn.GLU(), nn.RReLU(),
                         nn.Linear(width, width))


def squares(model, rows=ROWS):
    return model(torch.randn(rows, WIDTH)).square().mean()


def keep_all(trace, plan):
    """A plan of a trace that keeps everything, in the form of another plan."""
    known = {(entry["op"], entry["slot"]) for entry in plan["tensors"]}
    assert known <= {(one["op"], one["slot"]) for one in trace["storages"]}
    return {**plan, "tensors": [{**entry, "action": "keep"} for entry in plan["tensors"]]}


def training(model, step, around=None, steps=4):
    """Losses and all tensors of a model after some steps of SGD."""
    torch.manual_seed(2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for number in range(steps):
        optimizer.zero_grad()
        if around is None:
            losses.append(step(model, number))
        else:
            with around:
                losses.append(step(model, number))
        optimizer.step()
    return losses, list(model.state_dict().values()), torch.get_rng_state()


def simple(model, number):
    loss = squares(model)
    loss.backward()
    return loss.item()


@needs(torch, "torch")
class Case(unittest.TestCase):
    def offload(self, model=None, budget="60%", **options):
        made = planezip.torch.offload(model, budget, log=False, **options)
        self.addCleanup(made.close)
        return made

    def check_plans(self, step, build=mixture):
        """Whatever is planned leaves the same bits."""
        for plan in ("auto", "swap", "drop"):
            with self.subTest(plan=plan):
                self.check_same(step, build, plan=plan)

    def check_same(self, step=simple, build=mixture, steps=4, **options):
        """Training within a budget leaves the same bits; the Offload of it."""
        model = build()
        around = self.offload(model, **options)
        expected = training(build(), step, steps=steps)
        found = training(model, step, around, steps)
        self.assertEqual(found[0], expected[0])
        for one, two in zip([*found[1], found[2]], [*expected[1], expected[2]], strict=True):
            self.assertTrue(torch.equal(one, two))
        return around

    def forget(self, around, model, steps):
        """After some steps a loss without a backward pass; nothing is left of it."""
        for _ in range(steps):
            with around:
                simple(model, 0)
        with around:
            loss = squares(model)
            del loss
        gc.collect()
        self.assertEqual([one for one in gc.get_objects()
                          if type(one) in (Handle, Swapped, Dropped, Recipe, Value)], [])
        self.assertEqual(around.stats()["pool"]["used_bytes"], 0)


class Plans(Case):
    def test_budgets(self):
        for budget in ("90%", "60%", "40%", 1):
            with self.subTest(budget=budget):
                self.check_same(budget=budget)

    def test_plan_is_within_the_budget_and_runs(self):
        around = self.check_same()
        report = around.report()
        self.assertEqual((report.steps, report.plans, report.problems), (4, 1, ()))
        self.assertLessEqual(report.planned_peak_bytes, report.budget_bytes)
        self.assertLess(report.budget_bytes, report.unplanned_peak_bytes)
        self.assertGreater(report.seen["swapped"], 0)
        self.assertGreater(report.swapped_bytes, report.coded_bytes)
        self.assertEqual(report.seen["swapped"],
                         sum(row["action"] == "swap" for row in report.tensors))
        json.dumps(report.as_dict())
        self.assertIn("swapped to memory at ratio", str(report))

    def test_swap_and_keep(self):
        self.assertGreater(self.check_same(plan="swap").report().seen["swapped"], 0)
        self.assertNotIn("swapped", self.check_same(plan="keep").report().seen)

    def test_disk_and_link(self):
        with tempfile.TemporaryDirectory() as folder:
            around = self.check_same(tier="disk", directory=folder, link="1GB/s", codec="planezip")
            self.assertEqual(list(Path(folder).iterdir()), [])
        self.assertIn("an emulated link of 1 GB/s", around.report().line())

    def test_all_that_is_saved_returns_to_nothing(self):
        around = self.check_same(plan="swap")
        gc.collect()
        self.assertEqual(around.stats()["pool"]["used_bytes"], 0)
        self.assertEqual(around.stats()["engine"]["swaps"], 0)

    def test_plan_of_a_function_and_of_a_file(self):
        around = self.check_same()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "plan.json")
            path.write_text(json.dumps(around.plan))
            model = mixture()
            for plan in (path, around.plan):
                self.assertEqual(self.offload(model, plan=plan).plan_option, around.plan)
            other = self.check_same(plan=lambda trace: keep_all(trace, around.plan))
        self.assertNotIn("swapped", other.report().seen)

    def test_codec_is_left_out_where_it_takes_time_for_nothing(self):
        """Behind operators that take so long that they hide transfers as they are."""
        def platform(store, _, slower):
            made = platform_of(store, 0.9)
            made.memory_bps /= slower
            made.software_bps = 4 * store.link
            return made

        for slower, compresses in ((1, True), (60, False)):
            with (self.subTest(slower=slower),
                  mock.patch("planezip.torch._offload._offload.platform_of",
                             functools.partial(platform, slower=slower))):
                report = self.check_same(link="20MB/s", drops=False).report()
                self.assertGreater(report.swapped_bytes, 0)
                self.assertEqual(report.coded_bytes < report.swapped_bytes, compresses)

    def test_prediction_follows_the_first_steps_of_a_plan(self):
        def platform(store, share):
            made = platform_of(store, share)
            made.memory_bps /= 1000
            return made

        with mock.patch("planezip.torch._offload._offload.platform_of", platform):
            report = self.check_same(drops=False).report()
        self.assertLess(report.predicted_ns, 50 * report.step_ns)

    def test_step_that_takes_for_ever(self):
        around = self.check_same()
        around.paces, before = [], around.report().predicted_ns
        around.span = (0, 1 << 62)
        around.settle()
        self.assertLess(before, around.report().predicted_ns)
        self.assertLess(around.report().predicted_ns, 5000 * before)

    def test_share_that_would_do(self):
        text = self.check_same(budget="1%").report().problems[0]
        share = re.search(r"(\d+%) of the peak", text).group(1)
        self.assertEqual(self.check_same(budget=share).report().problems, ())

    def test_budget_that_is_too_small(self):
        around = self.check_same(budget="1KiB")
        self.assertRegex(around.report().problems[0],
                         r"^no plan fits the budget of 1 KiB, as aten\.\w+\.\w+ alone needs \d")
        self.assertGreater(around.report().seen["swapped"], 0)
        self.assertIsNone(around.report().planned_peak_bytes)

    def test_tier_that_is_too_small(self):
        model = mixture()
        around = self.offload(model, "1KiB", host_budget="64KiB")
        with self.assertLogs("planezip", "WARNING") as logs:
            training(model, simple, around, 1)
        self.assertRegex(logs.output[-1], r"no plan fits .*; give more host_budget, as \d+ tensors "
                                          "found no room in the tier")

    def test_equal_runs_have_equal_traces_but_for_times(self):
        traces = [self.check_same().trace for _ in range(2)]
        for trace in traces:
            for op in trace["ops"]:
                op["bytes"] = 0
        self.assertEqual(*traces)

    def test_program_takes_trace_plan_and_platform(self):
        around = self.check_same()
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "trace.json").write_text(json.dumps(around.trace))
            Path(folder, "plan.json").write_text(json.dumps(around.plan))
            around.platform(Path(folder, "platform.json"))
            around.timeline(Path(folder, "timeline.json"))
            done = subprocess.run(
                [sys.executable, "-m", "planezip", "simulate", "--trace", "trace.json", "--plan",
                 "plan.json", "--platform", "platform.json", "--json"], cwd=folder,
                capture_output=True, text=True)
            timeline = json.loads(Path(folder, "timeline.json").read_text())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        kinds = {event.get("cat") for event in timeline["traceEvents"]}
        self.assertLessEqual({"step", "swap-out", "prefetch"}, kinds)
        self.assertEqual({event["pid"] for event in timeline["traceEvents"]}, {1, 2})


class Firsts(Case):
    """First steps that are not like those that follow."""
    def test_evaluation(self):
        def step(model, number):
            with torch.set_grad_enabled(number > 0):
                loss = squares(model)
            if number > 0:
                loss.backward()
            return loss.item()

        around = self.check_same(step)
        self.assertEqual(around.plans, 1)
        self.assertGreater(around.report().seen["swapped"], 0)

    def test_backward_pass_after_the_step(self):
        around, model = self.offload(), mixture()
        with self.assertLogs("planezip", "WARNING") as logs:
            for _ in range(3):
                with around:
                    loss = squares(model)
                loss.backward()
        self.assertEqual(len(logs.output), 1)
        self.assertIn("call backward() within the context", logs.output[0])

    def test_hooks_that_are_forbidden(self):
        around, model = self.offload(), mixture()
        with (torch.autograd.graph.disable_saved_tensors_hooks("not here"),
              self.assertRaisesRegex(RuntimeError, "not here")):
            around(simple)(model, 0)
        around(simple)(model, 0)
        self.assertEqual(around.steps, 1)

    def test_batch_of_a_data_set(self):
        """The data are one storage, of which a batch is a view."""
        data, around = torch.randn(8 * ROWS, WIDTH), self.offload(model := mixture())
        with around:
            model(data[:ROWS]).square().mean().backward()
        self.assertEqual(around.last.passes[0].seen["input"], 1)
        self.assertNotIn(data.nbytes, [row["bytes"] for row in around.report().tensors])


class Idle(Case):
    """Plans that leave everything where it is."""
    def test_saved_tensors_are_only_looked_at(self):
        around = self.check_same(budget="300%")
        self.assertEqual(type(around.last), KeptStep)
        seen = around.report().seen
        self.assertEqual((around.plans, sorted(seen)), (1, ["kept", "persistent", "tiny"]))
        self.assertEqual(sum(seen.values()), len(around.last.looks))
        self.assertEqual(around.moved(), around.before)

    def test_evaluation_in_a_step_is_no_other_step(self):
        def step(model, number):
            if number != 2:
                return simple(model, number)
            with torch.no_grad():
                return squares(model).item()

        self.assertEqual(self.check_same(step, budget="300%").plans, 1)

    def test_larger_batch_is_planned_for(self):
        def step(model, number):
            loss = squares(model, ROWS if number < 3 else 4 * ROWS)
            loss.backward()
            return loss.item()

        budget = 2 * self.check_same(budget="300%").report().unplanned_peak_bytes
        report = self.check_same(step, budget=budget, steps=6).report()
        self.assertEqual((report.plans, report.problems), (2, ()))
        self.assertLess(budget, report.unplanned_peak_bytes)
        self.assertLessEqual(report.planned_peak_bytes, budget)


def peak_bytes(run):
    """The most that PyTorch's allocator gave out at a time, above what it had before."""
    start(CONFIG)
    try:
        run()
    finally:
        live = most = 0
        for event in itertools.chain.from_iterable(stop()):
            if event.kind() == "memory_alloc":
                live += event.cpu_memory_usage()
                most = max(most, live)
    return most


RESIDENT = """
import sys, torch, planezip.torch
from torch.nn import functional

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1024))

    def forward(self, x):
        for _ in range(10):
            x = functional.gelu(x * self.weight)
        return x.sum()

def resident(name):
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status")
                if line.startswith(name))

torch.set_num_threads(1)
model, batch = Model(), torch.randn(4096, 1024)
step = lambda: model(batch).backward()
if len(sys.argv) > 1:
    step = planezip.torch.offload(model, "30%", "disk", sys.argv[1], drops=False,
                                  mmap_threshold="1MiB")(step)
before = resident("VmRSS")
for _ in range(3):
    with open("/proc/self/clear_refs", "w") as peaks:
        peaks.write("5")
    step()
print(resident("VmHWM") - before)
"""
PROCESS_BYTES = 128 << 20 # that PlaneZip and what a step loads take, whatever the model


def resident_bytes(*arguments):
    """The peak of the memory of a process, in the third step, above what it was before the first
    one: of a model that has 336 MiB of activations, 101 of them within the budget."""
    done = subprocess.run([sys.executable, "-c", RESIDENT, *arguments], check=True,
                          stdout=subprocess.PIPE)
    return int(done.stdout)


class Peaks(Case):
    """Allocations are counted, so that it does not matter how busy the machine is."""
    def steps(self):
        torch.manual_seed(1)
        layers = [[nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True)]
                  for _ in range(8)]
        model = nn.Sequential(*sum(layers, []), nn.Flatten(), nn.Linear(8 * 32 * 32, 10))
        batch = torch.randn(4, 8, 32, 32)

        def step():
            model(batch).square().mean().backward()

        step()
        model.zero_grad(set_to_none=False)
        return model, step

    def test_peak_is_within_the_budget(self):
        model, step = self.steps()
        plain = peak_bytes(step)
        for options in ({}, {"link": "5MB/s"}):
            for budget in ("70%", "50%"):
                with self.subTest(budget=budget, **options):
                    around = self.offload(model, budget, **options)
                    run = around(step)
                    run(), run()
                    peak, report = peak_bytes(run), around.report()
                    self.assertEqual(report.problems, ())
                    self.assertLess(abs(report.unplanned_peak_bytes / plain - 1), 0.02)
                    self.assertLess(peak, 1.05 * report.budget_bytes)
                    if options: # it is faster to compute
                        self.assertGreater(report.seen["dropped"], 0)

    @unittest.skipUnless(hasattr(ctypes.CDLL(None), "gnu_get_libc_version"), "needs glibc")
    def test_process_is_within_the_budget(self):
        with tempfile.TemporaryDirectory() as folder:
            peak = resident_bytes(folder)
            self.assertLess(peak, (101 << 20) + PROCESS_BYTES)
            self.assertGreater(resident_bytes(), peak + (64 << 20))


class Autograd(Case):
    def test_other_batch_is_profiled_again(self):
        def step(model, number):
            loss = squares(model, ROWS if number < 3 else 2 * ROWS)
            loss.backward()
            return loss.item()

        self.assertEqual(self.check_same(step, steps=6).plans, 2)

    def test_ratios_that_drift_are_measured_again(self):
        """Noise at first, and zeros in the second half of the rows later."""
        def step(model, number):
            batch = torch.randn(ROWS, WIDTH)
            if number >= 4:
                batch[ROWS // 8:] = 0
            loss = model(batch).square().mean()
            loss.backward()
            return loss.item()

        def build():
            torch.manual_seed(1)
            return nn.Sequential(*(nn.Sequential(nn.Linear(WIDTH, WIDTH, bias=False), nn.ReLU())
                                   for _ in range(4)))

        around = self.check_same(step, build, steps=8, plan="swap")
        self.assertEqual((around.plans, around.last.differs), (2, None))
        self.assertEqual(self.check_same(plan="swap", steps=6).plans, 1)

    def test_accumulation(self):
        def step(model, number):
            return [simple(model, number) for _ in range(3)]

        for plan in ("auto", "drop"):
            self.assertEqual(len(self.check_same(step, plan=plan).planned), 3)

    def test_two_forwards_before_a_backward(self):
        def step(model, number):
            loss = squares(model) + squares(model)
            loss.backward()
            return loss.item()

        self.check_plans(step)

    def test_evaluation_between(self):
        def step(model, number):
            with torch.no_grad():
                model.eval()
                before = squares(model).item()
                model.train()
            return before, simple(model, number)

        self.check_plans(step)

    def test_graph_that_is_retained(self):
        def step(model, number):
            loss = squares(model)
            loss.backward(retain_graph=True)
            loss.backward()
            return loss.item()

        self.check_plans(step)

    def test_gradient_of_a_gradient(self):
        def step(model, number):
            inputs = torch.randn(ROWS, WIDTH, requires_grad=True)
            gradient, = torch.autograd.grad(model(inputs).square().sum(), inputs,
                                            create_graph=True)
            loss = gradient.square().mean()
            loss.backward()
            return loss.item()

        def build():
            torch.manual_seed(1)
            return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH))

        self.check_plans(step, build)

    def test_checkpoints_of_both_kinds(self):
        for reentrant in (True, False):
            def step(model, number, reentrant=reentrant):
                inputs = torch.randn(ROWS, WIDTH, requires_grad=True)
                middle = checkpoint(model[:4], inputs, use_reentrant=reentrant)
                loss = model[4:](middle).square().mean()
                loss.backward()
                return loss.item()

            with self.subTest(reentrant=reentrant):
                self.check_plans(step)

    def test_autocast(self):
        def step(model, number):
            with torch.autocast("cpu", torch.bfloat16):
                loss = squares(model)
            loss.backward()
            return loss.item()

        self.check_plans(step)

    def test_hooks_inside(self):
        def step(model, number):
            with torch.autograd.graph.save_on_cpu():
                middle = model[:4](torch.randn(ROWS, WIDTH))
            loss = model[4:](middle).square().mean()
            loss.backward()
            return loss.item()

        self.check_plans(step)

    def test_recurrent(self):
        def build():
            torch.manual_seed(1)
            return nn.LSTM(WIDTH, WIDTH, 2, dropout=0.2, batch_first=True)

        def step(model, number):
            loss = model(torch.randn(16, 8, WIDTH))[0].square().mean()
            loss.backward()
            return loss.item()

        self.check_plans(step, build)

    def test_exception_in_a_step(self):
        model = mixture()
        around = self.offload(model)
        for _ in range(2):
            with around:
                simple(model, 0)
        with self.assertRaisesRegex(ValueError, "mine"), around:
            squares(model)
            raise ValueError("mine")
        with around:
            simple(model, 0)
        self.assertEqual((around.plans, around.last.differs), (1, None))

    def test_steps_do_not_nest(self):
        around = self.offload(mixture())
        with around, self.assertRaisesRegex(RuntimeError, "under way already"):
            around.__enter__()

    def test_threads_have_offloads_of_their_own(self):
        errors = []

        def train():
            try:
                model = mixture(dropout=0)
                around = planezip.torch.offload(model, plan="swap", log=False)
                for _ in range(3):
                    with around:
                        simple(model, 0)
                around.close()
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=train) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])


class Tensors(Case):
    def gradient(self, function, *inputs):
        """The gradients of a function with everything swapped, which must be those without; in the
        profile, and in the step after it."""
        swap, made = self.offload(plan="swap"), []
        for around in (None, swap, swap):
            given = [tensor.clone().requires_grad_() for tensor in inputs]
            if around is None:
                function(*given).sum().backward()
            else:
                with around:
                    function(*given).sum().backward()
            made.append([tensor.grad for tensor in given])
        for plain, *others in zip(*made, strict=True):
            for other in others:
                self.assertTrue(torch.equal(plain, other))
        self.assertEqual((swap.plans, swap.last.differs), (1, None))
        return swap

    def test_views(self):
        square = torch.randn(64, 64)
        for view in (lambda x: x.t(), lambda x: x[:, 1:], lambda x: x[::2],
                     lambda x: x.view(8, 8, 64).permute(2, 0, 1), lambda x: x.expand(3, 64, 64)):
            self.gradient(lambda x, view=view: view(x * 2).square(), square)

    def test_matrix_times_its_transpose(self):
        around = self.gradient(lambda x: (x * 2) @ (x * 2).t(), torch.randn(64, 64))
        self.assertEqual(around.report().seen["swapped"], 2)
        around = self.gradient(lambda x: (lambda y: y @ y.t())(x * 2), torch.randn(64, 64))
        self.assertEqual(around.report().seen["swapped"], 1)
        self.assertEqual(around.report().seen["shared"], 1)

    def test_slices_of_one_storage_move_once(self):
        def attention(x):
            query, key, value = (x * 2).chunk(3, 1)
            return (query @ key.t()).softmax(1) @ value

        self.assertIn("shared", self.gradient(attention, torch.randn(64, 192)).report().seen)

    def test_types_and_sizes(self):
        for dtype in (torch.float64, torch.bfloat16, torch.float16, torch.complex64):
            self.gradient(lambda x: ((x * 2) * (x * 2)).abs(), torch.randn(2000).to(dtype))
        for shape in ((), (0,), (0, 5), (1, 0), (3,)):
            self.gradient(lambda x: (x * 2).square(), torch.randn(shape))
        self.gradient(lambda x: ((x * 2).conj() * (x * 2).conj()).abs(), torch.randn(2000) + 0j)

    def test_indices_and_masks(self):
        self.gradient(lambda x: functional.max_pool1d((x * 2), 2), torch.randn(4, 8, 512))
        self.gradient(lambda x: (x * 2).masked_fill(x > 0, 0).square(), torch.randn(4000))

    def test_sparse(self):
        matrix = torch.eye(64).to_sparse()
        self.gradient(lambda x: torch.sparse.mm(matrix, x * 2).square(), torch.randn(64, 64))

    def test_write_that_no_version_tells(self):
        def written(x):
            once = (x * 2).detach()
            first = once * x
            once.data.mul_(3)
            return first.sum() * 0 + once.data * x

        self.gradient(written, torch.randn(64, 64))

    def test_nested(self):
        rows = [torch.ones(30, 64), torch.ones(20, 64)]

        def padded(x):
            product = functional.relu(functional.linear(torch.nested.nested_tensor(rows), x * 2))
            return torch.nested.to_padded_tensor(product, 0.0).square()

        with warnings.catch_warnings():
            warnings.simplefilter("ignore") # that this might change
            self.gradient(padded, torch.randn(64, 64))

    def test_special_values(self):
        values = torch.tensor([float("nan"), float("inf"), -0.0, 1e-40]).repeat(1000)
        around = self.offload(plan="swap")
        for _ in range(2):
            with around:
                start = torch.ones(4000, requires_grad=True)
                (start * values.clone()).backward(torch.ones(4000))
            self.assertTrue(torch.equal(start.grad.view(torch.int32), values.view(torch.int32)))
        self.assertEqual(around.report().seen["swapped"], 1)

    def test_parameters_stay(self):
        layer = nn.Linear(512, 512)
        for model in (layer, None):
            around = self.offload(model, plan="swap")
            for _ in range(2):
                with around:
                    layer(torch.randn(4, 512, requires_grad=True)).sum().backward()
            self.assertEqual(around.moved()[0], 0)

    def test_changes_in_place_are_found(self):
        def step(changes):
            start = torch.randn(5000, requires_grad=True)
            middle = start * 2
            end = middle * middle
            if changes:
                middle.add_(1)
            end.sum().backward()

        for plan, link in (("keep", None), ("swap", "100kB/s")):
            around = self.offload(plan=plan, link=link)
            for changes in (False, True):
                with self.subTest(plan=plan, changes=changes), around:
                    if changes:
                        with self.assertRaisesRegex(RuntimeError, "modified by an inplace"):
                            step(changes)
                    else:
                        step(changes)

    def test_function_that_asks_twice(self):
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x * 3)
                return x * 3

            @staticmethod
            def backward(ctx, gradient):
                one, = ctx.saved_tensors
                two, = ctx.saved_tensors
                return gradient * one * two

        self.gradient(Twice.apply, torch.randn(4000))

    def test_nothing_stays_of_a_loss_that_is_forgotten(self):
        self.forget(self.offload(model := mixture(), plan="swap"), model, 2)


class Drops(Case):
    """What is dropped and computed again.  Every operator that can be is, which a planner would
    not always do."""
    def gone(self, function, *inputs, steps=4, **options):
        """Gradients of a function with all dropped that can be, which must be those without; the
        Offload of it."""
        around = self.offload(plan="drop", **options)
        for number in range(steps):
            torch.manual_seed(number)
            plain = gradients(function, inputs)
            after = torch.get_rng_state()
            torch.manual_seed(number)
            with around:
                made = gradients(function, inputs)
            self.assertTrue(torch.equal(torch.get_rng_state(), after))
            for one, two in zip(plain, made, strict=True):
                self.assertTrue(torch.equal(one, two))
        return around

    def test_model(self):
        for budget in ("60%", 1):
            around = self.check_same(plan="drop", budget=budget, steps=5)
            seen = around.report().seen
            self.assertGreater(seen["dropped"], 4)
            self.assertGreater(around.report().replayed, seen["dropped"])
            self.assertEqual(around.last.demoted, [])

    def test_planner_drops_behind_a_slow_link(self):
        around = self.check_same(budget="60%", link="4MB/s", steps=5)
        self.assertGreater(around.report().seen["dropped"], 0)
        self.assertEqual(around.report().problems, ())
        self.assertIn("drop", {entry["action"] for entry in around.plan["tensors"]})
        self.assertNotIn("dropped", self.check_same(link="4MB/s", drops=False).report().seen)

    def test_noise_comes_again(self):
        around = self.gone(lambda x: functional.dropout(functional.dropout(x * 2, 0.3) ** 2, 0.5),
                           torch.randn(5000))
        self.assertGreater(around.report().seen["dropped"], 2)

    def test_noise_that_the_profile_did_not_see(self):
        """An operator that draws numbers in training only."""
        def build():
            torch.manual_seed(1)
            return nn.Sequential(*(layer for _ in range(3)
                                   for layer in (nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.RReLU())))

        def step(model, number):
            model.train(number >= 3)
            return simple(model, number)

        for plan in ("swap", "drop"):
            around = self.check_same(step, build, steps=6, plan=plan)
            self.assertGreater(around.report().seen["dropped" if plan == "drop" else "swapped"], 0)

    def test_in_place_chain(self):
        def chain(x):
            middle = functional.batch_norm(x, None, None, training=True)
            middle += x.tanh()
            return middle.relu_().square()

        around = self.gone(chain, torch.randn(128, 64))
        self.assertEqual(around.report().seen.get("swapped", 0), 0)

    def test_in_place_on_a_copy_that_others_need(self):
        def chain(x):
            start = x.exp()
            other = start.clone()
            other.mul_(3).sigmoid_()
            return start * other

        self.assertGreater(self.gone(chain, torch.randn(5000)).report().seen["dropped"], 1)

    def test_views(self):
        def views(x):
            long = (x * 2).exp()
            return (long.t()[3:].square() @ long[:, 1:].sigmoid()).expand(2, -1, -1).square()

        self.assertGreater(self.gone(views, torch.randn(64, 64)).report().seen["dropped"], 2)

    def test_several_outputs(self):
        def pooled(x):
            values, places = functional.max_pool1d(x.exp(), 2, return_indices=True)
            return values.square() * places.float().sort(2)[0]

        self.assertGreater(self.gone(pooled, torch.randn(4, 8, 512)).report().seen["dropped"], 2)

    def test_statistics_are_left_alone(self):
        model = nn.BatchNorm1d(64, momentum=0.5)
        around = self.offload(model, plan="drop")
        for number in range(4):
            batch = torch.randn(128, 64)
            expected = 0.5 * model.running_mean + 0.5 * batch.mean(0)
            with around:
                model(batch.exp().log()).square().exp().mean().backward()
            self.assertTrue(torch.allclose(model.running_mean, expected, atol=1e-6))
            self.assertEqual(int(model.num_batches_tracked), number + 1)

    def test_what_is_read_is_written_later(self):
        given = torch.randn(5000)

        def overwritten(x):
            scale = given.clone()
            middle = x * scale.exp()
            scale.zero_()
            return middle.sigmoid().square()

        seen = self.gone(overwritten, torch.randn(5000)).report().seen
        self.assertGreater(seen["dropped"], 0)

    def test_function_of_the_user(self):
        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x * x)
                return x ** 3

            @staticmethod
            def backward(ctx, gradient):
                return 3 * gradient * ctx.saved_tensors[0]

        around = self.gone(lambda x: Cube.apply(x.exp()), torch.randn(5000))
        self.assertGreater(around.report().seen["dropped"], 0)

    def test_not_the_same_when_computed_again(self):
        """The audit finds it, and the next plan lets it be."""
        numbers = itertools.count(1)

        def through_numpy(x):
            return Shifted.apply(x, next(numbers)).exp().square()

        class Shifted(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, number):
                shifted = x + 0
                shifted.numpy()[:] += number
                ctx.save_for_backward(shifted)
                return shifted

            @staticmethod
            def backward(ctx, gradient):
                return gradient * ctx.saved_tensors[0], None

        around = self.offload(plan="drop")
        for number in range(4):
            start = torch.linspace(0, 1, 5000, requires_grad=True)
            with around:
                through_numpy(start).sum().backward()
            shifted = torch.linspace(0, 1, 5000) + 0 + (number + 1)
            expected = 2 * shifted.exp() * shifted.exp() * shifted
            self.assertTrue(torch.allclose(start.grad, expected))
        self.assertEqual(around.plans, 2)

    def test_own_generator_stays(self):
        generator = torch.Generator()

        def noisy(x):
            generator.manual_seed(3)
            return (x * torch.rand(5000, generator=generator)).exp().square()

        actions = {row["operator"]: row["action"]
                   for row in self.gone(noisy, torch.randn(5000)).report().tensors}
        self.assertIn("drop", actions.values())
        self.assertEqual(actions["aten.rand.generator"], "swap")

    def test_other_operators_keep(self):
        """A step that takes another way keeps what it saves from there on, and is the same."""
        def step(model, number):
            loss = squares(model)
            if number in (2, 4):
                loss = loss.exp() + torch.ones(5000).square().sum() * loss.tanh()
            loss.backward()
            return loss.item()

        self.assertGreater(self.check_same(step, plan="drop", steps=8).plans, 1)

    def test_optimizer_within_the_step(self):
        """Replays see the parameters of the forward pass, though a later one has changed them."""
        def step(model, number):
            losses = [squares(model), squares(model)]
            for loss in losses:
                loss.backward(retain_graph=True)
                with torch.no_grad():
                    model[0].weight.mul_(1.0)
            return [loss.item() for loss in losses]

        self.check_same(step, plan="drop")

    def test_parameter_that_is_trained_within_the_backward_pass(self):
        """Its hook writes it before the backward pass comes to what depends on its old value."""
        weight, other = torch.ones(5000), torch.ones(5000)

        def step(around):
            one, two = weight.clone().requires_grad_(), other.clone().requires_grad_()

            def train(parameter):
                with torch.no_grad():
                    parameter.sub_(parameter.grad)

            one.register_post_accumulate_grad_hook(train)
            with around:
                late = two * 2
                middle = (one * 3).sin()
                loss = (late.exp() * middle.detach().exp()).sum() + middle.square().sum()
                loss.backward()
            return one.detach(), two.grad

        drop = self.offload(plan="drop")
        for _ in range(4):
            for made, expected in zip(step(drop), step(contextlib.nullcontext()), strict=True):
                self.assertTrue(torch.equal(made, expected))
        self.assertGreater(drop.report().seen["dropped"], 1)

    def test_values_of_a_graph_are_asked_for(self):
        around = self.offload(plan="drop")
        for _ in range(3):
            start = torch.randn(5000, requires_grad=True)
            with around:
                end = start.exp().sigmoid()
                self.assertTrue(torch.equal(end.grad_fn._saved_result, end))
                end.sum().backward()

    def test_nothing_stays(self):
        self.forget(self.offload(model := mixture(), plan="drop"), model, 4)

    def test_where_nothing_is_dropped_nothing_records(self):
        around = self.check_same(plan="swap")
        self.assertIs(type(around.last), Step)
        self.assertIs(type(self.check_same(plan="drop").last), ReplayStep)


def gradients(function, inputs):
    given = [tensor.clone().requires_grad_() for tensor in inputs]
    return torch.autograd.grad(function(*given).sum(), given)


class Options(Case):
    def test_amounts(self):
        self.assertEqual(parse_bytes("budget", "2GiB"), 2 << 30)
        self.assertEqual(parse_bytes("budget", "1.5 MB"), 1500000)
        self.assertEqual(parse_budget("50%"), (None, 0.5))
        self.assertEqual(parse_rate("1.5GB/s"), 1500000000)
        self.assertEqual(parse_rate(None), 0)
        for text in ("", "2 parsecs", "0", "-1GiB", "%", "-5%", "inf%", "nan%", float("inf"),
                     float("nan")):
            with self.assertRaisesRegex(ValueError, "planezip: budget is"):
                parse_budget(text)
        with self.assertRaisesRegex(ValueError, "planezip: link is '3GB'"):
            parse_rate("3GB")

    def test_wrong_options(self):
        for options, text in (({"tier": "tape"}, "tier is 'tape'; known are memory, disk"),
                              ({"tier": "disk"}, "needs a directory"),
                              ({"codec": "zstd"}, "codec is 'zstd'; known are planezip2"),
                              ({"plan": "atuo"}, "plan is 'atuo'; known are auto, swap"),
                              ({"mmap_threshold": "33MiB"}, "expected are 1 byte to 32 MiB"),
                              ({"tier": "host", "mmap_threshold": "1MiB"}, "leave it out with"),
                              ({"tier": "host", "groups": -1}, "expected is 1 or more"),
                              ({"groups": 4}, "leave it out without tier 'host'")):
            with self.assertRaisesRegex(ValueError, text):
                planezip.torch.offload(**options)
        with self.assertRaises(TypeError):
            planezip.torch.offload(nonsense=1)

    def test_threshold_of_mappings(self):
        for option, told, called in (("1MiB", {}, True), (None, {}, False),
                                     ("1MiB", {"MALLOC_MMAP_THRESHOLD_": "65536"}, False),
                                     ("1MiB", {"GLIBC_TUNABLES": "a=1:glibc.malloc."
                                               "mmap_threshold=65536"}, False)):
            with (mock.patch.dict(os.environ, told),
                  mock.patch("planezip.torch._offload._process.process_library") as process):
                self.offload(mmap_threshold=option)
                self.assertEqual(process.return_value.mallopt.mock_calls,
                                 [mock.call(-3, 1 << 20)] if called else [])

    def test_closed_before_the_backward_pass(self):
        around = planezip.torch.offload(plan="swap", log=False)
        with around:
            loss = torch.randn(5000, requires_grad=True).exp().square().sum()
        around.close()
        with self.assertRaisesRegex(RuntimeError, "has been closed"):
            loss.backward()

    def test_closed_within_a_step(self):
        around = self.offload()
        with around, self.assertRaisesRegex(RuntimeError, "leave it first"):
            around.close()

    def test_closed(self):
        around = planezip.torch.offload()
        around.close()
        around.close()
        with self.assertRaisesRegex(RuntimeError, "is closed"):
            around.__enter__()
        with self.assertRaisesRegex(RuntimeError, "is closed"):
            around.report()
