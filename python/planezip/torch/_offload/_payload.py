"""Contents of saved tensors, and what autograd holds in their place.

A payload has the bytes of one storage; the saved tensors that lie in it share it.  Whoever owns a
payload is a handle, which autograd owns, so that everything goes with the graph.
"""
import time
import weakref

import torch
from torch.nn import Parameter

MODIFIED = ("one of the variables needed for gradient computation has been modified by an inplace "
            "operation: {} {}, version {} was saved, it is at version {} now (planezip)")


def tensor_on(storage, dtype=torch.uint8, offset=0, shape=None, stride=()):
    """A tensor that lies in a storage; without a shape all of it."""
    made = torch.empty(0, dtype=dtype, device=storage.device)
    return made.set_(storage) if shape is None else made.set_(storage, offset, shape, stride)


def keep(tensor):
    """What autograd holds of a tensor that stays where it is: with the version that it must have
    when it comes back.  The tensor itself, if it is computed, would be a cycle through its graph.
    """
    if type(tensor) is not Parameter:
        tensor = tensor.detach()
    return tensor, tensor._version


def kept(packed):
    """The tensor of keep(); what PyTorch raises if it was changed in place."""
    tensor, version = packed
    if tensor._version != version:
        raise modified(tensor, version)
    return tensor


def modified(tensor, version):
    return RuntimeError(MODIFIED.format(tensor.dtype, tuple(tensor.shape), version,
                                        tensor._version))


class Handle:
    """A saved tensor within a payload."""
    __slots__ = ("payload", "dtype", "shape", "stride", "offset", "met")

    def __init__(self, payload, tensor):
        self.payload = payload
        self.dtype, self.shape = tensor.dtype, tensor.shape
        self.stride, self.offset = tensor.stride(), tensor.storage_offset()
        self.met = False
        payload.pending += 1

    def unpack(self):
        """The tensor again, any number of times."""
        payload = self.payload
        storage = payload.storage()
        tensor = tensor_on(storage, self.dtype, self.offset, self.shape, self.stride)
        if not self.met:
            self.met = True
            payload.used()
        return tensor


class Swapped:
    """A payload that is on its way out, out, on its way back, or back.

    number: which pack of the pass made it.  pending: handles and replays that have not had it yet.
    source: a tensor until its bytes have left, or for good if they could not.  until: the pack up
    to which others use it.  here: the storage that is back, until none is pending.  schedule: that
    of its pass; ratio: predicted, 0 if it is not known.
    """
    __slots__ = ("store", "number", "nbytes", "kind", "ratio", "swap", "source", "version",
                 "coming", "here", "seen", "until", "pending", "torn", "met",
                 "begun_ns", "stream", "schedule", "__weakref__")

    def __init__(self, store, tensor, number, schedule):
        self.store, self.number, self.schedule = store, number, schedule
        self.ratio = schedule.latest.get(number, 0)
        self.source, self.version = tensor.detach(), tensor._version
        self.nbytes = tensor.untyped_storage().nbytes()
        self.kind = str(tensor.dtype).removeprefix("torch.")
        self.swap = self.coming = self.here = self.seen = None
        self.pending = self.until = 0
        self.torn = self.met = False
        self.stream = None

    @property
    def address(self):
        return self.source.untyped_storage().data_ptr()

    @staticmethod
    def bytes_of(tensor):
        """The whole storage of a tensor, as bytes."""
        return tensor_on(tensor.untyped_storage())

    # On its way out

    def left(self):
        """Its bytes are out."""
        self.torn = self.source._version != self.version
        self.source = None

    def stay(self):
        """Its bytes have not left, and do not."""
        self.store.stop(self)
        self.swap = None

    # On its way back

    @property
    def is_out(self):
        """Whether the bytes are nowhere but in the tier."""
        return (self.source is None and self.coming is None and self.here is None
                and (self.seen is None or self.seen() is None))

    def begin(self, wait=True):
        """Begins to fetch the bytes back; False if it would have to wait for them to be out."""
        memory = self.store.memory
        target = torch.empty(self.nbytes, dtype=torch.uint8, device=memory.device)
        if not self.swap.into(target.data_ptr(), wait=wait, keep=target, stream=memory.stream()):
            return False
        self.coming, self.begun_ns = target, time.perf_counter_ns()
        return True

    def storage(self):
        """The storage with the bytes, waiting for what is under way."""
        with self.store.lock:
            if self.torn:
                raise RuntimeError("one of the variables needed for gradient computation has been "
                                   "modified by an inplace operation while it was swapped out "
                                   f"(planezip; saved tensor {self.number})")
            if self.source is not None:
                return self.original()
            found = self.here or (self.seen and self.seen())
            if found is None:
                return self.fetched()
            if self.store.memory.gpu is not None and self.swap.handle is not None:
                self.join()
            return found

    def join(self):
        """Lets what follows use the bytes."""
        self.store.memory.join(self.swap, self.store.memory.stream())

    def original(self):
        """The source, which has not left."""
        if self.swap is not None:
            self.store.withdraw(self)
        if self.source._version != self.version:
            raise modified(self.source, self.version)
        return self.source.untyped_storage()

    def fetched(self):
        if self.swap.handle is None:
            raise RuntimeError("planezip: a saved tensor is gone, as its offload has been closed; "
                               "close it after the backward pass")
        if self.coming is None:
            self.begin()
        begin = time.perf_counter_ns()
        self.join()
        self.learn()
        self.store.note("prefetch", self.number, self.begun_ns, self.nbytes)
        self.store.note("wait: prefetch", self.number, begin)
        storage, self.coming = self.coming.untyped_storage(), None
        self.seen = weakref.ref(storage)
        if self.pending > 0:
            self.here = storage
        return storage

    def learn(self):
        """Notes what has become of the ratio."""
        planned, coded = self.schedule.ratios.get(self.number), self.swap.coded_bytes()
        if planned is not None and coded:
            self.schedule.latest[self.number] = self.nbytes / coded
            self.store.compare(coded, self.nbytes / planned)

    def used(self):
        """A handle, or a replay, has had it; after all of them whoever uses it holds it."""
        self.pending -= 1
        if self.pending <= 0:
            self.here = None
