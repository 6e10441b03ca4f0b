"""The memory of the process: what tensors let go of goes back to the system.

glibc maps large blocks by themselves, so that they can go back one by one, but takes the next ones
of that size, up to 32 MiB, from its heap as soon as one has been freed.  Holes of a heap stay with
the process: it would grow to more than plain training takes, whatever the budget.
"""
import ctypes
import os

M_MMAP_THRESHOLD = -3 # of mallopt()
MOST_BYTES = 32 << 20 # that glibc takes


def process_library():
    """What the process has loaded, as a library."""
    return ctypes.CDLL(None)


def checked_threshold(threshold):
    if not 1 <= threshold <= MOST_BYTES:
        raise ValueError(f"planezip: mmap_threshold is {threshold} bytes; expected are 1 byte to "
                         "32 MiB, or None")
    return threshold


def give_back(threshold):
    """Lets blocks of that many bytes and more be mapped by themselves from now on, and gives back
    what is free already.  Whoever runs Python may have said otherwise, and another C library does
    as it does."""
    if "MALLOC_MMAP_THRESHOLD_" in os.environ or \
            "glibc.malloc.mmap_threshold=" in os.environ.get("GLIBC_TUNABLES", ""):
        return
    process = process_library()
    if hasattr(process, "gnu_get_libc_version"):
        process.mallopt(M_MMAP_THRESHOLD, threshold)
        process.malloc_trim(0)
