"""PlaneZip: lossless bit-plane compression of tensors.

    data = planezip.compress(array)             bytes of a container .pz
    array = planezip.decompress(data)
    planezip.measure(array)["planezip2"].ratio  what compressing would give
    with planezip.open("model.pz") as file:     tensors by name, read at random
        rows = file["weight"][10:20]

Rows that are fetched one by one, as those of an embedding: planezip.ibp.

Types have short names, as "bf16"; see docs/container.md, "Types".  NumPy and torch are imported
only where the data is theirs, or is to become so.  Nothing is printed.  Every function may be
called from several threads at once, and works without the interpreter's lock.
"""
from . import ibp
from ._codec import Measurement, compress, decompress, measure
from ._errors import PlaneZipError
from ._file import File, StoredTensor
from ._isa import isa_active, isa_names, isa_select
from ._options import CODECS, PROFILES
from ._release import VERSION as __version__
from ._tensor import Tensor


def open(source, *, threads=1):
    """Opens a container: a path, or its bytes in memory, which must not change.  See File."""
    return File(source, threads=threads)


__all__ = ["CODECS", "PROFILES", "File", "Measurement", "PlaneZipError", "StoredTensor", "Tensor",
           "compress", "decompress", "ibp", "isa_active", "isa_names", "isa_select", "measure",
           "open", "__version__"]
