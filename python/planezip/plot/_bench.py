"""Figures of what `planezip bench --json` prints."""
from ._figure import Figure, Key
from ._panel import Rows
from ._scale import Log
from . import _style

ENCODE, DECODE = _style.Series("encode", "orange"), _style.Series("decode", "blue")
SPEEDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]


def speed(timed, beside=None, name=""):
    """Ratio and speed of every codec on one thread, with the instructions that decode fastest."""
    panels = [speed_panel(rows) for rows in by_data(timed["rows"])]
    return Figure("speed", "Ratio and speed", panels,
                  [Key(ENCODE, "dot"), Key(DECODE, "dot"),
                   Key(_style.Series("memcpy", "grey"), "dot")], columns=min(2, len(panels)))


def by_data(rows):
    """The best row of each codec, by what they were run on, in order of their ratios."""
    groups = {}
    for row in rows:
        if row["threads"] != 1 or row.get("decode_bps") is None:
            continue
        group = groups.setdefault((row["data"], row["dtype"]), {})
        best = group.get(row["codec"])
        if best is None or row["decode_bps"] > best["decode_bps"]:
            group[row["codec"]] = row
    return [sorted(group.values(), key=lambda row: -row["ratio"]) for group in groups.values()]


def speed_panel(rows):
    memcpy = rows[0]["memcpy_bps"] / 1e9
    speeds = [row[key] / 1e9 for row in rows for key in ("encode_bps", "decode_bps")] + [memcpy]
    panel = Rows(f"{rows[0]['data'].rsplit('/', 1)[-1]}, {rows[0]['dtype']}",
                 [row["codec"] for row in rows],
                 Log(min(speeds) / 1.4, max(speeds) * 1.3, at=SPEEDS), columns=("ratio",),
                 subtitle="GB/s of raw data, one thread", width=370)
    for i, row in enumerate(rows):
        encode, decode = row["encode_bps"] / 1e9, row["decode_bps"] / 1e9
        panel.span(i, min(encode, decode), max(encode, decode), _style.Series("", "grey"))
        panel.dot(i, memcpy, _style.Series("memcpy", "grey"), radius=2.4)
        for value, series in ((encode, ENCODE), (decode, DECODE)):
            panel.dot(i, value, series, radius=4, hint=f"{series.label}: {value:.2f} GB/s")
        panel.cells(i, f"{row['ratio']:.2f}")
    return panel
