"""Dropout as GPUs run it, on any device: one operator that saves a mask of one byte an element."""
import torch
from torch.overrides import TorchFunctionMode

DROPOUTS = (torch.nn.functional.dropout, torch.dropout)


class FusedDropout(TorchFunctionMode):
    """A mode.  What works in place keeps doing so."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in DROPOUTS:
            return self.dropout(func, *args, **kwargs)
        return func(*args, **kwargs)

    def dropout(self, func, input, p=0.5, training=True, inplace=False, train=None):
        training = training if train is None else train
        if inplace or not training or p == 0:
            more = {"inplace": inplace} if func is torch.nn.functional.dropout else {}
            return func(input, p, training, **more)
        return torch.native_dropout(input, p, True)[0]
