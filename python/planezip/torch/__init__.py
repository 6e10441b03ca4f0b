"""PlaneZip for PyTorch: records training iterations as traces and activations.

    captured = planezip.torch.capture(step, model="mine", batch=32)
    captured.write("mine.json")         for planezip trace, plan, simulate, sweep and fit
    planezip.torch.ratios(path, trace)  a ratio table, from the contents of saved tensors

and trains within a memory budget:

    with planezip.torch.offload(model, budget="2GiB"):
        f(batch).backward()

and holds frozen weights and caches packed in the memory of the host, bit for bit:

    embedding = planezip.torch.PackedEmbedding(embedding)
    planezip.torch.pack_linears(model)
    keys, values = cache.update(keys, values, layer)    of a planezip.torch.PackedCache

Needs torch 2.6 or newer, in eager mode.
"""
from ._capture import Capture, Captured, capture
from ._fused import FusedDropout
from ._offload import Offload, offload
from ._packed import PackedCache, PackedEmbedding, PackedLinear, pack_linears
from ._ratios import matched_share, ratios

__all__ = ["Capture", "Captured", "FusedDropout", "Offload", "PackedCache", "PackedEmbedding",
           "PackedLinear", "capture", "matched_share", "offload", "pack_linears", "ratios"]
