"""SVG as text: elements, and about how wide text is."""
import html
import math
import re

# What XML 1.0 cannot hold, escaped or not: control characters and lone surrogates.
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
NARROW, WIDE = set("ijltfrI.,:;'|!()[] /-"), set("mwMW%@")


def escape(content):
    """Text as XML can hold it."""
    return html.escape(FORBIDDEN.sub("\ufffd", content))


def number(value):
    """A coordinate with as few digits as serve."""
    if not math.isfinite(value):
        raise ValueError("a number is too large to draw")
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def element(name, *children, **attributes):
    """<name ...>children</name>; of attributes None is left out, `cls` is class, _ is -."""
    parts = [name]
    for key, value in attributes.items():
        if value is not None:
            key = "class" if key == "cls" else key.replace("_", "-")
            value = number(value) if isinstance(value, (int, float)) else escape(str(value))
            parts.append(f'{key}="{value}"')
    content = "".join(children)
    return f"<{' '.join(parts)}>{content}</{name}>" if content else f"<{' '.join(parts)}/>"


def hint(content):
    """What a browser shows over the element that it is in."""
    return element("title", escape(str(content)))


def text(x, y, content, cls="", anchor=None, **attributes):
    return element("text", escape(str(content)), x=x, y=y, cls=cls or None, text_anchor=anchor,
                   **attributes)


def width_of(content, size=11):
    """About the width of text, in the units of its size; for the wider of the usual faces."""
    def share(letter):
        if letter in NARROW:
            return 0.39
        if letter in WIDE:
            return 0.97
        return 0.74 if letter.isupper() else 0.63

    return size * sum(share(letter) for letter in str(content))


def path(points, closed=False):
    """The d of a path through points."""
    moves = " ".join(f"{'L' if i else 'M'}{number(x)} {number(y)}"
                     for i, (x, y) in enumerate(points))
    return moves + ("Z" if closed else "")
