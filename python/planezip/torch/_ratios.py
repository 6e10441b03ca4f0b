"""Ratio tables from captured contents: docs/architecture.md, "Files"."""
import torch

from .. import _input
from .._codec import measure_one
from .._file import File
from ..traces import class_of, match, saved, writers

CODECS = ("planezip", "zvc", "planezip2")
# planezip with symbols of 32 bits for all types, as the bit-plane compression before it has them.
WIDE = "planezip_w32"


def ratios(contents, trace, *, target=None, codecs=CODECS, profile="paper", number=0, threads=0):
    """A ratio table, as a dictionary for json.dump(), from the contents of an iteration.

    contents: a path that capture() wrote, and trace: the trace of the same iteration.
    target: the trace that the table is for, as one of a larger batch on device meta; None for the
    same.  A saved tensor of target without a counterpart gets the ratio 1.
    codecs: those of planezip.CODECS, and "planezip_w32": planezip, all types in 32-bit symbols.
    number: which pass of the iteration.  profile: as for planezip.measure(), for stream format 1.

    bf16 is what float32 tensors would be in training with bfloat16: rounded to nearest, ties to
    even; other types are as they are, in both precisions.
    """
    target = trace if target is None else target
    pairs, tensors, last = match(trace, target), saved(target), writers(target)
    entries = []
    with File(contents, threads=threads) as file:
        for (op, slot), storage in tensors.items():
            source = pairs.get((op, slot))
            stored = file.get(f"{number}/{source[0]}/{source[1]}") if source else None
            sizes = measured(stored, codecs, profile, threads) if stored is not None else {}
            entries.append(entry(op, slot, class_of(storage, last.get(storage["id"])), sizes,
                                 codecs))
    return {"format": "planezip-ratios", "version": 1, "model": target["model"],
            "entries": entries}


def measured(stored, codecs, profile, threads):
    """Measurements by precision and codec."""
    elements = stored.read(to="torch")
    rounded = elements.to(torch.bfloat16) if elements.dtype is torch.float32 else elements
    found = {}
    for precision, values in (("bf16", rounded), ("fp32", elements)):
        memory = _input.of_torch(values)
        for codec in codecs:
            found[precision, codec] = measure_one(*symbols(memory, codec), profile, threads)
    return found


def symbols(memory, codec):
    """Memory, as what it is taken for, and the codec."""
    return (memory._replace(dtype="i32"), "planezip") if codec == WIDE else (memory, codec)


def entry(op, slot, word, sizes, codecs):
    """An entry of the table; without sizes it tells the ratio 1."""
    made = {"op": op, "slot": slot, "class": word}
    for precision in ("bf16", "fp32"):
        made[precision] = {}
        for codec in codecs:
            one = sizes.get((precision, codec))
            made[precision][codec] = one.ratio if one else 1.0
    made["measured"] = [{"codec": codec, "precision": precision, "raw_bytes": one.raw_bytes,
                         "coded_bytes": one.coded_bytes, "iteration": 0,
                         "blocks": {name: count for name, count in one.blocks.items() if count}}
                        for (precision, codec), one in sizes.items()]
    return made


def matched_share(table, target):
    """The share of the saved bytes of a trace whose ratios were measured."""
    tensors = saved(target)
    known = {(e["op"], e["slot"]) for e in table["entries"] if e["measured"]}
    total = sum(storage["bytes"] for storage in tensors.values())
    return sum(tensors[key]["bytes"] for key in known) / total if total else 1.0
