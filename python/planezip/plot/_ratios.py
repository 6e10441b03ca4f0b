"""Figures of what `planezip measure --index --json`, `ratios show` and `ratios compare` print."""
from ._figure import Figure, Key, beside_key
from ._panel import Rows
from ._scale import Linear, nice_top
from . import _style

BARS = ("planezip2", "planezip")
SIGNATURES = {"tensor": "per tensor", "operator": "per operator type", "none": "one for all"}


def codecs_of(row):
    """The codecs that a row has a ratio of, those with bars first."""
    return [name for name in _style.CODECS if row.get(f"{name}_ratio") is not None]


def ratios(measured, beside=None, name="the paper"):
    """Figure 3: the ratio of every model and codec, in each precision."""
    rows, theirs = measured["figure_3"], (beside or {}).get("figure_3", [])
    dots = [c for c in codecs_of(rows[0]) if c not in (*BARS, "planezip2_fast")]
    panels = [ratio_panel(precision, rows, theirs, dots, name)
              for precision in dict.fromkeys(row["precision"] for row in rows)]
    bars = [c for c in BARS if f"{c}_ratio" in rows[0]]
    keys = [Key(_style.codec(c), "bar") for c in bars] + [Key(_style.codec(c), "dot") for c in dots]
    return Figure("figure-3", "Compression ratio by model and codec", panels,
                  keys + ([beside_key(f"{name}'s PlaneZip")] if theirs else []))


def value_of(rows, codec, **keys):
    for row in rows:
        if all(row.get(key) == value for key, value in keys.items()):
            return row.get(f"{codec}_ratio")
    return None


def shown(value):
    return None if value is None else f"{value:.2f}"


def ratio_panel(precision, rows, theirs, dots, name):
    rows = [row for row in rows if row["precision"] == precision]
    labels = [_style.model(row["model"]) for row in rows]
    columns = ["format 2", "format 1"] + (["paper" if name == "the paper" else name]
                                          if theirs else [])
    panel = Rows(_style.PRECISIONS.get(precision, precision), labels, ratio_scale(rows),
                 subtitle="raw / coded bytes", columns=columns, row=38, width=370)
    for i, row in enumerate(rows):
        other = value_of(theirs, "planezip", precision=precision, model=row["model"])
        draw_ratios(panel, i, row, dots, other, name)
        panel.cells(i, shown(row.get("planezip2_ratio")), shown(row["planezip_ratio"]),
                    *([shown(other)] if theirs else []), bold=1)
    return panel


def ratio_scale(rows):
    """From 1, which saves nothing, to a little more than the highest ratio."""
    return Linear(1, 1.04 * max(row[f"{c}_ratio"] for row in rows for c in codecs_of(row)))


def draw_ratios(panel, index, row, dots, other, name):
    """Two bars, on the lower one the value of others, and below both the dots of other codecs."""
    bars = [c for c in BARS if row.get(f"{c}_ratio") is not None]
    for lane, codec in enumerate(bars, 2 - len(bars)):
        panel.bar(index, row[f"{codec}_ratio"], _style.codec(codec), lane, 2, shift=-4)
    for codec in dots:
        if row.get(f"{codec}_ratio") is not None:
            panel.dot(index, max(1, row[f"{codec}_ratio"]), _style.codec(codec), radius=2.7,
                      shift=panel.row / 2 - 7)
    if other is not None:
        panel.dot(index, other, _style.Series(name, "ink"), hollow=True, shift=1)


def classes(measured, beside=None, name="the paper"):
    """Table III as a figure: the ratio by class of the producer, BF16."""
    rows, theirs = measured["table_3"], (beside or {}).get("table_3", [])
    labels = [row["producer_class"] for row in rows]
    columns = ["format 2", "format 1"] + (["paper" if name == "the paper" else name]
                                          if theirs else [])
    panel = Rows("BF16, by producer", labels, ratio_scale(rows), subtitle="raw / coded bytes",
                 columns=columns, row=34, width=400)
    for i, row in enumerate(rows):
        other = value_of(theirs, "planezip", producer_class=row["producer_class"])
        draw_ratios(panel, i, row, ["zvc"], other, name)
        panel.cells(i, shown(row.get("planezip2_ratio")), shown(row["planezip_ratio"]),
                    *([shown(other)] if theirs else []), bold=1)
    keys = [Key(_style.codec(c), "bar") for c in BARS if f"{c}_ratio" in rows[0]]
    return Figure("table-3", "Compression ratio by class of the producer", [panel],
                  keys + [Key(_style.codec("zvc"), "dot")] +
                  ([beside_key(f"{name}'s PlaneZip")] if theirs else []))


def errors(compared, beside=None, name="the paper"):
    """Wire-size error of three signatures; compared: of one model, or a list of several."""
    documents = compared if isinstance(compared, list) else [compared]
    panels = []
    for document in documents:
        rows = document["wire_errors"]
        values = [100 * row["bf16_wire_error"] for row in rows]
        labels = [SIGNATURES.get(row["signature"], row["signature"]) for row in rows]
        panel = Rows(_style.model(document["model"]), labels, Linear(0, nice_top(max(values))),
                     subtitle="wire-size error, BF16, %", columns=("",), width=300)
        for i, value in enumerate(values):
            panel.bar(i, value, _style.codec("planezip"))
            panel.cells(i, f"{value:.1f}")
        panels.append(panel)
    return Figure("predictor", "Error of the predictor by signature", panels,
                  columns=min(3, len(panels)))


def table(entries_of, beside=None, name="the paper"):
    """What `ratios show` prints: the ratios of a table's entries, by the class of the producer."""
    key, series = "planezip_bf16_ratio", _style.codec("planezip")
    groups = {}
    for entry in entries_of["entries"]:
        groups.setdefault(entry["producer_class"] or "other", []).append(entry)
    most = max((entry[key] for entry in entries_of["entries"]), default=1)
    panel = Rows(_style.model(entries_of["model"]), list(groups), Linear(0.9, nice_top(most)),
                 subtitle="PlaneZip, BF16: raw / coded bytes of each tensor", columns=("tensors",))
    for i, group in enumerate(groups.values()):
        for entry in group:
            panel.dot(i, entry[key], series, radius=2.2,
                      hint=f"operator {entry['op']}, slot {entry['slot']}: {entry[key]:.2f}")
        panel.cells(i, len(group), bold=None)
    return Figure("ratios", "Ratios of a table, by class of the producer", [panel])
