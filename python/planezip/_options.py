"""The options that several functions take: codec, profile, threads."""
import operator
import threading
from ctypes import byref, c_int, c_void_p

from . import _types
from . import _library as c

CODECS = ("planezip2", "planezip2-fast", "planezip", "zvc", "bpc", "bx", "zbx")
PROFILES = ("native", "paper")

pools = {}
pools_lock = threading.Lock()


def mode(codec, profile, dtype):
    """What to encode a type with."""
    number, result = c_int(), c.Mode()
    if c.lib.pz_profile_named(str(profile).encode(), byref(number)) != c.OK:
        raise ValueError(f"planezip: profile is {profile!r}; known are {', '.join(PROFILES)}")
    if c.lib.pz_mode_of(str(codec).encode(), number, _types.code(dtype), byref(result)) != c.OK:
        raise ValueError(f"planezip: codec is {codec!r}; known are {', '.join(CODECS)}")
    return result


def pool(threads):
    """The threads that work on a call: None for the calling one alone, 0 for as many as there are
    processors.  They are shared by all calls that ask for the same number, and sleep between."""
    count = operator.index(threads)
    if not 0 <= count <= c.THREADS_MAX:
        raise ValueError(f"planezip: threads is {count}, expected is 0 to {c.THREADS_MAX}")
    if count == 1:
        return None
    with pools_lock:
        if count not in pools:
            made = c_void_p()
            c.check(c.lib.pz_threads_new(byref(c.ThreadsOptions(threads=count)), byref(made)))
            pools[count] = made
        return pools[count]
