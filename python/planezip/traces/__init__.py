"""Traces of training iterations: docs/architecture.md, "Files".

planezip.torch.capture() records them, and this package builds them from what was recorded.  It
needs neither torch nor NumPy.
"""
from ._record import Pass, Op, Storage

__all__ = ["Pass", "Op", "Storage"]
