"""Random models that PyTorch can train: branches, reuse, views, operators in place, dropout, norms,
shared layers, checkpointed regions.  A seed always gives the same model.

A model is a list of nodes.  Each reads some of the values that there are and adds one; values are
of one of two shapes, rows and images, so that any of them fit together.  In-place operators only
get what they made themselves, or what nobody has saved, as plain PyTorch would refuse to go
backward otherwise.
"""
import random

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

ROWS, WIDTH = 16, 256
CHANNELS, SIDE = 8, 16 # an image has eight times the elements of a row
NODES = (4, 14)


def halves(x):
    return x.chunk(2, 1)


def gate(x):
    """Two views of one storage, both saved."""
    a, b = halves(x)
    return torch.cat((a * b.sigmoid(), b * a.tanh()), 1)


def write_view(x):
    """A view that is written after its base was read by something that does not save it."""
    y = x + 1
    y[:, :3].mul_(2)
    return y * y


def write_twice(x):
    y = x.clone()
    y.add_(1).mul_(0.5)
    return y.sin()


def expanded(x):
    """A stride of 0."""
    return x * x[:, :1].expand_as(x)


def transposed(x):
    y = x.transpose(0, 1)
    return (y * y.sigmoid()).transpose(0, 1)


def strided(x):
    y = torch.zeros_like(x)
    y[:, ::2] = x[:, ::2].exp().clamp(max=3)
    return y + x


def gathered(x):
    order = torch.randperm(x.shape[1])
    return x[:, order] * x


def masked(x):
    return torch.where(x > 0, x * x, x.sin())


def softened(x):
    return x.softmax(1) * x


def in_double(x):
    return (x.double() * 2).exp().clamp(max=5).to(x.dtype)


def in_bfloat16(x):
    y = x.bfloat16()
    return (y * y).float()


def in_complex(x):
    y = torch.fft.rfft(x, norm="ortho")
    return torch.fft.irfft(y * y.conj(), n=x.shape[-1], norm="ortho")


def noisy(x):
    return x + torch.randn_like(x) * x


def no_gradient(x):
    with torch.no_grad():
        scale = x.abs().amax() + 1
    return x / scale * x.detach()


def dropped_in_place(x):
    return functional.dropout(x + 1, 0.2, inplace=True, training=True)


def sorted_(x):
    values, order = x.sort(1)
    return values * order.to(x.dtype).rsqrt().clamp(max=1)


def leaky_in_place(x):
    return functional.leaky_relu_(x * 1.5, 0.1)


ANY = (gate, write_view, write_twice, expanded, transposed, strided, gathered, masked, softened,
       in_double, in_bfloat16, in_complex, noisy, no_gradient, dropped_in_place, sorted_,
       leaky_in_place, torch.tanh, torch.relu, functional.gelu, functional.silu, torch.sin)
PAIRS = (torch.add, torch.mul, torch.maximum, lambda a, b: torch.lerp(a, b, 0.3),
         lambda a, b: a.clone().addcmul_(a, b, value=0.1))


def row_layers(rng):
    return rng.choice((
        lambda: nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(inplace=True)),
        lambda: nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH), nn.GELU()),
        lambda: nn.BatchNorm1d(WIDTH), lambda: nn.Dropout(0.1),
        lambda: nn.Sequential(nn.Linear(WIDTH, WIDTH // 4), nn.Tanh(),
                              nn.Linear(WIDTH // 4, WIDTH))))()


def image_layers(rng):
    return rng.choice((
        lambda: nn.Sequential(nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1),
                              nn.BatchNorm2d(CHANNELS), nn.ReLU(inplace=True)),
        lambda: nn.Sequential(nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, groups=2), nn.SiLU()),
        lambda: nn.Sequential(nn.MaxPool2d(2), nn.Upsample(scale_factor=2)),
        lambda: nn.GroupNorm(2, CHANNELS), lambda: nn.Dropout2d(0.1),
        lambda: nn.Conv2d(CHANNELS, CHANNELS, 1)))()


class Bridge(nn.Module):
    """From one shape to the other."""
    def __init__(self, to_image):
        super().__init__()
        size = CHANNELS * SIDE * SIDE
        self.to_image = to_image
        self.layer = nn.Linear(WIDTH, size) if to_image else nn.Linear(size, WIDTH)

    def forward(self, x):
        if self.to_image:
            return self.layer(x).view(ROWS, CHANNELS, SIDE, SIDE)
        return self.layer(x.flatten(1))


class RandomModel(nn.Module):
    """forward() of rows or images; values are kept near 1, so that nothing becomes NaN."""
    def __init__(self, seed):
        super().__init__()
        rng = random.Random(seed)
        self.begins_as_image = rng.random() < 0.5
        self.layers = nn.ModuleList()
        self.nodes = [] # (what, which values, whether it is a checkpointed region)
        self.shapes = [self.begins_as_image]
        for _ in range(rng.randint(*NODES)):
            self.add(rng)

    def value(self, rng, image=None):
        """One of the values, rather a late one."""
        fitting = [i for i, shape in enumerate(self.shapes) if image is None or shape == image]
        return fitting[-1 - min(int(rng.expovariate(0.7)), len(fitting) - 1)]

    def layer(self, made):
        self.layers.append(made)
        return len(self.layers) - 1

    def add(self, rng):
        read = self.value(rng)
        image = self.shapes[read]
        kind = rng.choices(("any", "layer", "again", "pair", "bridge"), (5, 4, 1, 3, 1))[0]
        reads = (read,)
        if kind == "again" and not any(node[2] == image for node in self.nodes):
            kind = "any"
        if kind == "any":
            what = rng.choice(ANY)
        elif kind == "layer":
            what = self.layer(image_layers(rng) if image else row_layers(rng))
        elif kind == "again": # the same layer, or operator, a second time
            what, _, _, _ = rng.choice([n for n in self.nodes if n[2] == image])
        elif kind == "pair":
            what, reads = rng.choice(PAIRS), (read, self.value(rng, image))
        else:
            what = self.layer(Bridge(not image))
            image = not image
        same_shape = kind in ("any", "layer", "again")
        self.nodes.append((what, reads, image if same_shape else None, rng.random() < 0.1))
        self.shapes.append(image)

    def run(self, what, *values):
        """The new value, whose size is near 1 whatever the node does."""
        made = (self.layers[what] if isinstance(what, int) else what)(*values)
        return made / (made.detach().abs().amax() + 1) + 0.1

    def forward(self, x):
        values = [x]
        for what, reads, _, is_region in self.nodes:
            inputs = [values[i] for i in reads]
            values.append(checkpoint(self.run, what, *inputs, use_reentrant=False)
                          if is_region and torch.is_grad_enabled() else self.run(what, *inputs))
        return sum(value.square().mean() for value in values[1:])


def batch_of(model):
    shape = (ROWS, CHANNELS, SIDE, SIDE) if model.begins_as_image else (ROWS, WIDTH)
    return torch.randn(shape)
