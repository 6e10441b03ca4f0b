#!/usr/bin/env python3
"""Writes the trace of one training iteration of a made-up residual network of any length.

Usage: synthetic_trace.py OPERATORS [--batch N] [--seed S] > trace.json

Blocks of three conv - batch norm - relu_ (in place), with a shortcut that is added, in stages of
growing width and shrinking images; the backward pass runs over them in reverse.  The sizes are
those of a real network of this kind, so that plans of a long trace look like plans of a real one.
Roughly OPERATORS operators; the same arguments give the same bytes.
"""
import argparse
import json
import random
import sys

FLOAT = 4


class Trace:
    """Operators and storages in the order in which they come about."""

    def __init__(self):
        self.ops = []
        self.storages = []

    def storage(self, elements, kind, dtype="float32", op=-1, slot=-1):
        """Adds a storage and returns its id."""
        size = FLOAT if dtype == "float32" else 8
        self.storages.append({"id": len(self.storages), "bytes": elements * size, "dtype": dtype,
                              "kind": kind, "op": op, "slot": slot})
        return len(self.storages) - 1

    def outputs(self, sizes, kinds=None):
        """Storages that the next operator writes."""
        kinds = kinds or ["activation"] * len(sizes)
        return [self.storage(size, kind, op=len(self.ops), slot=slot)
                for slot, (size, kind) in enumerate(zip(sizes, kinds))]

    def op(self, name, phase, reads, writes, flops=0):
        """Adds an operator; what it moves is what it reads and writes."""
        view = not writes
        moved = [] if view else list(dict.fromkeys(reads)) + writes
        total = sum(self.storages[s]["bytes"] for s in moved)
        floats = sum(self.storages[s]["bytes"] for s in moved
                     if self.storages[s]["dtype"] == "float32")
        self.ops.append({"name": name, "phase": phase, "view": view, "reads": reads,
                         "writes": writes, "flops": flops, "bytes": total, "float_bytes": floats})


class Layer:
    """One conv - batch norm - relu_ of the forward pass, with what its backward pass needs."""

    def __init__(self, trace, source, channels, width, kernel, batch):
        pixels = width * width * batch
        self.weights = channels * channels * kernel * kernel
        self.source, self.channels, self.elements = source, channels, channels * pixels
        self.flops = 2 * self.weights * pixels
        self.weight = trace.storage(self.weights, "parameter")
        self.scale = trace.storage(2 * channels, "parameter")
        running = trace.storage(2 * channels, "buffer")
        self.conv, = trace.outputs([self.elements])
        trace.op("aten.convolution.default", "forward", [source, self.weight], [self.conv],
                 self.flops)
        out = trace.outputs([self.elements, channels, channels])
        self.out, self.statistics = out[0], out[1:]
        trace.op("aten.native_batch_norm.default", "forward",
                 [self.conv, self.scale, running], out + [running], 4 * self.elements)
        trace.op("aten.relu_.default", "forward", [self.out], [self.out], self.elements)

    def backward(self, trace, gradient):
        """Three operators; returns the gradient of the source."""
        after_relu, = trace.outputs([self.elements])
        trace.op("aten.threshold_backward.default", "backward", [gradient, self.out],
                 [after_relu], self.elements)
        after_norm = trace.outputs([self.elements, 2 * self.channels],
                                   ["activation", "parameter_gradient"])
        trace.op("aten.native_batch_norm_backward.default", "backward",
                 [after_relu, self.conv, self.scale] + self.statistics, after_norm,
                 8 * self.elements)
        of_source = trace.storages[self.source]["bytes"] // FLOAT
        result = trace.outputs([of_source, self.weights], ["activation", "parameter_gradient"])
        trace.op("aten.convolution_backward.default", "backward",
                 [after_norm[0], self.source, self.weight], result, 2 * self.flops)
        return result[0]


def forward_block(trace, source, channels, width, batch):
    """Three layers, the shortcut added in place, and a view; returns the layers and the output."""
    layers = []
    value = source
    for kernel in (1, 3, 1):
        layers.append(Layer(trace, value, channels, width, kernel, batch))
        value = layers[-1].out
    total, = trace.outputs([layers[-1].elements])
    trace.op("aten.add.Tensor", "forward", [value, source], [total], layers[-1].elements)
    trace.op("aten.view.default", "forward", [total], [])
    return layers, total


def backward_block(trace, layers, gradient):
    """The layers in reverse; the gradient of the shortcut is added at the end."""
    through = gradient
    for layer in reversed(layers):
        through = layer.backward(trace, through)
    total, = trace.outputs([layers[0].elements])
    trace.op("aten.add.Tensor", "backward", [through, gradient], [total], layers[0].elements)
    return total


def build(operators, batch, seed):
    """The whole iteration."""
    rng = random.Random(seed)
    trace = Trace()
    blocks = max(1, (operators - 4) // 21)  # 11 operators forward, 10 backward
    image = trace.storage(3 * 224 * 224 * batch, "input", slot=0)
    labels = trace.storage(batch, "input", "int64", slot=1)
    value, = trace.outputs([64 * 56 * 56 * batch])
    trace.op("aten.convolution.default", "forward", [image], [value], 2 * 147 * 64 * 112 * 112)
    done = []
    for block in range(blocks):
        stage = 4 * block // blocks
        width = 56 >> stage
        channels = 64 << stage
        if trace.storages[value]["bytes"] != channels * width * width * batch * FLOAT:
            smaller, = trace.outputs([channels * width * width * batch])
            trace.op("aten.max_pool2d.default", "forward", [value], [smaller], 0)
            value = smaller
        layers, value = forward_block(trace, value, channels, width,
                                      batch)
        done.append(layers)
        if rng.random() < 0.1:
            trace.op("aten.view.default", "forward", [value], [])
    loss, = trace.outputs([batch])
    trace.op("aten.nll_loss_forward.default", "forward", [value, labels], [loss], batch)
    gradient, = trace.outputs([trace.storages[value]["bytes"] // FLOAT])
    trace.op("aten.nll_loss_backward.default", "backward", [loss, value, labels], [gradient], batch)
    for layers in reversed(done):
        if trace.storages[gradient]["bytes"] != layers[-1].elements * FLOAT:
            larger, = trace.outputs([layers[-1].elements])
            trace.op("aten.max_pool2d_backward.default", "backward", [gradient], [larger], 0)
            gradient = larger
        gradient = backward_block(trace, layers, gradient)
    return trace


def write(trace, batch, out):
    """One operator and one storage a line."""
    parameters = sum(s["bytes"] // FLOAT for s in trace.storages if s["kind"] == "parameter")
    out.write('{"format":"planezip-trace","version":1,"model":"synthetic","optimizer":"sgd",'
              f'"batch":{batch},"parameters":{parameters},\n"ops":[\n')
    dump = json.JSONEncoder(separators=(",", ":")).encode
    out.write(",\n".join(map(dump, trace.ops)))
    out.write('],\n"storages":[\n')
    out.write(",\n".join(map(dump, trace.storages)))
    out.write("]}\n")


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("operators", type=int)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    write(build(arguments.operators, arguments.batch, arguments.seed), arguments.batch, sys.stdout)


if __name__ == "__main__":
    main()
