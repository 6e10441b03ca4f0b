#!/usr/bin/env python3
"""Records the traces of the five models at the paper's batch sizes, without data, on device meta.

Usage: record.py FOLDER [MODEL...]     writes FOLDER/MODEL.json; seconds for each model
Needed: the environment torch of tools/python_env, and planezip.
"""
import sys
from pathlib import Path

import planezip.torch
from models import MODELS


def record(model):
    """The capture of one iteration, without the optimizer's step, which does not touch what is
    saved."""
    network = model.build("meta")
    inputs = model.inputs(model.batch, "meta")
    return planezip.torch.capture(lambda: model.loss(network, inputs).backward(), model=model.name,
                                  batch=model.batch, optimizer=model.optimizer, fused_dropout=True)


def main():
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(MODELS):
        sys.exit(f"usage: record.py FOLDER [MODEL...], of {' '.join(MODELS)}")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or MODELS:
        captured = record(MODELS[name])
        captured.write(folder / f"{name}.json")
        saved = captured.saved
        print(f"{name}: {len(saved.confirmed)} saved tensors that autograd confirms, "
              f"{len(saved.read)} only read, {len(saved.packed)} only packed", flush=True)


if __name__ == "__main__":
    main()
