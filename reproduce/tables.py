"""Ratio tables: where they come from, what they mean for a trace, and tables made of others."""
import csv
import json
import math
import os
import struct
from pathlib import Path

from planezip.traces import saved

from paper import MODELS

# How the index of activations calls the classes of ratio tables.
PRODUCERS = {"conv": "Conv output", "elementwise": "Elementwise", "relu": "ReLU output",
             "copy": "Copy/concat", "softmax": "Softmax", "linear": "Linear output",
             "dropout": "Dropout output", "norm": "Norm in/out", "logsoftmax": "Log-softmax",
             "mask": "Dropout mask", "indices": "Indices", "pool": "Pool output"}
# Models beyond the paper's, of which there may be captures.
FUSED, PRETRAINED = "gpt2_fused", "minilm"
CODECS = ("planezip2", "planezip", "zbx", "bx", "bpc", "zvc")


MAKE_AGAIN = "remove it, and run make or reproduce/run again"
INDEX_FIELDS = {"model", "cls", "kind", "off", "len", "w"}


class Failure(Exception):
    """A whole line for standard error."""


class Source:
    """Traces and ratio tables in a folder: those bundled with the tests, or captures of one's own
    as reproduce/activations.py leaves them."""

    def __init__(self, folder, bundled):
        self.folder, self.bundled = Path(folder), bundled
        self.activations = self.folder / "activations" / "index.csv" if bundled else None

    def trace(self, model):
        return self.folder / "traces" / f"{model}.json"

    def tables(self, model):
        """The tables of consecutive iterations, the last one last."""
        if self.bundled:
            paths = [self.folder / "ratios" / f"measured_{model}{part}.json"
                     for part in ("-0", "-1", "")]
        else:
            paths = [self.folder / model / f"ratios-{i}.json" for i in range(3)]
        return [path for path in paths if path.is_file()]

    def random_table(self, model):
        """The table at random initialisation, or None."""
        path = (self.folder / "ratios" / f"random_{model}.json" if self.bundled
                else self.folder / model / "random-0.json")
        return path if path.is_file() else None

    def blocks(self, model):
        """{class: {encoding: blocks}} of captures, or {}."""
        path = self.folder / model / "blocks.json"
        return load(path) if path.is_file() else {}

    def captured(self, model):
        """Whether there is a trace of a model and a table for it."""
        return self.trace(model).is_file() and bool(self.tables(model))

    def files(self):
        """All that results are made of."""
        found = []
        for model in (*MODELS, *(m for m in (FUSED, PRETRAINED) if self.captured(m))):
            found += [self.trace(model), *self.tables(model)]
            found += [path for path in (self.random_table(model),
                                        self.folder / model / "blocks.json")
                      if path and path.is_file()]
        return found + ([self.activations] if self.activations else [])

    def check(self):
        """Fails for a file that is not what its name says, so that no stage does in the end."""
        with_captures = [m for m in (FUSED, PRETRAINED) if self.captured(m)]
        for model in (*MODELS, *with_captures):
            check(self.trace(model), lambda trace: sizes(trace, "bf16"))
            for path in (*self.tables(model), self.random_table(model)):
                if path:
                    check(path, numbers_of)
            blocks = self.folder / model / "blocks.json"
            if blocks.is_file():
                check(blocks, lambda found: [sum(counts.values()) for counts in found.values()])
        if self.activations:
            check_index(self.activations)

    def matched_shares(self):
        """Of the saved bytes of each model those that have a counterpart in its captures."""
        paths = (self.folder / model / "about.json" for model in MODELS)
        return [check(path, lambda found: float(found["matched_share"]))
                for path in paths if path.is_file()]


def load(path):
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise Failure(f"planezip: {path}: {error.msg} (line {error.lineno}, column {error.colno}); "
                      f"{MAKE_AGAIN}") from None
    except (RecursionError, ValueError) as error:
        raise Failure(f"planezip: {path}: not JSON ({error}); {MAKE_AGAIN}") from None


def check(path, use):
    """What use makes of the value of a JSON file."""
    value = load(path)
    try:
        return use(value)
    except KeyError as error:
        raise Failure(f"planezip: {path}: lacks the field {error}; {MAKE_AGAIN}") from None
    except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
        raise Failure(f"planezip: {path}: a field is wrong ({error}); {MAKE_AGAIN}") from None


def check_index(path):
    with open(path, newline="", encoding="utf-8") as file:
        lacks = INDEX_FIELDS - set(csv.DictReader(file).fieldnames or ())
    if lacks:
        raise Failure(f"planezip: {path}: lacks {', '.join(sorted(lacks))}; {MAKE_AGAIN}")


def numbers_of(table):
    """Fails where a table lacks what is asked of it."""
    if not table["entries"]:
        raise ValueError("no entries")
    return [(signature(entry), entry["class"], 1 / entry[precision]["planezip"])
            for entry in table["entries"] for precision in ("bf16", "fp32")]


def sizes(trace, precision):
    """{(op, slot): bytes} of the saved tensors in training with that precision."""
    half = precision == "bf16"
    return {key: storage["bytes"] // (2 if half and storage["dtype"] == "float32" else 1)
            for key, storage in saved(trace).items()}


def signature(entry):
    return entry["op"], entry["slot"]


def has(table, codec):
    """Whether a table tells the ratios of a codec."""
    return any(codec in entry["bf16"] for entry in table["entries"])


def coded(table, weights, precision, codec, wanted=lambda key: True):
    """Raw and coded bytes of the saved tensors that are wanted; what a table lacks has ratio 1."""
    known = {signature(entry): entry[precision].get(codec, 1.0) for entry in table["entries"]}
    raw = {key: size for key, size in weights.items() if wanted(key)}
    return sum(raw.values()), sum(size / known.get(key, 1.0) for key, size in raw.items())


def ratio(table, trace, precision, codec, wanted=lambda key: True):
    """Of the saved bytes, as the paper weighs them."""
    raw, small = coded(table, sizes(trace, precision), precision, codec, wanted)
    return raw / small if small else 1.0


def share(trace, wanted):
    """Of the saved bytes in FP32, as the paper's shares are: one-byte masks would weigh double in
    BF16."""
    weights = sizes(trace, "fp32")
    return sum(size for key, size in weights.items() if wanted(key)) / sum(weights.values())


def geometric_mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values))


def substituted(table, ratio_of):
    """A table whose planezip ratios are those of ratio_of(entry, precision)."""
    entries = [dict(entry, **{precision: dict(entry[precision],
                                              planezip=ratio_of(entry, precision))
                              for precision in ("bf16", "fp32")}) for entry in table["entries"]]
    return {"format": "planezip-ratios", "version": 1, "model": table["model"],
            "entries": [{key: value for key, value in entry.items() if key != "measured"}
                        for entry in entries]}


def rounded(floats):
    """Little-endian floats as bfloat16, to nearest, ties to even; none of them is a NaN."""
    words = struct.unpack(f"<{len(floats) // 4}I", floats)
    return struct.pack(f"<{len(words)}H", *(((word + 0x7fff + (word >> 16 & 1)) >> 16) & 0xffff
                                            for word in words))


class Sample:
    """What the bundled chunks of activations say of codecs that a table does not know, by model and
    class of the producer: how many times the ratio of format 1 theirs is."""

    def __init__(self, index, folder, planezip):
        """planezip: runs the program; folder: for parts of the sample."""
        self.index, self.folder, self.planezip = Path(index), Path(folder), planezip
        with open(index, newline="", encoding="utf-8") as file:
            self.rows = list(csv.DictReader(file))
        self.known = {}

    def chunks(self, model, name):
        return [row for row in self.rows if row["model"] == model
                and row["cls"] == PRODUCERS.get(name)]

    def quotient(self, model, name, precision, codec):
        """1 where there is no chunk.  codec: "planezip2", or "planezip_w32", symbols of 32 bits."""
        if codec == "planezip_w32":
            return self.wide(model, name) if precision == "bf16" else 1.0
        found = self.ratios(model, name).get(precision)
        return found[f"{codec}_ratio"] / found["planezip_ratio"] if found else 1.0

    def ratios(self, model, name):
        """By precision."""
        if (model, name) not in self.known:
            chunks = self.chunks(model, name)
            self.known[model, name] = self.measured(chunks) if chunks else {}
        return self.known[model, name]

    def measured(self, chunks):
        self.link_data()
        path = self.folder / "part.csv"
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, ("model", "cls", "kind", "off", "len", "w"),
                                    extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            writer.writerows(chunks)
        return {row["precision"]: row
                for row in self.planezip("measure", "--index", path)["figure_3"]
                if row["model"] != "geometric mean"}

    def link_data(self):
        """An index names the files beside it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in self.index.parent.iterdir():
            link = self.folder / path.name
            if path != self.index and not link.is_symlink():
                link.symlink_to(os.path.abspath(path))

    def wide(self, model, name):
        """BF16 with symbols of 32 bits; their chunks lie, rounded, in the file of floats."""
        chunks = [row for row in self.chunks(model, name) if row["kind"] == "bf16"]
        if not chunks:
            return 1.0
        key = (model, name, "wide")
        if key not in self.known:
            data = (self.index.parent / f"{model}.f32").read_bytes()
            places = [(2 * int(row["off"]), 2 * int(row["len"])) for row in chunks]
            path = self.folder / "part.bf16"
            self.folder.mkdir(parents=True, exist_ok=True)
            path.write_bytes(rounded(b"".join(data[at:at + size] for at, size in places)))
            narrow, wide = (self.planezip("measure", "--width", width, path)["files"][0]
                            ["planezip_ratio"] for width in (16, 32))
            self.known[key] = wide / narrow
        return self.known[key]
