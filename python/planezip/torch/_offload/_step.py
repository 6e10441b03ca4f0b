"""The hooks of a training step: what autograd saves is handed to a payload and fetched again.

Tensors are told apart by the order in which autograd packs them, so a step that differs from the
one that the schedule was made for is noticed at the first tensor that does; from there on
everything is kept, which is always right.
"""
import collections
import weakref

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import Parameter

from ._eligible import is_plain, refusal
from ._live import LiveMap
from ._payload import Handle, Swapped, keep, kept
from ._schedule import Action

KEEP = Action.KEEP
in_backward = torch._C._current_graph_task_id # -1 outside


class PassState:
    """Where a pass is.  payloads: by number, weakly.  order: numbers as they were first met by the
    backward pass.  seen: how many tensors were packed for what reason."""

    def __init__(self, schedule):
        self.schedule = schedule
        self.number = 0
        self.unpacked = False
        self.payloads = {}
        self.order = []
        self.next = 0 # position in schedule.order from which on nothing is fetched
        self.ahead_bytes = 0
        self.seen = collections.Counter()


def is_of_parameter(tensor):
    """Whether a tensor that is no parameter is a view of one, or trained all the same.  Whoever
    shards parameters gives their memory free, and makes others of them, while modules run."""
    base = tensor._base
    if base is None:
        base = tensor
    return (base.requires_grad and base.is_leaf) or type(base) is Parameter


class Step:
    """One step.  store: where swapped tensors go; schedules: one per pass, the last one serves all
    that follow; persistent: ids of storages that outlive the step."""

    def __init__(self, store, schedules, persistent):
        self.store = store
        self.schedules = schedules
        self.persistent = persistent
        self.outlive = persistent.storages
        self.live = LiveMap()
        self.passes = []
        self.differs = None # what was not as the schedule says
        self.begin_pass()
        self.hooks = saved_tensors_hooks(self.pack, self.unpack)

    def __enter__(self):
        self.hooks.__enter__()
        return self

    def __exit__(self, *error):
        self.hooks.__exit__(*error)
        self.finish()

    def finish(self):
        """What is left to check when the step is over."""
        self.end_pass()
        self.live.clear()
        self.store.reap(0)

    def begin_pass(self):
        schedule = self.schedules[min(len(self.passes), len(self.schedules) - 1)]
        self.now = PassState(schedule)
        self.passes.append(self.now)
        self.live.clear()

    def end_pass(self):
        """Notes if a pass was shorter than its schedule."""
        now = self.now
        if now.number < len(now.schedule.shapes) and (now.number or now.unpacked):
            self.differ(f"{now.number} tensors saved instead of {len(now.schedule.shapes)}")

    def differ(self, text):
        """Something is not as it was: the rest of the step keeps everything."""
        self.differs = self.differs or text

    # The forward pass

    def pack(self, tensor):
        """What autograd holds instead of a tensor."""
        now = self.now
        if type(tensor) is Parameter:
            now.seen["persistent"] += 1
            return keep(tensor)
        if not is_plain(tensor):
            now.seen["special"] += 1
            return keep(tensor)
        storage = tensor.untyped_storage()
        if id(storage) in self.outlive or is_of_parameter(tensor):
            now.seen["persistent"] += 1
            return keep(tensor)
        if in_backward() != -1: # of a gradient, or of what is computed again
            now.seen["backward"] += 1
            return keep(tensor)
        if now.unpacked:
            self.end_pass()
            self.begin_pass()
        return self.numbered(tensor, storage)

    def numbered(self, tensor, storage):
        """A tensor that the schedule has an action for."""
        now, schedule = self.now, self.now.schedule
        number = now.number
        now.number += 1
        if self.store.leaving:
            self.store.reap(schedule.leaving_bytes(number), number)
        if self.differs is None and not schedule.matches(number, tensor):
            self.differ(f"saved tensor {number} is {tensor.dtype} {tuple(tensor.shape)}")
        action = KEEP if self.differs else schedule.action(number)
        if action is KEEP:
            now.seen["kept"] += 1
            return keep(tensor)
        return self.evicted(tensor, storage, number, action)

    def evicted(self, tensor, storage, number, action):
        """A tensor that leaves, or shares what has left."""
        reason = refusal(tensor, self.store.memory)
        if reason is not None:
            self.now.seen[reason] += 1
            return keep(tensor)
        found = self.live.get(storage)
        if found is not None and found[0] == tensor._version:
            payload = found[1]()
            if payload is not None:
                self.now.seen["shared"] += 1
                return Handle(payload, tensor)
        payload = self.new_payload(tensor, storage, number, action)
        if payload is None:
            return keep(tensor)
        self.live.put(storage, (payload.version, weakref.ref(payload)))
        return Handle(payload, tensor)

    def new_payload(self, tensor, storage, number, action):
        """Makes the payload of a storage that has none at this version; None for one that stays."""
        return self.swapped(Swapped(self.store, tensor, number, self.now.schedule), "swapped")

    def swapped(self, payload, what):
        """Sends a payload on its way."""
        number, schedule = payload.number, self.now.schedule
        payload.until = schedule.until.get(number, 0)
        payload.pending = schedule.readers.get(number, 0)
        self.now.seen[what] += 1
        self.now.payloads[number] = weakref.ref(payload)
        self.submit(payload)
        return payload

    def submit(self, payload):
        """Sends a payload on its way, once there is room."""
        store, number = self.store, payload.number
        counts = payload.nbytes if payload.until <= number else 0
        store.reap(max(self.now.schedule.leaving_bytes(number) - counts, 0), number)
        with store.lock:
            store.out(payload)

    # The backward pass

    def unpack(self, packed):
        """The tensor again; autograd may ask any number of times, in any order."""
        backward = in_backward() != -1
        if backward:
            self.now.unpacked = True
        if type(packed) is tuple:
            return kept(packed)
        if backward and isinstance(packed.payload, Swapped):
            self.meet(packed.payload)
        return packed.unpack()

    def meet(self, payload):
        """The backward pass comes to a payload: what follows is fetched as far as there is room."""
        if payload.met:
            return
        payload.met = True
        with self.store.lock:
            now, schedule = self.now, self.now.schedule
            position = len(now.order)
            now.order.append(payload.number)
            if payload.coming is not None:
                now.ahead_bytes -= payload.nbytes
            self.store.reap(schedule.returning_bytes(position))
            if schedule.fetches:
                self.fetch(now, *schedule.fetches[position:position + 1])
            else:
                self.fetch(now, len(schedule.order), schedule.room)

    def fetch(self, now, end=0, room=None):
        """Begins to fetch payloads that come next, up to a place in the order, or as far as there
        is room."""
        order = now.schedule.order
        while now.next < min(end, len(order)):
            reference = now.payloads.get(order[now.next])
            payload = reference() if reference is not None else None
            if payload is not None and not payload.met and payload.is_out:
                if room is not None and now.ahead_bytes + payload.nbytes > room:
                    break
                if not payload.begin(wait=False):
                    break
                now.ahead_bytes += payload.nbytes
            now.next += 1
