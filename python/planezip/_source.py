"""Bytes at any place of a file or of memory, for the library."""
import os

from . import _library as c
from ._memory import WRITE, view_of


class Source:
    """What the library reads from.  An exception must not pass through it, so it is kept."""

    def __init__(self):
        self.error = None
        self.callback = c.READ_AT(self.read_at)

    def read_at(self, _, start, address, nbytes, got):
        try:
            with view_of(address, nbytes, WRITE) as view:
                got[0] = self.read(start, view)
            return c.OK
        except BaseException as error:
            self.error = error
            return c.ERR_IO


class FileSource(Source):
    """A file by its path."""

    def __init__(self, path):
        super().__init__()
        self.descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.file_bytes = os.fstat(self.descriptor).st_size

    def read(self, start, view):
        return os.preadv(self.descriptor, [view], start)

    def close(self):
        os.close(self.descriptor)


class MemorySource(Source):
    """Anything with the buffer protocol, whose memory is contiguous."""

    def __init__(self, data):
        super().__init__()
        self.view = memoryview(data).cast("B")
        self.file_bytes = self.view.nbytes

    def read(self, start, view):
        part = self.view[start:start + len(view)]
        view[:len(part)] = part
        return len(part)

    def close(self):
        self.view.release()
