"""planezip.traces: traces from execution traces, Kineto and Chakra, written by hand, and by torch
where it is installed."""
import copy
import gzip
import json
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path

import planezip.traces
from planezip import PlaneZipError
from planezip.traces._composites import NAMES
from support import needs, optional

torch = optional("torch")
if torch:
    import planezip.torch
    from torch import nn
    from torch.nn import functional
    from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile

FLOAT = "Tensor(float)"


def tensor(storage, *shape, item_bytes=4):
    """A tensor as execution traces write it, with its shape."""
    elements = 1
    for size in shape:
        elements *= size
    return [1000 + storage, storage, 0, elements, item_bytes, "cpu"], list(shape)


def side(*tensors):
    return {"values": [value for value, _ in tensors], "shapes": [shape for _, shape in tensors],
            "types": [FLOAT] * len(tensors)}


def node(number, parent, name, schema="", inputs=(), outputs=()):
    attributes = [{"name": "op_schema", "type": "string", "value": schema},
                  {"name": "rf_id", "type": "uint64", "value": number}]
    return {"id": number, "ctrl_deps": parent, "name": name, "inputs": side(*inputs),
            "outputs": side(*outputs), "attrs": attributes}


def small():
    """One product and a rectifier, by hand: input 10, weight 11, product and result 12, seed 13,
    gradients 14 and 15.  Number 12 was the number of other memory before."""
    engine, relu = "autograd::engine::evaluate_function: ", "aten::relu_(Tensor(a!) self) -> Tensor"
    product = "aten::mm(Tensor self, Tensor mat2) -> Tensor"
    x, w, y, seed = tensor(10, 8, 16), tensor(11, 16, 4), tensor(12, 8, 4), tensor(13, 8, 4)
    gradient, weight_gradient = tensor(14, 8, 4), tensor(15, 16, 4)
    return {"schema": "1.1.1-chakra.0.0.4", "nodes": [
        node(2, 1, "[pytorch|profiler|execution_trace|thread]"),
        node(3, 2, "aten::matmul", "aten::matmul(Tensor self, Tensor other) -> Tensor", [x, w],
             [y]),
        node(4, 3, "aten::mm", product, [x, w], [y]),
        node(5, 4, "aten::empty", "aten::empty.memory_format(SymInt[] size) -> Tensor", [], [y]),
        node(6, 2, "aten::relu_", relu, [y], [y]),
        node(7, 2, "aten::ones_like", "aten::ones_like(Tensor self) -> Tensor", [y], [seed]),
        node(8, 2, f"{engine}ReluBackward0"),
        node(9, 8, "aten::threshold_backward", "aten::threshold_backward(Tensor grad_output, "
             "Tensor self, Scalar threshold) -> Tensor", [seed, y], [gradient]),
        node(10, 2, f"{engine}MmBackward0"),
        node(11, 10, "aten::mm", product, [x, gradient], [weight_gradient]),
        node(12, 2, f"{engine}torch::autograd::AccumulateGrad"),
        node(13, 12, "torch::autograd::AccumulateGrad", "", [weight_gradient]),
        node(14, 2, "Optimizer.step#AdamW.step"),
        node(15, 14, "aten::add_", "aten::add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor",
             [w, weight_gradient], [w]),
        node(1, 1, "[pytorch|profiler|execution_trace|process]")]}


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def message(*fields):
    """A message of protocol buffers, of numbers and bytes."""
    return b"".join(varint(number << 3) + varint(value) if isinstance(value, int)
                    else varint(number << 3 | 2) + varint(len(value)) + value
                    for number, value in fields)


def chakra(document, version="1.0.2"):
    """The same nodes as a file of Chakra."""
    messages = [message((1, version.encode()))]
    for entry in document["nodes"]:
        def io(name, entry=entry):
            return message(*((i, str(entry[name][key]).encode()) for i, key in
                             enumerate(("values", "shapes", "types"), 1)))
        schema = message((1, b"op_schema"), (29, entry["attrs"][0]["value"].encode()))
        number = message((1, b"rf_id"), (13, entry["attrs"][1]["value"]))
        messages.append(message((1, entry["id"]), (2, entry["name"].encode()), (3, 4),
                                (4, varint(entry["ctrl_deps"])), (8, io("inputs")),
                                (9, io("outputs")), (10, schema), (10, number)))
    return b"".join(varint(len(m)) + m for m in messages)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, data, name="et.json"):
        path = self.folder / name
        if not isinstance(data, (bytes, str)):
            data = json.dumps(data, indent=1)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    def load(self, data, **options):
        """The trace of a file with these contents, which the program accepts."""
        trace = planezip.traces.import_trace(self.file(data), **{"model": "m", "batch": 8,
                                                                 **options})
        self.program("trace", "check", str(self.file(trace, "trace.json")))
        return trace

    def program(self, *arguments):
        done = subprocess.run([sys.executable, "-m", "planezip", *arguments], text=True,
                              capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def saved(self, trace):
        """Size and type of every saved tensor."""
        path = self.file(trace, "trace.json")
        shown = json.loads(self.program("trace", "show", "-t", "--json", str(path)))
        return Counter((row["fp32_bytes"], row["dtype"]) for row in shown["tensors"])


class ByHand(Case):
    def test_json(self):
        trace = self.load(small())
        self.assertEqual([(op["name"], op["phase"]) for op in trace["ops"]], [
            ("aten.mm.default", "forward"), ("aten.relu_.default", "forward"),
            ("aten.ones_like.default", "backward"), ("aten.threshold_backward.default", "backward"),
            ("aten.mm.default", "backward")])
        self.assertEqual([(s["kind"], s["bytes"], s["op"], s["slot"]) for s in trace["storages"]], [
            ("input", 512, -1, 0), ("parameter", 256, -1, -1), ("activation", 128, 0, 0),
            ("activation", 128, 2, 0), ("activation", 128, 3, 0),
            ("parameter_gradient", 256, 4, 0)])
        product, rectifier = trace["ops"][:2]
        self.assertEqual((product["flops"], product["bytes"], product["float_bytes"]),
                         (2 * 8 * 16 * 4, 512 + 256 + 128, 512 + 256 + 128))
        self.assertEqual((rectifier["reads"], rectifier["writes"]), ([2], [2]))
        self.assertEqual((trace["parameters"], trace["optimizer"]), (64, "adamw"))
        self.assertNotIn("duration_ns", product)

    def test_chakra_says_the_same(self):
        for version in ("0.0.4", "1.0.0", "1.0.2"):
            self.assertEqual(self.load(chakra(small(), version)), self.load(small()))

    def test_gzip(self):
        self.assertEqual(self.load(gzip.compress(json.dumps(small()).encode())), self.load(small()))

    def test_without_the_optimizer(self):
        document = small()
        document["nodes"] = [n for n in document["nodes"] if n["id"] not in (14, 15)]
        trace = self.load(document)
        self.assertEqual((trace["parameters"], trace["optimizer"]), (64, "sgd"))

    def test_numbers_of_storages_are_used_again(self):
        document = small()
        document["nodes"].insert(1, node(1, 1, "aten::zeros", "aten::zeros(int[] size) -> Tensor",
                                         [], [tensor(12, 999)]))
        document["nodes"][1]["id"] = 0
        trace = self.load(document)
        sizes = sorted(s["bytes"] for s in trace["storages"])
        self.assertEqual(sizes, [128, 128, 128, 256, 256, 512, 4 * 999])

    def test_memory_made_inside_an_operator(self):
        document = small()
        inside = node(6, 4, "aten::empty", "aten::empty.memory_format(SymInt[] size) -> Tensor", [],
                      [tensor(77, 50)])
        for entry in document["nodes"]:
            entry["id"] += entry["id"] >= 6
            entry["attrs"][1]["value"] = entry["id"]
            entry["ctrl_deps"] += entry["ctrl_deps"] >= 6
            if entry["name"] == "aten::threshold_backward":
                entry["inputs"] = side(tensor(13, 8, 4), tensor(12, 8, 4), tensor(77, 50))
        document["nodes"].append(inside)
        trace = self.load(document)
        hidden = next(s for s in trace["storages"] if s["bytes"] == 200)
        self.assertEqual((hidden["kind"], hidden["op"], hidden["slot"]), ("activation", 0, 1))

    def test_several_passes(self):
        document, second = small(), small()
        for entry in second["nodes"]:
            for name in ("id", "ctrl_deps"):
                entry[name] += 100 if entry[name] > 2 else 0
            entry["attrs"][1]["value"] = entry["id"]
        document["nodes"] += [entry for entry in second["nodes"] if entry["id"] > 100]
        self.assertEqual(self.load(document, number=0), self.load(document, number=1))
        self.refused("nodes", "have 2 passes, of which number 2 is none", document, number=2)

    def refused(self, where, text, data, **options):
        with self.assertRaises(PlaneZipError) as caught:
            self.load(data, **options)
        self.assertEqual(caught.exception.where, where)
        self.assertIn(text, caught.exception.text)

    def test_broken_json(self):
        text = json.dumps(small(), indent=1)
        end = text.index("Optimizer.step")
        line = text.count("\n", 0, end) + 1
        with self.assertRaises(PlaneZipError) as caught:
            self.load(text[:end])
        self.assertRegex(caught.exception.where, f"line {line}, column [0-9]+")
        self.assertEqual(caught.exception.status, "PZ_ERR_SYNTAX")
        self.assertEqual(self.load(text[:end], lenient=True)["ops"], self.load(small())["ops"])

    def test_broken_chakra(self):
        data = chakra(small())
        start = len(chakra({"nodes": small()["nodes"][:-1]})) # of the last message
        self.refused(f"byte {start}", "ends within a message", data[:-1])
        self.assertEqual(self.load(data[:-1], lenient=True), self.load(small()))
        self.refused("nodes[0]", "is no message", varint(7) + message((1, b"1.0.2"))
                     + varint(2) + b"\x0a\x7f")
        self.refused("metadata.version", "is '9.1'; known are versions 0 and 1",
                     chakra(small(), "9.1"))

    def test_wrong_meaning(self):
        def changed(path, value):
            document = copy.deepcopy(small())
            place = document
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = value
            return document

        first = ["nodes", 1]
        self.refused("schema", "is '2.0'", changed(["schema"], "2.0"))
        self.refused("nodes", "is missing", {"traceEvents": []})
        self.refused("nodes", "have no backward pass", changed(["nodes"], small()["nodes"][:5]))
        self.refused("nodes[1]", "is no node", changed(first, 7))
        self.refused("nodes[1]", "of another type", changed([*first, "id"], "x"))
        self.refused("nodes[1].inputs", "has 1 values, 2 types, 2 shapes",
                     changed([*first, "inputs", "values"], [[1, 2, 3, 4, 5, "cpu"]]))
        self.refused("nodes[1].inputs.values[0]", "expected is a tensor of six numbers",
                     changed([*first, "inputs", "values", 0], [1, -2, 3, 4, 5, "cpu"]))


class Durations(Case):
    def kineto(self, events):
        return self.file(events, "kineto.json")

    def event(self, category, name, duration, **arguments):
        return {"ph": "X", "cat": category, "name": name, "ts": 1.5, "dur": duration,
                "args": {key.replace("_", " "): value for key, value in arguments.items()}}

    def test_of_the_host(self):
        events = [self.event("cpu_op", "aten::mm", 2.5, External_id=70, Record_function_id=4),
                  self.event("cpu_op", "aten::relu_", 0.75, External_id=6)] # as older ones are
        for document in ({"traceEvents": events}, events):
            trace = self.load(small(), kineto=self.kineto(document))
            self.assertEqual([op.get("duration_ns") for op in trace["ops"]],
                             [2500, 750, None, None, None])

    def test_of_a_device(self):
        events = [self.event("cpu_op", "aten::mm", 2.5, External_id=70, Record_function_id=4),
                  self.event("cpu_op", "aten::empty", 1, External_id=71, Record_function_id=5),
                  self.event("kernel", "gemm", 10, External_id=70),
                  self.event("kernel", "split", 5, External_id=71)]
        trace = self.load(small(), kineto=self.kineto({"traceEvents": events}))
        self.assertEqual([op["duration_ns"] for op in trace["ops"]], [15000, 0, 0, 0, 0])

    def test_that_is_cut_off(self):
        text = json.dumps([self.event("cpu_op", "aten::mm", 2, External_id=4)] * 2)[:-5]
        with self.assertRaises(PlaneZipError):
            self.load(small(), kineto=self.kineto(text))
        trace = self.load(small(), kineto=self.kineto(text), lenient=True)
        self.assertEqual(trace["ops"][0]["duration_ns"], 2000)


class Command(Case):
    def run_module(self, *arguments):
        return subprocess.run([sys.executable, "-m", "planezip.traces", *arguments], text=True,
                              capture_output=True, check=False)

    def test_files(self):
        out = self.folder / "out.json"
        arguments = [str(self.file(small())), "--model", "m", "--batch", "8", "-o", str(out)]
        self.assertEqual(self.run_module(*arguments).returncode, 0)
        self.assertEqual(json.loads(out.read_text()), self.load(small()))
        again = self.run_module(*arguments)
        self.assertEqual((again.returncode, again.stderr),
                         (1, f"planezip: {out}: exists; -f overwrites it\n"))
        self.assertEqual(self.run_module(*arguments, "-f").returncode, 0)

    def test_errors(self):
        path = self.file("{")
        done = self.run_module(str(path), "--model", "m", "--batch", "8")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, f"^planezip: {path}: .*\\(line 1, column 2\\)\n$")
        self.assertEqual(self.run_module(str(path), "--model", "m").returncode, 2)


@needs(torch, "torch")
class FromTorch(Case):
    """The same step recorded by torch itself and by planezip.torch."""

    def compare(self, loss, parameters):
        optimizer = torch.optim.SGD(parameters, lr=0.01, momentum=0.9)

        def step():
            loss().backward()
            optimizer.step()
            optimizer.zero_grad()

        step()
        path, times = self.folder / "et.json", self.folder / "kineto.json"
        observer = ExecutionTraceObserver().register_callback(str(path))
        with profile(activities=[ProfilerActivity.CPU],
                     execution_trace_observer=observer) as profiler:
            step()
        profiler.export_chrome_trace(str(times))
        captured = planezip.torch.capture(step, model="m", batch=8).trace
        imported = planezip.traces.import_trace(path, model="m", batch=8, kineto=times)
        self.assertEqual(self.saved(imported), self.saved(captured))
        self.assertEqual(imported["parameters"], captured["parameters"])
        for name in ("flops", "bytes"):
            found, expected = (sum(op[name] for op in trace["ops"])
                               for trace in (imported, captured))
            self.assertAlmostEqual(found / expected, 1, delta=0.05)
        self.assertTrue(all(op["duration_ns"] > 0 for op in imported["ops"]))

    def test_composites_are_such(self):
        def implicit(name):
            overloads = getattr(torch.ops.aten, name)
            return any(torch._C._dispatch_has_kernel_for_dispatch_key(
                f"aten::{name}.{o}" if o != "default" else f"aten::{name}",
                "CompositeImplicitAutograd") for o in overloads.overloads())

        self.assertEqual([name for name in sorted(NAMES) if not implicit(name)], [])

    def test_convolutions(self):
        model = nn.Sequential(nn.Conv2d(3, 8, 3, groups=1), nn.BatchNorm2d(8), nn.ReLU(True),
                              nn.Conv2d(8, 8, 3, stride=2, groups=4), nn.MaxPool2d(2),
                              nn.ConvTranspose2d(8, 4, 3, stride=2), nn.Flatten(), nn.Dropout(0.1),
                              nn.Linear(4 * 49, 10))
        images, labels = torch.randn(8, 3, 16, 16), torch.zeros(8, dtype=torch.long)
        self.compare(lambda: functional.cross_entropy(model(images) * 0.5, labels),
                     model.parameters())

    def test_recurrence(self):
        model, sequence = nn.LSTM(16, 8), torch.randn(3, 8, 16)
        self.compare(lambda: model(sequence)[0].sum(), model.parameters())


if __name__ == "__main__":
    unittest.main()
