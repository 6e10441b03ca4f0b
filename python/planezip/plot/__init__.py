"""Figures of what the program planezip prints with --json, as SVG; needs no other package.

    figure = planezip.plot.throughput(json.load(open("sweep.json")))
    figure.svg()        a file of its own, which follows the reader's choice of light or dark
    figure.html()       the same for a page that has css()

    python -m planezip.plot sweep.json      writes sweep-*.svg, all that can be made of it

Each function takes the parsed JSON of one verb, and may take that of others to stand beside it, in
the same form, with as few fields and rows as there are: its values are hollow dots.
"""
from ._bench import speed
from ._figure import Figure
from ._ratios import classes, errors, ratios, table
from ._style import css
from ._sweep import bars, mean_overheads, overheads, sensitivity, throughput
from ._timeline import timeline
from ._trace import link_share, swap_cost


def figures(document, beside=None, name="the paper"):
    """All figures that can be made of a document, which tells by its fields what it is; none of
    one that is not known, or whose rows leave nothing to draw."""
    made = (make(document, beside, name) for make in makers(document))
    return [figure for figure in made if figure.panels]


def makers(document):
    """The functions that take a document."""
    if isinstance(document, list):
        document = document[0] if document else {}
    rows = document.get("rows") or [{}]
    if "decode_bps" in rows[0]:
        return [speed]
    if "overhead" in rows[0]:
        return sweep_makers(rows)
    known = {"figure_3": [ratios, classes], "tensors": [swap_cost], "platforms": [link_share],
             "wire_errors": [errors], "entries": [table], "traceEvents": [timeline]}
    return [make for key, made in known.items() if document.get(key) for make in made]


def sweep_makers(rows):
    """By what varies: the rate of the link or of the engine, else the budget."""
    def values(key):
        return {(row["platform"], row[key]) for row in rows}

    platforms = {row["platform"] for row in rows}
    if any(len(values(key)) > len(platforms) for key in ("link_bps", "engine_bps")):
        return [sensitivity]
    return [throughput, overheads] if len(values("budget")) > len(platforms) else [bars]


__all__ = ["Figure", "bars", "classes", "css", "errors", "figures", "link_share",
           "mean_overheads", "overheads", "ratios", "sensitivity", "speed", "swap_cost", "table",
           "throughput", "timeline"]
