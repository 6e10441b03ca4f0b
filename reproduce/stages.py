"""Stages whose results are kept, and made again only when what they are made of has changed."""
import hashlib
import json
import os
import sys
import time
from pathlib import Path


def digest(paths):
    """Of the contents of files, whatever their names."""
    made = hashlib.sha256()
    for path in paths:
        made.update(hashlib.sha256(Path(path).read_bytes()).digest())
    return made.hexdigest()


def write(path, text):
    """A file that is there once it is whole."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


class Stages:
    """folder: of the results, NAME.json each.  key: of all that every stage depends on."""

    def __init__(self, folder, key, say=lambda line: print(line, file=sys.stderr, flush=True)):
        self.folder, self.key, self.say = Path(folder), key, say

    def run(self, name, make, *arguments):
        """What make(*arguments) returns, or returned before."""
        path = self.folder / f"{name}.json"
        key = hashlib.sha256(json.dumps([self.key, name, repr(arguments)]).encode()).hexdigest()
        kept = self.kept(path)
        if kept.get("key") == key and "result" in kept:
            return kept["result"]
        start = time.monotonic()
        result = make(*arguments)
        write(path, json.dumps({"key": key, "result": result}) + "\n")
        self.say(f"{name}: {time.monotonic() - start:.1f} s")
        # As it is read back, so that both ways give the same.
        return self.kept(path)["result"]

    @staticmethod
    def kept(path):
        """{} where nothing is kept, or something else."""
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, RecursionError, ValueError):
            return {}
        return kept if isinstance(kept, dict) else {}
