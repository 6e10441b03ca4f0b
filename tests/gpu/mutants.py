#!/usr/bin/env python3
"""Kernels with a barrier less, or with a wrong exchange between lanes, must fail
tests/unit/gpu_apart_test.c; as they are, they must pass it.

Usage: mutants.py CC LIBRARY... [--all]   LIBRARY: what the test is linked with
       --all   every PZ_SYNC of src/gpu is taken out in turn; prints which ones nothing misses
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SYNC = re.compile(r"\bPZ_SYNC\(&?[\w>-]+\);")

# File, function that the change is in or behind, what is there, what comes in its place.
MUTANTS = (
    ("warp.tmpl.h", "PZ_CAT(load)(", "PZ_SYNC(lanes);", ""),
    ("encode_classes.tmpl.h", "PZ_CAT(encode_classes)(", "PZ_SYNC(&warp->lanes);", ""),
    ("decode_blocks.tmpl.h", "PZ_CAT(find_blocks)(", "PZ_SYNC(&warp->lanes);", ""),
    ("chunk.tmpl.h", "PZ_CAT(decode_chunk)(", "PZ_SYNC(lanes);", ""),
    ("dialect.h", "#define PZ_SHUFFLE(lanes, to, x, source)          \\\n    do {                "
     "                          \\\n        const uint32_t lane = PZ_THIS_LANE;", "PZ_SYNC_WARP();",
     ""),
    ("ibp_unpack.h", "pzi_ibp_fill(", "PZ_SYNC(&warp->lanes);", ""),
    ("ibp_pack.h", "pzi_ibp_flush(", "PZ_SYNC(&warp->lanes);", ""),
    ("words.h", "pzi_transpose32(", "lane ^ step", "lane ^ 1"),
    ("words.h", "pzi_scan(", "lane - step", "lane + step"),
    ("words.h", "pzi_scan(", "PZ_LANES - 1", "0"),
)


def compile_and_run(compiler, libraries, folder):
    """Whether the test passes with the kernels in folder/src; what cannot be built is an error."""
    program = folder / "test"
    subprocess.run(
        [compiler, "-std=gnu11", "-O0", "-w", "-fno-strict-aliasing", "-DPZ_APART_W=16",
         f"-I{folder / 'src'}", f"-I{ROOT / 'include'}", f"-I{ROOT / 'src'}", f"-I{ROOT / 'tests'}",
         f"-I{ROOT}", ROOT / "tests/unit/gpu_apart_test.c", *libraries, "-lm", "-lpthread",
         "-o", program], check=True)
    try:
        return subprocess.run([program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              timeout=60, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def passes(compiler, libraries, name=None, text=None):
    """Whether the test passes, with another text of a file of src/gpu."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        shutil.copytree(ROOT / "src/gpu", folder / "src/gpu")
        if name is not None:
            (folder / "src/gpu" / name).write_text(text, encoding="utf-8")
        return compile_and_run(compiler, libraries, folder)


def source(name):
    return (ROOT / "src/gpu" / name).read_text(encoding="utf-8")


def mutant(name, function, before, after):
    text = source(name)
    at = text.index(before, text.index(function))
    return text[:at] + after + text[at + len(before):]


def try_chosen(compiler, libraries):
    """The number of mutants that pass."""
    survivors = 0
    for name, function, before, after in MUTANTS:
        if passes(compiler, libraries, name, mutant(name, function, before, after)):
            print(f"{name}, {function}: nothing misses {before}")
            survivors += 1
    return survivors


def try_all(compiler, libraries):
    """Prints which barriers can go; some only matter to widths or payloads that are not tried."""
    for name in sorted(path.name for path in (ROOT / "src/gpu").glob("*.h")):
        text = source(name)
        for match in SYNC.finditer(text):
            without = text[:match.start()] + ";" + text[match.end():]
            if passes(compiler, libraries, name, without):
                print(f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]} can go")


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--all"]
    if len(arguments) < 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    compiler, libraries = arguments[0], arguments[1:]
    if not passes(compiler, libraries):
        print("the kernels as they are do not pass")
        return 1
    if "--all" in sys.argv[1:]:
        try_all(compiler, libraries)
        return 0
    survivors = try_chosen(compiler, libraries)
    print(f"{len(MUTANTS) - survivors} of {len(MUTANTS)} mutants are caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
