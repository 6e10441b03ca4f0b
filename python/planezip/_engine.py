"""Pools and engines of planezip/engine.h: tensors swapped out of memory and in again.

Private: what the training runtime stands on.  Memory is told by address and size, as
tensor.data_ptr() gives it; objects passed as `keep` are held until the library has done with it.
Waiting releases the interpreter's lock, and no thread of the library ever takes it, but for a
pool's warnings.
"""
import logging
import os
import weakref
from ctypes import byref, c_void_p

from . import _types
from . import _library as c

TIERS = {"memory": c.TIER_MEMORY, "disk": c.TIER_DISK}
BYPASSES = {"auto": c.BYPASS_AUTO, "never": c.BYPASS_NEVER, "always": c.BYPASS_ALWAYS}
log = logging.getLogger("planezip")


def plain(structure):
    """A structure as a dictionary, without its size; per direction as {"out": ..., "in": ...}."""
    result = {}
    for name, _ in structure._fields_:
        value = getattr(structure, name)
        if hasattr(value, "__len__"):
            first, second = (plain(part) if hasattr(part, "_fields_") else part for part in value)
            value = {"out": first, "in": second}
        if name != "size":
            result[name] = value
    return result


class Pool:
    """Memory of at most `budget` bytes in chunks of one size.  Warnings go to the log."""

    def __init__(self, budget, *, chunk=0, mapping=0, all_at_once=False):
        self.warn = c.WARN(lambda user, text: log.warning("planezip: %s", text.decode()))
        options = c.PoolOptions(budget_bytes=budget, chunk_bytes=chunk, mapping_bytes=mapping,
                                all_at_once=all_at_once, warn=self.warn)
        self.handle = c_void_p()
        c.check(c.lib.pz_pool_new(byref(options), byref(self.handle)))

    def close(self):
        """PlaneZipError with the status PZ_ERR_BUSY while tensors are in it."""
        handle, self.handle = self.handle, None
        if handle:
            status = c.lib.pz_pool_free(handle)
            if status == c.ERR_BUSY:
                self.handle = handle
            c.check(status)

    def __del__(self):
        if getattr(self, "handle", None):
            c.lib.pz_pool_free(self.handle)

    def trim(self):
        """Gives memory back to the system that no tensor is in."""
        c.lib.pz_pool_trim(self.handle)

    def stats(self):
        """The fields of pz_pool_stats by name."""
        stats = c.PoolStats()
        c.check(c.lib.pz_pool_get_stats(self.handle, byref(stats)))
        return plain(stats)


class Engine:
    """Swaps tensors to a tier: "memory", which is a pool, or "disk", a nameless file in a folder.

    link, queue: of the two directions, out and in, bytes a second of an emulated link and bytes
    under way at once; 0 for none and for the default.  The other options are those of
    pz_engine_options.  With event=True the file descriptor .event counts transfers that end.
    """

    def __init__(self, tier, *, pool=None, directory=None, disk_bytes=0, cached=False,
                 codec="planezip2", bypass="auto", codec_bps=0, link=(0, 0), queue=(0, 0),
                 segment=0, threads=None, event=False):
        options = c.EngineOptions(
            tier=TIERS[tier], pool=pool.handle if pool else None,
            directory=os.fsencode(directory) if directory is not None else None,
            disk_bytes=disk_bytes, cached=cached, codec=codec.encode(), bypass=BYPASSES[bypass],
            codec_bps=codec_bps, segment_bytes=segment, threads=threads, event=event)
        options.link_bps[:] = link
        options.queue_bytes[:] = queue
        diag = c.Diag()
        self.pool = pool # which has to live as long
        self.handle = c_void_p()
        self.swaps = weakref.WeakSet()
        c.check(c.lib.pz_engine_new(byref(options), byref(self.handle), byref(diag)), diag)
        self.event = c.lib.pz_engine_event(self.handle)

    def close(self):
        """Cancels what is under way and forgets all tensors."""
        handle, self.handle = self.handle, None
        if handle:
            c.lib.pz_engine_free(handle)
            for swap in self.swaps:
                swap.handle = swap.source = swap.target = None

    def __del__(self):
        if getattr(self, "handle", None):
            self.close()

    def out(self, address, nbytes, dtype, *, token=0, ratio=0, measure=False, wait=True, keep=None):
        """Begins to swap out the memory at an address; None if wait is false and the queue full.
        The memory must not change until the Swap is done."""
        options = c.SwapOptions(data=address, bytes=nbytes, dtype=_types.code(dtype), token=token,
                                ratio=ratio, measure=measure)
        handle = c_void_p()
        status = c.lib.pz_swap_out(self.handle, byref(options), wait, byref(handle))
        if status == c.ERR_BUSY:
            return None
        c.check(status)
        return Swap(self, handle, keep)

    def wait(self):
        """Until nothing is under way."""
        c.check(c.lib.pz_engine_wait(self.handle))

    def stats(self):
        """The fields of pz_engine_stats by name."""
        stats = c.EngineStats()
        c.check(c.lib.pz_engine_get_stats(self.handle, byref(stats)))
        return plain(stats)


class Swap:
    """A tensor that is, or is going to be, in the tier of an engine; gone with the object."""

    def __init__(self, engine, handle, source):
        self.engine, self.handle = engine, handle
        self.source, self.target = source, None
        engine.swaps.add(self)

    def into(self, address, *, wait=True, keep=None):
        """Begins to swap in to an address; False if wait is false and the queue full.  What is
        there must not be used until done."""
        status = c.lib.pz_swap_in(self.handle, address, wait)
        if status == c.ERR_BUSY and not wait:
            return False
        c.check(status)
        self.target = keep
        return True

    def wait(self):
        """Until the transfers have ended; raises what the last one ended with."""
        status = c.lib.pz_swap_wait(self.handle)
        self.source = self.target = None
        c.check(status)

    @property
    def done(self):
        """Whether no transfer is under way."""
        if not c.lib.pz_swap_done(self.handle):
            return False
        self.source = self.target = None
        return True

    def cancel(self):
        """Stops the transfers that are under way; False if there was nothing to stop."""
        status = c.lib.pz_swap_cancel(self.handle)
        self.source = self.target = None
        return status == c.ERR_CANCELLED

    def stats(self):
        """The fields of pz_swap_stats by name."""
        stats = c.SwapStats()
        c.check(c.lib.pz_swap_get_stats(self.handle, byref(stats)))
        return plain(stats)

    def free(self):
        """Cancels, and gives the place in the tier free."""
        handle, self.handle = self.handle, None
        if handle:
            c.lib.pz_swap_free(handle)
        self.source = self.target = None

    def __del__(self):
        self.free()
