"""Containers at random: docs/container.md."""
import math
import operator
import os
import threading
import weakref
from collections.abc import Mapping
from ctypes import byref, c_size_t, c_void_p, string_at

from . import _library as c
from . import _options, _output, _types
from ._memory import WRITABLE, address_of
from ._source import FileSource, MemorySource


class File(Mapping):
    """A container that is open: its tensors by name, in the order of the file.

    tensors: all of them by position; of several with one name the mapping has the first.
    metadata: of the file, a dictionary of bytes.
    Everything that is read is checked; see docs/container.md, "What a reader rejects".  Several
    threads may use it; they take turns.
    """

    def __init__(self, source, *, threads=1):
        pool = _options.pool(threads)
        self._source = (FileSource(source) if isinstance(source, (str, os.PathLike))
                        else MemorySource(source))
        self._lock = threading.Lock()
        self._reader = c_void_p()
        self._close = weakref.finalize(self, release, self._reader, self._source)
        options = c.ReaderOptions(read_at=self._source.callback, threads=pool,
                                  file_bytes=self._source.file_bytes)
        diag = c.Diag()
        try:
            self._check(c.lib.pz_reader_new(byref(options), byref(self._reader), byref(diag)), diag)
        except BaseException:
            self.close()
            raise
        self.metadata = self._read_metadata()
        self.tensors = tuple(StoredTensor(self, i)
                             for i in range(c.lib.pz_reader_count(self._reader)))
        self._by_name = {}
        for tensor in self.tensors:
            self._by_name.setdefault(tensor.name, tensor)

    def __getitem__(self, name):
        return self._by_name[name]

    def __iter__(self):
        return iter(self._by_name)

    def __len__(self):
        return len(self._by_name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        state = f"{len(self.tensors)} tensors" if self._close.alive else "closed"
        return f"<planezip.File {state}>"

    # A file is itself, not its tensors.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def close(self):
        """Ends the use of the file; what was read stays.  May be called again."""
        with self._lock:
            self._close()

    def _read_metadata(self):
        count = c_size_t()
        return metadata_of(c.lib.pz_reader_metadata(self._reader, byref(count)), count.value)

    def _read(self, index, start, nbytes, address):
        """Bytes of a tensor to an address."""
        diag = c.Diag()
        with self._lock:
            if not self._close.alive:
                raise ValueError("planezip: the file is closed")
            self._check(c.lib.pz_reader_read(self._reader, index, start, nbytes, address,
                                             byref(diag)), diag)

    def _check(self, status, diag):
        """Raises what went wrong, in the library or while reading the file."""
        if self._source.error is not None:
            error, self._source.error = self._source.error, None
            raise error
        c.check(status, diag)


def release(reader, source):
    """Frees what a File holds."""
    c.lib.pz_reader_free(reader)
    source.close()


def metadata_of(entries, count):
    """Entries of the library as a dictionary of bytes."""
    return {entries[i].key.decode(errors="surrogateescape"):
            string_at(entries[i].value, entries[i].value_bytes) for i in range(count)}


class StoredTensor:
    """A tensor of a container, not decoded yet.

    name, dtype ("bf16"), shape, metadata (a dictionary of bytes).
    fortran_order: the first dimension is the contiguous one.
    nbytes: decoded; coded_bytes: its streams; stored_bytes: with everything around them.
    chunks, raw_chunks, blocks: as in Measurement.
    """

    def __init__(self, file, index):
        tensor = c.lib.pz_reader_tensor(file._reader, index).contents
        self._file, self._index = file, index
        self.name = tensor.name.decode(errors="surrogateescape")
        self.dtype = _types.of_code(tensor.dtype)
        self.shape = tuple(tensor.shape[i] for i in range(tensor.rank))
        self.metadata = metadata_of(tensor.metadata, tensor.metadata_count)
        self.fortran_order = self.metadata.get("fortran_order") == b"1"
        self.nbytes = tensor.raw_bytes
        self.coded_bytes, self.stored_bytes = tensor.stream_bytes, tensor.stored_bytes
        self.chunks, self.raw_chunks = tensor.chunks, tensor.raw_chunks
        self.blocks = dict(zip(c.ENCODING_NAMES, tensor.blocks))

    def __repr__(self):
        return f"<planezip.StoredTensor {self.name!r} {self.dtype} {self.shape}>"

    def __len__(self):
        if not self.shape:
            raise TypeError("planezip: the tensor has no dimensions, so no length")
        return self.shape[0]

    @property
    def ratio(self):
        """raw / coded; 1 for no bytes."""
        return self.nbytes / self.coded_bytes if self.coded_bytes else 1.0

    def read(self, start=None, stop=None, *, to=None):
        """The tensor, or its rows from start up to stop along the first dimension, as those of a
        slice; only what holds them is read and decoded.  to: as in decompress()."""
        if start is None and stop is None:
            return self._read_bytes(0, self.shape, to, self.fortran_order)
        return self._read_rows(*slice(start, stop).indices(len(self))[:2], to)

    def readinto(self, buffer, start=0):
        """Fills a writable, contiguous buffer with the tensor's bytes from the byte start on."""
        view = memoryview(buffer).cast("B")
        start = operator.index(start)
        if not 0 <= start <= self.nbytes - view.nbytes:
            raise ValueError(f"planezip: bytes {start} to {start + view.nbytes} of a tensor of "
                             f"{self.nbytes} bytes")
        self._file._read(self._index, start, view.nbytes, address_of(view, WRITABLE))

    def __getitem__(self, key):
        """tensor[...] is all of it, tensor[i] one row, tensor[i:j] several."""
        if key is Ellipsis or key == ():
            return self.read()
        if not isinstance(key, slice):
            return self._read_row(operator.index(key))
        start, stop, step = key.indices(len(self))
        if step != 1:
            raise IndexError(f"planezip: a slice of a tensor has step {step}, expected is 1")
        return self._read_rows(start, stop)

    def __iter__(self):
        """The rows, one after another."""
        return (self._read_row(i) for i in range(len(self)))

    def _read_row(self, i):
        if not -len(self) <= i < len(self):
            raise IndexError(f"planezip: row {i} of a tensor with {len(self)} rows")
        i %= len(self)
        return self._read_bytes(self._offset(i, i + 1), self.shape[1:])

    def _read_rows(self, start, stop, to=None):
        stop = max(start, stop)
        return self._read_bytes(self._offset(start, stop), (stop - start, *self.shape[1:]), to)

    def _offset(self, start, stop):
        """The byte where row start begins; rows from there up to stop must fill whole bytes."""
        row_bits = _types.bits(self.dtype) * math.prod(self.shape[1:])
        if self.fortran_order and len(self.shape) > 1:
            raise ValueError("planezip: the tensor is in Fortran order, so that its rows do not "
                             "lie in one piece; read all of it")
        if start * row_bits % 8 != 0 or stop * row_bits % 8 != 0:
            raise ValueError(f"planezip: rows {start} to {stop} have {row_bits} bits each, which "
                             "do not begin and end at whole bytes")
        return start * row_bits // 8

    def _read_bytes(self, start, shape, to=None, fortran_order=False):
        output = _output.make(self.dtype, shape, to, fortran_order)
        self._file._read(self._index, start, output.nbytes, output.address)
        return output.result
