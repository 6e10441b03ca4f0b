"""What the tests of planezip.torch.offload train: models with everything that makes replaying and
swapping hard, and training that tells all that must be the same to the last bit."""
import math
from dataclasses import dataclass

import torch
import torchvision
import transformers
from torch import nn
from torch.nn import functional


@dataclass(frozen=True)
class Task:
    """A model and the batches that it learns from.  build() and batch() draw from torch's global
    generator; loss() is that of a batch."""
    build: callable
    batch: callable
    loss: callable


@dataclass
class Trained:
    """All that training leaves: losses, the model's tensors, and where the generator stands."""
    losses: list
    state: dict
    generator: torch.Tensor

    def differences(self, other):
        """Names of what is not the same in two trainings, bit for bit."""
        found = [f"loss of step {i}" for i, (one, two) in enumerate(zip(self.losses, other.losses))
                 if not same(one, two)]
        found += [name for name, tensor in self.state.items()
                  if not same(tensor, other.state[name])]
        if len(self.losses) != len(other.losses):
            found.append("number of steps")
        if not torch.equal(self.generator, other.generator):
            found.append("random numbers")
        return found


def same(one, two):
    """Whether tensors have the same bits, NaN included."""
    return (one.dtype, one.shape) == (two.dtype, two.shape) and torch.equal(
        one.contiguous().view(torch.uint8) if one.dim() else one.reshape(1).view(torch.uint8),
        two.contiguous().view(torch.uint8) if two.dim() else two.reshape(1).view(torch.uint8))


def step_of(task, model, optimizer):
    """A training step of a batch, without what a context around forward and backward does."""
    def step(batch):
        optimizer.zero_grad()
        loss = task.loss(model, batch)
        loss.backward()
        return loss.detach()
    return step


def train(task, steps, wrap=None, seed=1):
    """Trains a new model; wrap(model) gives the context of each forward and backward pass."""
    torch.manual_seed(seed)
    model = task.build().train()
    batches = [task.batch() for _ in range(2)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    step = step_of(task, model, optimizer)
    if wrap:
        step = wrap(model)(step)
    losses = []
    for i in range(steps):
        losses.append(step(batches[i % len(batches)]))
        optimizer.step()
    return Trained(losses, {name: tensor.clone() for name, tensor in model.state_dict().items()},
                   torch.get_rng_state())


# ---- Models ----

class DoubleConvolution(nn.Sequential):
    def __init__(self, inputs, outputs):
        super().__init__(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
                         nn.BatchNorm2d(outputs), nn.ReLU(inplace=True), nn.Dropout2d(0.1),
                         nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
                         nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


class UNet(nn.Module):
    """Skip connections, so that tensors of the first layers are read by the last ones."""
    def __init__(self, widths=(16, 32, 64), classes=4):
        super().__init__()
        inputs = (3, *widths)
        self.down = nn.ModuleList(DoubleConvolution(a, b) for a, b in zip(inputs, widths))
        self.widen = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2)
                                   for a, b in zip(widths, widths[1:]))
        self.up = nn.ModuleList(DoubleConvolution(2 * a, a) for a in widths[:-1])
        self.head = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x):
        skips = []
        for i, block in enumerate(self.down):
            x = block(functional.max_pool2d(x, 2) if i else x)
            skips.append(x)
        skips.pop()
        for widen, block in reversed(list(zip(self.widen, self.up))):
            x = block(torch.cat((skips.pop(), widen(x)), 1))
        return self.head(x)


def images(rows, side, classes):
    return lambda: (torch.randn(rows, 3, side, side), torch.randint(0, classes, (rows,)))


def classify(model, batch):
    return functional.cross_entropy(model(batch[0]), batch[1])


def vit():
    return torchvision.models.VisionTransformer(
        image_size=64, patch_size=8, num_layers=3, num_heads=4, hidden_dim=64, mlp_dim=256,
        dropout=0.1, attention_dropout=0.1, num_classes=10)


def gpt2(layers=2, width=64, heads=4, tokens=64, vocabulary=500, dropout=0.1):
    """Attention that saves its probabilities, and tied weights."""
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=vocabulary, n_positions=tokens, n_embd=width, n_layer=layers, n_head=heads,
        resid_pdrop=dropout, embd_pdrop=dropout, attn_pdrop=dropout, bos_token_id=0,
        eos_token_id=0, attn_implementation="eager"))


def next_token(model, batch):
    """The mask is told, as GPT-2 would ask the data for one otherwise."""
    mask = torch.full((batch.shape[1],) * 2, -math.inf).triu(1)[None, None]
    logits = model(batch, attention_mask=mask, use_cache=False).logits
    return functional.cross_entropy(logits[:, :-1].flatten(0, 1), batch[:, 1:].flatten())


TASKS = {
    "resnet50": Task(lambda: torchvision.models.resnet50(num_classes=10), images(4, 64, 10),
                     classify),
    "vit": Task(vit, images(8, 64, 10), classify),
    "gpt2": Task(gpt2, lambda: torch.randint(0, 500, (8, 64)), next_token),
    "unet": Task(UNet, lambda: (torch.randn(4, 3, 64, 64), torch.randint(0, 4, (4, 64, 64))),
                 classify),
}
