#!/usr/bin/env python3
"""Trains a model for a while on the CPU, so that its activations are those of training, not those
of random weights.

Usage: train.py FOLDER MODEL [--steps N]     writes FOLDER/MODEL/checkpoint.pt
A run that was stopped goes on where its last checkpoint is, and gives the same weights as one that
was not.  Needed: the environment torch of tools/python_env, and planezip.
"""
import argparse
import sys
from pathlib import Path

import torch
from models import MODELS
from planezip.torch import FusedDropout

EVERY = 20 # steps between checkpoints
SEED = 1


class Training:
    """A model, its optimizer, and how many steps it has been trained."""

    def __init__(self, model):
        self.model = model
        torch.manual_seed(SEED)
        self.network = model.build("cpu")
        self.optimizer = model.trainer(self.network)
        self.done = 0

    def batch(self, step):
        """The batch to capture in a step, which depends on its number alone."""
        torch.manual_seed(2 * step)
        return self.model.batch_of_data()

    def lesson(self, step):
        """The same for what it trains with."""
        torch.manual_seed(2 * step)
        return self.model.lesson_of_data()

    def step(self, batch):
        """One step, whose dropout depends on its number alone."""
        torch.manual_seed(2 * self.done + 1)
        loss = self.model.loss(self.network, batch)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.done += 1
        return loss

    def load(self, path):
        state = torch.load(path, weights_only=True)
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.done = state["done"]

    def save(self, path):
        """A checkpoint that is there once it is whole."""
        partial = path.with_name(f".{path.name}")
        torch.save({"network": self.network.state_dict(), "done": self.done,
                    "optimizer": self.optimizer.state_dict()}, partial)
        partial.replace(path)


def checkpoint(folder, name):
    return Path(folder) / name / "checkpoint.pt"


def train(model, path, steps, show=lambda done, loss: None):
    """Trains from the checkpoint, if there is one, up to a number of steps."""
    training = Training(model)
    if path.exists():
        training.load(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with FusedDropout():
        while training.done < steps:
            loss = training.step(training.lesson(training.done)).item()
            show(training.done, loss)
            if training.done % EVERY == 0 or training.done == steps:
                training.save(path)
    return training


def progress(name, steps):
    """Shows a bar on a terminal, and a line for each checkpoint elsewhere."""
    def show(done, loss):
        if sys.stderr.isatty():
            bar = "#" * (40 * done // steps)
            end = "\n" if done == steps else ""
            print(f"\r{name} [{bar:40}] {done}/{steps} loss {loss:.3f}", end=end, file=sys.stderr,
                  flush=True)
        elif done % EVERY == 0 or done == steps:
            print(f"{name}: step {done} of {steps}, loss {loss:.3f}", file=sys.stderr, flush=True)
    return show


def main():
    parser = argparse.ArgumentParser(description="Train a model on the CPU, so far as is needed.")
    parser.add_argument("folder")
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--steps", type=int, help="instead of those that the model needs")
    options = parser.parse_args()
    model = MODELS[MODELS[options.model].trained_as]
    steps = model.steps if options.steps is None else options.steps
    train(model, checkpoint(options.folder, model.name), steps, progress(model.name, steps))


if __name__ == "__main__":
    main()
