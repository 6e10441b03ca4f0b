"""Containers front to back: docs/container.md."""
from ctypes import byref, c_char_p, c_void_p, cast

from . import _library as c
from . import _options, _types
from ._memory import view_of


class Sink:
    """What the library writes to.  An exception must not pass through it, so it is kept."""

    def __init__(self, write):
        self.write = write
        self.error = None
        self.callback = c.WRITE(self.take)

    def take(self, _, address, nbytes, done):
        try:
            with view_of(address, nbytes) as view:
                self.write(view)
            done[0] = nbytes
            return c.OK
        except BaseException as error:
            self.error = error
            return c.ERR_IO


class Writer:
    """A container under way, in a with statement: add() for each tensor, then finish().

    write: a function that takes all of a bytes-like argument before it returns, as that of
    io.BytesIO.
    """

    def __init__(self, write, threads=1):
        # The callback refers to the sink alone: nothing here waits for the garbage collector.
        self.sink = Sink(write)
        options = c.WriterOptions(write=self.sink.callback, threads=_options.pool(threads))
        self.handle = c_void_p()
        c.check(c.lib.pz_writer_new(byref(options), byref(self.handle)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        c.lib.pz_writer_free(self.handle)

    def add(self, name, memory, mode, metadata=None):
        """A tensor of type Input; metadata: texts by name."""
        shape = _types.c_shape(memory.shape)
        entries, texts = c_metadata(metadata or {})
        tensor = c.Tensor(name=c_name(name), dtype=_types.code(memory.dtype), mode=mode,
                          rank=len(memory.shape), shape=shape, metadata=entries,
                          metadata_count=len(texts))
        self.check(c.lib.pz_writer_begin(self.handle, byref(tensor)))
        self.check(c.lib.pz_writer_data(self.handle, memory.address, memory.nbytes))
        self.check(c.lib.pz_writer_end(self.handle))

    def finish(self):
        """Writes the index."""
        self.check(c.lib.pz_writer_finish(self.handle))

    def check(self, status):
        """Raises what went wrong, here or in write()."""
        if self.sink.error is not None:
            error, self.sink.error = self.sink.error, None
            raise error
        c.check(status)


def c_metadata(metadata):
    """Metadata as the library takes it, and the memory that this refers to."""
    texts = [(c_name(key), value.encode()) for key, value in metadata.items()]
    entries = (c.Metadata * max(len(texts), 1))(
        *(c.Metadata(key, cast(c_char_p(value), c_void_p), len(value)) for key, value in texts))
    return entries, texts


def c_name(name):
    """A name as the library takes it."""
    if "\0" in name:
        raise ValueError(f"planezip: name is {name!r}, which has a zero byte")
    return name.encode(errors="surrogateescape")
