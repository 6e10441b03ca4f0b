#!/usr/bin/env python3
"""Compares planezip with codecs of others on the same whole tensors: ratio and speed, per model.

Usage: peers.py [OPTIONS]                 the bundled activations, bf16 and f32
       peers.py [OPTIONS] --dtype bf16 FILE...     raw files, a tensor each

The data are the tensors of a model one after the other, in their own order of chunks, and again in
a new order of tensors up to --mib.  A codec is called for one such series of tensors at a time, so
that no call costs anything to speak of, and is timed by the processor time that it takes on one
core.  Its ratio is the better one of two: each tensor in a call of its own, all of them in one
call.  Means are geometric means of models, which are weighted by bytes in themselves.

  --planezip PROGRAM   (build/planezip)
  --data FOLDER        of the activations (build/data/activations)
  --codec LIST         codecs of planezip (planezip2,planezip2-fast,planezip)
  --mib N              data of a run (16)
  --runs N             whose median counts (5)
  --json FILE          write the results, too
"""

import argparse
import csv
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import peer_codecs  # noqa: E402

ELEMENT_BYTES = {"bf16": 2, "f32": 4}
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h


# ---- Data ----

def round_to_bf16(data):
    """float32 to the nearest bfloat16, ties to even; there are no NaNs."""
    words = memoryview(data).cast("I")
    return b"".join((word + 0x7fff + (word >> 16 & 1) >> 16).to_bytes(2, "little")
                    for word in words)


def read_activations(folder, dtype):
    """{model: [tensor, ...]} of the chunks of a type; a tensor is its chunks in their order."""
    models, data = {}, {}
    with open(folder / "index.csv", encoding="ascii") as lines:
        for line in csv.DictReader(lines):
            if line["kind"] != dtype:
                continue
            model = line["model"]
            if model not in data:
                floats = (folder / f"{model}.f32").read_bytes()
                data[model] = round_to_bf16(floats) if dtype == "bf16" else floats
            begin, size = int(line["off"]), int(line["len"])
            tensors = models.setdefault(model, {})
            tensors.setdefault(line["tensor_seq"], []).append(data[model][begin:begin + size])
    return {model: [b"".join(chunks) for chunks in tensors.values()]
            for model, tensors in models.items()}


def make_series(tensors, least_bytes):
    """The tensors joined, and again in other orders, until there are least_bytes."""
    order, made = list(tensors), []
    shuffle = random.Random(1).shuffle
    while sum(map(len, made)) < least_bytes:
        made.append(b"".join(order))
        shuffle(order)
    return made


# ---- Timing ----

def use_one_core():
    """Pins this process and its children, and lets freed memory stay with them: a codec that
    returns new memory would pay for its pages each time."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    libc = peer_codecs.ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(M_MMAP_THRESHOLD, 1 << 30)
        libc.mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)


def seconds_of(function, *arguments):
    """What a call returns, and the processor time that it took."""
    begin = time.process_time()
    result = function(*arguments)
    return result, time.process_time() - begin


def time_peer(codec, tensors, series, runs):
    """Ratio and rates of one codec of others on a model."""
    rates, total = {"encode": [], "decode": []}, sum(map(len, series))
    for _ in range(runs):
        spent = {"encode": 0.0, "decode": 0.0}
        for raw in series:
            coded, seconds = seconds_of(codec.encode, codec.prepare(raw))
            spent["encode"] += seconds
            back, seconds = seconds_of(codec.decode, coded, len(raw))
            spent["decode"] += seconds
            if back != raw:
                sys.exit(f"peers.py: {codec.name} does not give back what it encoded")
        for what, values in rates.items():
            values.append(total / spent[what])
    raw_bytes = sum(map(len, tensors))
    joined = len(codec.encode(codec.prepare(b"".join(tensors))))
    alone = sum(len(codec.encode(codec.prepare(tensor))) for tensor in tensors)
    return {"ratio": raw_bytes / min(joined, alone), "ratio_joined": raw_bytes / joined,
            "ratio_alone": raw_bytes / alone,
            **{f"{what}_bps": statistics.median(values) for what, values in rates.items()}}


def run_planezip(options, dtype, raw, *arguments):
    """The JSON of `planezip bench` on data."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(raw[:len(raw) // 4096 * 4096])
        file.flush()
        command = [options.planezip, "bench", "--dtype", dtype, "--json", "--threads", "1",
                   "--size", str(len(raw) // 4096 * 4096), *arguments, file.name]
        run = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if run.returncode != 0:
        sys.exit(f"peers.py: {' '.join(command)}: status {run.returncode}")
    return json.loads(run.stdout)


def time_planezip(options, dtype, series, isa):
    """Rows of our codecs on a model, and what was said about the machine."""
    result = run_planezip(options, dtype, b"".join(series), "--codec", options.codec, "--isa", isa,
                          "--runs", str(options.runs))
    rows = {row["codec"]: {key: row[key] for key in ("ratio", "encode_bps", "decode_bps")}
            for row in result["rows"]}
    return rows, result


def fastest_isa(options):
    """The instruction set that planezip would choose."""
    result = run_planezip(options, "f32", bytes(4096), "--codec", "planezip", "--runs", "1")
    return result["rows"][0]["isa"]


# ---- Results ----

def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def compare(options, dtype, models):
    """Everything about one type."""
    isa = fastest_isa(options)
    peers, absent = peer_codecs.make_all(ELEMENT_BYTES[dtype])
    results, memcpy, machine = {}, [], None
    for model, tensors in models.items():
        series = make_series(tensors, options.mib << 20)
        ours, machine = time_planezip(options, dtype, series, isa)
        memcpy.append(machine["memcpy_bps"])
        for name, row in ours.items():
            entry = results.setdefault(name, {"name": name, "ours": True, "models": {},
                                              "version": f"{machine['version']}, {isa}"})
            entry["models"][model] = row
        for codec in peers:
            entry = results.setdefault(codec.name, {"name": codec.name, "ours": False,
                                                    "models": {}, "version": codec.version})
            entry["models"][model] = time_peer(codec, tensors, series, options.runs)
            if sys.stderr.isatty():
                print(f"{dtype} {model} {codec.name:30}", end="\r", file=sys.stderr, flush=True)
    for entry in results.values():
        for key in ("ratio", "encode_bps", "decode_bps"):
            entry[key] = geometric_mean([row[key] for row in entry["models"].values()])
    return {"dtype": dtype, "memcpy_bps": statistics.median(memcpy), "absent": absent,
            "codecs": list(results.values()), "machine": machine["machine"],
            "runs": options.runs, "mib": options.mib,
            "raw_bytes": {model: sum(map(len, tensors)) for model, tensors in models.items()}}


BETTER = ("Better ratios than planezip's best, most likely on dense models: zeros are few there, "
          "and an entropy coder is at its best.")


def better_ratios(result):
    """{model: [(codec, how much better its ratio is than the best of ours), ...]}"""
    better = {}
    for model in result["raw_bytes"]:
        best = max(entry["models"][model]["ratio"] for entry in result["codecs"] if entry["ours"])
        gains = [(entry["name"], entry["models"][model]["ratio"] / best - 1)
                 for entry in result["codecs"] if not entry["ours"]]
        better[model] = sorted((gain for gain in gains if gain[1] > 0), key=lambda gain: -gain[1])
    return better


def show(result):
    """The tables of one type."""
    memcpy, models = result["memcpy_bps"], list(result["raw_bytes"])
    print(f"{result['dtype']}: memcpy {memcpy / 1e9:.2f} GB/s, one core of "
          f"{result['machine']['cpu']}")
    print(f"{'codec':20}" + "".join(f"{model[:12]:>13}" for model in models)
          + f"{'mean ratio':>12}{'encode GB/s':>13}{'x mem':>7}{'decode GB/s':>13}{'x mem':>7}")
    for entry in result["codecs"]:
        print(f"{entry['name']:20}"
              + "".join(f"{entry['models'][model]['ratio']:13.3f}" for model in models)
              + f"{entry['ratio']:12.3f}" + "".join(
                  f"{entry[key] / 1e9:13.2f}{entry[key] / memcpy:7.2f}"
                  for key in ("encode_bps", "decode_bps")))
    for name, why in result["absent"].items():
        print(f"{name:20} absent: {why}")
    print(BETTER)
    for model, gains in better_ratios(result).items():
        print(f"  {model}: " + (", ".join(f"{name} +{100 * gain:.1f} %" for name, gain in gains)
                                or "none"))
    print()


def parse_arguments():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("--planezip", default="build/planezip")
    parser.add_argument("--data", type=Path, default=Path("build/data/activations"))
    parser.add_argument("--codec", default="planezip2,planezip2-fast,planezip")
    parser.add_argument("--mib", type=int, default=16)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json")
    parser.add_argument("--dtype", choices=list(ELEMENT_BYTES))
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    if options.help:
        print(__doc__)
        sys.exit(0)
    if bool(options.files) != bool(options.dtype):
        parser.error("raw files and --dtype go together")
    return options


def main():
    options = parse_arguments()
    use_one_core()
    results = []
    for dtype in [options.dtype] if options.files else ELEMENT_BYTES:
        models = ({str(file): [file.read_bytes()] for file in options.files} if options.files
                  else read_activations(options.data, dtype))
        results.append(compare(options, dtype, models))
        show(results[-1])
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
