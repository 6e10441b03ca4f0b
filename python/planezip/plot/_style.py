"""Colours and lines, the same in every figure: told apart by people who do not see some colours,
also by their lightness and by the dashes of their lines; on white and, where the reader prefers
that, on black."""
import re

COLOURS = {  # name: on white, on black
    "ink": ("#1f2328", "#e6edf3"),
    "soft": ("#57606a", "#a5afba"),
    "grid": ("#e4e7eb", "#2b323b"),
    "ground": ("#ffffff", "#10151c"),
    "grey": ("#79828c", "#8d97a3"),
    "blue": ("#0b62b8", "#5aa9ff"),
    "red": ("#b3202c", "#ff7b72"),
    "orange": ("#c27400", "#f0a848"),
    "green": ("#0a7f64", "#35c49d"),
    "pink": ("#b5478a", "#f291c4"),
}
HUES = ("ink", "grey", "blue", "red", "orange", "green", "pink")

FONT = ('system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Liberation Sans", '
        "sans-serif")

RULES = f"""
.pz text {{ font: 11px {FONT}; fill: ink }}
.pz .soft {{ fill: soft }}
.pz .bold {{ font-weight: 600 }}
.pz .head {{ font-size: 12.5px; font-weight: 600 }}
.pz .grid {{ stroke: grid; stroke-width: 1; fill: none }}
.pz .axis {{ stroke: soft; stroke-width: 1; fill: none }}
.pz .ground {{ fill: ground }}
.pz .line {{ fill: none; stroke: currentColor; stroke-linejoin: round; stroke-linecap: round }}
.pz .fill {{ fill: currentColor }}
.pz .pale {{ fill: currentColor; fill-opacity: .18 }}
.pz .hollow {{ fill: ground; stroke: currentColor; stroke-width: 1.6 }}
"""


class Series:
    """How what has a name looks."""

    def __init__(self, label, colour, dash=None, width=1.7):
        self.label, self.colour, self.dash, self.width = label, colour, dash, width


POLICIES = {
    "recomp": Series("RECOMP (DTR)", "grey", "1 3.4", 2),
    "swap": Series("SWAP", "pink", "1 3.4", 2),
    "dte": Series("DTE (MegTaiChi)", "pink", "6 3"),
    "dte+codec": Series("DTE + compression", "pink"),
    "bw": Series("BW", "orange", "7 2.5 1.5 2.5", 1.9),
    "bw+codec": Series("BW + codec, unaware plan", "orange"),
    "bw+zvc": Series("BW + ZVC", "green", "4 2.5", 1.9),
    "planezip, 32-bit symbols": Series("PlaneZip, 32-bit symbols", "blue"),
    "planezip, operator types": Series("PlaneZip, op-type predictor", "blue"),
    "planezip": Series("PlaneZip", "blue", None, 2.4),
    "planezip, oracle": Series("PlaneZip, oracle ratios", "blue"),
    "planezip, format 2": Series("PlaneZip, format 2", "red", None, 1.7),
    "best": Series("best: PlaneZip and a search", "ink", "2.5 2.5", 1.5),
}
CODECS = {
    "planezip2": Series("planezip2 (format 2)", "red"),
    "planezip2_fast": Series("planezip2-fast", "red"),
    "planezip": Series("PlaneZip (format 1)", "blue"),
    "zbx": Series("ZBX", "pink"),
    "bx": Series("BX", "green"),
    "bpc": Series("BPC", "orange"),
    "zvc": Series("ZVC", "ink"),
    "bdi": Series("BDI", "grey"),
}
PLATFORMS = {"A": Series("A", "orange", "6 3", 2), "B": Series("B", "blue", None, 2.2)}
MODELS = {"resnet50": "ResNet-50", "densenet121": "DenseNet-121",
          "efficientnet_b0": "EfficientNet-B0", "vit_b_16": "ViT-B/16", "gpt2": "GPT-2",
          "geometric mean": "Geometric mean"}
PRECISIONS = {"bf16": "BF16", "fp32": "FP32"}


def policy(name):
    return POLICIES.get(name) or Series(name, "grey")


def codec(name):
    return CODECS.get(name) or Series(name, "grey")


def platform(name):
    return PLATFORMS.get(name) or Series(name, "green")


def model(name):
    return MODELS.get(name, name)


def css():
    """Rules for every figure, with both sets of colours."""
    def rules(index):
        def colour(match):
            pair = COLOURS.get(match[1])
            return f": {pair[index]}" if pair else match[0]

        series = "".join(f".pz .{name} {{ color: {COLOURS[name][index]} }}\n" for name in HUES)
        return re.sub(r": (\w+)(?=[ ;])", colour, RULES) + series

    dark = "\n".join(line for line in rules(1).split("\n") if "#" in line)
    return f"{rules(0).strip()}\n@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}\n"
