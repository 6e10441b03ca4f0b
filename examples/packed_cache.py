"""Attention over a growing cache of keys and values, held packed, beside the same with a plain one.

    python examples/packed_cache.py
"""
import torch

import planezip.torch

BATCH, HEADS, SIZE, PROMPT, STEPS = 2, 8, 64, 256, 16

torch.manual_seed(0)
project = torch.nn.Linear(HEADS * SIZE, 3 * HEADS * SIZE).to(torch.bfloat16).requires_grad_(False)


def heads(x):
    """Queries, keys and values of tokens: (batch, heads, tokens, size) each."""
    return (part.view(BATCH, -1, HEADS, SIZE).transpose(1, 2) for part in project(x).chunk(3, -1))


cache = planezip.torch.PackedCache()
keys = values = torch.empty(BATCH, HEADS, 0, SIZE, dtype=torch.bfloat16)
x = torch.randn(BATCH, PROMPT, HEADS * SIZE, dtype=torch.bfloat16)
for _ in range(STEPS):
    query, key, value = heads(x)
    keys, values = torch.cat((keys, key), 2), torch.cat((values, value), 2)
    again = cache.update(key, value, layer=0)
    plain = torch.nn.functional.scaled_dot_product_attention(query, keys, values)
    packed = torch.nn.functional.scaled_dot_product_attention(query, *again)
    assert torch.equal(packed, plain)
    x = plain[:, :, -1:].transpose(1, 2).reshape(BATCH, 1, HEADS * SIZE)

print(f"{cache.get_seq_length()} tokens, {cache.raw_bytes} bytes, packed {cache.nbytes}: "
      f"{100 - 100 * cache.nbytes / cache.raw_bytes:.1f} % saved")
