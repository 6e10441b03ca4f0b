"""The C library: where it is found, its structures, constants and functions, by the names of
planezip/planezip.h, planezip/engine.h, planezip/plan.h and planezip/ibp.h.

The only module that knows how C lays out anything; tests/python/test_library.py compares it with
the headers.  ctypes releases the interpreter's lock for the time of each call.
"""
import ctypes
import os
import sys
from ctypes import (CFUNCTYPE, POINTER, c_bool, c_char, c_char_p, c_double, c_int, c_int32, c_int64,
                    c_size_t, c_uint, c_uint32, c_uint64, c_void_p)
from pathlib import Path

from ._errors import PlaneZipError
from ._release import VERSION

FOLDER = Path(__file__).resolve().parent
SUFFIX = ".dylib" if sys.platform == "darwin" else ".so"
# As a system installs it: with the part of the version that binaries depend on.
RELEASE = VERSION.rpartition(".")[0]
INSTALLED = f"libplanezip.{RELEASE}.dylib" if SUFFIX == ".dylib" else f"libplanezip.so.{RELEASE}"

OK = 0
ERR_ARGUMENT = 1
ERR_MEMORY = 3
ERR_IO = 4
ERR_INFEASIBLE = 20
ERR_FULL = 26
ERR_BUSY = 27
ERR_CANCELLED = 28
ENCODING_NAMES = ("raw", "zvc", "bx", "dbx", "zbx", "exponents", "integers", "differences",
                  "constants")
ENCODINGS = len(ENCODING_NAMES)
DTYPES = 24
THREADS_MAX = 1024
UNKNOWN = 2**64 - 1
OUT, IN, DIRECTIONS = 0, 1, 2
TIER_MEMORY, TIER_DISK, TIER_HOST = 1, 2, 3
GPU_CUDA = 1
BYPASS_AUTO, BYPASS_NEVER, BYPASS_ALWAYS = 0, 1, 2
IBP_ROW_MAX_BYTES = 1 << 20


class Where(ctypes.Structure):
    _fields_ = [("chunk", c_uint64), ("block", c_uint32), ("bit", c_uint32)]


class Diag(ctypes.Structure):
    _fields_ = [("line", c_uint32), ("column", c_uint32), ("path", c_char * 128),
                ("text", c_char * 320)]


class Mode(ctypes.Structure):
    _fields_ = [("width_bits", c_uint32), ("encodings", c_uint32), ("format", c_uint32),
                ("exponent_bits", c_uint32)]


class Stats(ctypes.Structure):
    _fields_ = [("raw_bytes", c_uint64), ("coded_bytes", c_uint64), ("chunks", c_uint64),
                ("raw_chunks", c_uint64), ("blocks", c_uint64 * ENCODINGS),
                ("payload_bits", c_uint64)]


class SizedStructure(ctypes.Structure):
    """A structure whose first field tells its size, so that the library can check it."""

    def __init__(self, **fields):
        super().__init__(size=ctypes.sizeof(self), **fields)


class ThreadsOptions(SizedStructure):
    _fields_ = [("size", c_size_t), ("threads", c_uint), ("run", c_void_p), ("user", c_void_p)]


class Metadata(ctypes.Structure):
    _fields_ = [("key", c_char_p), ("value", c_void_p), ("value_bytes", c_uint64)]


class Tensor(SizedStructure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("dtype", c_int), ("mode", Mode),
                ("rank", c_uint32), ("shape", POINTER(c_uint64)), ("metadata", POINTER(Metadata)),
                ("metadata_count", c_size_t), ("raw_bytes", c_uint64), ("stream_bytes", c_uint64),
                ("stored_bytes", c_uint64), ("segments", c_uint64), ("chunks", c_uint64),
                ("raw_chunks", c_uint64), ("blocks", c_uint64 * ENCODINGS)]


WRITE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, POINTER(c_size_t))
READ = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, POINTER(c_size_t))
READ_AT = CFUNCTYPE(c_int, c_void_p, c_uint64, c_void_p, c_size_t, POINTER(c_size_t))


class WriterOptions(SizedStructure):
    _fields_ = [("size", c_size_t), ("write", WRITE), ("user", c_void_p),
                ("segment_bytes", c_uint64), ("threads", c_void_p)]


class ReaderOptions(SizedStructure):
    _fields_ = [("size", c_size_t), ("read", READ), ("read_at", READ_AT), ("user", c_void_p),
                ("file_bytes", c_uint64), ("check_pages", c_bool), ("trust_index", c_bool),
                ("threads", c_void_p)]


WARN = CFUNCTYPE(None, c_void_p, c_char_p)


class PoolOptions(SizedStructure):
    _fields_ = [("size", c_size_t), ("budget_bytes", c_uint64), ("chunk_bytes", c_size_t),
                ("mapping_bytes", c_uint64), ("all_at_once", c_bool), ("pin", c_void_p),
                ("unpin", c_void_p), ("pinned_only", c_bool), ("warn", WARN), ("user", c_void_p)]


class PoolStats(SizedStructure):
    _fields_ = [("size", c_size_t), ("chunk_bytes", c_size_t), ("budget_bytes", c_uint64),
                ("mapped_bytes", c_uint64), ("pinned_bytes", c_uint64), ("used_bytes", c_uint64),
                ("peak_bytes", c_uint64), ("mappings", c_uint64), ("taken", c_uint64),
                ("refused", c_uint64)]


class GpuOptions(SizedStructure):
    _fields_ = [("size", c_size_t), ("kind", c_int), ("device", c_uint), ("driver", c_char_p),
                ("compiler", c_char_p)]


class EngineOptions(SizedStructure):
    _fields_ = [("size", c_size_t), ("tier", c_int), ("pool", c_void_p), ("directory", c_char_p),
                ("disk_bytes", c_uint64), ("cached", c_bool), ("codec", c_char_p),
                ("bypass", c_int), ("codec_bps", c_double), ("link_bps", c_double * DIRECTIONS),
                ("queue_bytes", c_uint64 * DIRECTIONS), ("segment_bytes", c_size_t),
                ("threads", c_void_p), ("event", c_bool), ("done", c_void_p), ("user", c_void_p),
                ("gpu", c_void_p), ("groups", c_uint)]


class SwapOptions(SizedStructure):
    _fields_ = [("size", c_size_t), ("data", c_void_p), ("bytes", c_size_t), ("dtype", c_int),
                ("token", c_uint64), ("ratio", c_double), ("measure", c_bool), ("stream", c_void_p)]


class SwapStats(SizedStructure):
    _fields_ = [("size", c_size_t), ("token", c_uint64), ("raw_bytes", c_uint64),
                ("coded_bytes", c_uint64), ("bypassed", c_bool), ("system_error", c_int32),
                ("swapped_in", c_uint64), ("queued_ns", c_int64 * DIRECTIONS),
                ("code_ns", c_int64 * DIRECTIONS), ("move_ns", c_int64 * DIRECTIONS)]


class DirectionStats(ctypes.Structure):
    _fields_ = [("transfers", c_uint64), ("failed", c_uint64), ("cancelled", c_uint64),
                ("bypassed", c_uint64), ("raw_bytes", c_uint64), ("coded_bytes", c_uint64),
                ("queue_bytes", c_uint64), ("queue_peak_bytes", c_uint64), ("code_ns", c_int64),
                ("move_ns", c_int64), ("blocked_ns", c_int64), ("link_bps", c_double),
                ("coded_bps", c_double), ("moved_bps", c_double)]


class EngineStats(SizedStructure):
    _fields_ = [("size", c_size_t), ("directions", DirectionStats * DIRECTIONS),
                ("swaps", c_uint64), ("staging_bytes", c_uint64), ("disk_bytes", c_uint64),
                ("is_direct", c_bool)]


class Platform(ctypes.Structure):
    _fields_ = [("name", c_char * 32), ("description", c_char * 160), ("source", c_char * 256),
                ("math_flops", c_double), ("math_fraction", c_double), ("memory_bps", c_double),
                ("memory_fraction", c_double), ("d2h_bps", c_double), ("h2d_bps", c_double),
                ("gpus_per_link", c_int64), ("launch_ns", c_int64), ("transfer_ns", c_int64),
                ("engine_bps", c_double), ("software_bps", c_double),
                ("software_share", c_double), ("precision", c_int), ("memory_bytes", c_uint64)]


class Setup(SizedStructure):
    _fields_ = [("size", c_size_t), ("trace", c_void_p), ("platform", POINTER(Platform)),
                ("predicted", POINTER(c_double)), ("actual", POINTER(c_double)),
                ("budget_bytes", c_uint64), ("replay", c_int), ("compress", c_int),
                ("slot_bytes", c_uint64), ("search_evaluations", c_uint64),
                ("search_seconds", c_double), ("search_seed", c_uint64)]


class Report(ctypes.Structure):
    _fields_ = [("total_ns", c_int64), ("unlimited_ns", c_int64), ("compute_ns", c_int64),
                ("optimizer_ns", c_int64), ("replay_ns", c_int64), ("stall_memory_ns", c_int64),
                ("stall_prefetch_ns", c_int64), ("codec_ns", c_int64), ("d2h_busy_ns", c_int64),
                ("h2d_busy_ns", c_int64), ("swapped_bytes", c_uint64),
                ("d2h_wire_bytes", c_uint64), ("h2d_wire_bytes", c_uint64),
                ("replayed_ops", c_uint64), ("peak_bytes", c_uint64), ("peak_ns", c_int64),
                ("peak_op", c_size_t), ("kept", c_size_t), ("swapped", c_size_t),
                ("dropped", c_size_t), ("compressed", c_size_t), ("compressed_bytes", c_uint64),
                ("packed_bytes", c_uint64), ("overhead", c_double)]


class IbpShape(ctypes.Structure):
    _fields_ = [("width_bits", c_uint32), ("group_bits", c_uint32), ("row_elements", c_uint64)]


class IbpLearnOptions(SizedStructure):
    _fields_ = [("size", c_size_t), ("width_bits", c_uint32), ("group_bits", c_uint32),
                ("row_elements", c_uint64), ("threshold", c_double), ("sample_bytes", c_size_t)]


class IbpRows(SizedStructure):
    _fields_ = [("size", c_size_t), ("table", c_void_p), ("data", c_void_p), ("count", c_uint64),
                ("data_bytes", c_size_t), ("stride_bytes", c_size_t), ("packed", c_void_p),
                ("offsets", POINTER(c_uint64))]


class IbpStats(ctypes.Structure):
    _fields_ = [("rows", c_uint64), ("raw_rows", c_uint64), ("groups", c_uint64),
                ("packed_groups", c_uint64), ("raw_bytes", c_uint64), ("packed_bytes", c_uint64)]


STRUCTURES = {"pz_where": Where, "pz_diag": Diag, "pz_mode": Mode, "pz_stats": Stats,
              "pz_threads_options": ThreadsOptions, "pz_metadata": Metadata, "pz_tensor": Tensor,
              "pz_writer_options": WriterOptions, "pz_reader_options": ReaderOptions,
              "pz_pool_options": PoolOptions, "pz_pool_stats": PoolStats,
              "pz_engine_options": EngineOptions, "pz_swap_options": SwapOptions,
              "pz_swap_stats": SwapStats, "pz_direction_stats": DirectionStats,
              "pz_engine_stats": EngineStats, "pz_gpu_options": GpuOptions,
              "pz_platform": Platform, "pz_setup": Setup, "pz_report": Report,
              "pz_ibp_shape": IbpShape,
              "pz_ibp_learn_options": IbpLearnOptions, "pz_ibp_rows": IbpRows,
              "pz_ibp_stats": IbpStats}

# Name: result, arguments.  A status is a c_int, an opaque object a c_void_p.
FUNCTIONS = {
    "pz_version": (c_char_p, []),
    "pz_status_name": (c_char_p, [c_int]),
    "pz_status_text": (c_char_p, [c_int]),
    "pz_mode_of": (c_int, [c_char_p, c_int, c_int, POINTER(Mode)]),
    "pz_stream_measure_on": (c_int, [c_void_p, Mode, c_void_p, c_size_t, POINTER(Stats)]),
    "pz_threads_new": (c_int, [POINTER(ThreadsOptions), POINTER(c_void_p)]),
    "pz_dtype_name": (c_char_p, [c_int]),
    "pz_dtype_bits": (c_uint, [c_int]),
    "pz_dtype_named": (c_int, [c_char_p, POINTER(c_int)]),
    "pz_tensor_bytes": (c_int, [c_int, c_uint32, POINTER(c_uint64), POINTER(c_uint64)]),
    "pz_profile_named": (c_int, [c_char_p, POINTER(c_int)]),
    "pz_writer_new": (c_int, [POINTER(WriterOptions), POINTER(c_void_p)]),
    "pz_writer_free": (None, [c_void_p]),
    "pz_writer_metadata": (c_int, [c_void_p, POINTER(Metadata), c_size_t]),
    "pz_writer_begin": (c_int, [c_void_p, POINTER(Tensor)]),
    "pz_writer_data": (c_int, [c_void_p, c_void_p, c_size_t]),
    "pz_writer_end": (c_int, [c_void_p]),
    "pz_writer_finish": (c_int, [c_void_p]),
    "pz_reader_new": (c_int, [POINTER(ReaderOptions), POINTER(c_void_p), POINTER(Diag)]),
    "pz_reader_free": (None, [c_void_p]),
    "pz_reader_metadata": (POINTER(Metadata), [c_void_p, POINTER(c_size_t)]),
    "pz_reader_count": (c_uint64, [c_void_p]),
    "pz_reader_tensor": (POINTER(Tensor), [c_void_p, c_uint64]),
    "pz_reader_read": (c_int, [c_void_p, c_uint64, c_uint64, c_size_t, c_void_p, POINTER(Diag)]),
    "pz_pool_new": (c_int, [POINTER(PoolOptions), POINTER(c_void_p)]),
    "pz_pool_free": (c_int, [c_void_p]),
    "pz_pool_trim": (None, [c_void_p]),
    "pz_pool_get_stats": (c_int, [c_void_p, POINTER(PoolStats)]),
    "pz_engine_new": (c_int, [POINTER(EngineOptions), POINTER(c_void_p), POINTER(Diag)]),
    "pz_engine_free": (None, [c_void_p]),
    "pz_engine_event": (c_int, [c_void_p]),
    "pz_engine_wait": (c_int, [c_void_p]),
    "pz_engine_get_stats": (c_int, [c_void_p, POINTER(EngineStats)]),
    "pz_swap_out": (c_int, [c_void_p, POINTER(SwapOptions), c_bool, POINTER(c_void_p)]),
    "pz_swap_in": (c_int, [c_void_p, c_void_p, c_bool]),
    "pz_swap_in_on": (c_int, [c_void_p, c_void_p, c_void_p, c_bool]),
    "pz_swap_join": (c_int, [c_void_p, c_void_p]),
    "pz_gpu_open": (c_int, [POINTER(GpuOptions), POINTER(c_void_p), POINTER(Diag)]),
    "pz_gpu_close": (None, [c_void_p]),
    "pz_gpu_pin": (c_int, [c_void_p, c_void_p, c_size_t]),
    "pz_gpu_unpin": (None, [c_void_p, c_void_p, c_size_t]),
    "pz_swap_wait": (c_int, [c_void_p]),
    "pz_swap_done": (c_bool, [c_void_p]),
    "pz_swap_cancel": (c_int, [c_void_p]),
    "pz_swap_free": (None, [c_void_p]),
    "pz_swap_get_stats": (c_int, [c_void_p, POINTER(SwapStats)]),
    "pz_text_free": (None, [c_char_p]),
    "pz_trace_parse": (c_int, [c_char_p, c_size_t, POINTER(c_void_p), POINTER(Diag)]),
    "pz_trace_free": (None, [c_void_p]),
    "pz_platform_json": (c_int, [POINTER(Platform), POINTER(c_char_p)]),
    "pz_plan_make": (c_int, [POINTER(Setup), c_char_p, POINTER(c_void_p), POINTER(Report),
                             POINTER(Diag)]),
    "pz_plan_least_budget": (c_int, [POINTER(Setup), c_char_p, POINTER(c_uint64), POINTER(Diag)]),
    "pz_plan_new": (c_int, [c_void_p, POINTER(c_void_p)]),
    "pz_plan_parse": (c_int, [c_void_p, c_char_p, c_size_t, POINTER(c_void_p), POINTER(Diag)]),
    "pz_plan_json": (c_int, [c_void_p, c_void_p, POINTER(c_char_p)]),
    "pz_plan_free": (None, [c_void_p]),
    "pz_simulate": (c_int, [POINTER(Setup), c_void_p, POINTER(Report), POINTER(c_void_p),
                            POINTER(Diag)]),
    "pz_timeline_json": (c_int, [c_void_p, POINTER(c_char_p)]),
    "pz_timeline_free": (None, [c_void_p]),
    "pz_ibp_table_free": (None, [c_void_p]),
    "pz_ibp_table_shape": (IbpShape, [c_void_p]),
    "pz_ibp_row_bytes": (c_size_t, [c_void_p]),
    "pz_ibp_table_masks": (c_void_p, [c_void_p]),
    "pz_ibp_table_values": (c_void_p, [c_void_p]),
    "pz_ibp_table_bytes": (c_size_t, [c_void_p]),
    "pz_ibp_table_save": (c_int, [c_void_p, c_void_p, c_size_t]),
    "pz_ibp_table_load": (c_int, [c_void_p, c_size_t, POINTER(c_void_p), POINTER(Diag)]),
    "pz_ibp_learner_new": (c_int, [POINTER(IbpLearnOptions), POINTER(c_void_p)]),
    "pz_ibp_learner_free": (None, [c_void_p]),
    "pz_ibp_learner_add": (c_int, [c_void_p, c_void_p, c_size_t]),
    "pz_ibp_learner_table": (c_int, [c_void_p, POINTER(c_void_p)]),
    "pz_ibp_pack": (c_int, [c_void_p, c_void_p, c_void_p, c_uint64, c_size_t, c_void_p, c_size_t,
                            c_void_p]),
    "pz_ibp_condense": (c_int, [c_void_p, c_void_p, c_void_p, c_uint64, c_size_t, c_void_p,
                                c_size_t, POINTER(c_uint64)]),
    "pz_ibp_unpack": (c_int, [c_void_p, POINTER(IbpRows), c_uint64, c_size_t, c_void_p,
                              POINTER(c_uint64)]),
    "pz_ibp_fetch": (c_int, [c_void_p, POINTER(IbpRows), POINTER(c_uint64), c_size_t, c_void_p,
                             POINTER(c_uint64)]),
    "pz_ibp_measure": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, POINTER(IbpStats)]),
    "pz_isa_count": (c_uint, []),
    "pz_isa_name": (c_char_p, [c_uint]),
    "pz_isa_active": (c_char_p, []),
    "pz_isa_select": (c_int, [c_char_p]),
}


def candidates():
    """Where the library may be: told, in the wheel, built in the source tree, in the system."""
    told = os.environ.get("PLANEZIP_LIBRARY")
    if told:
        return [told]
    places = [FOLDER / "lib" / f"libplanezip{SUFFIX}"]
    if (FOLDER.parents[1] / "include/planezip/planezip.h").is_file():
        places.append(FOLDER.parents[1] / "build" / f"libplanezip{SUFFIX}")
    return [str(place) for place in places if place.is_file()] + [INSTALLED]


def load():
    """The library with its functions declared; ImportError if it is missing or another release."""
    if sys.byteorder != "little":
        raise ImportError("planezip: this package works on little-endian machines only")
    path = candidates()[0]
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"planezip: cannot load the library {path}: {error}; build it with make, "
                          "or set PLANEZIP_LIBRARY to its path") from error
    library.pz_version.restype = c_char_p
    found = library.pz_version().decode()
    if found != VERSION:
        raise ImportError(f"planezip: the package is {VERSION}, but the library {path} is {found}; "
                          "install both from one release")
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return path, library


PATH, lib = load()


def check(status, diag=None):
    """Raises what a status means; nothing for success."""
    if status == OK:
        return
    if status == ERR_MEMORY:
        raise MemoryError("planezip: out of memory")
    name = lib.pz_status_name(status).decode()
    where = diag.path.decode(errors="replace") if diag is not None else ""
    text = diag.text.decode(errors="replace") if diag is not None else ""
    raise PlaneZipError(name, where, text or lib.pz_status_text(status).decode())
