"""Payloads that are computed again instead of being moved."""
import time
import weakref

import torch

from ._payload import Swapped, tensor_on
from ._replay import Replay


class Dropped:
    """A payload that is gone, and owns what makes it again.

    here: the storage once it is back, until all handles have had it.  meet: see Replay.
    """
    __slots__ = ("store", "number", "nbytes", "version", "value", "meet", "keep", "here", "seen",
                 "pending", "met", "__weakref__")

    def __init__(self, store, tensor, number, value, meet, keep):
        self.store, self.number, self.value, self.meet = store, number, value, meet
        self.nbytes, self.version = value.nbytes, tensor._version
        self.keep = keep
        self.here = self.seen = None
        self.pending = 0
        self.met = False
        value.dropped = weakref.ref(self)

    def storage(self):
        """The storage with the bytes."""
        with self.store.lock:
            return self.present() or self.again()

    def present(self):
        """The storage if it is back, or None."""
        return self.here or (self.seen and self.seen())

    def again(self):
        begin, replay = time.perf_counter_ns(), Replay(self.value, self.meet, self.keep)
        storage = replay.run()
        self.give(storage)
        self.store.note("replay", self.number, begin, self.nbytes)
        self.store.replayed += replay.ops
        return storage

    def give(self, storage):
        """It was made again."""
        self.seen = weakref.ref(storage)
        if self.pending > 0:
            self.here = storage

    def used(self):
        """A handle has had it."""
        self.pending -= 1
        if self.pending <= 0:
            self.here = None


class Audited(Swapped):
    """A payload that a plan drops, before it is trusted: it is swapped, and made again as well, to
    be compared.  differs: called with its number if the two are not the same."""
    __slots__ = ("value", "meet", "differs", "checked")

    def __init__(self, store, tensor, number, schedule, value, meet, differs):
        super().__init__(store, tensor, number, schedule)
        self.value, self.meet, self.differs = value, meet, differs
        self.checked = False
        value.dropped = weakref.ref(self)

    def storage(self):
        with self.store.lock:
            storage = super().storage()
            if not self.checked:
                self.checked = True
                self.check(storage)
            return storage

    def check(self, storage):
        try:
            again = Replay(self.value, self.meet, False).run()
        except Exception: # of an operator that does not want to run again
            again = None
        if again is None or not torch.equal(tensor_on(again), tensor_on(storage)):
            self.differs(self.number)

    def present(self):
        return self.here or (self.seen and self.seen())
