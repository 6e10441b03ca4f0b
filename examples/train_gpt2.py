"""Trains GPT-2 within a budget, and beside it as PyTorch does by itself: what is the same, and what
it costs.

    python examples/train_gpt2.py --budget 50% --tier disk --directory /var/tmp
    python examples/train_gpt2.py --layers 12 --tokens 1024 --vocabulary 50257   # GPT-2 small

Minutes on a CPU; on a GPU with --device cuda --tier host, which nobody has tried yet.
Needs transformers.
"""
import side_by_side # first, as it sets how torch begins

import math

import torch
import transformers


def options():
    parser = side_by_side.options(__doc__)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--tokens", type=int, default=128, help="of a sequence")
    parser.add_argument("--batch", type=int, default=4, help="sequences")
    parser.add_argument("--vocabulary", type=int, default=5000)
    return parser.parse_args()


def build(given):
    """GPT-2 with attention that saves its probabilities, dropout and tied weights."""
    config = transformers.GPT2Config(
        vocab_size=given.vocabulary, n_positions=given.tokens, n_embd=given.width,
        n_layer=given.layers, n_head=given.width // 64, bos_token_id=0, eos_token_id=0,
        attn_implementation="eager")
    return transformers.GPT2LMHeadModel(config)


def batch(given):
    """Tokens that follow one another by a rule, so that there is something to learn."""
    first = torch.randint(given.vocabulary, (given.batch, 1))
    return ((first + 7 * torch.arange(given.tokens)) % given.vocabulary).to(given.device)


def loss(model, tokens):
    """Of the next token."""
    size = tokens.shape[1]
    mask = torch.full((size, size), -math.inf, device=tokens.device).triu(1)[None, None]
    logits = model(tokens, attention_mask=mask, use_cache=False).logits
    return torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


if __name__ == "__main__":
    side_by_side.compare(options(), build, batch, loss)
