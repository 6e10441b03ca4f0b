"""Codecs of others, as bench/peers.py uses them: one core each, no threads.

A codec has a name, the version of its package, encode(bytes) and decode(coded).  prepare(bytes)
makes what encode() takes and is not timed.  make_all() leaves out what is not installed."""

import ctypes
import importlib.metadata
import importlib.util
from pathlib import Path


class Lz4:
    name, package = "lz4", "lz4"

    def __init__(self, element_bytes):
        import lz4.block
        self.module = lz4.block

    def prepare(self, raw):
        return raw

    def encode(self, raw):
        return self.module.compress(raw)

    def decode(self, coded, _):
        return self.module.decompress(coded)


class Zstd:
    name, package = "zstd 1", "zstandard"

    def __init__(self, element_bytes):
        import zstandard
        self.encoder = zstandard.ZstdCompressor(level=1)
        self.decoder = zstandard.ZstdDecompressor()

    def prepare(self, raw):
        return raw

    def encode(self, raw):
        return self.encoder.compress(raw)

    def decode(self, coded, _):
        return self.decoder.decompress(coded)


class Blosc:
    """The C library of the package, whose Python side needs much that is of no use here."""
    package = "blosc2"
    compressor, level, shuffle = b"", 0, 0

    def __init__(self, element_bytes):
        found = importlib.util.find_spec("blosc2")
        if found is None:
            raise ImportError("blosc2 is not installed")
        folder = Path(found.submodule_search_locations[0])
        self.library = ctypes.CDLL(str(next(folder.glob("lib/libblosc2.so*"))))
        self.library.blosc2_init()
        self.library.blosc2_set_nthreads(ctypes.c_int16(1))
        self.element_bytes = element_bytes
        self.room = None

    def prepare(self, raw):
        if self.room is None or len(self.room) < len(raw) + 32:
            self.room = ctypes.create_string_buffer(len(raw) + 32)
            self.back = ctypes.create_string_buffer(len(raw))
        return raw

    def encode(self, raw):
        self.library.blosc1_set_compressor(self.compressor)
        size = self.library.blosc2_compress(self.level, self.shuffle, self.element_bytes, raw,
                                            len(raw), self.room, len(raw) + 32)
        if size <= 0:
            raise RuntimeError(f"blosc2_compress: {size}")
        return ctypes.string_at(self.room, size)

    def decode(self, coded, raw_bytes):
        size = self.library.blosc2_decompress(coded, len(coded), self.back, raw_bytes)
        if size != raw_bytes:
            raise RuntimeError(f"blosc2_decompress: {size}")
        return memoryview(self.back).cast("B")[:raw_bytes]


class BitshuffleLz4(Blosc):
    name, compressor, level, shuffle = "bitshuffle + lz4", b"lz4", 5, 2


class ShuffleZstd(Blosc):
    name, compressor, level, shuffle = "shuffle + zstd 1", b"zstd", 1, 1


class Huff0:
    """Exponents coded with Huff0, everything else stored."""
    name, package = "Huff0 on exponents", "openzl"

    def __init__(self, element_bytes):
        import numpy
        import openzl.ext as zl
        self.numpy, self.zl = numpy, zl
        nodes = zl.nodes
        to_numbers, split = {2: (nodes.ConvertSerialToNumLE16, nodes.BFloat16Deconstruct),
                             4: (nodes.ConvertSerialToNumLE32, nodes.Float32Deconstruct)
                             }[element_bytes]
        self.graph = zl.Compressor()
        parts = split()(self.graph, sign_frac=zl.graphs.Store()(self.graph),
                        exponent=zl.graphs.Huffman()(self.graph))
        self.graph.set_parameter(zl.CParam.FormatVersion, zl.MAX_FORMAT_VERSION)
        self.graph.select_starting_graph(to_numbers()(self.graph, parts))
        self.encoder, self.decoder = zl.CCtx(), zl.DCtx()

    def prepare(self, raw):
        return self.numpy.frombuffer(raw, "u1")

    def encode(self, raw):
        self.encoder.ref_compressor(self.graph)
        return self.encoder.compress([self.zl.Input(self.zl.Type.Serial, raw)])

    def decode(self, coded, _):
        return memoryview(self.decoder.decompress(coded)[0].content.as_nparray()).cast("B")


class ZipNN:
    """The compiled core, called as the package does; the package itself imports PyTorch."""
    name, package = "ZipNN", "zipnn"
    CHUNK, THRESHOLD, CHECK_PERCENT, THREADS = 256 * 1024, 0.95, 10, 1
    HEADER = bytes(32)

    def __init__(self, element_bytes):
        import zipnn_core
        self.core = zipnn_core
        self.groups, self.order = {2: (2, 0b01_010), 4: (4, 0b1_10_11_100)}[element_bytes]

    def prepare(self, raw):
        return bytearray(raw)  # the core works on its input in place

    def encode(self, raw):
        return self.core.zipnn_core(self.HEADER, raw, self.groups, 1, self.order, 0, self.CHUNK,
                                    self.THRESHOLD, self.CHECK_PERCENT, self.THREADS)

    def decode(self, coded, raw_bytes):
        return self.core.combine_dtype(memoryview(coded)[len(self.HEADER):], self.groups, 1,
                                       self.order, self.CHUNK, raw_bytes, self.THREADS)


class Pcodec:
    """On 16-bit integers for bf16, which it does not know."""
    name, package = "pcodec", "pcodec"

    def __init__(self, element_bytes):
        import numpy
        import pcodec
        self.numpy, self.module, self.config = numpy, pcodec.standalone, pcodec.ChunkConfig()
        self.type = {2: "<u2", 4: "<f4"}[element_bytes]

    def prepare(self, raw):
        return self.numpy.frombuffer(raw, self.type)

    def encode(self, raw):
        return self.module.simple_compress(raw, self.config)

    def decode(self, coded, _):
        return memoryview(self.module.simple_decompress(coded)).cast("B")


ALL = (Lz4, Zstd, BitshuffleLz4, ShuffleZstd, Huff0, ZipNN, Pcodec)


def make_all(element_bytes):
    """The codecs that are installed, and the names of the others with the reason."""
    made, absent = [], {}
    for kind in ALL:
        try:
            codec = kind(element_bytes)
            codec.version = f"{kind.package} {importlib.metadata.version(kind.package)}"
            made.append(codec)
        except (ImportError, OSError, StopIteration) as error:
            absent[kind.name] = str(error) or f"{kind.package} has no library"
    return made, absent
