#!/usr/bin/env python3
"""Tables of what packing rows by invariant bits gives: savings, rates, and effects through a link,
beside what its source tells (docs/ibp.md).  rows.py makes rows and prints them.

Usage: row_tables.py --dtype TYPE --columns N FILE...
The files have rows of raw elements, each of them with a table of its own.  PLANEZIP: the program
(build/planezip).
"""
import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass

PROGRAM = os.environ.get("PLANEZIP", "build/planezip")
LINK_BPS = 24e9 # PCIe 4
CACHE_BYTES = 32 << 20 # memcpy of less is that of caches
LINE_BYTES = 32
GATHER_BPS = 1024 / 220e-9 # a core of the host, random rows of 1 KiB: docs/ibp.md, "Speed"
CORES = (1, 4, 16)
SHARES = (0.5, 0.7, 0.9)


@dataclass
class Told:
    """What the source tells of such rows: of savings, and how many times as fast an end gets."""
    saved: str = ""
    end: str = ""
    times: float = 0


def program(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return json.loads(done.stdout)


def bounded(cache):
    """A cache that has all rows moves nothing: any number of times as fast."""
    return {field: float("inf") if value is None else value for field, value in cache.items()}


def measured(name, told, kind, columns, paths):
    """Shares that are saved, and times of a byte, over all parts; and caches of the first one."""
    shape = ("--dtype", kind, "--columns", columns)
    parts = program("ibp", "measure", "--json", *shape, *paths)
    raw = [part["rows"] * part["row_bytes"] for part in parts]

    def mean(field):
        return sum(part[field] * size for part, size in zip(parts, raw)) / sum(raw)

    def rate(field):
        return sum(raw) / sum(size / part[field] for part, size in zip(parts, raw))

    caches = program("ibp", "cache", "--json", "--link", LINK_BPS / 1e9, "--line", LINE_BYTES,
                     *shape, paths[0])
    return {"name": name, "type": kind, "told": told, "raw": sum(raw),
            "row_bytes": parts[0]["row_bytes"],
            "groups": sorted({part["group_bits"] for part in parts}), "saved": mean("saved"),
            "planezip2": mean("planezip2_saved"), "by_row": mean("planezip2_by_row_saved"),
            "learn_ms": sum(part["learn_ns"] for part in parts) / 1e6,
            "part": max(raw), "pack": rate("pack_bps"), "unpack": rate("unpack_bps"),
            "memcpy": rate("memcpy_bps"),
            "cache": bounded(next(row for row in caches if row["memory"] == 0.2))}


def line(*cells):
    print("| " + " | ".join(cells) + " |")


def head(*titles):
    line(*titles)
    line(*("---" for _ in titles))


def per_cent(share):
    return f"{100 * share:.1f}"


def print_savings(results):
    print("\nSaved, %\n")
    head("rows", "type", "MB", "row", "group", "packed", "the source", "planezip2",
         "by row")
    for one in results:
        line(one["name"], one["type"], f"{one['raw'] / 1e6:.1f}", str(one["row_bytes"]),
             " ".join(map(str, one["groups"])), f"**{per_cent(one['saved'])}**", one["told"].saved,
             per_cent(one["planezip2"]), per_cent(one["by_row"]))


def print_speeds(results):
    print("\nRates, GB/s of raw bytes on one core; of memcpy where it does not fit caches\n")
    head("rows", "type", "learn, ms", "pack", "unpack", "of memcpy", "cores for the link")
    for one in results:
        line(one["name"], one["type"], f"{one['learn_ms']:.0f}", f"{one['pack'] / 1e9:.2f}",
             f"{one['unpack'] / 1e9:.2f}",
             f"{one['unpack'] / one['memcpy']:.2f}" if one["part"] > CACHE_BYTES else "",
             f"{LINK_BPS / (1 - one['saved']) / one['unpack']:.1f}")


def print_effects(results):
    print("\nThrough a link that is all that takes time; caches with memory for a fifth\n")
    head("rows", "type", "link alone", "hits", "packed", "lines on the link", "and cache")
    for one in results:
        cache = one["cache"]
        line(one["name"], one["type"], f"+{per_cent(1 / (1 - one['saved']) - 1)} %",
             f"{per_cent(cache['plain_hits'])} %", f"{per_cent(cache['packed_hits'])} %",
             f"+{per_cent(cache['link_speedup'] - 1)} %",
             f"+{per_cent(cache['packed_speedup'] - 1)} %")


def faster(share, times):
    """How many times as fast it is if a share of the time is."""
    return 1 / (1 - share + share / times)


def share_for(wanted, times):
    """The share of the time that has to be so many times as fast for all to be as fast as wanted;
    above 1 if none will do."""
    return (1 - 1 / wanted) / (1 - 1 / times) if times > 1 else float("inf")


def gain(times):
    return f"+{per_cent(times - 1)} %"


def print_ends(results):
    """Ends of which a share is the fetching of rows that are also kept packed in a cache."""
    print("\nEnds of which so much is the link; and the share that what the source tells takes\n")
    head("rows", "type", "link and cache", *(f"{per_cent(share)[:-2]} %" for share in SHARES),
         "the source", "takes")
    for one in results:
        times, told = one["cache"]["packed_speedup"], one["told"]
        share = share_for(told.times, times) if told.times else float("inf")
        line(one["name"], one["type"], gain(times),
             *(gain(faster(share, times)) for share in SHARES),
             f"{told.end} {gain(told.times)}" if told.times else "",
             "" if not told.times else f"{per_cent(share)} %" if share <= 1 else "more than all")


def lookup_times(one, cores):
    """How many times as fast look-ups get that the device makes by itself instead of having rows
    gathered by cores of the host and copied: of plain rows, and of packed ones."""
    lines = -(-one["row_bytes"] // LINE_BYTES) * LINE_BYTES
    gathered = one["row_bytes"] / (cores * GATHER_BPS) + one["row_bytes"] / LINK_BPS
    plain = gathered / (lines / LINK_BPS)
    return plain, plain * one["cache"]["link_speedup"]


def print_lookups(results):
    print("\nLook-ups by the device, beside rows gathered by cores of the host: plain, packed\n")
    head("rows", "type", *(f"{cores} core{'s' * (cores > 1)}" for cores in CORES))
    for one in results:
        line(one["name"], one["type"],
             *(", ".join(map(gain, lookup_times(one, cores))) for cores in CORES))


def print_all(results):
    print_savings(results)
    print_speeds(results)
    print_effects(results)
    print_ends(results)
    print_lookups(results)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--dtype", required=True)
    parser.add_argument("--columns", required=True, type=int)
    parser.add_argument("files", nargs="+")
    wish = parser.parse_args()
    print_all([measured(os.path.basename(path), Told(), wish.dtype, wish.columns, [path])
               for path in wish.files])


if __name__ == "__main__":
    main()
