"""Records every ATen operator of training iterations, below autograd.

Tells apart forward pass, backward pass and optimizer: an operator runs in the backward pass if a
node of autograd is at work, which is also true of what torch.utils.checkpoint computes again.
Hooks of gradients run between nodes, with gradients disabled, so what runs then waits until it is
clear whether the backward pass goes on.
"""
import time

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ..traces import Pass, Op, Storage
from . import _operators
from ._storages import Storages, parts


class Recorder(TorchDispatchMode):
    """The mode.  passes: of the current iteration, an Pass each; the last one may lack its
    backward pass.  contents: sees each saved tensor before the backward pass first reads it; None
    for nobody."""

    def __init__(self, contents=None, durations=True):
        super().__init__()
        self.contents = contents
        self.durations = durations
        self.in_optimizer = False
        self.storages = Storages()
        self.persistent = {} # kind by key
        self.begin()

    def begin(self):
        """Forgets the iteration before."""
        self.passes, self.pending, self.events = [], [], []
        self.in_backward = False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self.in_optimizer or func.namespace in ("profiler", "prim"):
            return func(*args, **kwargs)
        node = in_node()
        arguments = _operators.tensors((args, kwargs))
        before = [self.storages.key(tensor) for tensor in arguments]
        current = self.place(node, str(func))
        if node:
            self.show(arguments, before)
        start = self.start(arguments)
        result = self.run(func, args, kwargs)
        stop = self.stop(start, result)
        op = self.describe(func, args, kwargs, result, arguments, before, node)
        if op is not None:
            self.keep(op, current, stop)
        return result

    def run(self, func, args, kwargs):
        """Runs an operator."""
        return func(*args, **kwargs)

    # Where an operator belongs

    def place(self, node, name):
        """The pass that an operator belongs to; None if the next operators will tell."""
        if node:
            self.go_backward()
        elif self.in_backward and (not torch.is_grad_enabled()
                                   or name.startswith("aten.ones_like")):
            return None
        else:
            self.go_forward()
        return self.passes[-1]

    def go_forward(self):
        """Makes sure that the last pass is one in its forward pass."""
        if self.in_backward or not self.passes:
            self.passes.append(Pass(packed=set()))
        self.in_backward, self.pending = False, []

    def go_backward(self):
        """Makes sure that the last pass is in its backward pass; what was pending is part of it."""
        if not self.passes:
            self.passes.append(Pass(packed=set()))
        if not self.in_backward:
            self.passes[-1].begin_backward()
        for op in self.pending:
            op.backward = True
        self.passes[-1].ops += self.pending
        self.in_backward, self.pending = True, []

    def keep(self, op, current, stop):
        (self.pending if current is None else current.ops).append(op)
        if isinstance(stop, int):
            op.duration_ns = stop
        elif stop is not None:
            self.events.append((op, *stop))

    # What it does

    def describe(self, func, args, kwargs, result, arguments, before, node):
        """The operator as a record, with its storages entered; None if it touches none."""
        results = _operators.tensors(result)
        after = [self.storages.key(tensor) for tensor in results]
        known, out = set(before), {id(t) for t in _operators.outputs(func, kwargs)}
        fresh = {key: t for key, t in zip(after, results) if key not in known}
        changed = {self.storages.key(t): t for t in _operators.mutated(func, args, kwargs)}
        written = {**fresh, **changed}
        if not arguments and not written:
            return None
        on_host = crosses(arguments, results)
        read = {} if on_host else {key: t for key, t in zip(before, arguments) if id(t) not in out}
        self.enter_all(zip(before, arguments), False)
        self.enter_all(fresh.items(), not on_host)
        op = Op(str(func), node, list(read), list(written),
                view=not written and any(key in known for key in after))
        if not op.view and not _operators.is_allocation(op.name):
            moved = [*{id(t): t for t in arguments if id(t) not in out}.values(),
                     *written.values()]
            op.bytes = _operators.moved(moved)
            op.float_bytes = _operators.moved(moved, torch.float32)
            op.flops = _operators.flops(func, args, kwargs, result, written.values())
        return op

    def enter_all(self, storages, fresh):
        for key, tensor in storages:
            self.enter(self.passes[-1], key, tensor, fresh)

    def enter(self, record, key, tensor, fresh):
        """Notes a storage in the pass that first sees it; a storage may grow."""
        size = tensor.untyped_storage().nbytes()
        found = record.storages.get(key)
        if found is None:
            record.storages[key] = Storage(size, str(tensor.dtype).removeprefix("torch."),
                                           tuple(tensor.shape), self.kind_of(key, tensor), fresh)
        elif size > found.bytes:
            found.bytes = size

    def kind_of(self, key, tensor):
        if isinstance(tensor, torch.nn.Parameter):
            self.persistent.setdefault(key, "parameter")
        return self.persistent.get(key)

    # What autograd and the model say

    def pack(self, tensor):
        """A hook for saved tensors: autograd keeps this one for the backward pass, and may say so
        before the operator runs that begins a pass."""
        if not in_node():
            self.go_forward()
            self.passes[-1].packed.update(self.storages.key(part) for part in parts(tensor))
        return tensor

    def persist(self, tensor, kind):
        """A parameter, buffer or gradient, which outlives the iteration."""
        for part in parts(tensor):
            key = self.storages.key(part)
            self.persistent.setdefault(key, kind)
            for record in self.passes[-1:]:
                if key in record.storages:
                    record.storages[key].kind = self.persistent[key]

    # Contents and durations

    def show(self, arguments, keys):
        """Lets contents see what the backward pass is about to read."""
        if self.contents is not None:
            for key, tensor in zip(keys, arguments):
                self.contents.see(self.passes, key, tensor)

    def start(self, arguments):
        """The time, in the clock of the device that works on the arguments."""
        if not self.durations:
            return None
        device = next((tensor.device for tensor in arguments
                       if tensor.device.type not in ("cpu", "meta")), None)
        if device is None:
            return time.perf_counter_ns()
        event = torch.Event(device, enable_timing=True)
        event.record()
        return event

    def stop(self, start, result):
        """Nanoseconds, or two events that will tell; None without a clock, as on device meta."""
        now = time.perf_counter_ns()
        if start is None or any(tensor.is_meta for tensor in _operators.tensors(result)):
            return None
        if isinstance(start, int):
            return now - start
        event = torch.Event(start.device, enable_timing=True)
        event.record()
        return start, event

    def end(self):
        """Ends an iteration: asks the device for its times, and drops what has no backward pass."""
        for op, start, stop in self.events:
            stop.synchronize()
            op.duration_ns = round(start.elapsed_time(stop) * 1e6)
        self.passes = [record for record in self.passes
                       if any(op.backward for op in record.ops)]
        return self.passes


def in_node():
    """Whether autograd computes gradients."""
    return torch._C._current_autograd_node() is not None


def crosses(arguments, results):
    """Whether an operator brings data from the host to a device: nothing can compute it again
    there, so it is an input."""
    return (bool(arguments) and all(tensor.device.type == "cpu" for tensor in arguments)
            and any(tensor.device.type != "cpu" for tensor in results))
