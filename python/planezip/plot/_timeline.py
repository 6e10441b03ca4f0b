"""A figure of a timeline that `planezip simulate --timeline` writes."""
from ._figure import Figure, Key
from ._panel import Panel, TITLE
from ._scale import Linear, nice_top
from ._svg import element, hint, path, text
from . import _style

KINDS = {  # category of an event: how it looks
    "op": _style.Series("operators", "grey"),
    "replay": _style.Series("recomputation", "orange"),
    "stall: memory": _style.Series("waiting for memory", "pink"),
    "stall: prefetch": _style.Series("waiting for a copy", "red"),
    "optimizer": _style.Series("optimizer", "ink"),
    "swap-out": _style.Series("swapped out", "blue"),
    "prefetch": _style.Series("fetched back", "green"),
    "compress": _style.Series("compressed in place", "blue"),
    "restore": _style.Series("restored", "green"),
}
OTHER = _style.Series("other", "red")
LANE, MEMORY = 16, 84


def timeline(document, beside=None, name="", width=340):
    """Lanes of compute and copies, and the memory below, over the time of an iteration."""
    events = document["traceEvents"]
    lanes = {event["tid"]: event["args"]["name"] for event in events
             if event["ph"] == "M" and event["name"] == "thread_name"}
    spans = [event for event in events if event["ph"] == "X"]
    lanes = {tid: lane for tid, lane in lanes.items() if any(e["tid"] == tid for e in spans)}
    model = next((e["args"]["name"] for e in events if e["name"] == "process_name"), "")
    panel = Lanes(_style.model(model), lanes, max(e["ts"] + e["dur"] for e in spans), width)
    for event in spans:
        panel.span(event)
    panel.draw_spans()
    panel.memory([event for event in events if event["ph"] == "C"])
    kinds = [kind for kind in KINDS if any(event.get("cat") == kind for event in spans)]
    return Figure("timeline", "Timeline of an iteration", [panel],
                  [Key(KINDS[kind], "bar") for kind in kinds])


class Lanes(Panel):
    """One lane a thread; then memory."""

    def __init__(self, title, lanes, end, width):
        super().__init__(title, width, TITLE + 8 + (LANE + 15) * len(lanes) + MEMORY + 62)
        self.lanes = {tid: i for i, tid in enumerate(lanes)}
        self.x = Linear(0, end).over(40, width - 8)
        self.runs = {}
        self.add(text(0, TITLE - 4, title, "head"))
        for tid, label in lanes.items():
            self.add(text(40, self.lane(tid) - 3, label, "soft"))
        self.floor = self.height - 34
        for value in Linear(0, end / 1e3).ticks(5):
            x = self.x(value * 1e3)
            self.add(element("path", d=path([(x, TITLE + 6), (x, self.floor)]), cls="grid"),
                     text(x, self.floor + 14, f"{value:g}", "soft", "middle"))
        self.add(text((40 + width) / 2, self.height - 4, "ms", "soft", "middle"))

    def lane(self, tid):
        return TITLE + 20 + self.lanes[tid] * (LANE + 15)

    def span(self, event):
        """Joins the events of a kind that follow one another too closely to be seen apart."""
        runs = self.runs.setdefault((event["tid"], event.get("cat")), [])
        start, end = self.x(event["ts"]), self.x(event["ts"] + event["dur"])
        if runs and start - runs[-1][1] < 0.35:
            runs[-1][1] = max(end, runs[-1][1])
        else:
            runs.append([start, end])

    def draw_spans(self):
        for (tid, kind), runs in self.runs.items():
            top, bottom = self.lane(tid), self.lane(tid) + LANE
            d = "".join(path([(a, top), (max(b, a + 0.4), top), (max(b, a + 0.4), bottom),
                              (a, bottom)], closed=True) for a, b in runs)
            series = KINDS.get(kind, OTHER)
            self.group(series, element("path", hint(series.label), d=d, cls="fill"))

    def memory(self, counters):
        """Live bytes as an area, the budget as a line."""
        series = {}
        for event in counters:
            for key, value in event["args"].items():
                series.setdefault(key if len(event["args"]) > 1 else event["name"], []).append(
                    (event["ts"], value))
        top = nice_top(max((v for points in series.values() for _, v in points), default=1) / 1e9)
        y = Linear(0, top).over(self.floor, self.floor - MEMORY)
        self.add(text(40, self.floor - MEMORY - 6, "memory, GB", "soft"))
        for value in y.ticks(2):
            self.add(text(35, y(value) + 4, f"{value:g}", "soft", "end"),
                     element("path", d=path([(40, y(value)), (self.width - 8, y(value))]),
                             cls="grid"))
        for key, points in series.items():
            if "budget" in key.lower():
                self.budget(points, y)
            else:
                self.area(key, points, y)

    def budget(self, points, y):
        level = y(points[0][1] / 1e9)
        self.group(_style.Series("", "red"), element(
            "path", hint(f"budget: {points[0][1] / 1e9:.2f} GB"),
            d=path([(40, level), (self.width - 8, level)]), cls="line", stroke_width=1.4,
            stroke_dasharray="5 3"))
        self.add(text(self.width - 8, level - 4, "budget", "soft", "end"))

    def area(self, key, points, y):
        outline = thin([(self.x(at), y(value / 1e9)) for at, value in points])
        base = [(outline[-1][0], self.floor), (outline[0][0], self.floor)]
        self.group(_style.Series("", "blue"),
                   element("path", hint(key), d=path(outline + base, closed=True), cls="pale"),
                   element("path", d=path(outline), cls="line", stroke_width=1))


def thin(points, step=0.5):
    """Steps from point to point; of those within a step of x, the lowest and the highest."""
    made, group = [], []
    for point in points:
        if group and point[0] - group[0][0] >= step:
            made += extremes(group)
            group = []
        group.append(point)
    return made + extremes(group)


def extremes(group):
    low, high = min(group, key=lambda p: p[1]), max(group, key=lambda p: p[1])
    return sorted({low, high, group[-1]})
