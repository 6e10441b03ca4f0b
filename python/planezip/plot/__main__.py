"""python -m planezip.plot: draws what the program planezip printed as JSON."""
import argparse
import contextlib
import json
import math
import os
import sys
from pathlib import Path

from . import figures, makers

GIVE = "give what planezip prints with --json"
# What JSON of another form than expected, or with numbers beyond all bounds, leads to.
WRONG = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def parser():
    made = argparse.ArgumentParser(
        prog="python -m planezip.plot",
        description="Draw what planezip sweep, measure --index, ratios show, ratios compare, trace "
        "show --tensors or --platform and bench print with --json, or what simulate --timeline "
        "writes, as SVG.")
    made.add_argument("input", metavar="FILE", help="JSON; - is standard input")
    made.add_argument("--beside", metavar="FILE", help="JSON of the same form: hollow dots")
    made.add_argument("--name", help="what --beside is called in legends")
    made.add_argument("-o", "--output", metavar="FILE", help="of the figure, or of the first of "
                      "several (FILE-NAME.svg for each, without .json); - is standard output, for "
                      "one figure")
    made.add_argument("-f", "--force", action="store_true", help="overwrite what exists")
    return made


def options_of(arguments):
    """The options, where they go together."""
    made = parser()
    options = made.parse_args(arguments)
    if options.output is not None and not Path(options.output).name:
        made.error("-o must name a file")
    if options.name is not None and options.beside is None:
        made.error("--name is of --beside, which is not given")
    if options.input == options.beside == "-":
        made.error("only one of FILE and --beside can be standard input")
    return options


class Failure(Exception):
    """A message: the file, what, where and what to do."""


def finite(text):
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not finite")
    return value


def load(name):
    """The value of a JSON file."""
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
        return json.loads(text, parse_float=finite, parse_constant=finite)
    except json.JSONDecodeError as error:
        raise Failure(f"{name}: {error.msg} (line {error.lineno}, column {error.colno}); "
                      f"{GIVE}") from None
    except UnicodeDecodeError as error:
        raise Failure(f"{name}: not UTF-8 (byte {error.start}); {GIVE}") from None
    except RecursionError:
        raise Failure(f"{name}: nested too deeply; {GIVE}") from None
    except ValueError as error:
        raise Failure(f"{name}: a number is too large ({error}); {GIVE}") from None
    except OSError as error:
        raise Failure(f"{name}: {error.strerror}") from None


def draw(name, document, beside, beside_name):
    """{name of a figure: its SVG}, at least one."""
    try:
        drawn = {figure.name: figure.svg().encode()
                 for figure in figures(document, beside, beside_name)}
        known = makers(document)
    except WRONG as error:
        raise Failure(f"{name}: a field is missing or wrong ({error}); {GIVE}") from None
    if not drawn and known:
        raise Failure(f"{name}: no row can be drawn (no plan fits, or none is of one thread); "
                      "give sweep larger budgets, or bench one thread")
    if not drawn:
        raise Failure(f"{name}: nothing to draw in it; give what sweep, measure --index, ratios, "
                      "trace show, bench or simulate --timeline write")
    return drawn


def places(options, names):
    """Where each figure goes."""
    if options.output and len(names) == 1:
        return [Path(options.output)]
    if options.output == "-":
        raise Failure(f"-: {len(names)} figures ({', '.join(names)}); name a file with -o")
    stem = Path(options.output or ("planezip" if options.input == "-" else options.input))
    return [stem.with_name(f"{stem.stem}-{name}.svg") for name in names]


def same(name, path):
    """Whether an input is the file of a path."""
    try:
        return os.path.samefile(0 if name == "-" else name, path)
    except OSError:
        return False


def check(path, options):
    """Fails for what must not be overwritten."""
    for name in (options.input, options.beside):
        if name is not None and same(name, path):
            raise Failure(f"{path}: the output is the input itself; give another output with -o")
    if path.is_dir():
        raise Failure(f"{path}: is a directory; name a file with -o")
    if path.exists() and not options.force:
        raise Failure(f"{path}: exists; -f overwrites it")


def partial(path):
    """Where a file is written until it is whole; a device or a pipe is written at once."""
    real = path.resolve()
    if real.exists() and not real.is_file():
        return real, real
    return real.with_name(f".{real.name}.{os.getpid()}"), real


def write(paths, contents):
    """All files, or none of them."""
    moves = [partial(path) for path in paths]
    try:
        for (beside, _), path, content in zip(moves, paths, contents):
            attempt(path, lambda at=beside, text=content: at.write_bytes(text))
        for (beside, real), path in zip(moves, paths):
            if beside != real:
                attempt(path, lambda at=beside, to=real: at.replace(to))
    finally:
        for beside, real in moves:
            if beside != real:
                with contextlib.suppress(OSError):
                    beside.unlink()


def attempt(path, step):
    try:
        step()
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None


def print_figure(content):
    attempt("-", lambda: sys.stdout.buffer.write(content))
    attempt("-", sys.stdout.buffer.flush)


def run(options):
    beside = None if options.beside is None else load(options.beside)
    drawn = draw(options.input, load(options.input), beside, options.name or "the other")
    paths = places(options, list(drawn))
    if options.output == "-":
        print_figure(*drawn.values())
        return
    for path in paths:
        check(path, options)
    write(paths, drawn.values())
    for path in paths:
        print(path)


def main(arguments=None):
    """The exit status: 0, 1 for wrong data or failed files, 2 for a wrong command line."""
    try:
        run(options_of(arguments))
    except Failure as failure:
        print(f"planezip: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
