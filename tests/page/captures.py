#!/usr/bin/env python3
"""Makes a folder like one of captures, of the bundled data: three iterations that differ a little,
random weights, fused attention and a pretrained network, all made up.

Usage: captures.py DATA FOLDER
"""
import json
import random
import sys
from pathlib import Path

MODELS = ("resnet50", "densenet121", "efficientnet_b0", "vit_b_16", "gpt2")
CODECS = {"planezip2": 1.1, "bpc": 0.9, "bx": 0.95, "zbx": 0.9, "planezip_w32": 0.97}
ENCODINGS = ("raw", "zvc", "bx", "dbx", "zbx")


def shaken(ratios, rng, by):
    """Ratios of all codecs, off by about a share."""
    known = {codec: ratio * rng.uniform(1 - by, 1 + by) for codec, ratio in ratios.items()}
    return {**known, **{codec: known["planezip"] * factor for codec, factor in CODECS.items()}}


def table(source, name, seed, by):
    rng = random.Random(seed)
    entries = [{**entry, **{precision: shaken(entry[precision], rng, by)
                            for precision in ("bf16", "fp32")}} for entry in source["entries"]]
    return {**source, "model": name, "entries": entries}


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def model(data, folder, name, source):
    trace = json.loads((data / "traces" / f"{source}.json").read_text(encoding="utf-8"))
    measured = json.loads((data / "ratios" / f"measured_{source}.json").read_text(encoding="utf-8"))
    write(folder / "traces" / f"{name}.json", {**trace, "model": name})
    for i in range(3):
        write(folder / name / f"ratios-{i}.json", table(measured, name, f"{name}{i}", 0.01))
    write(folder / name / "random-0.json", table(measured, name, f"{name}random", 0.1))
    classes = {entry["class"] for entry in measured["entries"]}
    write(folder / name / "blocks.json", {word: dict.fromkeys(ENCODINGS, 10) | {"bx": 60}
                                          for word in sorted(classes)})
    write(folder / name / "about.json", {"model": name, "steps": 30, "matched_share": 0.97,
                                         "iterations": 3})


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    data, folder = map(Path, sys.argv[1:])
    for name in MODELS:
        model(data, folder, name, name)
    model(data, folder, "gpt2_fused", "gpt2")
    model(data, folder, "minilm", "vit_b_16")


if __name__ == "__main__":
    main()
