"""python -m planezip.plot: draws what the program planezip printed as JSON."""
import argparse
import json
import sys
from pathlib import Path

from . import figures


def parser():
    made = argparse.ArgumentParser(
        prog="python -m planezip.plot",
        description="Draw what planezip sweep, measure --index, ratios show, ratios compare, trace "
        "show --tensors or --platform and bench print with --json, or what simulate --timeline "
        "writes, as SVG.")
    made.add_argument("input", metavar="FILE", help="JSON; - is standard input")
    made.add_argument("--beside", metavar="FILE", help="JSON of the same form: hollow dots")
    made.add_argument("--name", default="the other", help="what --beside is called in legends")
    made.add_argument("-o", "--output", metavar="FILE", help="of the figure, or of the first of "
                      "several (FILE-NAME.svg for each, without .json)")
    made.add_argument("-f", "--force", action="store_true", help="overwrite what exists")
    return made


class Failure(Exception):
    """A message: the file, what, where and what to do."""


def load(name):
    """The value of a JSON file."""
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise Failure(f"{name}: {error.msg} (line {error.lineno}, column {error.colno}); "
                      "give what planezip prints with --json") from None
    except UnicodeDecodeError as error:
        raise Failure(f"{name}: not UTF-8 (byte {error.start}); "
                      "give what planezip prints with --json") from None
    except OSError as error:
        raise Failure(f"{name}: {error.strerror}") from None


def draw(name, document, beside, beside_name):
    """The figures of a document, at least one."""
    try:
        found = figures(document, beside, beside_name)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise Failure(f"{name}: a field is missing or wrong ({error}); "
                      "give what planezip prints with --json") from None
    if not found:
        raise Failure(f"{name}: nothing to draw in it; give what sweep, measure --index, ratios, "
                      "trace show, bench or simulate --timeline write")
    return found


def places(options, found):
    """Where each figure goes."""
    if options.output and len(found) == 1:
        return [Path(options.output)]
    stem = Path(options.output or ("planezip" if options.input == "-" else options.input))
    return [stem.with_name(f"{stem.stem}-{figure.name}.svg") for figure in found]


def run(options):
    beside = load(options.beside) if options.beside else None
    found = draw(options.input, load(options.input), beside, options.name)
    paths = places(options, found)
    for path in paths:
        if path.exists() and not options.force:
            raise Failure(f"{path}: exists; -f overwrites it")
    for path, figure in zip(paths, found):
        try:
            path.write_text(figure.svg(), encoding="utf-8")
        except OSError as error:
            raise Failure(f"{path}: {error.strerror}") from None
        print(path)


def main(arguments=None):
    """The exit status: 0, 1 for wrong data or failed files, 2 for a wrong command line."""
    try:
        run(parser().parse_args(arguments))
    except Failure as failure:
        print(f"planezip: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
