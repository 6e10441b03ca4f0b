"""A step whose plan drops something: operators are recorded, and dropped tensors computed again."""
from contextlib import nullcontext

import torch

from ._dropped import Audited, Dropped
from ._payload import Handle, Swapped
from ._recipe import Held
from ._schedule import Action
from ._step import Step
from ._tape import Tape


class ReplayStep(Step):
    """audit: whether what is to be dropped is swapped as well, and compared.  demoted: numbers of
    what differed then, as (pass, number)."""

    def __init__(self, store, schedules, persistent, script, audit):
        self.tape, self.audit, self.demoted = Tape(script, self.holder), audit, []
        super().__init__(store, schedules, persistent)

    def __enter__(self):
        super().__enter__()
        self.tape.__enter__()
        return self

    def __exit__(self, *error):
        self.tape.__exit__(*error)
        self.tape.quiet = True
        super().__exit__(*error)

    def finish(self):
        self.tape.relax()
        self.tape.guarded.clear()
        if self.tape.lost:
            self.differ(f"operator {self.tape.index} is another one")
        super().finish()

    def holder(self, tensor):
        """The payload that has the bytes of a tensor, or None."""
        found = self.live.get(tensor.untyped_storage())
        if found is None or found[0] != tensor._version:
            return None
        payload = found[1]()
        return payload if isinstance(payload, Swapped) else None

    # Hooks: what they do themselves is not recorded

    def pack(self, tensor):
        quiet, self.tape.quiet = self.tape.quiet, True
        try:
            return super().pack(tensor)
        finally:
            self.tape.quiet = quiet

    def unpack(self, packed):
        before = self.now.unpacked
        with torch._C._DisableTorchDispatch() if type(packed) is Handle else nullcontext():
            tensor = super().unpack(packed)
        if self.now.unpacked and not before:
            self.tape.relax()
        return tensor

    def numbered(self, tensor, storage):
        packed = super().numbered(tensor, storage)
        value = self.tape.values.get(storage)
        if value is not None and value.held is None:
            if type(packed) is not Handle:
                value.held = Held(tensor)
            elif not isinstance(packed.payload, (Audited, Dropped)):
                value.held = packed.payload
        return packed

    def new_payload(self, tensor, storage, number, action):
        value = self.tape.values.get(storage)
        if action is not Action.DROP:
            payload = super().new_payload(tensor, storage, number, action)
            if value is not None:
                value.held = payload
            return payload
        if value is None or value.recipe is None or self.tape.lost:
            self.now.seen["not recorded"] += 1
            return None
        return self.dropped(tensor, number, value)

    def meet(self, payload):
        if not isinstance(payload, Audited): # whose place is not in the order
            super().meet(payload)

    def dropped(self, tensor, number, value):
        schedule, pass_number = self.now.schedule, len(self.passes) - 1
        if self.audit:
            payload = Audited(self.store, tensor, number, schedule, value, self.meet,
                              lambda n: self.demoted.append((pass_number, n)))
            return self.swapped(payload, "audited")
        self.now.seen["dropped"] += 1
        return Dropped(self.store, tensor, number, value, self.meet, schedule.keep)
