#!/usr/bin/env python3
"""Writes bench/results/README.md from the JSON of `planezip bench` and of bench/peers.py.

Usage: results.py CODEC.json PEERS.json >README.md        made by tools/bench results"""

import datetime
import json
import platform
import sys

from peers import BETTER, better_ratios

HEAD = """\
# Results

{date}, {cpu}, {processors} processors, {memory:.0f} GiB, {system}; planezip {version}.
memcpy of {size} MiB, as the C library does it: {memcpy:.2f} GB/s; a copy past the caches:
{copy} GB/s; core clock: {clock} GHz.

All rates are GB/s of raw data (10^9 bytes). `x` is a rate over that of memcpy in the same run,
`cyc` the cycles that 128 bytes take. Made by

```
make bench-results     # this page and docs/ratio-speed.svg
make bench             # prints the first table, and how long planning takes
make bench-peers       # prints the others
```
"""

CODEC = """
## The codec

`planezip bench --index build/data/activations/index.csv --profile native,paper`: {size} MiB of the
bundled activations of five models, their 4096-byte chunks in a new random order each time, median
of {runs} runs. Rows without a number of threads are timed by processor time, on one core; those
with one by the time that passes, one thread included: on a busy machine they show what was left.
"""

PEERS = """
## Beside other codecs, {name}

`bench/peers.py`: the same whole tensors for all, one core, {mib} MiB a run, median of {runs} runs;
memcpy {memcpy:.2f} GB/s. Ratios are per model, and their geometric mean; rates are geometric means
of the models.
"""

NOTES = """
The tensors are those of the bundled sample, of which each is a few chunks. A codec is called for
the tensors of a model one after the other; its ratio is the better one of that and of a call for
each tensor alone. `shuffle` and `bitshuffle` are c-blosc2's, `Huff0 on
exponents` is a graph of OpenZL, ZipNN is called through its compiled core, pcodec takes bf16 as
16-bit integers. Versions: python/requirements/bench.txt.
"""

TYPES = {"bf16": "BF16", "f32": "FP32"}


def cell(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def rate(row, what):
    """Columns of one measurement: GB/s, over memcpy, cycles."""
    bps = row[f"{what}_bps"]
    return [cell(bps and bps / 1e9), cell(row[f"{what}_per_memcpy"]),
            cell(row[f"{what}_block_cycles"], 0)]


def print_table(head, rows):
    print("\n| " + " | ".join(head) + " |")
    print("|---|" + "---:|" * (len(head) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def print_codec(result):
    print(CODEC.format(size=result["size_bytes"] >> 20, runs=result["runs"]), end="")
    head = ["type", "w", "codec", "runs on", "ratio"]
    for what in ("size model", "encode", "decode"):
        head += [what, "x", "cyc"]
    rows = []
    for row in result["rows"]:
        runs_on = row["isa"] or ""
        if row["clock"] == "wall":
            runs_on += f", {row['threads']} thread" + "s" * (row["threads"] > 1)
        rows.append([row["dtype"], cell(row["width_bits"], 0),
                     " ".join(filter(None, (row["codec"], row["version"]))), runs_on,
                     cell(row["ratio"], 3)]
                    + rate(row, "size_model") + rate(row, "encode") + rate(row, "decode"))
    print_table(head, rows)
    if result["missing_peers"]:
        print(f"\nNot on this machine: {', '.join(result['missing_peers'])}.")


def peer_row(entry, models, memcpy):
    mark = "**" if entry["ours"] else ""
    cells = [f"{mark}{entry['name']}{mark}"]
    cells += [cell(entry["models"][model]["ratio"], 3) for model in models]
    cells.append(mark + cell(entry["ratio"], 3) + mark)
    for key in ("encode_bps", "decode_bps"):
        cells += [cell(entry[key] / 1e9), cell(entry[key] / memcpy)]
    return cells


def print_peers(result):
    memcpy, models = result["memcpy_bps"], list(result["raw_bytes"])
    print(PEERS.format(name=TYPES[result["dtype"]], mib=result["mib"], runs=result["runs"],
                       memcpy=memcpy / 1e9), end="")
    head = ["codec", *models, "mean", "encode", "x", "decode", "x"]
    print_table(head, [peer_row(entry, models, memcpy) for entry in result["codecs"]])
    for name, why in result["absent"].items():
        print(f"\n{name} is absent: {why}.")
    print(f"\n{BETTER}\n")
    for model, gains in better_ratios(result).items():
        print(f"- {model}: " + (", ".join(f"{name} +{100 * gain:.1f} %" for name, gain in gains)
                                or "none"))


def print_head(codec):
    machine = codec["machine"]
    giga = {key: cell(codec[key] and codec[key] / 1e9) for key in ("copy_bps", "core_hz")}
    print(HEAD.format(date=datetime.date.today().isoformat(), cpu=machine["cpu"],
                      processors=machine["processors"], memory=machine["memory_bytes"] / 2**30,
                      system=f"{platform.system()} on {platform.machine()}",
                      version=codec["version"], size=codec["size_bytes"] >> 20,
                      memcpy=codec["memcpy_bps"] / 1e9, copy=giga["copy_bps"],
                      clock=giga["core_hz"]), end="")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    codec, peers = (json.load(open(name, encoding="utf-8")) for name in sys.argv[1:])
    print_head(codec)
    print_codec(codec)
    for result in peers:
        print_peers(result)
    print(NOTES, end="")
    print("\n![Ratio against speed](../../docs/ratio-speed.svg)")


if __name__ == "__main__":
    main()
