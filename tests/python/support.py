"""What the tests of the Python package share.

PZ_NEEDS names the modules that must be there, as "numpy torch"; tests of those that are not there
are skipped otherwise.
"""
import array
import importlib
import json
import math
import os
import random
import struct
import unittest
from pathlib import Path

SOURCE = Path(os.environ["PZ_SOURCE_DIR"])


def optional(name):
    """A module, or None if it is not installed and need not be."""
    if name in os.environ.get("PZ_NEEDS", "").split():
        return importlib.import_module(name)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        return None


def needs(module, name):
    """Skips a class of tests without a module."""
    return unittest.skipUnless(module, f"{name} is not installed")


def floats(count, seed=1):
    """Floats near one another, zeros and noise, the same every time, as array.array of f32.  They
    repeat after a prime number of them, which lies in no encoding's way."""
    rng, period = random.Random(seed), min(count, 5003)
    some = array.array("f", [rng.choice((0.0, rng.gauss(1, 0.1), rng.random() * 1e9))
                             for _ in range(period)])
    return (some * (count // max(period, 1) + 1))[:count]


def safetensors(tensors, metadata=None):
    """A .safetensors file of {name: (its type, shape, bytes)}."""
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, (kind, shape, raw) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def npy(descr, shape, raw, fortran_order=False):
    """A .npy file."""
    text = f"{{'descr': '{descr}', 'fortran_order': {fortran_order}, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() + raw


def count(shape):
    """Elements of a shape."""
    return math.prod(shape)
