"""compress, decompress and measure."""
import io
from ctypes import byref
from dataclasses import dataclass

from . import _input, _options
from . import _library as c
from ._file import File
from ._writer import Writer


def compress(data, dtype=None, *, name="", codec="planezip2", profile="native", threads=1):
    """A container .pz with one tensor, as bytes.

    data: an array of NumPy, a tensor of torch, anything with the buffer protocol, or anything that
    speaks DLPack; in the memory of the CPU.  What is not in C order is copied to it first; through
    DLPack it is refused.
    dtype: takes the bytes of data for elements of this type, as "bf16" for an array of uint16, or
    for raw bytes.
    name: of the tensor, which the program shows.
    codec: "planezip2", or its faster level "planezip2-fast"; or "planezip" of the paper or one of
    its parts, see CODECS.  profile: "native" or "paper", the widths of symbols of the paper's
    codecs; see docs/container.md, "Profiles".
    threads: that work on it, 0 for as many as there are processors.  The result is the same.
    """
    memory = _input.take(data, dtype)
    mode = _options.mode(codec, profile, memory.dtype)
    out = io.BytesIO()
    with Writer(out.write, threads) as writer:
        writer.add(name, memory, mode)
        writer.finish()
    return out.getvalue()


def decompress(data, *, to=None, threads=1):
    """The tensor of a container with one tensor; open() is for those with several.

    data: the bytes of the container.
    to: "numpy", "torch", or "buffer" for a Tensor, which needs neither; None for an array where
    NumPy is installed and has the type, and for a Tensor elsewhere.
    """
    with File(memoryview(data), threads=threads) as file:
        if len(file.tensors) != 1:
            raise ValueError(f"planezip: the container has {len(file.tensors)} tensors, expected "
                             "is one; use open()")
        return file.tensors[0].read(to=to)


@dataclass(frozen=True)
class Measurement:
    """What an encoder would write, without the frame of a file.  blocks: how many blocks of 128
    bytes each encoding wins, before chunks that do not shrink are stored raw."""
    raw_bytes: int
    coded_bytes: int
    chunks: int
    raw_chunks: int
    blocks: dict

    @property
    def ratio(self):
        """raw / coded; 1 for no bytes."""
        return self.raw_bytes / self.coded_bytes if self.coded_bytes else 1.0


def measure(data, dtype=None, *, codecs=_options.CODECS, profile="native", threads=1):
    """The size that data would have, by codec: a dictionary of Measurement.  Nothing is encoded.
    The arguments are those of compress()."""
    memory = _input.take(data, dtype)
    if isinstance(codecs, str):
        codecs = (codecs,)
    return {codec: measure_one(memory, codec, profile, threads) for codec in codecs}


def measure_one(memory, codec, profile, threads):
    """The size of memory with one codec."""
    stats = c.Stats()
    mode = _options.mode(codec, profile, memory.dtype)
    c.check(c.lib.pz_stream_measure_on(_options.pool(threads), mode, memory.address, memory.nbytes,
                                       byref(stats)))
    return Measurement(stats.raw_bytes, stats.coded_bytes, stats.chunks, stats.raw_chunks,
                       dict(zip(c.ENCODING_NAMES, stats.blocks)))
