"""PlaneZip: lossless bit-plane compression of tensors.

Nothing is printed, and NumPy and torch are used only if the data or the caller ask for them.
"""
from ._errors import PlaneZipError
from ._isa import isa_active, isa_names, isa_select
from ._release import VERSION as __version__

__all__ = ["PlaneZipError", "isa_active", "isa_names", "isa_select", "__version__"]
