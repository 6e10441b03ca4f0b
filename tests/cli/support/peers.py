"""Compares the formats of planezip with NumPy and safetensors: what they write must come back
identical and be listed right, and what they refuse must be refused.

Usage: peers.py PLANEZIP      works in the current folder
"""
import io
import json
import random
import struct
import subprocess
import sys

import numpy as np
import safetensors.numpy

PLANEZIP = sys.argv[1]
TYPES = {"b1": "bool", "u1": "u8", "i1": "i8", "u2": "u16", "i2": "i16", "u4": "u32", "i4": "i32",
         "u8": "u64", "i8": "i64", "f2": "f16", "f4": "f32", "f8": "f64", "c8": "c64",
         "c16": "c128"}
failures = 0


def fail(what):
    """Counts and prints a difference."""
    global failures
    failures += 1
    print("FAIL", what)


def planezip(data, *arguments):
    """Exit status and standard output of a command on data."""
    run = subprocess.run([PLANEZIP, *arguments], input=data, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, check=False)
    if run.returncode not in (0, 1):
        fail(f"{arguments}: status {run.returncode}: {run.stderr}")
    return run.returncode, run.stdout


def there_and_back(data, name, *options):
    """The listed tensors of data, which must come back identical."""
    status, coded = planezip(data, "compress", *options)
    if status != 0:
        fail(f"{name} is refused")
        return []
    if planezip(coded, "decompress") != (0, data):
        fail(f"{name} does not come back")
    return json.loads(planezip(coded, "list", "--json", "-")[1])["files"][0]["tensors"]


def check_npy(rng):
    """Arrays of all types, shapes, orders and versions."""
    for code, dtype in TYPES.items():
        for shape in ((), (0,), (0, 5), (1, 0), (7,), (3, 4), (2, 3, 4)):
            for order in "CF":
                array = np.frombuffer(rng.randbytes(int(np.prod(shape)) * np.dtype(code).itemsize),
                                      np.uint8).view(code).reshape(shape).copy(order)
                for version in ((1, 0), (2, 0), (3, 0)):
                    stream = io.BytesIO()
                    np.lib.format.write_array(stream, array, version)
                    name = f"{code} {shape} {order} {version}"
                    rows = there_and_back(stream.getvalue(), name)
                    if rows and (rows[0]["dtype"], rows[0]["shape"]) != (dtype, list(shape)):
                        fail(f"{name} is listed as {rows[0]}")


def numpy_loads(data):
    """Whether NumPy reads the file to its end."""
    stream = io.BytesIO(data)
    try:
        np.lib.format.read_array(stream)
        return not stream.read()
    except Exception:  # whatever it is: it is refused
        return False


def check_npy_mutations(rng):
    """Headers with a changed byte."""
    stream = io.BytesIO()
    np.save(stream, np.arange(12, dtype="<f4").reshape(3, 4))
    for _ in range(150):
        data = bytearray(stream.getvalue())
        data[rng.randrange(6, 70)] = rng.choice(b" ',:()0123456789<>|=fuicbTrueFalse{}\n\0\xff")
        status, _ = planezip(bytes(data), "compress", "--format", "npy")
        if status == 0 and not numpy_loads(bytes(data)):
            fail(f"accepted, but not by NumPy: {bytes(data[:80])}")


def check_safetensors(rng):
    """Files of the types that NumPy has, and the ones that it has not, by their bytes."""
    for _ in range(40):
        tensors = {}
        for index in range(rng.randrange(6)):
            code = rng.choice([code for code in TYPES if code != "c16"])
            shape = tuple(rng.randrange(4) for _ in range(rng.randrange(4)))
            size = int(np.prod(shape)) * np.dtype(code).itemsize
            array = np.frombuffer(rng.randbytes(size), np.uint8)
            if code == "b1":
                array = array & 1
            tensors[f"t\u00e9{index}"] = array.view(code).reshape(shape)
        data = safetensors.numpy.save(tensors, {"format": "np"} if rng.random() < 0.5 else None)
        rows = there_and_back(data, f"safetensors {list(tensors)}")
        for row in rows:
            array = tensors[row["name"]]
            if row["shape"] != list(array.shape) or row["raw_bytes"] != array.nbytes:
                fail(f"listed as {row}")
        if len(rows) != len(tensors):
            fail(f"{len(rows)} tensors instead of {len(tensors)}")


def safetensors_loads(data):
    """Whether the package reads the file."""
    try:
        safetensors.deserialize(data)
        return True
    except safetensors.SafetensorError:
        return False


def check_safetensors_mutations(rng):
    """Headers with a changed number or byte: what we accept, the package accepts."""
    data = safetensors.numpy.save({"a": np.arange(6, dtype="f4").reshape(2, 3),
                                   "b": np.zeros((0, 2), "u1"), "c": np.ones(5, "i2")})
    size = struct.unpack("<Q", data[:8])[0]
    accepted = 0
    for _ in range(250):
        changed = bytearray(data)
        for _ in range(rng.randrange(1, 3)):
            changed[rng.randrange(8, 8 + size)] = rng.choice(b"0123456789,:[]{}\"FUI8 abc\xff")
        status, _ = planezip(bytes(changed), "compress", "--format", "safetensors")
        theirs = safetensors_loads(bytes(changed))
        accepted += theirs
        if (status == 0) != theirs:
            fail(f"accepted {status == 0}, by safetensors {theirs}: {bytes(changed[8:8 + size])}")
    print(accepted, "changed headers are still valid")


for check in (check_npy, check_npy_mutations, check_safetensors, check_safetensors_mutations):
    check(random.Random(1))
print("peers:", failures, "differences, NumPy", np.__version__, "safetensors",
      safetensors.__version__)
sys.exit(failures != 0)
