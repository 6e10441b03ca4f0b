"""The instruction sets that the codec can use here.  All of them give the same bytes."""
from ._library import lib


def isa_names():
    """The instruction sets that this processor and build have, slowest first."""
    return tuple(lib.pz_isa_name(i).decode() for i in range(lib.pz_isa_count()))


def isa_active():
    """The one in use: the fastest, or what the environment variable PZ_ISA forces."""
    return lib.pz_isa_active().decode()


def isa_select(name):
    """Uses another one from now on, in the whole process; ValueError if it is not available."""
    if lib.pz_isa_select(str(name).encode()) != 0:
        raise ValueError(f"planezip: no instruction set {name!r} here; available are "
                         f"{', '.join(isa_names())}")
