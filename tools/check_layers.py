#!/usr/bin/env python3
"""Checks who includes whom: the layers of docs/architecture.md.

Usage: check_layers.py [ROOT]        prints every violation as file:line, exits 1 if there is one
       check_layers.py --self-test   proves on planted violations that the check sees them
"""
import re
import sys
import tempfile
from pathlib import Path

# What a layer of src/ may include besides itself and the public headers.
LAYERS = {
    "base": set(),
    "codec": {"base"},
    "ibp": {"base"},
    "formats": {"base"},
    "trace": {"base"},
    "hw": {"base"},
    "gpu": {"base", "codec", "ibp"},
    "container": {"base", "codec"},
    "engine": {"base", "codec", "ibp", "gpu"},
    "sim": {"base", "trace"},
    "plan": {"base", "trace", "sim"},
    "baselines": {"base"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def includes(path):
    """Yields (line number, quoted, name) of every include of a file; comments do not count."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)
    for number, line in enumerate(text.split("\n"), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1) == '"', match.group(2)


def resolve(root, path, quoted, name):
    """The file of the project that an include means, relative to root; None for the system's."""
    folders = [path.parent] if quoted else []
    for folder in folders + [root / "src", root / "include", root]:
        target = (folder / name).resolve()
        if target.is_file() and target.is_relative_to(root):
            return target.relative_to(root)
    return None


def place(relative):
    """The part of the project a file belongs to: a layer of src/, or the folder at the root."""
    parts = relative.parts
    return parts[1] if parts[0] == "src" and len(parts) > 2 else parts[0]


def allowed(source, target):
    """Whether the file source may include the file target (both relative to the root)."""
    here, there = place(source), place(target)
    if here == there:
        return True
    if here == "cli":
        return there == "include" or target.as_posix() == "src/baselines/baselines.h"
    if here in ("reference", "include"):
        return False
    return there == "include" or there in LAYERS.get(here, set())


def check(root):
    """All violations of the tree at root, as lines of text."""
    root = root.resolve()
    found = []
    for top in ("src", "include", "cli", "reference"):
        for path in sorted((root / top).rglob("*.[ch]")):
            source = path.relative_to(root)
            if top == "src" and place(source) not in LAYERS:
                found.append(f"{source}:1: {source.parent} is no layer that check_layers.py knows")
                continue
            for number, quoted, name in includes(path):
                target = resolve(root, path, quoted, name)
                if target is None and quoted:
                    found.append(f'{source}:{number}: "{name}" does not exist')
                elif target is not None and not allowed(source, target):
                    found.append(f"{source}:{number}: {place(source)} may not include {target}")
    return found


def self_test():
    """Plants right and wrong includes; each file name says what is expected."""
    headers = ["include/planezip/planezip.h", "src/baselines/baselines.h", "src/baselines/x.h",
               "cli/own.h", "reference/pzref.h"] + [f"src/{layer}/{layer}.h" for layer in LAYERS]
    good = [("src/codec", '"base/base.h"'), ("src/codec", '"codec.h"'), ("src/base", "<stdio.h>"),
            ("src/plan", '"sim/sim.h"'), ("src/plan", '"trace/trace.h"'),
            ("src/sim", '"planezip/planezip.h"'), ("src/engine", '"gpu/gpu.h"'),
            ("src/baselines", '"base/base.h"'), ("cli", '"own.h"'), ("cli", "<jansson.h>"),
            ("cli", '"planezip/planezip.h"'), ("cli", '"baselines/baselines.h"'),
            ("reference", '"pzref.h"'), ("src/base", '"base.h" /* "../codec/codec.h" */')]
    bad = [("src/base", '"codec/codec.h"'), ("src/base", '"../codec/codec.h"'),
           ("src/base", "<codec/codec.h>"), ("src/codec", '"trace/trace.h"'),
           ("src/trace", '"sim/sim.h"'), ("src/trace", '"codec/codec.h"'),
           ("src/sim", '"engine/engine.h"'), ("src/sim", '"plan/plan.h"'),
           ("src/plan", '"codec/codec.h"'), ("src/plan", '"engine/engine.h"'),
           ("src/hw", '"codec/codec.h"'), ("src/ibp", '"codec/codec.h"'),
           ("src/engine", '"plan/plan.h"'), ("src/codec", '"baselines/baselines.h"'),
           ("src/baselines", '"codec/codec.h"'), ("src/codec", '"missing.h"'),
           ("src/codec", '"../../reference/pzref.h"'), ("cli", '"base/base.h"'),
           ("cli", '"baselines/x.h"'), ("reference", '"planezip/planezip.h"'),
           ("reference", '"../src/base/base.h"'), ("include/planezip", '"base/base.h"'),
           ("src/unknown", "<stdio.h>")]
    wrong = []
    for expect, cases in ((0, good), (1, bad)):
        for folder, include in cases:
            with tempfile.TemporaryDirectory() as name:
                root = Path(name)
                for header in headers:
                    (root / header).parent.mkdir(parents=True, exist_ok=True)
                    (root / header).write_text("")
                (root / folder).mkdir(parents=True, exist_ok=True)
                (root / folder / "file.c").write_text(f"/* head */\n#include {include}\n")
                found = check(root)
                if len(found) != expect:
                    wrong.append(f"{folder} includes {include}: expected {expect}, got {found}")
    return wrong


def main():
    if sys.argv[1:] == ["--self-test"]:
        found = self_test()
    else:
        found = check(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    print("\n".join(found) if found else "layers: ok")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
