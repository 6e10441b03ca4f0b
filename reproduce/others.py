#!/usr/bin/env python3
"""Records traces of models that the paper does not have, without data, on device meta: transformer
decoders of 1 and 8 billion parameters, with attention as it is and fused, a U-Net, an LSTM and a
decoder with a mixture of experts.

Usage: others.py FOLDER [MODEL...]     writes FOLDER/MODEL.json; seconds to a minute for each model
Needed: torch of the environment of that name (tools/python_env), and planezip.
"""
import sys
from dataclasses import dataclass
from pathlib import Path

import planezip.torch
import torch
from torch import nn
from torch.nn import functional

TOKENS = 4096


@dataclass(frozen=True)
class Shape:
    """A decoder.  experts: of each feed-forward part; a token reaches two of them on average."""
    layers: int
    width: int
    heads: int
    groups: int
    hidden: int
    vocabulary: int = 128256
    tied: bool = False  # the head has the weights of the embedding
    fused: bool = False
    experts: int = 0


def rotate(x, cosine, sine):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)


class Attention(nn.Module):
    """Causal, with rotary positions; several heads share keys and values."""

    def __init__(self, shape):
        super().__init__()
        self.shape, self.head = shape, shape.width // shape.heads
        self.query = nn.Linear(shape.width, shape.width, bias=False)
        self.keys = nn.Linear(shape.width, shape.groups * self.head, bias=False)
        self.values = nn.Linear(shape.width, shape.groups * self.head, bias=False)
        self.output = nn.Linear(shape.width, shape.width, bias=False)

    def split(self, x):
        return x.unflatten(-1, (-1, self.head)).transpose(1, 2)

    def attend(self, query, keys, values):
        if self.shape.fused:
            return torch.ops.aten._scaled_dot_product_flash_attention(query, keys, values,
                                                                      is_causal=True)[0]
        scores = query @ keys.transpose(-1, -2) * self.head ** -0.5
        length = query.shape[2]
        future = torch.ones(length, length, dtype=torch.bool, device=query.device).triu(1)
        return scores.masked_fill(future, -torch.inf).softmax(-1) @ values

    def forward(self, x, cosine, sine):
        query = rotate(self.split(self.query(x)), cosine, sine)
        keys = rotate(self.split(self.keys(x)), cosine, sine)
        shared = self.shape.heads // self.shape.groups
        keys = keys.repeat_interleave(shared, dim=1)
        values = self.split(self.values(x)).repeat_interleave(shared, dim=1)
        return self.output(self.attend(query, keys, values).transpose(1, 2).flatten(2))


class Gated(nn.Module):
    """The feed-forward part: SwiGLU."""

    def __init__(self, shape):
        super().__init__()
        self.gate = nn.Linear(shape.width, shape.hidden, bias=False)
        self.up = nn.Linear(shape.width, shape.hidden, bias=False)
        self.down = nn.Linear(shape.hidden, shape.width, bias=False)

    def forward(self, x):
        return self.down(functional.silu(self.gate(x)) * self.up(x))


class Experts(nn.Module):
    """Each expert takes the tokens that want it most, twice as many as its share: sizes that do not
    depend on the data."""

    def __init__(self, shape):
        super().__init__()
        self.router = nn.Linear(shape.width, shape.experts, bias=False)
        self.experts = nn.ModuleList(Gated(shape) for _ in range(shape.experts))

    def forward(self, x):
        tokens = x.flatten(0, 1)
        wants = self.router(tokens).softmax(-1)
        weights, chosen = wants.t().topk(2 * len(tokens) // len(self.experts), dim=-1)
        result = torch.zeros_like(tokens)
        for expert, weight, rows in zip(self.experts, weights, chosen, strict=True):
            result = result.index_add(0, rows, expert(tokens[rows]) * weight[:, None])
        return result.view_as(x)


class Layer(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.before, self.between = nn.RMSNorm(shape.width), nn.RMSNorm(shape.width)
        self.attention = Attention(shape)
        self.feed = Experts(shape) if shape.experts else Gated(shape)

    def forward(self, x, cosine, sine):
        x = x + self.attention(self.before(x), cosine, sine)
        return x + self.feed(self.between(x))


class Decoder(nn.Module):
    optimizer, batch = "adamw", 1

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.width)
        self.head = nn.Linear(shape.width, shape.vocabulary, bias=False)
        if shape.tied:
            self.head.weight = self.embedding.weight

    def inputs(self):
        tokens = torch.empty(self.batch, TOKENS + 1, dtype=torch.long)
        return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()

    def loss(self, tokens, targets):
        half = self.shape.width // self.shape.heads // 2
        rates = 500000.0 ** (-torch.arange(half, device=tokens.device) / half)
        angles = torch.arange(tokens.shape[1], device=tokens.device)[:, None] * rates
        cosine, sine = angles.cos(), angles.sin()
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, cosine, sine)
        return functional.cross_entropy(self.head(self.norm(x)).flatten(0, 1), targets.flatten())


class Pair(nn.Sequential):
    """Two convolutions of a U-Net."""

    def __init__(self, inputs, outputs):
        super().__init__(nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs),
                         nn.ReLU(inplace=True),
                         nn.Conv2d(outputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs),
                         nn.ReLU(inplace=True))


class UNet(nn.Module):
    """Skip connections that are saved from the beginning to the end."""
    optimizer, batch = "adamw", 16
    widths = (64, 128, 256, 512, 1024)

    def __init__(self):
        super().__init__()
        widths = self.widths
        self.down = nn.ModuleList(map(Pair, (3, *widths[:-1]), widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * width, width, 2, stride=2)
                                for width in widths[-2::-1])
        self.join = nn.ModuleList(Pair(2 * width, width) for width in widths[-2::-1])
        self.head = nn.Conv2d(widths[0], 21, 1)

    def inputs(self):
        return (torch.empty(self.batch, 3, 512, 512),
                torch.empty(self.batch, 512, 512, dtype=torch.long))

    def loss(self, images, labels):
        x, skipped = self.down[0](images), []
        for down in self.down[1:]:
            skipped.append(x)
            x = down(functional.max_pool2d(x, 2))
        for up, join in zip(self.up, self.join, strict=True):
            x = join(torch.cat((up(x), skipped.pop()), dim=1))
        return functional.cross_entropy(self.head(x), labels)


class Lstm(nn.Module):
    """A language model, whose steps are operators of their own.  The loss is that of some steps
    after the others, as the logits of all take nine tenths of the memory, and cannot leave while
    their gradient is computed."""
    optimizer, batch, steps_at_once = "sgd", 64, 16

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(33278, 650)
        self.layers = nn.LSTM(650, 650, num_layers=2, dropout=0.5)
        self.head = nn.Linear(650, 33278)

    def inputs(self):
        return (torch.empty(256, self.batch, dtype=torch.long),
                torch.empty(256, self.batch, dtype=torch.long))

    def loss(self, tokens, targets):
        outputs = self.layers(self.embedding(tokens))[0]
        losses = [functional.cross_entropy(self.head(some).flatten(0, 1), wanted.flatten())
                  for some, wanted in zip(outputs.split(self.steps_at_once),
                                          targets.split(self.steps_at_once), strict=True)]
        return torch.stack(losses).mean()


MODELS = {
    "decoder_1b": lambda: Decoder(Shape(16, 2048, 32, 8, 8192, tied=True)),
    "decoder_1b_fused": lambda: Decoder(Shape(16, 2048, 32, 8, 8192, tied=True, fused=True)),
    "decoder_8b": lambda: Decoder(Shape(32, 4096, 32, 8, 14336)),
    "decoder_8b_fused": lambda: Decoder(Shape(32, 4096, 32, 8, 14336, fused=True)),
    "unet": UNet,
    "lstm": Lstm,
    "experts": lambda: Decoder(Shape(8, 1024, 16, 4, 3584, vocabulary=32000, fused=True,
                                     experts=8)),
}


def record(name):
    with torch.device("meta"):
        network = MODELS[name]().train()
        inputs = network.inputs()
    return planezip.torch.capture(lambda: network.loss(*inputs).backward(), model=name,
                                  batch=network.batch, optimizer=network.optimizer,
                                  fused_dropout=True)


def main():
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= set(MODELS):
        sys.exit(f"usage: others.py FOLDER [MODEL...], of {' '.join(MODELS)}")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or MODELS:
        captured = record(name)
        captured.write(folder / f"{name}.json")
        print(f"{name}: {len(captured.saved.confirmed)} saved tensors", flush=True)


if __name__ == "__main__":
    main()
