"""Traces of training iterations: docs/architecture.md, "Files".

planezip.torch.capture() records them, and this package builds them from what was recorded.  It
needs neither torch nor NumPy.

    trace = planezip.traces.import_trace("et.json", model="mine", batch=32)

makes one from PyTorch's own execution traces; python -m planezip.traces does it for files.
"""
from ._import import import_trace
from ._match import class_of, match, saved, writers
from ._record import Op, Pass, Storage

__all__ = ["Op", "Pass", "Storage", "class_of", "import_trace", "match", "saved", "writers"]
