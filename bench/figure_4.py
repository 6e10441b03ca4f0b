#!/usr/bin/env python3
"""Draws Figure 4 of the paper, throughput against memory budget, from `planezip sweep --json`.

Usage: planezip sweep ... --json | figure_4.py OUT.svg        (needs matplotlib)"""

import json
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

STYLE = {  # policy: label, colour, line
    "recomp": ("RECOMP (DTR)", "#9aa0a6", ":"),
    "dte": ("DTE (MegTaiChi)", "#7a5195", "--"),
    "bw": ("BW", "#ffa600", "-."),
    "bw+zvc": ("BW + ZVC", "#2f8f6b", "--"),
    "planezip": ("PlaneZip", "#d62839", "-"),
}
TITLES = {"resnet50": "ResNet-50", "densenet121": "DenseNet-121",
          "efficientnet_b0": "EfficientNet-B0", "vit_b_16": "ViT-B/16", "gpt2": "GPT-2"}
GPUS = {"A": "A: RTX 2080 Ti, FP32\nPCIe 3, engine", "B": "B: A100, BF16\nPCIe 4, engine"}


def curve(rows, model, platform, policy):
    points = [(100 * r["budget_fraction"], 1 / (1 + r["overhead"])) for r in rows
              if (r["model"], r["platform"], r["policy"]) == (model, platform, policy)
              and r["status"] == "ok"]
    return sorted(points + [(100, 1.0)])


def panel(axes, rows, model, platform):
    for policy, (label, colour, line) in STYLE.items():
        points = curve(rows, model, platform, policy)
        if len(points) > 1:
            axes.plot(*zip(*points), line, color=colour, label=label,
                      linewidth=2.2 if policy == "planezip" else 1.4)
    axes.set_xlim(28, 102)
    axes.set_ylim(max(0.55, axes.get_ylim()[0]), 1.02)
    axes.grid(color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rows = json.load(sys.stdin)["rows"]
    models = [m for m in TITLES if any(r["model"] == m for r in rows)]
    platforms = [p for p in GPUS if any(r["platform"] == p for r in rows)]
    plt.rcParams.update({"font.size": 8.5, "svg.hashsalt": "planezip", "svg.fonttype": "none",
                         "font.family": "sans-serif"})
    figure, grid = plt.subplots(len(platforms), len(models), figsize=(2.3 * len(models), 4.6),
                                squeeze=False, sharex=True)
    for i, platform in enumerate(platforms):
        for k, model in enumerate(models):
            panel(grid[i][k], rows, model, platform)
            grid[0][k].set_title(TITLES[model], fontsize=9.5)
            grid[-1][k].set_xlabel("memory budget (% of peak)")
        grid[i][0].set_ylabel(f"{GPUS[platform]}\nthroughput, unlimited = 1")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncol=len(labels), frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.94))
    figure.savefig(sys.argv[1], metadata={"Date": None})


if __name__ == "__main__":
    main()
