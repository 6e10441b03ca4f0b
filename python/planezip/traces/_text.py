"""JSON from files that other programs wrote, also compressed by gzip, and cut off or not."""
import gzip
import json
from pathlib import Path

from .._errors import PlaneZipError


def read(path):
    """The bytes of a file, unpacked if gzip packed it."""
    data = Path(path).read_bytes()
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, OSError) as error:
        raise PlaneZipError("PZ_ERR_FORMAT", "", f"gzip: {error}") from None


def load(path, members, lenient=False):
    """The value of a JSON file.  lenient: of one that is broken, an object with the first of the
    lists called members that is there, up to its last whole element."""
    try:
        text = read(path).decode()
    except UnicodeDecodeError as error:
        raise PlaneZipError("PZ_ERR_FORMAT", f"byte {error.start}", "is no UTF-8") from None
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if lenient:
            return salvage(text, members)
        raise PlaneZipError("PZ_ERR_SYNTAX", f"line {error.lineno}, column {error.colno}",
                            f"{error.msg}; --lenient takes what is whole") from None


def salvage(text, members):
    """What is whole of a list that a broken text has."""
    for member in members:
        start = text.find(f'"{member}"')
        if start >= 0:
            start = text.find("[", start)
            return {member: elements(text, start)} if start >= 0 else {member: []}
    return elements(text, text.find("[")) if "[" in text else {}


def elements(text, position):
    """The whole elements of a list that begins at position."""
    found, decoder, position = [], json.JSONDecoder(), position + 1
    while position < len(text):
        if text[position] in " \t\r\n,":
            position += 1
            continue
        try:
            value, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError:
            break
        found.append(value)
    return found


def fail(where, text):
    """Raises what a file means wrongly; where: the path of the field."""
    raise PlaneZipError("PZ_ERR_MEANING", where, text)
