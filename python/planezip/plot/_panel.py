"""A panel: one pair of axes, or rows of bars, with its title, as an SVG of its own."""
from . import _svg
from ._svg import element, path, text, width_of

TITLE, LINE = 17, 14


def tick_text(value):
    if value and (abs(value) >= 1e4 or abs(value) < 1e-3):
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
    return f"{value:,g}"


class Panel:
    """What both kinds of panel share: marks in order, hidden text for those who cannot see."""

    def __init__(self, title, width, height):
        self.title, self.width, self.height = title, width, height
        self.marks = []

    def add(self, *marks):
        self.marks += marks

    def group(self, series, *marks):
        """Marks in the colour of a series."""
        self.add(element("g", *marks, cls=series.colour))

    def content(self):
        return "".join(self.marks)

    def svg(self, **attributes):
        """The panel as an element svg."""
        return element("svg", _svg.hint(self.title), self.content(),
                       viewBox=f"0 0 {self.width:g} {self.height:g}", cls="pz", role="img",
                       **attributes)


class Plot(Panel):
    """Axes x and y; marks outside of them are cut off."""
    serial = 0

    def __init__(self, title, x, y, *, subtitle="", x_label="", width=300, height=215,
                 x_text=tick_text, y_text=tick_text, x_ticks=5, y_ticks=4):
        super().__init__(title, width, height)
        self.x_text, self.y_text = x_text, y_text
        top = TITLE + (LINE if subtitle else 0) + 8
        bottom = 22 + (LINE if x_label else 0)
        self.x_at, self.y_at = x.ticks(x_ticks), y.ticks(y_ticks)
        left = 8 + max(width_of(y_text(value)) for value in self.y_at)
        self.x = x.over(left, width - 10)
        self.y = y.over(height - bottom, top)
        self.head(subtitle)
        self.axes(x_label)
        Plot.serial += 1
        self.clip = f"clip{Plot.serial}"
        self.inside = []

    def head(self, subtitle):
        self.add(text(0, TITLE - 4, self.title, "head"))
        if subtitle:
            self.add(text(0, TITLE + LINE - 3, subtitle, "soft"))

    def axes(self, x_label):
        x, y = self.x, self.y
        for value in self.y_at:
            self.add(element("path", d=path([(x.start, y(value)), (x.end, y(value))]), cls="grid"),
                     text(x.start - 5, y(value) + 4, self.y_text(value), "soft", "end"))
        self.add(element("path", d=path([(x.start, y.start), (x.end, y.start)]), cls="axis"))
        for value in self.x_at:
            self.add(element("path", d=path([(x(value), y.start), (x(value), y.start + 4)]),
                             cls="axis"),
                     text(x(value), y.start + 15, self.x_text(value), "soft", "middle"))
        if x_label:
            self.add(text((x.start + x.end) / 2, self.height - 4, x_label, "soft", "middle"))

    def line(self, points, series, hint=""):
        """A line through points (x, y)."""
        d = path([(self.x(a), self.y(b)) for a, b in points])
        self.inside.append(element("g", element(
            "path", _svg.hint(hint or series.label), d=d, cls="line",
            stroke_width=series.width, stroke_dasharray=series.dash), cls=series.colour))

    def dots(self, points, series, hollow=False, hint="{x:g}: {y:.3g}", radius=3):
        """A dot at each point; hollow ones are those that ours stand beside."""
        made = [element("circle", _svg.hint(f"{series.label}, " + hint.format(x=a, y=b)),
                        cx=self.x(a), cy=self.y(b), r=radius + (1 if hollow else 0),
                        cls="hollow" if hollow else "fill")
                for a, b in points if self.y.low <= b <= self.y.high * 1.001]
        self.group(series, *made)

    def rule(self, value, label=""):
        """A vertical line at a value of x."""
        self.inside.append(element("path", d=path([(self.x(value), self.y.start),
                                                   (self.x(value), self.y.end)]),
                                   cls="axis", stroke_dasharray="3 3"))
        if label:
            self.add(text(self.x(value) + 4, self.y.end + 9, label, "soft"))

    def content(self):
        area = element("clipPath", element("rect", x=self.x.start, y=self.y.end - 2,
                                           width=self.x.end - self.x.start + 4,
                                           height=self.y.start - self.y.end + 4), id=self.clip)
        inside = element("g", *self.inside, clip_path=f"url(#{self.clip})")
        # Lines lie above the grid and below the dots.
        grid = [mark for mark in self.marks if "<circle" not in mark]
        dots = [mark for mark in self.marks if "<circle" in mark]
        return area + "".join(grid) + inside + "".join(dots)


class Rows(Panel):
    """Rows with a label, marks along x, and columns of numbers at the right."""

    def __init__(self, title, labels, x, *, columns=(), subtitle="", row=24, width=340, ticks=4,
                 x_label=""):
        head = TITLE + (LINE if subtitle else 0) + (LINE if any(columns) else 0) + 4
        super().__init__(title, width, head + row * len(labels) + 22 + (LINE if x_label else 0))
        self.row, self.top = row, head
        self.right = [0] * len(columns)
        edge = width
        for i in reversed(range(len(columns))):
            self.right[i] = edge
            edge -= max(34, width_of(columns[i]) + 8)
        left = 6 + max(width_of(label) for label in labels)
        self.x = x.over(left, edge - (8 if columns else 6))
        self.bottom = head + row * len(labels) + 2
        self.add(text(0, TITLE - 4, title, "head"))
        if subtitle:
            self.add(text(0, TITLE + LINE - 3, subtitle, "soft"))
        for place, name in zip(self.right, columns):
            self.add(text(place, head - 3, name, "soft", "end"))
        for value in x.ticks(ticks):
            self.add(element("path", d=path([(x(value), head), (x(value), self.bottom)]),
                             cls="grid"),
                     text(x(value), self.bottom + 13, tick_text(value), "soft", "middle"))
        if x_label:
            self.add(text((x.start + x.end) / 2, self.height - 3, x_label, "soft", "middle"))
        for i, label in enumerate(labels):
            self.add(text(x.start - 6, self.middle(i) + 4, label, None, "end"))

    def middle(self, index):
        return self.top + self.row * (index + 0.5)

    def bar(self, index, value, series, lane=0, lanes=1, shift=0, hint=""):
        """A bar from the left end to value, in one of the lanes of a row."""
        height = 12 if lanes == 1 else 10
        y = self.middle(index) + shift + (lane - lanes / 2) * height + 0.5
        end = self.x(min(value, self.x.high))
        self.group(series, element("rect", _svg.hint(hint or f"{series.label}: {value:.3g}"),
                                   x=self.x.start, y=y, width=max(0.5, end - self.x.start),
                                   height=height - 1, cls="fill", rx=1))

    def dot(self, index, value, series, hollow=False, shift=0, hint="", radius=3.2):
        if value > self.x.high * 1.001:
            return
        self.group(series, element("circle",
                                   _svg.hint(hint or f"{series.label}: {value:.3g}"),
                                   cx=self.x(value), cy=self.middle(index) + shift,
                                   r=radius + (0.8 if hollow else 0),
                                   cls="hollow" if hollow else "fill"))

    def span(self, index, low, high, series):
        """A thin line from low to high."""
        self.group(series, element("path", d=path([(self.x(low), self.middle(index)),
                                                   (self.x(high), self.middle(index))]),
                                   cls="line", stroke_width=2.2, stroke_opacity=0.45))

    def cells(self, index, *values, bold=0):
        """The numbers of a row, one a column."""
        for i, value in enumerate(values):
            if value is not None:
                self.add(text(self.right[i], self.middle(index) + 4, value,
                              "bold" if i == bold else "soft", "end"))
