"""HTML by hand: what a page consists of."""
import base64
import csv
import io
import re
from html import escape


def tag(name, content, **attributes):
    parts = [name] + [f'{key.rstrip("_")}="{escape(str(value))}"'
                      for key, value in attributes.items() if value is not None]
    return f"<{' '.join(parts)}>{content}</{name}>"


def paragraph(*words, cls=None):
    return tag("p", " ".join(words), class_=cls)


def bullets(items):
    return tag("ul", "".join(tag("li", item) for item in items))


def beside(ours, theirs, form="{:.1f}"):
    """A cell: our value, and the paper's below in small."""
    if ours is None:
        return "–"
    text = ours if isinstance(ours, str) else form.format(ours)
    if theirs is None:
        return text
    return f"{text}<small>{theirs if isinstance(theirs, str) else form.format(theirs)}</small>"


class Table:
    """Rows of cells, of which the first names the row; a row of one cell is a heading."""

    def __init__(self, name, head, rows, ours=()):
        self.name, self.head, self.rows, self.ours = name, head, rows, set(ours)

    def html(self):
        head = "".join(tag("th", cell, scope="col") for cell in self.head)
        body = "".join(self.row(row) for row in self.rows)
        return tag("div", tag("table", tag("thead", tag("tr", head)) + tag("tbody", body)),
                   class_="table")

    def row(self, row):
        if len(row) == 1:
            return tag("tr", tag("th", row[0], colspan=len(self.head), scope="colgroup"),
                       class_="group")
        cells = tag("th", row[0], scope="row") + "".join(tag("td", cell) for cell in row[1:])
        return tag("tr", cells, class_="ours" if row[0] in self.ours else None)

    def csv(self):
        """The same for programs; what stands below a value has a column of its own."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        doubled = [any("<small>" in row[i] for row in self.rows if i < len(row))
                   for i in range(len(self.head))]
        writer.writerow(["group"] + self.spread(self.head, doubled, " (paper)"))
        group = ""
        for row in self.rows:
            if len(row) == 1:
                group = plain(row[0])
            else:
                writer.writerow([group] + self.spread(row, doubled))
        return out.getvalue()

    @staticmethod
    def spread(row, doubled, suffix=None):
        cells = []
        for cell, two in zip(row, doubled):
            first, _, second = cell.partition("<small>")
            cells.append(plain(first))
            if two:
                cells.append(plain(first) + suffix if suffix else plain(second))
        return cells

    def link(self):
        """To the CSV, within the page."""
        data = base64.b64encode(self.csv().encode()).decode()
        return (f'<a class="soft" download="{self.name}.csv" '
                f'href="data:text/csv;base64,{data}">CSV</a>')


def plain(cell):
    """Without tags and signs for people."""
    text = re.sub(r"<[^>]*>", " ", cell)
    return " ".join(text.replace("–", "-").replace("&gt;", ">").replace("&lt;", "<")
                    .replace("&amp;", "&").split())


def folded(title, content):
    return tag("details", tag("summary", title) + content)


def figure(drawn, number, words, table=None):
    """A figure of planezip.plot, what it shows, and its numbers."""
    caption = tag("figcaption", f"<b>{number}.</b> {words}" + (f" {table.link()}" if table else ""))
    numbers = folded("Numbers", table.html()) if table else ""
    return tag("figure", caption + drawn + numbers, id=number.lower().replace(" ", "-"))


def pair(*figures):
    """Side by side where there is room."""
    return tag("div", "".join(figures), class_="pair")


def titled_table(table, number, words):
    caption = tag("figcaption", f"<b>{number}.</b> {words} {table.link()}")
    return tag("figure", caption + table.html(), id=number.lower().replace(" ", "-"))
