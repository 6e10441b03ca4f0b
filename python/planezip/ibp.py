"""Invariant bit packing, docs/ibp.md: rows that are packed with a table learned once, and fetched
one by one, without loss.

    table = planezip.ibp.Table.learn(weights)     which bits of a row hardly ever change
    rows = table.pack(weights)                    the others, row after row without gaps
    some = rows.fetch([7, 1, 7])                  the same bits as weights[[7, 1, 7]]
    table.save("weights.ibpt")                    Table.load() reads it again

Arrays are those that planezip.compress() takes, with elements of 8, 16, 32 or 64 bits; a row is the
last dimension.  Rows come back as what was packed: an array, a tensor of torch, or a Tensor.
"""
import math
import operator
import os
import stat
import sys
import threading
from array import array
from ctypes import POINTER, byref, c_uint64, c_void_p, cast, string_at
from dataclasses import dataclass
from typing import Any, NamedTuple

from . import _input, _options, _output, _types
from . import _library as c
from ._memory import address_of

WIDTHS = (8, 16, 32, 64)
LAYOUTS = ("condensed", "slots")


def rows_of(data, dtype=None):
    """An array as memory of rows; its columns, and how many rows."""
    memory = _input.take(data, dtype)
    if _types.bits(memory.dtype) not in WIDTHS:
        raise ValueError(f"planezip: the rows have elements of {memory.dtype}, expected are "
                         "elements of 8, 16, 32 or 64 bits; tell another dtype")
    if not memory.shape:
        raise ValueError("planezip: the data is a single number, expected are rows")
    columns = memory.shape[-1]
    if not 0 < columns * _types.bits(memory.dtype) // 8 <= c.IBP_ROW_MAX_BYTES:
        raise ValueError(f"planezip: a row has {columns} elements of {memory.dtype}, expected is 1 "
                         "byte to 1 MiB")
    return memory, columns, memory.nbytes * 8 // _types.bits(memory.dtype) // columns


def words(address):
    """An address as that of 64-bit integers."""
    return cast(address, POINTER(c_uint64))


def kind_of(data):
    """What rows of data are to come back as."""
    for kind, name in (("torch", "Tensor"), ("numpy", "ndarray")):
        if _input.is_instance(data, kind, name):
            return kind
    return None


def whole(name, number, most):
    """An integer of the caller, which ctypes would cut to what the library takes."""
    number = operator.index(number)
    if not 0 <= number <= most:
        raise ValueError(f"planezip: {name} is {number}, expected is 0 to {most}")
    return number


class Learner:
    """Learns a table from rows that come part by part; see Table.learn().  It cannot be copied."""

    def __init__(self, dtype, columns, *, group=None, threshold=None, sample_bytes=None):
        self.handle = None
        self.dtype = _types.named(dtype)
        self.columns = whole("columns", columns, c.IBP_ROW_MAX_BYTES)
        options = c.IbpLearnOptions(
            width_bits=_types.bits(self.dtype), row_elements=self.columns,
            group_bits=whole("group", group or 0, 512), threshold=threshold or 0,
            sample_bytes=whole("sample_bytes", sample_bytes or 0, sys.maxsize))
        handle = c_void_p()
        status = c.lib.pz_ibp_learner_new(byref(options), byref(handle))
        if status == c.ERR_ARGUMENT:
            raise ValueError(f"planezip: rows of {columns} elements of {self.dtype} cannot be "
                             f"packed with group {group} and threshold {threshold}; a group is a "
                             "power of two from the bits of an element to 512, a threshold above "
                             "0.5 and up to 1")
        c.check(status)
        self.handle = handle

    def __del__(self):
        if self.handle:
            c.lib.pz_ibp_learner_free(self.handle)

    def __reduce__(self):
        raise TypeError("planezip: a learner cannot be copied; its table() can")

    def add(self, rows, dtype=None):
        """More rows.  Not from two threads at once."""
        memory, columns, count = rows_of(rows, dtype)
        if (memory.dtype, columns) != (self.dtype, self.columns):
            raise ValueError(f"planezip: the rows have {columns} elements of {memory.dtype}, those "
                             f"before {self.columns} of {self.dtype}")
        c.check(c.lib.pz_ibp_learner_add(self.handle, memory.address, count))

    def table(self):
        """The table of the rows so far."""
        handle = c_void_p()
        status = c.lib.pz_ibp_learner_table(self.handle, byref(handle))
        if status == c.ERR_ARGUMENT:
            raise ValueError("planezip: there are no rows to learn from")
        c.check(status)
        return Table(handle)


@dataclass(frozen=True)
class Measurement:
    """What packing gives.  packed_bytes are those of the rows, without offsets and table; raw_rows
    would not shrink; of groups, packed_groups lose their invariant bits."""
    rows: int
    raw_rows: int
    groups: int
    packed_groups: int
    raw_bytes: int
    packed_bytes: int

    @property
    def saved(self):
        """The share of the bytes that is saved, 0.25 for a quarter; 0 for no bytes."""
        return 1 - self.packed_bytes / self.raw_bytes if self.raw_bytes else 0.0


def replace_file(path, data, mode):
    """Writes a file under another name, which it has until it is complete; mode: its permissions,
    None for those of a new one."""
    target = os.path.realpath(path)
    part = f"{target}.{os.getpid()}-{threading.get_ident()}.part"
    made = False
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC,
                          0o666 if mode is None else 0o600), "wb") as file:
            made = True
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            file.write(data)
        os.replace(part, target)
    except BaseException as error:
        if made:
            os.unlink(part)
        if isinstance(error, OSError):
            error.filename = path
        raise


class Table:
    """Which bits of a row are invariant, and what they are.  It never changes.

    Table.learn(), Table.load() and Table.of_bytes() make one.  columns: elements of a row; width
    and group: bits of an element, and of what is packed together; row_bytes.
    """

    def __init__(self, handle):
        if not isinstance(handle, c_void_p) or not handle:
            raise TypeError("planezip: tables are made by Table.learn(), Table.load() and "
                            "Table.of_bytes()")
        self.handle = handle
        shape = c.lib.pz_ibp_table_shape(handle)
        self.width, self.group, self.columns = (shape.width_bits, shape.group_bits,
                                                shape.row_elements)
        self.row_bytes = c.lib.pz_ibp_row_bytes(handle)

    def __del__(self):
        if getattr(self, "handle", None):
            c.lib.pz_ibp_table_free(self.handle)

    @classmethod
    def learn(cls, rows, dtype=None, *, group=None, threshold=None, sample_bytes=None):
        """A table of these rows.

        group: bits that are packed together, a power of two from the bits of an element to 512;
        None for what packs the rows best.  threshold: a bit is invariant if it is so in this share
        of the rows, above 0.5 and up to 1; None for what packs them best.  sample_bytes: of the
        rows at most so many are kept, evenly spread; None for 4 MiB.  Few more are looked at: half
        as many each time the rows double.  Of memory that is mapped, as of numpy.memmap, no others
        are read.
        """
        memory, columns, count = rows_of(rows, dtype)
        learner = Learner(memory.dtype, columns, group=group, threshold=threshold,
                          sample_bytes=sample_bytes)
        c.check(c.lib.pz_ibp_learner_add(learner.handle, memory.address, count))
        return learner.table()

    @classmethod
    def of_bytes(cls, stored):
        """The table that bytes(table) gave."""
        memory, handle, diag = _input.take(stored, "u8"), c_void_p(), c.Diag()
        c.check(c.lib.pz_ibp_table_load(memory.address, memory.nbytes, byref(handle), byref(diag)),
                diag)
        return cls(handle)

    @classmethod
    def load(cls, path):
        """The table of a file, as save() and `planezip ibp learn` write it."""
        with open(path, "rb") as file:
            return cls.of_bytes(file.read())

    def save(self, path):
        """Writes a file, which is complete or not there.  One that is there keeps its permissions,
        a link leads to it, and a device is written to."""
        path = os.fsdecode(path)
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            mode = None
        if os.path.basename(path) and (mode is None or stat.S_ISREG(mode)):
            replace_file(path, bytes(self), mode)
        else: # also what open() has the right words for: a folder, no name
            with open(path, "wb") as file:
                file.write(bytes(self))

    def __bytes__(self):
        stored = bytearray(c.lib.pz_ibp_table_bytes(self.handle))
        c.check(c.lib.pz_ibp_table_save(self.handle, address_of(memoryview(stored)), len(stored)))
        return bytes(stored)

    def __reduce__(self):
        return type(self).of_bytes, (bytes(self),)

    def __deepcopy__(self, memo):
        return self

    def __repr__(self):
        return (f"<planezip.ibp.Table {self.columns} elements of {self.width} bits, "
                f"{100 * self.invariant:.1f} % invariant>")

    @property
    def masks(self):
        """A row of masks, as bytes: 1 for an invariant bit."""
        return string_at(c.lib.pz_ibp_table_masks(self.handle), self.row_bytes)

    @property
    def values(self):
        """A row of the values of the invariant bits, as bytes."""
        return string_at(c.lib.pz_ibp_table_values(self.handle), self.row_bytes)

    @property
    def invariant(self):
        """The share of the bits that are invariant."""
        return int.from_bytes(self.masks, "little").bit_count() / (8 * self.row_bytes)

    def take(self, rows, dtype):
        """rows as memory that fits the table, and how many."""
        memory, columns, count = rows_of(rows, dtype)
        if (columns, _types.bits(memory.dtype)) != (self.columns, self.width):
            raise ValueError(f"planezip: the rows have {columns} elements of {memory.dtype}, those "
                             f"of the table {self.columns} of {self.width} bits")
        return memory, count

    def measure(self, rows, dtype=None, *, threads=1):
        """What packing rows would give, as a Measurement."""
        memory, count = self.take(rows, dtype)
        stats = c.IbpStats()
        c.check(c.lib.pz_ibp_measure(_options.pool(threads), self.handle, memory.address, count,
                                     byref(stats)))
        return Measurement(*(getattr(stats, name) for name, _ in stats._fields_))

    def pack(self, rows, dtype=None, *, layout="condensed", threads=1):
        """Packs rows; see Rows.

        layout: "condensed" for rows without gaps; "slots" for a place of the same size for each,
        which saves no memory, but only what is moved, and lets rows be updated.
        """
        memory, _ = self.take(rows, dtype)
        if layout not in LAYOUTS:
            raise ValueError(f"planezip: layout is {layout!r}; known are {', '.join(LAYOUTS)}")
        packed = Rows(self, memory.dtype, kind_of(rows) if dtype is None else None, layout)
        packed.shape = tuple(memory.shape[:-1])
        packed.add(memory, threads)
        return packed


class Stored(NamedTuple):
    """Rows in memory at one time: replaced as a whole when some are appended, so that a fetch in
    another thread has one or the other.  places: offsets, or the bit map."""
    count: int
    data: bytearray
    data_bytes: int
    places: bytearray


def grown(memory, used, needed):
    """Memory with the first bytes of another, and room for more; the same if there is enough."""
    if needed <= len(memory):
        return memory
    more = bytearray(max(needed, used + used // 2))
    memoryview(more)[:used] = memoryview(memory)[:used]
    return more


class Rows:
    """Packed rows, as Table.pack() makes them.

    table, dtype, layout; shape: that of what was packed, without the last dimension; after append()
    it is (rows,).  len() is the number of rows.  nbytes: of memory that they take, with offsets or
    bit map.  Any number of threads may fetch while one appends; update() is seen at once.
    """

    def __init__(self, table, dtype, kind, layout):
        self.table, self.dtype, self.kind, self.layout = table, dtype, kind, layout
        self.shape = (0,)
        self.stored = Stored(0, bytearray(), 0, bytearray(8))

    def __len__(self):
        return self.stored.count

    def __repr__(self):
        return (f"<planezip.ibp.Rows {len(self)} of {self.table.columns} {self.dtype}, "
                f"{self.layout}, {self.nbytes} bytes>")

    def __getstate__(self):
        stored = self.stored
        used = Stored(stored.count, stored.data[:stored.data_bytes], stored.data_bytes,
                      stored.places[:self.places_bytes(stored.count)])
        return {**self.__dict__, "stored": used}

    @classmethod
    def restore(cls, table, dtype, shape, data, places):
        """Condensed rows of bytes that were kept: those of the rows, and the offsets."""
        rows = cls(table, _types.named(dtype), "torch", "condensed")
        if _types.bits(rows.dtype) != table.width: # or their memory would be too small
            raise ValueError(f"planezip: the rows are {rows.dtype}, but the table is one of "
                             f"elements of {table.width} bits")
        rows.shape = tuple(whole("a dimension", extent, sys.maxsize) for extent in shape)
        count = math.prod(rows.shape)
        if len(places) != rows.places_bytes(count):
            raise ValueError(f"planezip: there are {len(places)} bytes of offsets, expected are "
                             f"{rows.places_bytes(count)}")
        rows.stored = Stored(count, bytearray(data), len(data), bytearray(places))
        return rows

    @property
    def nbytes(self):
        stored = self.stored
        return stored.data_bytes + self.places_bytes(stored.count)

    def places_bytes(self, count):
        return 8 * (count + 1) if self.layout == "condensed" else (count + 7) // 8

    def add(self, memory, threads):
        """Packs rows behind those that are there."""
        old, table, pool = self.stored, self.table, _options.pool(threads)
        added = memory.nbytes // table.row_bytes
        count = old.count + added
        places = grown(old.places, self.places_bytes(old.count), self.places_bytes(count))
        if self.layout == "slots":
            data_bytes = count * table.row_bytes
            data = grown(old.data, old.data_bytes, data_bytes)
            if places is old.places: # whose last byte a fetch may be reading
                places = bytearray(places)
            c.check(c.lib.pz_ibp_pack(pool, table.handle, memory.address, old.count, added,
                                      address_of(memoryview(data)), table.row_bytes,
                                      address_of(memoryview(places))))
        else:
            stats = c.IbpStats()
            c.check(c.lib.pz_ibp_measure(pool, table.handle, memory.address, added, byref(stats)))
            data_bytes = old.data_bytes + stats.packed_bytes
            data = grown(old.data, old.data_bytes, data_bytes)
            c.check(c.lib.pz_ibp_condense(pool, table.handle, memory.address, old.count, added,
                                          address_of(memoryview(data)), len(data),
                                          words(address_of(memoryview(places)))))
        self.stored = Stored(count, data, data_bytes, places)

    def append(self, rows, dtype=None, *, threads=1):
        """Packs more rows behind those that are there.  Not from two threads at once."""
        memory, _ = self.table.take(rows, dtype or self.told(rows))
        self.expect(memory.dtype)
        self.add(memory, threads)
        self.shape = (len(self),)

    def update(self, first, rows, dtype=None, *, threads=1):
        """Replaces the rows from number first on; they must be in slots.  No row of theirs may be
        fetched meanwhile."""
        if self.layout != "slots":
            raise ValueError("planezip: the rows are condensed, which leaves no room for others; "
                             "pack them with layout='slots'")
        memory, count = self.table.take(rows, dtype or self.told(rows))
        self.expect(memory.dtype)
        first, stored = operator.index(first), self.stored
        if not 0 <= first <= stored.count - count:
            raise IndexError(f"planezip: rows {first} to {first + count} of {stored.count}")
        c.check(c.lib.pz_ibp_pack(_options.pool(threads), self.table.handle, memory.address, first,
                                  count, address_of(memoryview(stored.data)), self.table.row_bytes,
                                  address_of(memoryview(stored.places))))

    def told(self, rows):
        """The type to take plain bytes for; None where an array tells its own."""
        return self.dtype if isinstance(rows, (bytes, bytearray, memoryview)) else None

    def expect(self, dtype):
        if dtype != self.dtype:
            raise ValueError(f"planezip: the rows are {dtype}, those that are packed {self.dtype}")

    def view(self, stored):
        """Rows as the library takes them; stored has to live as long."""
        places = address_of(memoryview(stored.places))
        condensed = self.layout == "condensed"
        return c.IbpRows(table=self.table.handle, data=address_of(memoryview(stored.data)),
                         count=stored.count, data_bytes=stored.data_bytes,
                         stride_bytes=self.table.row_bytes, packed=None if condensed else places,
                         offsets=words(places) if condensed else None)

    def output(self, shape, to, out):
        """Memory for rows: that of the caller, or made."""
        if out is None:
            return _output.make(self.dtype, (*shape, self.table.columns), to or self.kind)
        memory = _input.take(out)
        if memory.dtype != self.dtype or memory.nbytes != math.prod(shape) * self.table.row_bytes:
            raise ValueError(f"planezip: out is {memory.dtype} {memory.shape}, expected is "
                             f"{self.dtype} {(*shape, self.table.columns)}")
        if not is_written_in_place(memory, out):
            raise ValueError("planezip: out cannot be written to, or is not in C order")
        if _input.is_instance(out, "torch", "Tensor"):
            tell_autograd(out)
        return _output.Output(memory.address, memory.nbytes, out)

    def unpack(self, first=None, count=None, *, to=None, out=None, threads=1):
        """Rows in order: all of them, in the shape that was packed, or count from number first on.

        to: "numpy", "torch" or "buffer"; None for what was packed.  out: an array to write to
        instead, which is returned.
        """
        stored = self.stored
        shape = self.shape if first is None and count is None else None
        first = 0 if first is None else operator.index(first)
        count = stored.count - first if count is None else operator.index(count)
        if not 0 <= first <= stored.count or not 0 <= count <= stored.count - first:
            raise IndexError(f"planezip: rows {first} to {first + count} of {stored.count}")
        result, bad = self.output((count,) if shape is None else shape, to, out), c_uint64()
        view = self.view(stored)
        self.check(c.lib.pz_ibp_unpack(_options.pool(threads), byref(view), first, count,
                                       result.address, byref(bad)), bad)
        return result.result

    def fetch(self, index, *, to=None, out=None, threads=1):
        """Rows by their numbers, in any order and any number of times: an array of the shape of
        index with the elements of a row behind it.  index: integers, as a sequence or an array."""
        numbers, shape = index_of(index)
        result, bad = self.output(shape, to, out), c_uint64()
        stored = self.stored
        view = self.view(stored)
        status = c.lib.pz_ibp_fetch(_options.pool(threads), byref(view),
                                    words(numbers.address), numbers.nbytes // 8,
                                    result.address, byref(bad))
        if status == c.ERR_ARGUMENT:
            number = bad.value - (bad.value >> 63 << 64)
            raise IndexError(f"planezip: row {number}, but there are {stored.count} rows")
        self.check(status, bad)
        return result.result

    def check(self, status, bad):
        """Raises what a status means, with the row."""
        if status not in (c.OK, c.ERR_MEMORY, c.ERR_ARGUMENT):
            diag = c.Diag(path=f"row {bad.value}".encode())
            c.check(status, diag)
        c.check(status)


def is_written_in_place(memory, out):
    """Whether memory is that of out, not a copy, and may be written to."""
    if _input.is_instance(out, "torch", "Tensor"):
        return memory.address == out.data_ptr() and out.is_contiguous()
    if _input.is_instance(out, "numpy", "ndarray"):
        return memory.owner is out and out.flags.writeable
    view = memoryview(out)
    return not view.readonly and view.c_contiguous


def tell_autograd(out):
    """A tensor is about to be written to: a backward pass that needs what it has is to fail."""
    torch = sys.modules["torch"]
    if out.requires_grad and torch.is_grad_enabled():
        raise ValueError("planezip: out requires a gradient, which rows do not have; give "
                         "out.detach(), or write under torch.no_grad()")
    torch.autograd.graph.increment_version(out)


def index_of(index: Any):
    """Numbers of rows as memory of 64-bit integers, and their shape."""
    if isinstance(index, (list, tuple, range)):
        index = array("q", index)
    memory = _input.take(index)
    if memory.dtype not in ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"):
        raise TypeError(f"planezip: the index has elements of {memory.dtype}, expected are "
                        "integers")
    shape = tuple(memory.shape)
    if memory.dtype not in ("i64", "u64"):
        memory = _input.take(widened(memory))
    return memory, shape


def widened(memory):
    """Integers as 64-bit ones, by the means of whose they are."""
    owner = memory.owner
    if hasattr(owner, "astype"):
        return owner.astype("int64")
    if hasattr(owner, "long"):
        return owner.long()
    return array("q", memoryview(owner).cast("B").cast(
        {"i8": "b", "i16": "h", "i32": "i", "u8": "B", "u16": "H", "u32": "I"}[memory.dtype]))
