"""An embedding of 50,000 rows, held packed in the memory of the host: rows are unpacked as they are
looked up, with the same bits.

    python examples/packed_embedding.py
"""
import torch

import planezip.torch

torch.manual_seed(0)
plain = torch.nn.Embedding(50_000, 256, dtype=torch.bfloat16)
with torch.no_grad():
    plain.weight.mul_(0.02) # as language models begin
plain.requires_grad_(False)

packed = planezip.torch.PackedEmbedding(plain)
words = torch.randint(0, 50_000, (8, 128))
assert torch.equal(packed(words), plain(words))

print(packed)
print(f"{plain.weight.nbytes} bytes, packed {packed.rows.nbytes}: "
      f"{100 - 100 * packed.rows.nbytes / plain.weight.nbytes:.1f} % saved")
