"""Figures of what `planezip trace show --json` prints: Figure 1 of the paper."""
from bisect import bisect_left
from itertools import accumulate

from ._figure import Figure, Key, beside_key
from ._panel import Plot, Rows
from ._scale import Linear, Log, nice_top
from . import _style

SHARES = (("link_share", _style.Series("no compression", "grey")),
          ("link_share_zvc", _style.codec("zvc")),
          ("link_share_planezip", _style.codec("planezip")),
          ("link_share_planezip2", _style.codec("planezip2")))


def swap_cost(shown, beside=None, name="the paper"):
    """Figure 1a: how much longer a swap takes than recomputation, by share of the saved bytes.
    shown: with --tensors and a platform; beside: rows of platforms with the medians."""
    rows = [row for row in shown["tensors"] if row.get("recompute_ns")]
    platforms = sorted({row["platform"] for row in rows})
    curves = {platform: cumulative(rows, platform) for platform in platforms}
    low = min(curve[0][0] for curve in curves.values())
    high = max(curve[-1][0] for curve in curves.values())
    plot = Plot("Swap against recomputation", Log(max(low, 1e-2), min(high, 1e4)), Linear(0, 1),
                subtitle="cumulative share of the saved bytes", width=340, height=250,
                x_label="time to swap / time to recompute")
    plot.rule(1, "equal")
    for platform in platforms:
        plot.line(curves[platform], _style.platform(platform), f"platform {platform}")
    medians = [row for row in (beside or {}).get("platforms", [])
               if row.get("swap_to_recompute_median")]
    for row in medians:
        plot.dots([(row["swap_to_recompute_median"], 0.5)], _style.platform(row["platform"]),
                  hollow=True, hint="median {x:g}")
    keys = [Key(_style.platform(platform), label=f"platform {platform}") for platform in platforms]
    return Figure("figure-1a", "Cost of a swap against recomputation", [plot],
                  keys + ([beside_key(f"{name}'s median")] if medians else []))


def cumulative(rows, platform, points=200):
    """Points (ratio, share of the bytes that is no dearer) of a platform."""
    found = sorted((row["swap_ns"] / row["recompute_ns"], bytes_of(row)) for row in rows
                   if row["platform"] == platform)
    sums = list(accumulate(size for _, size in found))
    steps = [0] + [bisect_left(sums, sums[-1] * (i + 1) / points) for i in range(points)]
    return [(found[min(i, len(found) - 1)][0], sums[min(i, len(found) - 1)] / sums[-1])
            for i in dict.fromkeys(steps)]


def bytes_of(row):
    return row["fp32_bytes"] if row["platform"] == "A" else row["bf16_bytes"]


def link_share(shown, beside=None, name="the paper"):
    """Figure 1b: the share of the saved bytes that the link moves within the shorter pass.
    beside: rows of platforms with the range over the models, low and high."""
    rows = [row for row in shown["platforms"] if row["model"] != "all"]
    ranges = {row["platform"]: row for row in (beside or {}).get("platforms", [])
              if row.get("low") is not None}
    shares = [(key, series) for key, series in SHARES if rows[0].get(key) is not None]
    panels = [share_panel(platform, rows, shares, ranges.get(platform), name)
              for platform in sorted({row["platform"] for row in rows})]
    return Figure("figure-1b", "What the link can move in an iteration", panels,
                  [Key(series, "dot") for _, series in shares])


def share_panel(platform, rows, shares, theirs, name):
    rows = [row for row in rows if row["platform"] == platform]
    labels = [_style.model(row["model"]) for row in rows]
    top = nice_top(max(100 * row[key] for row in rows for key, _ in shares))
    subtitle = "% of the saved bytes"
    if theirs:
        subtitle += f"; as they are in {name}: {theirs['low']:g} to {theirs['high']:g}"
    panel = Rows(f"Platform {platform}", labels, Linear(0, top), subtitle=subtitle,
                 columns=("none", "PlaneZip"), row=22)
    for i, row in enumerate(rows):
        values = [100 * row[key] for key, _ in shares]
        panel.span(i, min(values), max(values), _style.Series("", "grey"))
        for value, (_, series) in zip(values, shares):
            panel.dot(i, value, series, radius=3.6, hint=f"{series.label}: {value:.1f} %")
        compressed = row.get("link_share_planezip")
        panel.cells(i, f"{100 * row['link_share']:.1f}",
                    None if compressed is None else f"{100 * compressed:.1f}", bold=1)
    return panel
