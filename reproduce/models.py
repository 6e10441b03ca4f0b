"""The five models of the paper, Table I, and a training step for each.

As in the paper's section IV: dropout is one fused operator, attention is not fused and saves the
softmax, the three CNNs train with SGD, the transformers with AdamW.  ViT drops whole paths, which
the paper does not say, but its counts do, see DROPPED_PATHS.  gpt2_fused is GPT-2 with fused
attention, which saves no probabilities and has no dropout of them.
"""
from dataclasses import dataclass

import data
import timm
import torch
import transformers
from torch.nn import functional

IMAGE = (3, 224, 224)
CLASSES = 1000
TOKENS = 1024
VOCABULARY = 50257
PIECES = 8 # of text in a sequence that is captured


@dataclass(frozen=True)
class Model:
    """batch: of the paper's training; small: of what is captured on a CPU.  text: it reads tokens.
    The short training: lesson is the batch and the pixels a side, or tokens, of a step, which are
    few so that it takes minutes; steps of it, and the rate at which it learns."""
    name: str
    batch: int
    small: int
    text: bool
    optimizer: str
    rate: float
    lesson: tuple
    steps: int
    fused: bool = False

    @property
    def trained_as(self):
        """The name of the model whose training gives the weights."""
        return self.name.removesuffix("_fused")

    def build(self, device):
        """The model in training mode, with random weights."""
        with torch.device(device):
            return (gpt2(self.fused) if self.text else images(self.name)).train()

    def inputs(self, batch, device):
        """Random images and labels, or tokens, of a batch."""
        if self.text:
            return (torch.randint(0, VOCABULARY, (batch, TOKENS), device=device),)
        return (torch.randn(batch, *IMAGE, device=device),
                torch.randint(0, CLASSES, (batch,), device=device))

    def batch_of_data(self):
        """Photographs and labels, or text, as they are captured."""
        if self.text:
            return (data.sequences(self.small, TOKENS, VOCABULARY, pieces=PIECES),)
        return data.images(self.small, IMAGE[1], spread=True)

    def lesson_of_data(self):
        """What a step of the short training learns from.  Pieces of text begin at any position, so
        that all of them learn."""
        if not self.text:
            return data.images(*self.lesson)
        batch, length = self.lesson
        start = torch.randint(0, TOKENS - length + 1, ()).item()
        return data.sequences(batch, length, VOCABULARY), torch.arange(start, start + length)[None]

    def loss(self, model, inputs):
        """inputs: images and labels, or tokens and, where they are not the first, positions."""
        if self.text:
            positions = inputs[1] if len(inputs) > 1 else None
            logits = model(inputs[0], attention_mask=causal(inputs[0]), position_ids=positions,
                           use_cache=False).logits
            return functional.cross_entropy(logits[:, :-1].flatten(0, 1),
                                            inputs[0][:, 1:].flatten())
        return functional.cross_entropy(model(inputs[0]), inputs[1])

    def trainer(self, model):
        """The optimizer."""
        if self.optimizer == "sgd":
            return torch.optim.SGD(model.parameters(), lr=self.rate, momentum=0.9)
        return torch.optim.AdamW(model.parameters(), lr=self.rate, fused=True)


def images(name):
    model = timm.create_model(TIMM_NAMES[name], num_classes=CLASSES, **DROPPED_PATHS.get(name, {}))
    for module in model.modules():
        if hasattr(module, "fused_attn"):
            module.fused_attn = False
    return model


def causal(tokens):
    """What attention adds to its scores.  transformers would look at the data to make it, and on
    device meta there is none."""
    length = tokens.shape[1]
    mask = torch.full((length, length), torch.finfo(torch.float32).min, device=tokens.device)
    return mask.triu(1)[None, None]


def fused_attention(module, query, key, value, attention_mask, **_):
    """Causal attention in one operator, on device meta as well; as transformers calls it."""
    made = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(query, key, value, 0.0, True)
    return made[0].transpose(1, 2), None


transformers.AttentionInterface.register("planezip_fused", fused_attention)


def gpt2(fused):
    attention = "planezip_fused" if fused else "eager"
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(attn_implementation=attention, vocab_size=VOCABULARY))


TIMM_NAMES = {"resnet50": "resnet50", "densenet121": "densenet121",
              "efficientnet_b0": "efficientnet_b0", "vit_b_16": "vit_base_patch16_224"}
# Stochastic depth: the share of images for which the last layer's paths are left out.  Both paths
# of the 11 layers after the first take five operators and save one factor an image for it: the 22
# tensors and 110 operators that the paper's ViT has and one without lacks.  They do not tell the
# rate.
DROPPED_PATHS = {"vit_b_16": {"drop_path_rate": 0.1}}
MODELS = {model.name: model for model in (
    Model("resnet50", 128, 8, False, "sgd", 0.01, (8, 112), 120),
    Model("densenet121", 128, 8, False, "sgd", 0.01, (8, 112), 120),
    Model("efficientnet_b0", 128, 8, False, "sgd", 0.01, (8, 112), 120),
    Model("vit_b_16", 64, 8, False, "adamw", 1e-4, (2, 224), 60),
    Model("gpt2", 8, 1, True, "adamw", 3e-4, (2, 128), 100),
    Model("gpt2_fused", 8, 1, True, "adamw", 3e-4, (2, 128), 100, fused=True))}
