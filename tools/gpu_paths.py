"""Ways of a tensor from a device to the host and back, timed by the device's clock, and held
against the stream that the CPU makes: what tools/device_check asks planezip/gpu.h for.  A driver
that plays a GPU will do, if it is told."""
import ctypes
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path

DEVICE, PINNED = 0, 1
KINDS = {"cuda": 1, "opencl": 2}
RUNS = 5


class Mode(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("width", "encodings", "format", "exponent")]


class Options(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("kind", c_int), ("device", c_uint), ("driver", c_char_p),
                ("compiler", c_char_p)]


class Info(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char * 128), ("units", c_uint), ("groups", c_uint)]


class Result(ctypes.Structure):
    _fields_ = [("faults", c_uint64 * 2), ("coded_bytes", c_uint64)]


class Job(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("stream", c_void_p), ("workspace", c_void_p),
                ("workspace_bytes", c_size_t), ("result", POINTER(Result)), ("groups", c_uint)]


class Failure(Exception):
    """A call that did not return PZ_OK, or bytes that are others."""


class Gpu:
    """A device with a tensor of bfloat16 on it, and room for what becomes of that."""

    def __init__(self, build, kind, driver, raw):
        self.library = ctypes.CDLL(str(Path(build) / "libplanezip.so"))
        self.library.pz_gpu_predicted_bytes.restype = c_size_t
        self.memory, self.handle, self.raw = [], c_void_p(), raw
        name = str(driver).encode() if driver else None
        options = Options(ctypes.sizeof(Options), KINDS[kind], 0, name, None)
        self.call("gpu_open", byref(options), byref(self.handle), None)
        self.mode = Mode()
        self.call("mode_named", b"planezip2", 16, byref(self.mode))
        self.mode.exponent = 8
        self.stream = c_void_p()
        self.call("gpu_stream_new", self.handle, byref(self.stream))
        self.expected = self.stream_of_cpu()
        room = len(raw) + len(raw) // 2048 + 16
        self.source, self.coded = self.alloc(DEVICE, len(raw)), self.alloc(DEVICE, room)
        self.host, self.back = self.alloc(PINNED, room), self.alloc(DEVICE, len(raw))
        self.result = ctypes.cast(self.alloc(PINNED, ctypes.sizeof(Result)), POINTER(Result))
        workspace = c_size_t()
        self.call("gpu_workspace_bytes", c_size_t(len(raw)), False, byref(workspace))
        self.job = Job(ctypes.sizeof(Job), self.stream, self.alloc(DEVICE, workspace.value),
                       workspace.value, self.result, 0)
        self.copy(self.source, raw, len(raw))
        self.wait()

    def call(self, name, *arguments):
        status = getattr(self.library, "pz_" + name)(*arguments)
        if status != 0:
            self.library.pz_status_text.restype = c_char_p
            raise Failure(f"pz_{name}: {self.library.pz_status_text(status).decode()}")

    def info(self):
        info = Info()
        self.library.pz_gpu_info_of(self.handle, byref(info))
        return info

    def stream_of_cpu(self):
        room = len(self.raw) + len(self.raw) // 2048 + 16
        stream, size = ctypes.create_string_buffer(room), c_size_t()
        self.call("stream_encode", self.mode, self.raw, c_size_t(len(self.raw)), stream,
                  c_size_t(room), byref(size))
        return stream.raw[:size.value]

    def alloc(self, place, size):
        memory = c_void_p()
        self.call("gpu_alloc", self.handle, place, c_size_t(size), byref(memory))
        self.memory.append((place, memory))
        return memory

    def copy(self, to, source, size):
        self.call("gpu_copy", self.handle, self.stream, to, source, c_size_t(size))

    def wait(self):
        self.call("gpu_wait", self.handle, self.stream)

    def ratio(self):
        return len(self.raw) / len(self.expected)

    def seconds(self, *steps):
        """The least time of some runs of steps, by the device's clock."""
        best = float("inf")
        for _ in range(RUNS):
            marks = []
            for step in (None, *steps):
                if step is not None:
                    step()
                marks.append(c_void_p())
                self.call("gpu_mark", self.handle, self.stream, byref(marks[-1]))
            self.wait()
            elapsed = c_double()
            self.call("gpu_elapsed", self.handle, marks[0], marks[-1], byref(elapsed))
            for mark in marks:
                self.library.pz_gpu_mark_free(self.handle, mark)
            best = min(best, elapsed.value)
        return best

    # ---- What a job can be ----

    def compress(self, target):
        room = c_size_t(len(self.raw) + len(self.raw) // 2048 + 16)
        self.call("gpu_compress", self.handle, byref(self.job), self.mode, self.source,
                  c_size_t(len(self.raw)), target, room)

    def predicted(self):
        """The copy engine takes as much as the last stream of the kind had, and the rest later."""
        self.compress(self.coded)
        guess = self.library.pz_gpu_predicted_bytes(c_size_t(len(self.raw)),
                                                    c_double(self.ratio()))
        self.copy(self.host, self.coded, guess)
        self.wait()
        rest = self.result.contents.coded_bytes - guess
        if rest > 0:
            self.copy(self.host.value + guess, self.coded.value + guess, rest)

    def whole(self):
        """The copy engine takes all that there is room for: nobody asks for the size."""
        self.compress(self.coded)
        self.copy(self.host, self.coded, len(self.raw) + len(self.raw) // 2048)

    def plain(self):
        self.copy(self.host, self.source, len(self.raw))

    def decompress(self, source):
        self.call("gpu_decompress", self.handle, byref(self.job), self.mode, source,
                  c_size_t(len(self.expected)), self.back, c_size_t(len(self.raw)))

    def check_stream(self, what):
        self.wait()
        size = self.result.contents.coded_bytes
        if ctypes.string_at(self.host, len(self.expected)) != self.expected or \
                size != len(self.expected):
            raise Failure(f"{what}: the stream is not the one of the CPU")

    def check_back(self, what):
        host = ctypes.create_string_buffer(len(self.raw))
        self.copy(host, self.back, len(self.raw))
        self.wait()
        self.call("gpu_result_of", self.result, None)
        if host.raw != self.raw:
            raise Failure(f"{what}: the tensor is another one")

    def close(self):
        self.wait()
        for place, memory in self.memory:
            self.library.pz_gpu_free(self.handle, place, memory)
        self.library.pz_gpu_stream_free(self.handle, self.stream)
        self.library.pz_gpu_close(self.handle)


def ways(gpu):
    """Bytes of raw tensor per second on each way, out and in."""
    size = len(gpu.raw)
    rows = []
    for name, step in (("out: straight to pinned memory", lambda: gpu.compress(gpu.host)),
                       ("out: staged, predicted size", gpu.predicted),
                       ("out: staged, all of it", gpu.whole)):
        ctypes.memset(gpu.host, 0, len(gpu.expected))
        rows.append({"way": name, "bps": size / gpu.seconds(step)})
        gpu.check_stream(name)
    for name, steps in (("in: copy, then decode", (
            lambda: gpu.copy(gpu.coded, gpu.host, len(gpu.expected)),
            lambda: gpu.decompress(gpu.coded))),
                        ("in: decode from pinned memory", (lambda: gpu.decompress(gpu.host),))):
        rows.append({"way": name, "bps": size / gpu.seconds(*steps)})
        gpu.check_back(name)
    rows.append({"way": "out: not compressed", "bps": size / gpu.seconds(gpu.plain)})
    return rows


def sweep(gpu):
    """The same by how many warps may work at a time."""
    rows, groups = [], 1
    most = gpu.info().groups
    while groups < 2 * most:
        gpu.job.groups = min(groups, most)
        encode = gpu.seconds(lambda: gpu.compress(gpu.coded))
        gpu.copy(gpu.host, gpu.coded, len(gpu.expected))
        gpu.check_stream(f"{groups} groups")
        decode = gpu.seconds(lambda: gpu.decompress(gpu.coded))
        gpu.check_back(f"{groups} groups")
        rows.append({"groups": gpu.job.groups, "encode_bps": len(gpu.raw) / encode,
                     "decode_bps": len(gpu.raw) / decode})
        groups *= 2
    gpu.job.groups = 0
    return rows


def overlap(gpu, work, groups):
    """Seconds of work() alone, of coding there and back alone, and of both at once, where work()
    returns when it has been done."""
    import time

    def code():
        gpu.compress(gpu.coded)
        gpu.decompress(gpu.coded)

    def timed(begin, end):
        best = float("inf")
        for _ in range(RUNS):
            start = time.monotonic()
            begin()
            end()
            best = min(best, time.monotonic() - start)
        return best

    gpu.job.groups = groups
    row = {"groups": groups, "work_s": timed(work, lambda: None), "code_s": timed(code, gpu.wait),
           "both_s": timed(lambda: (code(), work()), gpu.wait)}
    gpu.job.groups = 0
    return row
