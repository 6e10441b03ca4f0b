"""planezip.torch.capture(): traces that the program accepts, and what they say of small models."""
import gc
import json
import subprocess
import sys
import tempfile
import unittest
import weakref
from pathlib import Path

import planezip
import planezip.traces
from support import needs, optional

torch = optional("torch")
if torch:
    import planezip.torch
    from torch import nn
    from torch.nn import functional
    from torch.utils.checkpoint import checkpoint

WIDTH, ROWS = 32, 8


def program(*arguments):
    """What the program prints; it must succeed."""
    return subprocess.run([sys.executable, "-m", "planezip", *arguments], check=True, text=True,
                          capture_output=True).stdout


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        if torch:
            torch.manual_seed(1)

    def capture(self, step, **options):
        """A capture whose traces the program has checked, with the same saved tensors in it as the
        package derives."""
        captured = planezip.torch.capture(step, model="m", batch=ROWS, **options)
        for passes in captured.iterations:
            for one in passes:
                path = self.folder / "trace.json"
                one.write(path)
                shown = json.loads(program("trace", "show", "-t", "--json", str(path)))
                self.assertEqual(sorted(saved_ids(shown)),
                                 sorted(one.saved.confirmed + one.saved.read))
        return captured


def saved_ids(shown):
    """Storages of the saved tensors that the program lists."""
    return [row["storage"] for row in shown["tensors"]]


def names(trace, phase="forward"):
    return [op["name"] for op in trace["ops"] if op["phase"] == phase]


def kinds(trace, kind):
    return [storage for storage in trace["storages"] if storage["kind"] == kind]


def perceptron(device="cpu"):
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.GELU(),
                         nn.Linear(WIDTH, 4)).to(device)


def trainer(model, inputs, optimizer=None):
    """A step that trains a model to give small numbers."""
    def step():
        model(inputs).pow(2).mean().backward()
        if optimizer:
            optimizer.step()
            optimizer.zero_grad()
    return step


@needs(torch, "torch")
class Traces(Case):
    def test_every_operator_by_hand(self):
        inputs, layer = torch.ones(ROWS, WIDTH), nn.Linear(WIDTH, WIDTH, bias=False)
        trace = self.capture(lambda: layer(inputs).relu_().sum().backward()).trace
        self.assertEqual(names(trace), ["aten.t.default", "aten.mm.default", "aten.relu_.default",
                                        "aten.sum.default"])
        of = {op["name"]: op for op in trace["ops"] if op["phase"] == "forward"}
        weight = kinds(trace, "parameter")[0]
        self.assertEqual((weight["bytes"], weight["shape"]), (4 * WIDTH**2, [WIDTH, WIDTH]))
        self.assertEqual((of["aten.t.default"]["view"], of["aten.t.default"]["writes"]), (True, []))
        product = of["aten.mm.default"]
        self.assertEqual(product["flops"], 2 * ROWS * WIDTH**2)
        self.assertEqual(product["bytes"], 4 * (2 * ROWS * WIDTH + WIDTH**2))
        self.assertEqual(product["float_bytes"], product["bytes"])
        self.assertGreater(product["duration_ns"], 0)
        rectified = of["aten.relu_.default"]
        self.assertEqual(rectified["reads"], rectified["writes"])
        self.assertEqual(rectified["writes"], product["writes"])
        self.assertEqual(names(trace, "backward")[0], "aten.ones_like.default")
        self.assertEqual(len(kinds(trace, "parameter_gradient")), 1)
        self.assertEqual((trace["batch"], trace["parameters"]), (ROWS, WIDTH**2))

    def test_saved_tensors_are_confirmed(self):
        model, inputs = perceptron(), torch.randn(ROWS, WIDTH)
        captured = self.capture(trainer(model, inputs))
        by_id = {storage["id"]: storage for storage in captured.trace["storages"]}
        # Input, output of the first layer after ReLU, of the second, of GELU, and of the last one.
        self.assertEqual([by_id[i]["shape"] for i in captured.saved.confirmed],
                         [[ROWS, WIDTH]] * 4 + [[ROWS, 4]])
        # The loss, for the shape of its gradient.
        self.assertEqual([by_id[i]["shape"] for i in captured.saved.read], [[]])
        self.assertEqual(captured.saved.packed, ())

    def test_meta_and_cpu_agree(self):
        found = []
        for device in ("meta", "cpu"):
            model = perceptron(device)
            optimizer = torch.optim.AdamW(model.parameters())
            step = trainer(model, torch.ones(ROWS, WIDTH, device=device), optimizer)
            captured = self.capture(step)
            for op in captured.trace["ops"]:
                self.assertEqual(op.pop("duration_ns", 0) > 0, device == "cpu")
            found.append(captured)
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[0].trace["optimizer"], "adamw")

    def test_no_data_at_any_batch_size(self):
        model = perceptron("meta")
        inputs = torch.empty(1 << 30, WIDTH, device="meta")
        saved = json.loads(self.shown(self.capture(trainer(model, inputs))))
        self.assertGreater(saved["traces"][0]["saved_fp32_bytes"], 1 << 38)

    def shown(self, captured):
        path = self.folder / "t.json"
        captured.write(path)
        return program("trace", "show", "--json", str(path))

    def test_iterations_repeat(self):
        model = perceptron()
        optimizer = torch.optim.SGD(model.parameters(), momentum=0.9)
        captured = self.capture(trainer(model, torch.ones(ROWS, WIDTH), optimizer), iterations=3)
        for passes in captured.iterations:
            for op in passes[0].trace["ops"]:
                op.pop("duration_ns")
        self.assertEqual(captured.iterations[0], captured.iterations[1])
        self.assertEqual(captured.iterations[1], captured.iterations[2])
        self.assertEqual(captured.trace["optimizer"], "sgd")

    def test_views_of_one_storage_count_once(self):
        layer, inputs = nn.Linear(WIDTH, 3 * WIDTH), torch.randn(ROWS, WIDTH)

        def step():
            query, key, value = layer(inputs).chunk(3, dim=1)
            (query * key * value).sum().backward()

        captured = self.capture(step)
        shapes = [storage["shape"] for storage in captured.trace["storages"]
                  if storage["id"] in captured.saved.confirmed]
        self.assertEqual(shapes, [[ROWS, WIDTH], [ROWS, 3 * WIDTH], [ROWS, WIDTH]])

    def test_running_statistics_are_written(self):
        layer = nn.BatchNorm1d(WIDTH)
        trace = self.capture(trainer(layer, torch.randn(ROWS, WIDTH))).trace
        buffers = [storage["id"] for storage in kinds(trace, "buffer")]
        op = next(op for op in trace["ops"] if "batch_norm" in op["name"])
        self.assertEqual(len(buffers), 3)
        self.assertEqual(len(set(buffers) & set(op["writes"])), 2)


@needs(torch, "torch")
class Models(Case):
    def test_autocast(self):
        def step():
            with torch.autocast("cpu", torch.bfloat16):
                loss = model(inputs).pow(2).mean()
            loss.backward()

        model, inputs = perceptron(), torch.randn(ROWS, WIDTH)
        captured = self.capture(step)
        types = {storage["dtype"] for storage in captured.trace["storages"]
                 if storage["id"] in captured.saved.confirmed}
        self.assertEqual(types, {"bfloat16"})

    def test_scaled_loss(self):
        model, inputs = perceptron(), torch.randn(ROWS, WIDTH)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu")

        def step():
            optimizer.zero_grad()
            scaler.scale(model(inputs).pow(2).mean()).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()

        captured = self.capture(step, iterations=2)
        self.assertEqual([len(passes) for passes in captured.iterations], [1, 1])
        self.assertNotIn("aten._foreach_norm.Scalar", names(captured.trace, "backward"))

    def test_dropout(self):
        model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Dropout(0.5), nn.Linear(WIDTH, 4))
        step = trainer(model, torch.randn(ROWS, WIDTH))
        self.assertIn("aten.bernoulli_.float", names(self.capture(step).trace))
        captured = self.capture(step, fused_dropout=True)
        mask = [storage for storage in captured.trace["storages"]
                if storage["id"] in captured.saved.confirmed and storage["dtype"] == "bool"]
        self.assertEqual([storage["bytes"] for storage in mask], [ROWS * WIDTH])
        model.eval()
        self.assertNotIn("aten.native_dropout.default",
                         names(self.capture(step, fused_dropout=True).trace))

    def test_tied_weights(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Embedding(20, WIDTH)
                self.outer = nn.Linear(WIDTH, 20, bias=False)
                self.outer.weight = self.inner.weight

            def forward(self, ids):
                return self.outer(self.inner(ids))

        model, ids = Tied(), torch.randint(0, 20, (ROWS, 5))
        trace = self.capture(lambda: functional.cross_entropy(
            model(ids).flatten(0, 1), ids.flatten()).backward()).trace
        self.assertEqual(len(kinds(trace, "parameter")), 1)
        self.assertEqual(len(kinds(trace, "parameter_gradient")), 1)
        self.assertEqual(trace["parameters"], 20 * WIDTH)

    def test_accumulation(self):
        # Autograd saves the input of a convolution before the operator runs.
        model = nn.Sequential(nn.Conv1d(WIDTH, WIDTH, 1), nn.ReLU(), nn.Conv1d(WIDTH, 4, 1))
        inputs = torch.randn(ROWS, WIDTH, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def step():
            optimizer.zero_grad()
            for _ in range(3):
                (model(inputs).pow(2).mean() / 3).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()

        captured = self.capture(step)
        passes = captured.iterations[0]
        self.assertEqual(len(passes), 3)
        self.assertEqual([len(kinds(one.trace, "parameter_gradient")) for one in passes], [4, 0, 0])
        self.assertEqual([len(kinds(one.trace, "buffer")) for one in passes], [0, 4, 4])
        self.assertEqual({len(one.saved.confirmed) for one in passes}, {3})
        with self.assertRaisesRegex(ValueError, "has 3 backward passes, expected is one"):
            captured.write(self.folder / "t.json")

    def test_checkpoint(self):
        model, inputs = perceptron(), torch.randn(ROWS, WIDTH, requires_grad=True)
        plain = self.capture(trainer(model, inputs))
        for reentrant in (False, True):
            def step(reentrant=reentrant):
                hidden = checkpoint(model[:4], inputs, use_reentrant=reentrant)
                model[4](hidden).pow(2).mean().backward()

            captured = self.capture(step)
            self.assertLess(len(captured.saved.confirmed), len(plain.saved.confirmed))
            self.assertEqual(names(captured.trace).count("aten.gelu.default"), 1)
            self.assertEqual(names(captured.trace, "backward").count("aten.gelu.default"),
                             1 if reentrant else 0) # the other kind stops early

    def test_frozen_parts(self):
        model, inputs = perceptron(), torch.randn(ROWS, WIDTH)
        model[:3].requires_grad_(False)
        captured = self.capture(trainer(model, inputs))
        self.assertEqual(captured.trace["parameters"], 4 * WIDTH + 4)
        self.assertEqual(len(kinds(captured.trace, "parameter")), 6)
        by_id = {storage["id"]: storage for storage in captured.trace["storages"]}
        self.assertEqual([by_id[i]["shape"] for i in captured.saved.confirmed],
                         [[ROWS, WIDTH], [ROWS, 4]])

    def test_hooks_of_gradients_belong_to_the_backward_pass(self):
        model, inputs = perceptron(), torch.randn(ROWS, WIDTH)

        def step():
            hidden = model[:2](inputs)
            hidden.register_hook(lambda gradient: gradient * 3)
            model[2:](hidden).sum().backward()

        captured = self.capture(step)
        self.assertEqual(len(captured.iterations[0]), 1)
        self.assertIn("aten.mul.Tensor", names(captured.trace, "backward"))

    def test_a_graph_that_is_used_twice(self):
        model, inputs = perceptron(), torch.randn(ROWS, WIDTH)

        def step():
            out = model(inputs)
            first, second = out.sum(), out.pow(2).sum()
            first.backward(retain_graph=True)
            second.backward()

        self.assertEqual(len(self.capture(step).iterations[0]), 1)

    def test_sparse_gradients(self):
        layer, ids = nn.Embedding(20, WIDTH, sparse=True), torch.randint(0, 20, (ROWS,))
        trace = self.capture(lambda: layer(ids).sum().backward()).trace
        self.assertEqual([storage["dtype"] for storage in kinds(trace, "parameter_gradient")],
                         ["int64", "float32"])

    def test_nothing_is_kept_alive(self):
        layer, inputs, seen = nn.Linear(WIDTH, WIDTH), torch.randn(ROWS, WIDTH), []

        def step():
            out = layer(inputs).relu()
            seen.append(weakref.ref(out.untyped_storage()))
            out.sum().backward()

        captured = self.capture(step)
        gc.collect()
        self.assertEqual(([ref() for ref in seen], len(captured.iterations)), ([None], 1))


@needs(torch, "torch")
class Contents(Case):
    def test_what_the_backward_pass_reads(self):
        layer, inputs = nn.Linear(WIDTH, WIDTH), torch.randn(ROWS, WIDTH)
        outputs = []

        def step():
            outputs.append(layer(inputs).relu_())
            outputs[-1].sum().backward()
            with torch.no_grad():
                layer.weight += 1

        captured = self.capture(step, iterations=2, contents=self.folder / "c")
        for number, path in enumerate(captured.contents):
            with planezip.open(path) as file:
                op = names(captured.trace).index("aten.addmm.default")
                self.assertEqual(sorted(file), ["0/-1/0", f"0/{op}/0"])
                self.assertTrue(torch.equal(file["0/-1/0"].read(to="torch"), inputs.flatten()))
                self.assertTrue(torch.equal(file[f"0/{op}/0"].read(to="torch"),
                                            outputs[number].detach().flatten()))
        self.assertFalse(torch.equal(outputs[0], outputs[1]))

    def test_names_are_signatures_of_the_trace(self):
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(True), nn.MaxPool2d(2))
        captured = self.capture(trainer(model, torch.randn(ROWS, 3, 16, 16)),
                                contents=self.folder)
        saved = {f"0/{storage['op']}/{storage['slot']}": storage["bytes"]
                 for storage in captured.trace["storages"]
                 if storage["id"] in captured.saved.confirmed}
        with planezip.open(captured.contents[0]) as file:
            self.assertEqual({name: tensor.nbytes for name, tensor in file.items()}, saved)
            self.assertEqual({tensor.dtype for tensor in file.values()}, {"f32", "i64"})

    def test_large_tensors_are_sampled(self):
        inputs = torch.arange(5 * 1024 + 100, dtype=torch.float32).requires_grad_()
        captured = self.capture(lambda: inputs.pow(2).sum().backward(), contents=self.folder,
                                whole_bytes=4096, every=4)
        with planezip.open(captured.contents[0]) as file:
            tensor = file["0/-1/0"]
            self.assertEqual(tensor.metadata, {"whole_bytes": b"20880", "every": b"4"})
            found = tensor.read(to="torch")
        whole = inputs.detach()
        expected = torch.cat((whole[:1024], whole[4096:5120])) # the rest would be the sixth chunk
        self.assertTrue(torch.equal(found, expected))

    def test_gradients_are_the_same(self):
        gradients = []
        for contents in (None, self.folder):
            torch.manual_seed(3)
            model, inputs = perceptron(), torch.randn(ROWS, WIDTH)
            step = trainer(model, inputs)
            if contents:
                self.capture(step, contents=contents)
            else:
                step()
            gradients.append([parameter.grad for parameter in model.parameters()])
        for plain, captured in zip(*gradients):
            self.assertTrue(torch.equal(plain, captured))


def coded(entry, precision, codec):
    return [one["coded_bytes"] for one in entry["measured"]
            if (one["precision"], one["codec"]) == (precision, codec)]


@needs(torch, "torch")
class Ratios(Case):
    """Tables for a large batch on device meta, from contents of a small one."""

    def step(self, device, batch):
        model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(True), nn.MaxPool2d(2),
                              nn.Flatten(), nn.Linear(8 * 49, 10)).to(device)
        inputs = torch.randn(batch, 3, 16, 16, device=device)
        return lambda: model(inputs).pow(2).mean().backward()

    def table(self, **options):
        small = self.capture(self.step("cpu", ROWS), contents=self.folder)
        large = self.capture(self.step("meta", 64))
        return large.trace, planezip.torch.ratios(small.contents[0], small.trace,
                                                  target=large.trace, **options), small

    def test_every_saved_tensor(self):
        trace, table, small = self.table()
        entries = {(entry["op"], entry["slot"]): entry for entry in table["entries"]}
        self.assertEqual(sorted(entries), sorted(planezip.traces.saved(trace)))
        classes = [entry["class"] for entry in entries.values()]
        self.assertEqual(sorted(classes), sorted(["input", "conv", "relu", "norm", "norm", "pool",
                                                  "indices", "linear", "elementwise"]))
        rectified = next(entry for entry in entries.values() if entry["class"] == "relu")
        with planezip.open(small.contents[0]) as file:
            values = file[f"0/{rectified['op']}/{rectified['slot']}"].read(to="torch")
        for precision, tensor in (("fp32", values), ("bf16", values.to(torch.bfloat16))):
            for codec in ("planezip", "zvc", "planezip2"):
                expected = planezip.measure(tensor, codecs=codec, profile="paper")[codec]
                self.assertEqual(rectified[precision][codec], expected.ratio)
                self.assertIn(expected.coded_bytes, coded(rectified, precision, codec))
        self.assertGreater(planezip.torch.matched_share(table, trace), 0.999) # the loss has none

    def test_blocks_and_symbols_of_32_bits(self):
        _, table, small = self.table(codecs=("planezip", "planezip_w32"))
        rectified = next(entry for entry in table["entries"] if entry["class"] == "relu")
        with planezip.open(small.contents[0]) as file:
            values = file[f"0/{rectified['op']}/{rectified['slot']}"].read(to="torch")
        rounded = values.to(torch.bfloat16)
        expected = planezip.measure(rounded.view(torch.int32), profile="paper")["planezip"]
        self.assertEqual(rectified["bf16"]["planezip_w32"], expected.ratio)
        self.assertNotEqual(rectified["bf16"]["planezip_w32"], rectified["bf16"]["planezip"])
        self.assertEqual(rectified["fp32"]["planezip_w32"], rectified["fp32"]["planezip"])
        blocks = rectified["measured"][0]["blocks"]
        self.assertEqual(sum(blocks.values()), -(-rounded.nbytes // 128))
        self.assertIn("zbx", blocks)

    def test_the_program_takes_them(self):
        trace, table, _ = self.table(codecs=("planezip", "planezip2"))
        paths = [self.folder / name for name in ("trace.json", "ratios.json", "plan.json")]
        paths[0].write_text(json.dumps(trace))
        paths[1].write_text(json.dumps(table))
        program("plan", "--trace", str(paths[0]), "--ratios", str(paths[1]), "--platform", "B",
                "--budget", "90%", "--policy", "planezip", "-o", str(paths[2]))
        shown = program("simulate", "--trace", str(paths[0]), "--plan", str(paths[2]), "--platform",
                        "B", "--ratios", str(paths[1]), "--json")
        self.assertIn("overhead", shown)

    def test_what_has_no_counterpart(self):
        captured = self.capture(self.step("cpu", ROWS), contents=self.folder)
        other = self.capture(lambda: nn.Linear(4, 4)(torch.randn(ROWS, 4)).exp().sum().backward())
        table = planezip.torch.ratios(captured.contents[0], captured.trace, target=other.trace)
        exponential = next(e for e in table["entries"] if e["class"] == "elementwise")
        self.assertEqual((exponential["bf16"]["planezip"], exponential["measured"]), (1.0, []))
        self.assertLess(planezip.torch.matched_share(table, other.trace), 1)


@needs(torch, "torch")
class Errors(Case):
    def refused(self, text, step=lambda: None, **options):
        with self.assertRaisesRegex(ValueError, text):
            planezip.torch.capture(step, **{"model": "m", "batch": 1, **options})

    def test_arguments(self):
        self.refused("ran no backward pass")
        self.refused("optimizer is 'lion'; known are sgd, adamw", optimizer="lion")
        self.refused("batch 0", batch=0)
        inputs = torch.ones(3, requires_grad=True)
        self.refused("model is 'm{64}', expected are 1 to 63 bytes",
                     lambda: inputs.sum().backward(), model="m" * 64)

    def test_what_step_raises_passes(self):
        model, inputs = perceptron(), torch.randn(ROWS, WIDTH)

        def step():
            model(inputs)
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            planezip.torch.capture(step, model="m", batch=1, contents=self.folder)
        self.assertEqual(list(self.folder.iterdir()), [])
        self.capture(trainer(model, inputs)) # nothing is left of the failed one


if __name__ == "__main__":
    unittest.main()
