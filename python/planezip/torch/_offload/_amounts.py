"""Amounts as people write them: bytes, shares and rates."""
import re

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
         "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
AMOUNT = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([A-Za-z]*)\s*")


def parse_bytes(name, text, expected='a size, as "2GiB"'):
    """Bytes: a number, or a text such as "2GiB" or "1.5GB"."""
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        amount = text
    else:
        found = AMOUNT.fullmatch(str(text))
        unit = UNITS.get(found[2].upper()) if found else None
        if unit is None:
            raise ValueError(f"planezip: {name} is {text!r}; expected is {expected}")
        amount = float(found[1]) * unit
    if not 1 <= amount < 2**63:
        raise ValueError(f"planezip: {name} is {text!r}; expected is 1 byte to 2^63 - 1")
    return int(amount)


def parse_budget(text):
    """Bytes and None, or None and a share of the peak, from a text such as "50%"."""
    if isinstance(text, str) and text.strip().endswith("%"):
        try:
            share = float(text.strip()[:-1]) / 100
        except ValueError:
            share = 0
        if not 0 < share < 1e6:
            raise ValueError(f'planezip: budget is {text!r}; expected is a share, as "50%"')
        return None, share
    return parse_bytes("budget", text, 'a size, as "2GiB", or a share, as "50%"'), None


def parse_rate(text):
    """Bytes a second: a number, or a text such as "1.5GB/s"; 0 for None."""
    if text is None:
        return 0
    if isinstance(text, str) and not text.strip().endswith("/s"):
        raise ValueError(f'planezip: link is {text!r}; expected is a rate, as "1.5GB/s"')
    return parse_bytes("link", text.strip()[:-2] if isinstance(text, str) else text,
                       'a rate, as "1.5GB/s"')


def shown(amount):
    """Bytes for people."""
    for unit in ("B", "KiB", "MiB"):
        if abs(amount) < 1024:
            return f"{amount:.4g} {unit}"
        amount /= 1024
    return f"{amount:.4g} GiB"
