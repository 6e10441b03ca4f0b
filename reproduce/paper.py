"""What the paper tells in numbers, in the form in which planezip prints its own (--json), so that
planezip.plot can draw both: PlaneZip: Lossless Bit-Plane Compression of Training Activations
Offloaded over PCIe, arXiv:2610.25033.

Rows of a sweep with the model "mean" are means over the five models.
"""
MODELS = ("resnet50", "densenet121", "efficientnet_b0", "vit_b_16", "gpt2")
BUDGETS = (30, 40, 50, 60, 70, 80, 90)

TABLE_1 = {  # saved tensors, GB in FP32, operators
    "resnet50": (216, 11.0, 896),
    "densenet121": (494, 16.7, 3162),
    "efficientnet_b0": (314, 11.3, 1276),
    "vit_b_16": (211, 9.0, 1910),
    "gpt2": (275, 21.2, 2115),
}

FIGURE_1 = {"platforms": [
    {"platform": "A", "swap_costs_more_percent": "95", "swap_to_recompute_median": 10.1,
     "low": 7, "high": 37},
    {"platform": "B", "swap_costs_more_percent": "> 99.9", "swap_to_recompute_median": 12.6,
     "low": 6, "high": 12}]}
IMAGES_PER_SECOND = 2529  # ResNet-50 on platform B

RATIOS = {"bf16": (1.88, 2.14, 1.40, 1.31, 1.97, 1.71),
          "fp32": (1.50, 1.74, 1.15, 1.11, 1.57, 1.39)}
FIGURE_3 = {"figure_3": [
    {"precision": precision, "model": model, "planezip_ratio": ratio}
    for precision, ratios in RATIOS.items()
    for model, ratio in zip((*MODELS, "geometric mean"), ratios)]}
OTHER_MEANS = {("bf16", "zvc"): 1.18, ("fp32", "zvc"): 1.20, ("bf16", "bpc"): 1.50}
WIDTH_32 = 1.65  # geometric mean of BF16 coded with symbols of 32 bits

# Producer: share of the saved bytes, ratios of zvc, bx and planezip, the encoding of most blocks.
CLASSES = {
    "Conv output": ("18–52", 1.00, 1.43, 1.45, "BX (74 %)"),
    "Elementwise": ("26–39", 1.00, 1.33, 1.33, "BX (88 %)"),
    "ReLU output": ("45–48", 2.16, 1.85, 3.21, "ZBX (60 %)"),
    "Copy/concat": ("6–32", 1.02, 1.41, 1.41, "BX (84 %)"),
    "Softmax": ("16–23", 1.51, 2.02, 2.10, "BX (62 %)"),
    "Linear output": ("6–21", 1.00, 1.32, 1.32, "BX (96 %)"),
    "Dropout output": ("23", 1.94, 2.21, 2.50, "ZBX (51 %)"),
    "Norm in/out": ("0–11", 1.00, 1.31, 1.31, "BX (98 %)"),
    "Log-softmax": ("0–8", 1.00, 2.20, 2.23, "DBX (72 %)"),
    "Dropout mask": ("6", 1.00, 5.96, 5.86, "BX (100 %)"),
    "Indices": ("0–2", 1.88, 3.01, 5.25, "ZBX (100 %)"),
}
TABLE_3 = {"table_3": [{"producer_class": name, "zvc_ratio": zvc, "bx_ratio": bx,
                        "planezip_ratio": ratio}
                       for name, (_, zvc, bx, ratio, _) in CLASSES.items()]}

# Ratio in three iterations; wire-size errors in % by signature; ratio at random initialisation.
TABLE_4 = {
    "resnet50": ((1.88, 1.88, 1.89), (0.6, 9.7, 28.7), 1.78),
    "densenet121": ((2.14, 2.13, 2.15), (0.7, 12.5, 43.1), None),
    "efficientnet_b0": ((1.40, 1.40, 1.41), (0.8, 4.3, 4.8), None),
    "vit_b_16": ((1.31, 1.31, 1.31), (0.3, 2.6, 4.3), 1.41),
    "gpt2": ((1.97, 1.97, 1.97), (0.2, 3.2, 29.8), 2.22),
}

# (platform, budget): overhead in %, mean over the models.
MEANS = {
    "recomp": {("A", 50): 14.1, ("B", 50): 19.6},
    "dte": {("A", 50): 13.3, ("B", 50): 19.6, ("A", 30): 24.4, ("B", 30): 41.7},
    "bw": {("A", 50): 6.7, ("B", 50): 13.0, ("A", 30): 17.4, ("B", 30): 33.2},
    "bw+zvc": {("A", 50): 4.1, ("B", 50): 10.5, ("A", 30): 14.7, ("B", 30): 30.1},
    "planezip": {("A", 50): 3.5, ("B", 50): 9.0, ("A", 30): 12.2, ("B", 30): 23.7},
}
PER_MODEL = {("gpt2", "B", 30): {"bw": 46, "planezip": 28},
             ("densenet121", "B", 50): {"bw": 27, "planezip": 17},
             ("vit_b_16", "A", 50): {"bw": 1.0}}
FIGURE_5 = {
    "dte": (24.4, 41.7), "dte+codec": (21.3, 30.6), "bw": (17.4, 33.2), "bw+codec": (17.1, 33.0),
    "bw+zvc": (14.7, 30.1), "planezip, 32-bit symbols": (12.2, 24.2),
    "planezip, operator types": (12.7, 24.8), "planezip": (12.2, 23.7),
    "planezip, oracle": (12.2, 23.7),
}
FIGURE_6A = {"bw": {12: 16.1}, "planezip": {12: 12.0}}
AT_MOST_6A = {192: 0.4}  # both of them
GAINS_6A = {24: 5.7, 48: 6.4}  # points that planezip takes off bw
FIGURE_6B = {64: 9.0, 96: 7.3}
SLOW_ENGINE_HELPS = 0  # models with an engine as fast as the link

SLOWDOWN_SWAP = {"A": 2.8, "B": 5.1}  # at 50 %
DTE_IS_RECOMP, AWARE_PLAN_KEPT = 58, 67  # of 70 configurations
BUDGET_FOR_5 = {"A": {"planezip": 43, "bw": 54, "dte": 64},
                "B": {"planezip": 59, "bw": 67, "dte": 75}}
# At 30 %, against bw: times the bytes swapped, % less recomputation; stalls in % of the iteration.
AGAINST_BW = {"A": (1.5, 30), "B": (2.1, 31)}
STALLS_AT_MOST = 1.1
ENGINE = {"GB/s": 96, "mm2": 0.036, "die_percent": 0.004, "W": "< 0.1"}
ATTENTION = {"share": 51, "attention": 2.82, "rest": 1.46}  # of GPT-2, BF16


def row(model, platform, policy, budget, percent, **more):
    return {"model": model, "platform": platform, "policy": policy, "overhead": percent / 100,
            "budget_fraction": budget / 100, **more}


def sweep():
    """Means, and the few overheads of single models, at budgets."""
    rows = [row("mean", platform, policy, budget, percent) for policy, points in MEANS.items()
            for (platform, budget), percent in points.items()]
    rows += [row(*place[:2], policy, place[2], percent) for place, points in PER_MODEL.items()
             for policy, percent in points.items()]
    return {"rows": rows}


def ablation():
    return {"rows": [row("mean", platform, policy, 30, percent)
                     for policy, both in FIGURE_5.items() for platform, percent in zip("AB", both)]}


def links():
    return {"rows": [row("mean", "B", policy, 50, percent, link_bps=link * 1e9)
                     for policy, points in FIGURE_6A.items() for link, percent in points.items()]}


def engines():
    return {"rows": [row("mean", "B", "planezip", 50, percent, engine_bps=engine * 1e9)
                     for engine, percent in FIGURE_6B.items()]}
