"""Where swapped tensors are: an engine with its tier, and what is on its way there.

The library does the work on threads of its own; here is who waits for whom, and which tensors must
stay until their bytes have left.
"""
import collections
import logging
import threading
import time

from ..._engine import Engine, Pool
from ..._errors import PlaneZipError

log = logging.getLogger("planezip")

SEGMENT_BYTES = {"host": 8 << 20} # of which an engine has four on the device
QUEUE_BYTES = 64 << 20
MEMORY_BYTES = 1 << 40 # a pool without a limit: memory is mapped only when it is used


class Store:
    """An engine.  memory: where the tensors are, as memory_of() tells; closed with the store."""

    def __init__(self, tier, memory, *, directory=None, host_budget=None, link=0,
                 codec="planezip2", queue=QUEUE_BYTES, groups=None):
        self.tier, self.link, self.codec, self.queue = tier, link, codec, queue
        self.memory, self.pool = memory, None
        try:
            self.open(directory, host_budget, groups)
        except BaseException:
            if self.pool:
                self.pool.close()
            memory.close()
            raise
        self.lock = threading.RLock()
        self.leaving = collections.deque() # payloads, first in, first out
        self.leaving_bytes = 0
        self.refused = 0 # tensors that stayed because the tier was full or failed
        self.failed = 0 # transfers back to a device, as far as they have been told about
        self.replayed = 0 # operators, in this step
        self.coded_bytes = self.planned_bytes = 0 # of what came back in this step, by the codec
        self.blocked_ns = 0 # that somebody waited for room
        self.events = [] # of this step: (what, number, from and to in nanoseconds, bytes)

    def open(self, directory, host_budget, groups):
        """Makes the engine, and the pool of a tier in memory."""
        tier, memory, link = self.tier, self.memory, self.link
        self.pool = Pool(host_budget or MEMORY_BYTES, mapping=16 << 20, device=memory.gpu) \
            if tier != "disk" else None
        self.engine = Engine(tier, pool=self.pool, directory=directory,
                             disk_bytes=(host_budget or 0) if tier == "disk" else 0,
                             codec=self.codec or "planezip2",
                             bypass="auto" if self.codec else "always",
                             link=(link, link), queue=(1 << 62, 1 << 62), device=memory.gpu,
                             segment=SEGMENT_BYTES.get(tier, 0), groups=groups or 0,
                             join=memory.join)

    def begin_step(self):
        self.check()
        self.events.clear()
        self.replayed = self.coded_bytes = self.planned_bytes = 0

    def check(self):
        """Raises if what came back to a device was damaged, which shows only afterwards."""
        failed = self.engine.stats()["directions"]["in"]["failed"]
        if self.memory.gpu is not None and failed > self.failed:
            self.failed = failed
            raise RuntimeError("planezip: saved tensors came back damaged from the host's memory, "
                               "so gradients of the last steps may be wrong; go back to a "
                               "checkpoint, and have the memory checked")

    def compare(self, coded, planned):
        """Bytes that a tensor took in the tier, and as planned."""
        self.coded_bytes += coded
        self.planned_bytes += planned

    @property
    def drift(self):
        """What the ratios of this step are of the planned ones, all in all."""
        return self.planned_bytes / self.coded_bytes if self.coded_bytes else 1

    def spent_ns(self, what):
        """How long the events of a kind took in this step."""
        return sum(stop - start for kind, _, start, stop, _ in self.events if kind == what)

    def out(self, payload):
        """Begins to swap a payload's source out, or leaves it where it is if there is no room."""
        payload.stream = self.memory.stream()
        try:
            payload.swap = self.engine.out(payload.address, payload.nbytes, payload.kind,
                                           token=payload.number, ratio=payload.ratio,
                                           stream=payload.stream)
        except (PlaneZipError, OSError, MemoryError) as error:
            self.refuse(error)
            return
        payload.begun_ns = time.perf_counter_ns()
        self.leaving.append(payload)
        self.leaving_bytes += payload.nbytes

    def measured(self, source, payload):
        """Statistics of what the codec would make of a payload's source; nothing is stored."""
        swap = self.engine.out(source.untyped_storage().data_ptr(), payload.nbytes, payload.kind,
                               measure=True, stream=self.memory.stream())
        swap.wait()
        return swap.stats()

    def reap(self, limit, number=None):
        """Lets go of the sources that have left; waits until no more than so many bytes are under
        way, those not counted that others use after the pack of a number."""
        with self.lock:
            while self.leaving:
                if not self.leaving[0].swap.done:
                    if self.counted(number) <= limit:
                        break
                    begin = time.perf_counter_ns()
                    self.end_first()
                    self.note("wait: memory", 0, begin)
                    self.blocked_ns += time.perf_counter_ns() - begin
                else:
                    self.end_first()

    def counted(self, number):
        """Bytes on their way out that nobody uses any more."""
        if number is None:
            return self.leaving_bytes
        return sum(payload.nbytes for payload in self.leaving if payload.until <= number)

    def end_first(self):
        payload, failure = self.leaving[0], None
        try:
            self.memory.join(payload.swap, payload.stream)
        except (PlaneZipError, OSError, MemoryError) as error:
            failure = error
        self.leaving.popleft()
        self.leaving_bytes -= payload.nbytes
        if failure is not None:
            payload.stay()
            self.refuse(failure)
        else:
            payload.left()
            self.note("swap-out", payload.number, payload.begun_ns, payload.nbytes)

    def note(self, what, number, begin_ns, nbytes=0):
        """An event that ends now."""
        self.events.append((what, number, begin_ns, time.perf_counter_ns(), nbytes))

    def withdraw(self, payload):
        """Stops a transfer out, whose source is needed again."""
        with self.lock:
            self.leaving.remove(payload)
            self.leaving_bytes -= payload.nbytes
            payload.stay()

    def stop(self, payload):
        """Ends a transfer out.  A device does not stop, so the source stays until it is read."""
        if self.memory.gpu is not None:
            try:
                self.memory.join(payload.swap, payload.stream)
            except (PlaneZipError, OSError, MemoryError):
                pass # it failed, and so is over
        payload.swap.free()

    def trim(self):
        """Gives memory back that nothing is in; what is pinned for a device is dear to get."""
        if self.pool and self.memory.gpu is None:
            self.pool.trim()

    def refuse(self, error):
        """Notes that a tensor stayed in memory."""
        self.refused += 1
        if self.refused == 1:
            log.warning("planezip: %s: a tensor stays in memory, and so does what follows while "
                        "this lasts: %s; give more host_budget or room", self.tier, error)

    def close(self):
        self.reap(0)
        self.engine.wait()
        try:
            self.check()
        finally:
            self.engine.close()
            if self.pool:
                self.pool.close()
            self.memory.close()
