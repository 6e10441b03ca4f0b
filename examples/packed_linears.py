"""A stack of linear layers whose weights are held packed, and unpacked one ahead of their use.

    python examples/packed_linears.py
"""
import copy

import torch

import planezip.torch

torch.manual_seed(0)
layers = []
for _ in range(6):
    layers += [torch.nn.Linear(512, 512), torch.nn.GELU()]
plain = torch.nn.Sequential(*layers).to(torch.bfloat16).requires_grad_(False)

packed = copy.deepcopy(plain)
before, now = planezip.torch.pack_linears(packed)
x = torch.randn(32, 512, dtype=torch.bfloat16)
for _ in range(3):
    assert torch.equal(packed(x), plain(x))

print(f"weights of {before} bytes, packed {now}: {100 - 100 * now / before:.1f} % saved")
