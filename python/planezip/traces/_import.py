"""Traces from what PyTorch's own tools record: an execution trace for what operators do, and a
profiler's trace for how long they take."""
import itertools
from collections import Counter

from . import _flops, _kineto, _nodes, _text
from ._composites import NAMES
from ._record import Op, Pass, Storage

ENGINE = "autograd::engine::evaluate_function"
ACCUMULATE = "torch::autograd::AccumulateGrad"
OPTIMIZER = "Optimizer.step#"
# As in planezip.torch: positions of running statistics, which schemas do not call written.
STATISTICS = {"native_batch_norm": (3, 4), "cudnn_batch_norm": (3, 4), "miopen_batch_norm": (3, 4)}
ALLOCATIONS = ("aten.empty", "aten.new_empty")


def import_trace(path, *, model, batch, kineto=None, optimizer=None, number=0, lenient=False):
    """The trace, as a dictionary, of the pass number of an execution trace.

    path: what torch.profiler.ExecutionTraceObserver wrote, or a trace of Chakra; one or more
    iterations, with the optimizer's step or without.  kineto: what torch.profiler exported of the
    same run, for durations.  lenient: of a file that is cut off, take what is whole.

    Parameters are what the optimizer's step changes, or, without one, what the shapes of the
    gradients tell; buffers are what the forward pass changes though it was there before.  Parts
    that are frozen count as inputs.
    """
    nodes = _nodes.load(path, lenient)
    times = _kineto.durations(kineto, lenient) if kineto is not None else ({}, {})
    reader = Reader(nodes, times)
    passes = reader.run()
    if not passes:
        _text.fail("nodes", "have no backward pass")
    if not 0 <= number < len(passes):
        _text.fail("nodes", f"have {len(passes)} passes, of which number {number} is none; the "
                   "first has number 0")
    record = passes[number]
    parameters = sum(storage.bytes // reader.item_bytes[key]
                     for key, storage in record.storages.items() if storage.kind == "parameter")
    return record.document(model=model, batch=batch, parameters=parameters,
                           optimizer=optimizer or reader.optimizer or "sgd")


class Reader:
    """Goes through the nodes once, and makes records of them."""

    def __init__(self, nodes, times):
        self.host, self.device = times
        self.by_id = {node.id: node for node in nodes}
        self.roots = []
        for node in nodes:
            parent = self.by_id.get(node.parent)
            (self.roots if parent is None or parent is node else parent.children).append(node)
        self.schemas = any(node.schema for node in nodes)
        self.keys = itertools.count()
        self.live = {} # key by number of storage
        self.hidden = {} # operator by number of a storage that was allocated inside it
        self.storages, self.item_bytes = {}, {} # by key
        self.changed_by_optimizer = set()
        self.gradient_shapes = Counter()
        self.optimizer = None
        self.passes = [Pass()]

    def run(self):
        for node in self.roots:
            self.visit(node, False, False)
        self.passes = [record for record in self.passes if any(op.backward for op in record.ops)]
        for record in self.passes:
            self.name_kinds(record)
        return self.passes

    def visit(self, node, backward, optimizer):
        """A node and what is inside it, down to operators that are recorded."""
        backward = backward or node.name.startswith(ENGINE)
        if node.name.startswith(OPTIMIZER):
            optimizer = True
            name = node.name.removeprefix(OPTIMIZER).lower()
            self.optimizer = "sgd" if name.startswith(("sgd", "rmsprop", "adagrad")) else "adamw"
        if node.name == ACCUMULATE:
            self.accumulate(node)
        if self.is_operator(node):
            self.operator(node, backward, optimizer)
            return
        for child in node.children:
            self.visit(child, backward, optimizer)

    def is_operator(self, node):
        known = node.schema if self.schemas else node.name.startswith("aten::")
        base = node.name.removeprefix("aten::")
        inside = any(child.name == node.name for child in node.children)
        return bool(known) and base not in NAMES and not inside

    def accumulate(self, node):
        """A gradient of a parameter."""
        for tensor in node.inputs:
            self.gradient_shapes[tensor.shape] += 1
            self.storages[self.key(tensor)].kind = "parameter_gradient"

    def key(self, tensor):
        """The key of a storage that something reads; a new one if it was there before."""
        if tensor.storage not in self.live:
            key = self.enter(tensor, False)
            if tensor.storage in self.hidden:
                self.hidden.pop(tensor.storage).writes.append(key)
                self.storages[key].fresh = True
        key = self.live[tensor.storage]
        storage = self.storages[key]
        storage.bytes = max(storage.bytes, tensor.extent_bytes)
        return key

    def enter(self, tensor, fresh):
        key = self.live[tensor.storage] = next(self.keys)
        self.storages[key] = Storage(tensor.extent_bytes, tensor.dtype, tensor.shape, None, fresh)
        self.item_bytes[key] = tensor.item_bytes
        return key

    def is_number(self, tensor):
        """Whether a tensor stands for a number of Python, which is no memory of a device: a scalar
        of Python's types that no operator made."""
        if tensor.dtype not in ("float64", "int64") or tensor.shape != () or tensor.elements != 1:
            return False
        known = self.storages.get(self.live.get(tensor.storage))
        return known is None or known.dtype != tensor.dtype or not known.fresh

    def operator(self, node, backward, optimizer):
        record = self.begin(backward) if not optimizer else None
        written = written_positions(node)
        inputs = [tensor for tensor in node.inputs
                  if tensor.position in written or not self.is_number(tensor)]
        read = list(dict.fromkeys(self.key(tensor) for tensor in inputs))
        numbers = {tensor.storage for tensor in inputs}
        changed = [tensor for tensor in inputs if tensor.position in written]
        if optimizer:
            self.changed_by_optimizer.update(self.key(tensor) for tensor in changed)
        fresh = {t.storage: t for t in node.outputs if t.storage not in numbers}
        writes = [self.allocate(tensor) for tensor in fresh.values()]
        writes += [self.key(tensor) for tensor in changed]
        if record is None or not (node.inputs or node.outputs):
            return
        op = self.describe(node, backward, read, list(dict.fromkeys(writes)), inputs,
                           [*fresh.values(), *changed])
        record.ops.append(op)
        self.hide(node, op, numbers | set(fresh))

    def begin(self, backward):
        """The pass that the next operator belongs to."""
        record = self.passes[-1]
        in_backward = bool(record.ops) and record.ops[-1].backward
        if backward and not in_backward:
            record.begin_backward()
        if not backward and in_backward:
            record = Pass()
            self.passes.append(record)
        return record

    def allocate(self, tensor):
        self.hidden.pop(tensor.storage, None)
        return self.enter(tensor, True)

    def hide(self, node, op, known):
        """Remembers what is allocated inside an operator, in case it is used outside."""
        for child in node.children:
            for tensor in child.outputs:
                if tensor.storage not in known:
                    self.live.pop(tensor.storage, None)
                    self.hidden[tensor.storage] = op
            self.hide(child, op, known)

    def describe(self, node, backward, read, writes, inputs, written):
        op = Op(full_name(node), backward, read, writes, view=not writes and bool(node.outputs))
        op.duration_ns = self.duration(node)
        if not op.view and not op.name.startswith(ALLOCATIONS):
            moved = [*{(t.storage, t.shape): t for t in inputs}.values(), *written]
            op.bytes = sum(min(t.bytes, t.extent_bytes) for t in moved)
            op.float_bytes = sum(min(t.bytes, t.extent_bytes) for t in moved
                                 if t.dtype == "float32")
            op.flops = flops(node, sum(tensor.elements for tensor in written))
        return op

    def duration(self, node):
        """Of the kernels that a node started, or of itself on the host; None if nobody tells."""
        if self.device:
            return sum(self.device.get(n.record, 0) for n in within(node))
        return self.host.get(node.record)

    def name_kinds(self, record):
        """Which of the storages that were there before are parameters and which are buffers."""
        shapes = self.gradient_shapes.copy()
        forward = record.ops[:record.forward_ops()]
        changed = {key for op in forward for key in op.writes}
        read = {key for op in forward for key in op.reads}
        record.storages = {key: self.storages[key] for key in record.touched()}
        made = record.signatures()
        for key, storage in record.storages.items():
            if key in made or storage.kind is not None:
                continue
            if key in changed:
                storage.kind = "buffer"
            elif key in self.changed_by_optimizer and key in read:
                storage.kind = "parameter"
            elif not self.changed_by_optimizer and shapes[storage.shape] > 0:
                storage.kind = "parameter"
                shapes[storage.shape] -= 1


def within(node):
    """A node and all nodes inside it."""
    yield node
    for child in node.children:
        yield from within(child)


def full_name(node):
    """As PyTorch prints an operator: aten.add.Tensor."""
    name = (node.schema.split("(")[0] or node.name).replace("::", ".")
    return name if name.count(".") > 1 or not node.schema else f"{name}.default"


def written_positions(node):
    """Positions of the arguments that a node writes, by its schema, else by its name."""
    base = node.name.split("::")[-1]
    if base in STATISTICS:
        return STATISTICS[base]
    if not node.schema:
        return (0,) if base.endswith("_") and not base.endswith("__") else ()
    return tuple(i for i, argument in enumerate(arguments_of(node.schema)) if "!" in argument)


def arguments_of(schema):
    """The arguments that a schema declares, as texts."""
    depth, found, start = 0, [], schema.index("(") + 1
    for i in range(start, len(schema)):
        depth += (schema[i] in "([") - (schema[i] in ")]")
        if depth < 0 or depth == 0 and schema[i] == ",":
            found.append(schema[start:i].strip())
            start = i + 1
        if depth < 0:
            break
    return [argument for argument in found if argument and argument != "*"]


def flops(node, written):
    """Two for each multiplication with its addition; one for each element of other results."""
    name = node.name.removeprefix("aten::")
    shapes = {tensor.position: tensor.shape for tensor in node.inputs}
    if name == "convolution" and node.outputs and len(node.arguments) > 6:
        return _flops.convolution(shapes[1], node.outputs[0].shape, bool(node.arguments[6]),
                                  shapes[0])
    return _flops.of(name, node.arguments, shapes, written)
