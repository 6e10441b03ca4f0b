"""The first step: everything is swapped, one tensor at a time, while operators are recorded.

So a profile fits wherever the most frugal plan does, it measures the ratio of every tensor, and it
sees when each storage is let go of by everybody but autograd.
"""
import contextlib
import time
import weakref
from collections import Counter
from dataclasses import dataclass, field

import torch

from .. import _operators
from .._recorder import Recorder
from .._storages import Storages
from ._calls import Calls
from ._eligible import is_plain
from ._kept_step import look
from ._payload import Handle, keep
from ._schedule import Action, Schedule
from ._scratch import Scratch
from ._step import Step, in_backward


WRITTEN = "written after it was saved" # why a tensor stays


class WatchedStorages(Storages):
    """Keys of storages, which tell when one dies.  died: called with the key."""

    def __init__(self, died):
        super().__init__()
        self.died = died

    def enter(self, storage):
        return self.watch(storage, next(self.numbers))

    def watch(self, storage, key):
        """Gives a storage a key, also that of another one whose bytes it has."""
        address = id(storage)

        def forget(_):
            del self.keys[address], self.references[address]
            self.died(key)

        self.keys[address] = key
        self.references[address] = weakref.ref(storage, forget)
        return key


class Watch(Recorder):
    """Records operators, and what happens between them.  outlive: by id the storages that outlive
    the step; settled: called after every operator, and written with each tensor that it wrote."""

    def __init__(self, outlive, settled, written, synchronize):
        super().__init__()
        self.synchronize = synchronize # called before and after an operator is timed
        self.storages = WatchedStorages(self.died)
        self.outlive, self.settled, self.written = outlive, settled, written
        self.quiet = False
        self.deaths = {} # by key: positions, as (record, operators so far)
        self.calls, self.latest = Calls(), None
        self.took = self.taken = 0 # nanoseconds and bytes, by the last operator
        self.scratch = {} # bytes, by id of an operator's record

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self.quiet:
            return func(*args, **kwargs)
        forward, self.latest = in_backward() == -1, None
        if forward:
            self.calls.begin()
        result = super().__torch_dispatch__(func, types, args, kwargs)
        if forward:
            self.calls.end(func, args, kwargs, result, self.latest)
            for tensor in _operators.mutated(func, args, kwargs):
                self.written(tensor)
        self.settled()
        return result

    def run(self, func, args, kwargs):
        with Scratch() as scratch:
            self.synchronize()
            begin = time.perf_counter_ns()
            result = func(*args, **kwargs)
            self.synchronize()
            self.took = time.perf_counter_ns() - begin
        self.taken = scratch.bytes
        return result

    def keep(self, op, current, stop):
        self.latest = op
        if self.taken:
            self.scratch[id(op)] = self.taken
        super().keep(op, current, self.took)

    def kind_of(self, key, tensor):
        if id(tensor.untyped_storage()) in self.outlive:
            self.persistent.setdefault(key, "parameter")
        return super().kind_of(key, tensor)

    def died(self, key):
        if self.passes:
            self.deaths.setdefault(key, []).append(self.position())

    def position(self):
        """The current record, and how many operators it has."""
        return self.passes[-1], len(self.passes[-1].ops)


@dataclass
class PassProfile:
    """What is known of a pass.

    record: its operators and storages; None if it is not one that can be planned.
    packs: of each number (key, dtype, shape, operators before it).
    payloads: by number (key, nbytes, ratio).
    unpacks: (number, operators before it) in the order in which payloads were first met.
    fixed: numbers that must stay, with the reason.
    """
    record: object = None
    packs: list = field(default_factory=list)
    payloads: dict = field(default_factory=dict)
    unpacks: list = field(default_factory=list)
    fixed: dict = field(default_factory=dict)


class Profile(Step):
    """A step that is recorded.  profiles: one per pass, when it is over."""

    def __init__(self, store, persistent, room):
        self.profiles = []
        self.profile_of = weakref.WeakKeyDictionary() # by payload
        self.pending = [] # payloads that may still be written by the operator that saves them
        self.over = False # backward passes may follow all the same
        self.looks = [] # see KeptStep
        self.homeless = 0 # payloads that found no room in the tier
        self.watch = Watch(persistent.storages, self.settle, self.written,
                           store.memory.synchronize)
        super().__init__(store, [Schedule(Action.SWAP, room=room)], persistent)
        self.wall_ns = 0

    def __enter__(self):
        super().__enter__()
        self.watch.__enter__()
        self.begin_ns = time.perf_counter_ns()
        return self

    def __exit__(self, *error):
        self.wall_ns = time.perf_counter_ns() - self.begin_ns
        self.watch.__exit__(*error)
        self.settle()
        super().__exit__(*error)
        self.over = True
        if error[0] is None:
            self.mark_gradients()
            self.watch.end()

    def begin_pass(self):
        super().begin_pass()
        self.ratios = {}
        self.profiles.append(PassProfile())

    def seen_if_kept(self):
        """What a step sees that moves nothing."""
        seen = sum((one.seen for one in self.passes), Counter())
        return seen + Counter(kept=seen.pop("swapped", 0) + seen.pop("shared", 0))

    def mark_gradients(self):
        """Gradients of parameters stay after the step."""
        for parameter in self.persistent.parameters():
            if parameter.grad is not None and parameter.grad.layout is torch.strided:
                self.watch.persist(parameter.grad, "parameter_gradient")
                key = self.watch.storages.key(parameter.grad)
                for record in self.watch.passes:
                    if key in record.storages:
                        record.storages[key].kind = "parameter_gradient"

    # The forward pass

    def pack(self, tensor):
        watch = self.watch
        self.looks.append(look(tensor))
        if in_backward() == -1:
            watch.pack(tensor)
        with self.hushed():
            return super().pack(tensor)

    @contextlib.contextmanager
    def hushed(self):
        """What runs within is not recorded."""
        self.watch.quiet = True
        try:
            yield
        finally:
            self.watch.quiet = False

    def numbered(self, tensor, storage):
        profile, (record, ops) = self.profiles[-1], self.watch.position()
        if not profile.packs:
            profile.record = record
        elif profile.record is not record:
            profile.record = None
        key = self.watch.storages.key(tensor)
        profile.packs.append((key, tensor.dtype, tensor.shape, ops))
        packed = super().numbered(tensor, storage)
        if type(packed) is not Handle:
            profile.fixed[self.now.number - 1] = "stays"
        return packed

    def evicted(self, tensor, storage, number, action):
        known = self.watch.passes[-1].storages.get(self.watch.storages.key(tensor))
        if known is None or not known.fresh: # perhaps a batch of a data set, all of it one storage
            self.now.seen["input"] += 1
            return keep(tensor)
        return super().evicted(tensor, storage, number, action)

    def written(self, tensor):
        """What is saved of a storage from now on is something else, also where versions do not tell
        it, as those of .data; and what was saved for an operator that writes it, as noise, is so
        before it is there, also if there was none this time."""
        if not is_plain(tensor):
            return
        storage = tensor.untyped_storage()
        self.live.pop(storage)
        for payload, _ in self.pending:
            if payload.source.untyped_storage() is storage:
                self.fix(payload.number, WRITTEN)
        self.pending = [one for one in self.pending
                        if one[0].source.untyped_storage() is not storage]

    def submit(self, payload):
        self.profile_of[payload] = self.profiles[-1]
        self.pending.append((payload, payload.bytes_of(payload.source).clone()))

    def settle(self):
        """What was packed around the last operator is final now, so it leaves."""
        pending, self.pending = self.pending, []
        if not pending:
            return
        with self.hushed():
            for payload, before in pending:
                if torch.equal(payload.bytes_of(payload.source), before):
                    self.leave(payload)
                else:
                    self.fix(payload.number, WRITTEN)

    def leave(self, payload):
        """Swaps a payload out, waits, and notes its ratio, also if the codec was left out."""
        source = payload.source
        with self.store.lock:
            self.store.out(payload)
        self.store.reap(0)
        if payload.source is None:
            payload.swap.wait()
            stats = payload.swap.stats()
            if stats["bypassed"] and self.store.codec:
                stats = self.store.measured(source, payload)
            self.ratios[payload.number] = payload.nbytes / max(stats["coded_bytes"], 1)
        else:
            self.homeless += 1

    def fix(self, number, reason):
        self.profiles[-1].fixed[number] = reason

    # The backward pass

    def unpack(self, packed):
        if self.over:
            return super().unpack(packed)
        self.settle()
        with self.hushed():
            tensor = super().unpack(packed)
        if type(packed) is Handle:
            self.came_back(packed.payload, tensor)
        return tensor

    def came_back(self, payload, tensor):
        """What comes back in other memory is the same storage for those who read it."""
        profile = self.profile_of.get(payload)
        if profile is None or payload.number not in profile.payloads:
            return
        key = profile.payloads[payload.number][0]
        storage = tensor.untyped_storage()
        if self.watch.storages.keys.get(id(storage)) != key:
            self.watch.storages.watch(storage, key)

    def meet(self, payload):
        if not self.over and not payload.met and payload.swap is not None:
            self.note_meeting(self.profile_of[payload], payload)
        super().meet(payload)

    def note_meeting(self, profile, payload):
        """A payload is first asked for.  A pass whose tensors a later one asks for cannot be
        planned."""
        number = payload.number
        if profile is not self.profiles[-1]:
            profile.record = None
            return
        key = profile.packs[number][0]
        profile.payloads[number] = (key, payload.nbytes, self.ratios.get(number, 1.0))
        profile.unpacks.append((number, self.watch.position()[1]))
        if key not in self.watch.deaths:
            profile.fixed[number] = "held by others"
