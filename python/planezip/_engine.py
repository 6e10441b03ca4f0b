"""Pools and engines of planezip/engine.h: tensors swapped out of memory and in again.

Private: what the training runtime stands on.  Memory is told by address and size, as
tensor.data_ptr() gives it; objects passed as `keep` are held until the library has done with it.
Waiting releases the interpreter's lock, and no thread of the library ever takes it, but for a
pool's warnings.
"""
import logging
import os
import weakref
from ctypes import byref, c_void_p, cast

from . import _types
from . import _library as c
from ._errors import PlaneZipError

TIERS = {"memory": c.TIER_MEMORY, "disk": c.TIER_DISK, "host": c.TIER_HOST}
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


class Device:
    """A CUDA device by its number; closed after all that works on it.  driver: the file of another
    library than that of the system."""

    def __init__(self, number=0, *, driver=None):
        options = c.GpuOptions(kind=c.GPU_CUDA, device=number,
                               driver=os.fsencode(driver) if driver is not None else None)
        diag = c.Diag()
        self.handle = c_void_p()
        c.check(c.lib.pz_gpu_open(byref(options), byref(self.handle), byref(diag)), diag)

    def close(self):
        handle, self.handle = self.handle, None
        if handle:
            c.lib.pz_gpu_close(handle)


class Pool:
    """Memory of at most `budget` bytes in chunks of one size, pinned for a device if there is one.
    Warnings go to the log."""

    def __init__(self, budget, *, chunk=0, mapping=0, all_at_once=False, device=None):
        self.device = device # which has to live as long
        self.warn = c.WARN(lambda user, text: log.warning("planezip: %s", text.decode()))
        options = c.PoolOptions(budget_bytes=budget, chunk_bytes=chunk, mapping_bytes=mapping,
                                all_at_once=all_at_once, warn=self.warn)
        if device is not None:
            options.pin = cast(c.lib.pz_gpu_pin, c_void_p)
            options.unpin = cast(c.lib.pz_gpu_unpin, c_void_p)
            options.user = device.handle
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
    """Swaps tensors to a tier: "memory", which is a pool, "disk", a nameless file in a folder, or
    "host", a pool for tensors of a device.

    link, queue: of the two directions, out and in, bytes a second of an emulated link and bytes
    under way at once; 0 for none and for the default.  The other options are those of
    pz_engine_options.  With event=True the file descriptor .event counts transfers that end.
    join: with a device, called with a Swap and a stream before memory is let go of that the Swap is
    on its way to.
    """

    def __init__(self, tier, *, pool=None, directory=None, disk_bytes=0, cached=False,
                 codec="planezip2", bypass="auto", codec_bps=0, link=(0, 0), queue=(0, 0),
                 segment=0, threads=None, event=False, device=None, groups=0,
                 join=None):
        options = c.EngineOptions(
            tier=TIERS[tier], pool=pool.handle if pool else None,
            directory=os.fsencode(directory) if directory is not None else None,
            disk_bytes=disk_bytes, cached=cached, codec=codec.encode(), bypass=BYPASSES[bypass],
            codec_bps=codec_bps, segment_bytes=segment, threads=threads, event=event,
            gpu=device.handle if device else None, groups=groups)
        options.link_bps[:] = link
        options.queue_bytes[:] = queue
        diag = c.Diag()
        self.pool, self.device = pool, device # which have to live as long
        self.join = join or (lambda swap, stream: swap.wait())
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

    def out(self, address, nbytes, dtype, *, token=0, ratio=0, measure=False, wait=True, keep=None,
            stream=None):
        """Begins to swap out the memory at an address; None if wait is false and the queue full.
        The memory must not change until the Swap is done, or joined.  stream: of the device, in
        which it is made."""
        options = c.SwapOptions(data=address, bytes=nbytes, dtype=_types.code(dtype), token=token,
                                ratio=ratio, measure=measure, stream=stream)
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
        self.source, self.target, self.stream = source, None, None
        engine.swaps.add(self)

    def into(self, address, *, wait=True, keep=None, stream=None):
        """Begins to swap in to an address; False if wait is false and the queue full, or, on a
        device, the tensor not out yet.  What is there must not be used until done, or joined;
        stream: of the device, whose work so far may use it."""
        if self.engine.device is None:
            status = c.lib.pz_swap_in(self.handle, address, wait)
        else:
            status = c.lib.pz_swap_in_on(self.handle, address, stream, wait)
        if status == c.ERR_BUSY and not wait:
            return False
        c.check(status)
        self.target, self.stream = keep, stream
        return True

    def wait(self):
        """Until the transfers have ended; raises what the last one ended with."""
        status = c.lib.pz_swap_wait(self.handle)
        self.source = self.target = None
        c.check(status)

    def join(self, stream):
        """Makes a stream of the device wait for the last transfer, as far as it needs the caller's
        memory; raises what that ended with, if that is known."""
        c.check(c.lib.pz_swap_join(self.handle, stream))
        self.source = self.target = None

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

    def coded_bytes(self):
        """Bytes that the codec has made of it; 0 if it was moved as it is, or is not out yet."""
        stats = c.SwapStats()
        c.check(c.lib.pz_swap_get_stats(self.handle, byref(stats)))
        return 0 if stats.bypassed else stats.coded_bytes

    def stats(self):
        """The fields of pz_swap_stats by name."""
        stats = c.SwapStats()
        c.check(c.lib.pz_swap_get_stats(self.handle, byref(stats)))
        return plain(stats)

    def free(self):
        """Cancels, and gives the place in the tier free."""
        if self.handle and self.target is not None and self.engine.device is not None:
            try:
                self.engine.join(self, self.stream)
            except (PlaneZipError, OSError, MemoryError):
                pass # it failed, and so is over
        handle, self.handle = self.handle, None
        if handle:
            c.lib.pz_swap_free(handle)
        self.source = self.target = None

    def __del__(self):
        self.free()
