"""PlaneZip for PyTorch: records training iterations as traces and activations.

    captured = planezip.torch.capture(step, model="mine", batch=32)
    captured.write("mine.json")         for planezip trace, plan, simulate and sweep

Needs torch 2.6 or newer, in eager mode.
"""
from ._capture import Capture, Captured, capture

__all__ = ["Capture", "Captured", "capture"]
