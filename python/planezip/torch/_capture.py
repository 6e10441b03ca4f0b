"""capture(): runs training iterations and hands back what they did."""
import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim import optimizer as optimizers

from ._contents import Contents
from ._fused import FusedDropout
from ._recorder import Recorder

MOMENTS_OF_ADAMW = 2


@dataclass(frozen=True)
class Saved:
    """Saved tensors by what says so, as ids of storages in the trace.

    confirmed: autograd packed them in the forward pass, and the backward pass read them.
    read: only the latter; as the loss, for the shape of its gradient, or what a function keeps
    without autograd.
    packed: only the former; the backward pass needed no more than their shape, or not even that.
    """
    confirmed: tuple
    read: tuple
    packed: tuple


@dataclass(frozen=True)
class Captured:
    """A forward and a backward pass.  trace: a dictionary, as docs/architecture.md describes it."""
    trace: dict
    saved: Saved

    def write(self, path):
        """The trace as a file; an existing one is overwritten once the new one is whole."""
        path = Path(path)
        partial = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            partial.write_text(json.dumps(self.trace, separators=(",", ":")) + "\n")
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)


@dataclass(frozen=True)
class Capture:
    """iterations: for each call of step a list of Captured: one, or several where gradients
    accumulate over several backward passes.  contents: a path for each, if they were asked for."""
    iterations: tuple
    contents: tuple

    @property
    def only(self):
        """The pass of the first iteration; ValueError if it has several."""
        passes = self.iterations[0]
        if len(passes) != 1:
            raise ValueError(f"planezip: the iteration has {len(passes)} backward passes, expected "
                             "is one; use iterations[0]")
        return passes[0]

    @property
    def trace(self):
        return self.only.trace

    @property
    def saved(self):
        return self.only.saved

    def write(self, path):
        """The trace of the only pass, as a file."""
        self.only.write(path)


def capture(step, *, model, batch, iterations=1, contents=None, whole_bytes=32 << 20, every=4,
            codec="planezip2", threads=0, optimizer=None, durations=True, fused_dropout=False):
    """Runs step() and records what it does, as a Capture.

    step: a function without arguments that trains for one iteration: forward pass, loss, backward
    pass, and the optimizer's step if there is one.  It may do so on device meta, where tensors have
    shapes and no data, at any batch size.  Gradients may accumulate over several backward passes.
    What makes the batch belongs outside: here it would be part of the forward pass.
    model, batch: the name and the batch size that the trace bears.
    iterations: how often step() is called.
    contents: a folder, which is made, for the contents of the saved tensors; iteration I becomes
    I.pz there, see Contents.  Storages above whole_bytes are sampled: the first of every so many
    4096-byte chunks.  codec, threads: as for planezip.compress().
    optimizer: "sgd" or "adamw", for what its step moves; None for a look at the one that runs.
    durations: measure each operator; on the CPU that includes the dispatch, and on another device
    its own clock tells.  Not on device meta.
    fused_dropout: run torch.nn.functional.dropout as GPUs do, which saves one byte an element,
    where step() runs on another device.

    A saved tensor is one that is there before the iteration or that the forward pass makes, and
    that the backward pass reads; parameters, buffers and gradients of parameters are none.
    """
    if optimizer not in (None, "sgd", "adamw"):
        raise ValueError(f"planezip: optimizer is {optimizer!r}; known are sgd, adamw")
    if iterations < 1 or batch < 1 or every < 1:
        raise ValueError(f"planezip: iterations {iterations}, batch {batch}, every {every}; "
                         "expected is 1 or more")
    run = Run(Recorder(durations=durations), optimizer)
    paths, captured = [], []
    with run.observing(fused_dropout):
        for number in range(iterations):
            with opened(contents, number, paths) as file:
                run.recorder.contents = file and Contents(file, whole_bytes, every, codec, threads)
                passes = run.iterate(step)
                if file:
                    run.recorder.contents.finish()
            about = {"model": model, "batch": batch, "parameters": run.parameters(),
                     "optimizer": run.optimizer or "sgd"}
            captured.append([Captured(record.document(**about), saved_of(record))
                             for record in passes])
    return Capture(tuple(captured), tuple(paths))


@contextlib.contextmanager
def opened(folder, number, paths):
    """The file for the contents of an iteration, or None; what is not whole is removed."""
    if folder is None:
        yield None
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    path = Path(folder) / f"{number}.pz"
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with partial.open("wb") as file:
            yield file
        partial.replace(path)
        paths.append(path)
    finally:
        partial.unlink(missing_ok=True)


def saved_of(record):
    """What the two sources say of the saved tensors."""
    read, ids, made = record.saved(), record.numbers(), record.signatures()
    packed = {key for key in record.packed
              if key in ids and record.kind(key, made) in ("input", "activation")}

    def numbers(keys):
        return tuple(sorted(ids[key] for key in keys))

    return Saved(numbers(read & packed), numbers(read - packed), numbers(packed - read))


class Run:
    """Watches models, gradients and optimizers while the recorder watches operators."""

    def __init__(self, recorder, optimizer):
        self.recorder = recorder
        self.optimizer = optimizer
        self.trained = {} # parameters by id
        self.modules = set()
        self.handles = []

    @contextlib.contextmanager
    def observing(self, fused_dropout):
        self.handles += [register_module_forward_pre_hook(self.module_begins),
                         optimizers.register_optimizer_step_pre_hook(self.optimizer_begins),
                         optimizers.register_optimizer_step_post_hook(self.optimizer_ends)]
        try:
            with saved_tensors_hooks(self.recorder.pack, lambda tensor: tensor), \
                    FusedDropout() if fused_dropout else contextlib.nullcontext():
                yield
        finally:
            for handle in self.handles:
                handle.remove()

    def iterate(self, step):
        """One iteration: its passes."""
        self.recorder.begin()
        with self.recorder:
            step()
        passes = self.recorder.end()
        if not passes:
            raise ValueError("planezip: step() ran no backward pass, so nothing is saved for one")
        return passes

    def module_begins(self, module, _):
        """Before a module runs for the first time: what it holds outlives the iteration."""
        if id(module) in self.modules:
            return
        self.modules.update(id(child) for child in module.modules())
        for parameter in module.parameters():
            self.enter_parameter(parameter)
        for buffer in module.buffers():
            self.recorder.persist(buffer, "buffer")

    def enter_parameter(self, parameter):
        self.recorder.persist(parameter, "parameter")
        if parameter.grad is not None:
            self.recorder.persist(parameter.grad, "parameter_gradient")
        if parameter.requires_grad and id(parameter) not in self.trained:
            self.trained[id(parameter)] = parameter
            if parameter.is_leaf:
                self.handles.append(parameter.register_post_accumulate_grad_hook(self.gradient_is))

    def gradient_is(self, parameter):
        if parameter.grad is not None:
            self.recorder.persist(parameter.grad, "parameter_gradient")

    def optimizer_begins(self, *_):
        self.recorder.in_optimizer = True

    def optimizer_ends(self, optimizer, *_):
        self.recorder.in_optimizer = False
        if self.optimizer is None and optimizer.state:
            self.optimizer = "adamw" if moments(optimizer) >= MOMENTS_OF_ADAMW else "sgd"

    def parameters(self):
        """Elements that are trained."""
        return sum(parameter.numel() for parameter in self.trained.values())


def moments(optimizer):
    """How many values an optimizer keeps for each element of a parameter."""
    parameter, state = max(optimizer.state.items(), key=lambda item: item[0].numel())
    return sum(isinstance(value, torch.Tensor) and value.numel() == parameter.numel()
               for value in state.values())
