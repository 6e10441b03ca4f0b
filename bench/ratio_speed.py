#!/usr/bin/env python3
"""Draws ratio against speed from the JSON of bench/peers.py.

Usage: ratio_speed.py PEERS.json OUT.svg        (needs matplotlib)"""

import json
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator  # noqa: E402

TITLES = {"bf16": "BF16", "f32": "FP32"}
OURS, PEER, COPY, INK = "#d62839", "#5b6770", "#9aa0a6", "#24292f"
SPEEDS = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20)
LABEL_HEIGHT = 0.055  # of the panel


def spread(wanted, least):
    """Numbers close to the wanted ones, ascending, at least `least` apart."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    placed = [wanted[i] for i in order]
    for _ in range(200):
        for i in range(1, len(placed)):
            short = least - (placed[i] - placed[i - 1])
            if short > 0:
                placed[i] += short / 2
                placed[i - 1] -= short / 2
    result = [0.0] * len(wanted)
    for i, value in zip(order, placed):
        result[i] = value
    return result


def draw_codec(axes, entry):
    """Encoder and decoder at their ratio, joined."""
    colour, size = (OURS, 8) if entry["ours"] else (PEER, 5.5)
    encode, decode, ratio = entry["encode_bps"] / 1e9, entry["decode_bps"] / 1e9, entry["ratio"]
    axes.plot([encode, decode], [ratio, ratio], color=colour, linewidth=size / 3, zorder=2)
    axes.plot(encode, ratio, "o", color="white", markeredgecolor=colour, markersize=size,
              markeredgewidth=1.6, zorder=3)
    axes.plot(decode, ratio, "o", color=colour, markersize=size, zorder=3)


def label_codecs(axes, codecs, right):
    """Names in a column right of the panel, led to from the points."""
    low, high = axes.get_ylim()
    heights = spread([entry["ratio"] for entry in codecs], LABEL_HEIGHT * (high - low))
    for entry, height in zip(codecs, heights):
        colour = OURS if entry["ours"] else INK
        axes.annotate(f"{entry['name']}  {entry['ratio']:.2f}",
                      xy=(max(entry["encode_bps"], entry["decode_bps"]) / 1e9, entry["ratio"]),
                      xytext=(right * 1.12, height), color=colour, va="center",
                      fontweight="bold" if entry["ours"] else "normal", annotation_clip=False,
                      arrowprops={"arrowstyle": "-", "color": "#d0d5da", "linewidth": 0.7,
                                  "shrinkA": 1, "shrinkB": 5}, zorder=1)


def panel(axes, result):
    codecs, memcpy = result["codecs"], result["memcpy_bps"] / 1e9
    speeds = [entry[key] / 1e9 for entry in codecs for key in ("encode_bps", "decode_bps")]
    left, right = min(speeds) / 1.5, max(speeds + [memcpy]) * 1.25
    axes.set_xscale("log")
    axes.set_xlim(left, right)
    top = max(entry["ratio"] for entry in codecs)
    axes.set_ylim(1, top + 0.08 * (top - 1))
    axes.axvline(memcpy, color=COPY, linestyle=":", linewidth=1.4, zorder=0)
    axes.text(memcpy, axes.get_ylim()[1], "memcpy", color=PEER, ha="center", va="bottom",
              fontsize=8)
    for entry in codecs:
        draw_codec(axes, entry)
    label_codecs(axes, codecs, right)
    axes.xaxis.set_major_locator(FixedLocator([x for x in SPEEDS if left < x < right]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_title(TITLES[result["dtype"]], loc="left", fontsize=11, fontweight="bold", pad=12)
    axes.set_xlabel("GB/s of raw data, one core")
    axes.grid(color="#ebedef", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        results = json.load(file)
    plt.rcParams.update({"font.size": 9, "svg.hashsalt": "planezip", "svg.fonttype": "none",
                         "font.family": "sans-serif", "text.color": INK, "axes.edgecolor": PEER})
    figure, grid = plt.subplots(1, len(results), figsize=(5.6 * len(results), 4.2), squeeze=False)
    for axes, result in zip(grid[0], results):
        panel(axes, result)
    grid[0][0].set_ylabel("ratio, geometric mean of the models")
    points = [plt.Line2D([], [], marker="o", linestyle="", color=face, markeredgecolor=PEER,
                         markeredgewidth=1.6, label=label)
              for face, label in (("white", "encode"), (PEER, "decode"))]
    figure.legend(handles=points, loc="upper right", ncol=2, frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.97), w_pad=2)
    figure.savefig(sys.argv[2], metadata={"Date": None})


if __name__ == "__main__":
    main()
