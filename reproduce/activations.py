#!/usr/bin/env python3
"""Captures the activations of a model in training on the CPU over consecutive iterations, and
measures how they compress: a ratio table of each iteration, for the trace at the paper's batch
size.

Usage: activations.py FOLDER MODEL [--random] [--iterations N]
It reads FOLDER/MODEL/checkpoint.pt, which train.py writes, and FOLDER/traces/MODEL.json, which
record.py writes; with --random the weights are random.  It writes to FOLDER/MODEL:
    ratios-I.json, or random-I.json    ratio table of iteration I
    blocks.json    how many blocks of each class every encoding of format 1 wins in BF16
    about.json     steps of training, and the share of the saved bytes that was measured
Needed: the environment torch of tools/python_env, and planezip.
"""
import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

import planezip.torch
from models import MODELS
from train import Training, checkpoint

CODECS = ("planezip", "zvc", "bpc", "bx", "zbx", "planezip2", "planezip_w32")


def measure(training, target, iterations):
    """Ratio tables of iterations that go on with a training, and the share of the saved bytes of
    target that they know."""
    batches = iter([training.batch(training.done + i) for i in range(iterations)])
    with tempfile.TemporaryDirectory() as folder:
        captured = planezip.torch.capture(
            lambda: training.step(next(batches)), model=training.model.name,
            batch=training.model.small, iterations=iterations, contents=folder,
            fused_dropout=True, durations=False)
        tables = [planezip.torch.ratios(path, passes[0].trace, target=target, codecs=CODECS)
                  for path, passes in zip(captured.contents, captured.iterations)]
    return tables, planezip.torch.matched_share(tables[0], target)


def blocks(table):
    """By class of the producer: how many blocks each encoding wins."""
    found = {}
    for entry in table["entries"]:
        for one in entry["measured"]:
            if (one["codec"], one["precision"]) == ("planezip", "bf16"):
                found.setdefault(entry["class"], Counter()).update(one["blocks"])
    return found


def write(path, value):
    path.write_text(json.dumps(value) + "\n")


def keep(folder, training, target, iterations, random=False):
    """Measures iterations, and writes to the folder of the model what the head of this file
    says."""
    about = {"model": training.model.name, "steps": training.done}
    tables, about["matched_share"] = measure(training, target, iterations)
    folder.mkdir(parents=True, exist_ok=True)
    for number, table in enumerate(tables):
        write(folder / f"{'random' if random else 'ratios'}-{number}.json", table)
    if not random:
        write(folder / "blocks.json", blocks(tables[-1]))
        write(folder / "about.json", about)
    print(f"{about['model']}: after {about['steps']} steps of training, "
          f"{100 * about['matched_share']:.1f} % of the saved bytes measured", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description="Measure the activations of a model.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--random", action="store_true", help="with random weights")
    parser.add_argument("--iterations", type=int, default=3)
    options = parser.parse_args()
    target = json.loads((options.folder / "traces" / f"{options.model}.json").read_text())
    model = MODELS[options.model]
    training = Training(model)
    if not options.random:
        training.load(checkpoint(options.folder, model.trained_as))
    keep(options.folder / model.name, training, target, options.iterations, options.random)


if __name__ == "__main__":
    main()
