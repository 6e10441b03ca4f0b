"""Writes small .npy and .safetensors files without NumPy.

Usage: tensors.py npy DESCR SHAPE [FORTRAN] >FILE       elements are a ramp of bytes
       tensors.py safetensors >FILE                     several tensors, one without elements
"""
import json
import struct
import sys


def npy(descr, shape, fortran=False):
    """The bytes of an array; DESCR as in '<f4', SHAPE as in '3,4'."""
    dimensions = tuple(int(part) for part in shape.split(",") if part)
    size = int(descr[2:])
    for length in dimensions:
        size *= length
    text = str({"descr": descr, "fortran_order": bool(fortran), "shape": dimensions})
    text += " " * (-(len(text) + 11) % 64) + "\n"
    head = b"\x93NUMPY\x01\0" + struct.pack("<H", len(text)) + text.encode()
    return head + bytes(i // 7 % 256 for i in range(size))


def safetensors():
    """The bytes of a file with names and metadata that are no ASCII."""
    tensors = [("block.0.weight", "F32", [50, 60], 4), ("mask", "BOOL", [777], 1),
               ("\u00e9mpty", "I64", [0, 5], 8), ("scalar", "BF16", [], 2),
               ("q", "F8_E4M3", [9], 1)]
    header, data = {"__metadata__": {"format": "pt", "\u00fc": "x"}}, b""
    for name, dtype, shape, size in tensors:
        for length in shape:
            size *= length
        offsets = [len(data), len(data) + size]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": offsets}
        data += bytes((i * i + i // 5) % 251 for i in range(size))
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


if __name__ == "__main__":
    sys.stdout.buffer.write(npy(*sys.argv[2:]) if sys.argv[1] == "npy" else safetensors())
