"""A figure: panels, a legend and words about them; as one SVG, and as HTML whose panels stand
beside or below one another as the page allows."""
from . import _style
from ._svg import element, escape, hint, path, text, width_of

GAP = 18


class Key:
    """An entry of a legend: a line, a bar, a dot or a hollow dot, and its label."""

    def __init__(self, series, kind="line", label=None):
        self.series, self.kind, self.label = series, kind, label or series.label

    def mark(self):
        """Within 24 by 12."""
        if self.kind == "line":
            inner = element("path", d=path([(1, 6), (23, 6)]), cls="line",
                            stroke_width=max(1.9, self.series.width),
                            stroke_dasharray=self.series.dash)
        elif self.kind == "bar":
            inner = element("rect", x=4, y=1.5, width=16, height=9, rx=1, cls="fill")
        else:
            inner = element("circle", cx=12, cy=6, r=4,
                            cls="hollow" if self.kind == "hollow" else "fill")
        return element("g", inner, cls=self.series.colour)

    def width(self):
        return 30 + width_of(self.label) + 14

    def html(self):
        mark = element("svg", self.mark(), viewBox="0 0 24 12", width=24, height=12, cls="pz",
                       aria_hidden="true")
        return f'<span class="key">{mark}{escape(self.label)}</span>'


def beside_key(name):
    return Key(_style.Series(name, "ink"), "hollow")


class Figure:
    """name: of its file.  columns: of panels in the SVG.  width: of a panel, least, in HTML."""

    def __init__(self, name, title, panels, keys=(), columns=None):
        self.name, self.title, self.panels, self.keys = name, title, panels, list(keys)
        self.columns = columns or len(panels)

    def html(self):
        """Legend and panels, for a page that has css() and lets panels stand side by side."""
        keys = "".join(key.html() for key in self.keys)
        legend = f'<div class="legend">{keys}</div>' if keys else ""
        width = max(panel.width for panel in self.panels)
        return legend + "".join(
            f'<div class="panels" style="--panel:{width:g}px">'
            f'{"".join(panel.svg() for panel in row)}</div>' for row in self.rows())

    def rows(self):
        count = min(self.columns, len(self.panels))
        return [self.panels[i:i + count] for i in range(0, len(self.panels), count)]

    def legend(self, width):
        """The keys in lines of at most width, and their height."""
        made, x, y = [], 0, 0
        for key in self.keys:
            if x and x + key.width() > width:
                x, y = 0, y + 18
            made.append(element("g", key.mark(), text(30, 10, key.label),
                                transform=f"translate({x:g} {y:g})"))
            x += key.width()
        return "".join(made), y + 18 if made else 0

    def svg(self):
        """A file of its own."""
        columns = min(self.columns, len(self.panels))
        wide = max(panel.width for panel in self.panels)
        width = columns * wide + (columns - 1) * GAP + 2 * GAP
        legend, y = self.legend(width - 2 * GAP)
        y += GAP + 6
        placed = []
        for row in self.rows():
            for i, panel in enumerate(row):
                placed.append(panel.svg(x=GAP + i * (wide + GAP), y=y, width=panel.width,
                                        height=panel.height))
            y += max(panel.height for panel in row) + GAP
        ground = element("rect", width=width, height=y, cls="ground")
        return ('<?xml version="1.0" encoding="utf-8"?>\n' + element(
            "svg", hint(self.title), element("style", _style.css()),
            ground, element("g", legend, transform=f"translate({GAP} {GAP - 4})"), *placed,
            xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {width:g} {y:g}", width=width,
            height=y, cls="pz", role="img") + "\n")
