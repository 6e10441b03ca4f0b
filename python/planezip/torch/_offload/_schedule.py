"""What is to be done in a pass, a forward pass and the backward pass after it: an action for each
tensor that autograd packs, and the order in which they come back."""
import enum
from dataclasses import dataclass, field


class Action(enum.IntEnum):
    """What happens to a saved tensor."""
    KEEP = 0
    SWAP = 1
    DROP = 2


@dataclass
class Schedule:
    """Packs are numbered in the order of the forward pass, those of parameters and buffers left
    out.

    actions: of each pack; empty: default for every one.
    shapes: what each must look like, (dtype, shape); empty: anything.
    leaving: bytes that may be on their way out after each pack; empty: room.
    until: pack, by number of a payload, before which others use it anyway, so that it does not
    count as leaving.
    order: numbers of payloads in the order in which they are first unpacked.
    fetches: how many of them may have been asked for at each of those; empty: as room allows.
    returning: as leaving, at each of those.
    ratios: planned with, by number; latest: the same, as measured since.
    readers: how many replays read a payload, by number.
    keep: whether dropped tensors that a replay makes on its way stay for their own use.
    """
    default: Action = Action.KEEP
    actions: list = field(default_factory=list)
    shapes: list = field(default_factory=list)
    leaving: list = field(default_factory=list)
    until: dict = field(default_factory=dict)
    order: list = field(default_factory=list)
    fetches: list = field(default_factory=list)
    returning: list = field(default_factory=list)
    ratios: dict = field(default_factory=dict)
    latest: dict = field(default_factory=dict)
    readers: dict = field(default_factory=dict)
    keep: bool = False
    room: int = 0

    def matches(self, number, tensor):
        """Whether a pack is what it was when the schedule was made."""
        if not self.shapes:
            return True
        return number < len(self.shapes) and self.shapes[number] == (tensor.dtype, tensor.shape)

    @property
    def moves(self):
        """Whether anything does not stay where it is."""
        return self.default is not Action.KEEP or any(one is not Action.KEEP
                                                      for one in self.actions)

    def action(self, number):
        return self.actions[number] if number < len(self.actions) else self.default

    def leaving_bytes(self, number):
        return self.leaving[number] if number < len(self.leaving) else self.room

    def returning_bytes(self, position):
        return self.returning[position] if position < len(self.returning) else self.room
