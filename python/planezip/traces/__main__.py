"""python -m planezip.traces: makes a trace from what PyTorch's own tools record."""
import argparse
import json
import os
import sys
from pathlib import Path

from .._errors import PlaneZipError
from ._import import import_trace


def parser():
    made = argparse.ArgumentParser(
        prog="python -m planezip.traces",
        description="Make a PlaneZip trace from an execution trace of PyTorch, or of Chakra.")
    made.add_argument("trace", metavar="FILE", help="what ExecutionTraceObserver wrote, as JSON, "
                      "or a trace of Chakra; gzip is unpacked")
    made.add_argument("--kineto", metavar="FILE",
                      help="what torch.profiler exported of the same run, for durations")
    made.add_argument("--model", required=True, metavar="NAME", help="name that the trace bears")
    made.add_argument("--batch", required=True, type=int, metavar="N", help="its batch size")
    made.add_argument("--optimizer", choices=("sgd", "adamw"),
                      help="what the optimizer's step moves, instead of a look at the trace")
    made.add_argument("--pass", dest="number", type=int, default=0, metavar="N",
                      help="which forward and backward pass of the file; the first is 0")
    made.add_argument("--lenient", action="store_true",
                      help="of files that are cut off, take what is whole")
    made.add_argument("-o", "--output", metavar="FILE", help="instead of standard output")
    made.add_argument("-f", "--force", action="store_true", help="overwrite FILE")
    return made


def write(path, text):
    """A file that is there once it is whole."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_text(text)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def main(arguments=None):
    """The exit status: 0, 1 for wrong data or failed files, 2 for a wrong command line."""
    options = parser().parse_args(arguments)
    name = options.trace
    try:
        if options.output and Path(options.output).exists() and not options.force:
            name = options.output
            raise PlaneZipError("PZ_ERR_IO", "", "exists; -f overwrites it")
        document = import_trace(options.trace, kineto=options.kineto, model=options.model,
                                batch=options.batch, optimizer=options.optimizer,
                                number=options.number, lenient=options.lenient)
        text = json.dumps(document, separators=(",", ":")) + "\n"
        if options.output:
            write(Path(options.output), text)
        else:
            sys.stdout.write(text)
    except PlaneZipError as error:
        place = f" ({error.where})" if error.where else ""
        print(f"planezip: {name}: {error.text}{place}", file=sys.stderr)
        return 1
    except (OSError, ValueError) as error:
        print(f"planezip: {name}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
