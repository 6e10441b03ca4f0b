"""The five models of the paper, Table I, and a training step for each.

As in the paper's section IV: dropout is one fused operator, attention is not fused and saves the
softmax, the three CNNs train with SGD, the transformers with AdamW.
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


@dataclass(frozen=True)
class Model:
    """batch: of the paper's training; small: of what runs on a CPU.  text: it reads tokens.
    rate: at which it learns."""
    name: str
    batch: int
    small: int
    text: bool
    optimizer: str
    rate: float

    def build(self, device):
        """The model in training mode, with random weights."""
        with torch.device(device):
            return (gpt2() if self.text else images(self.name)).train()

    def inputs(self, batch, device):
        """Random images and labels, or tokens, of a batch."""
        if self.text:
            return (torch.randint(0, VOCABULARY, (batch, TOKENS), device=device),)
        return (torch.randn(batch, *IMAGE, device=device),
                torch.randint(0, CLASSES, (batch,), device=device))

    def batch_of_data(self):
        """Photographs and labels, or text, of a small batch."""
        if self.text:
            return (data.sequences(self.small, TOKENS, VOCABULARY),)
        return data.images(self.small, IMAGE[1])

    def loss(self, model, inputs):
        if self.text:
            logits = model(inputs[0], attention_mask=causal(inputs[0]), use_cache=False).logits
            return functional.cross_entropy(logits[:, :-1].flatten(0, 1),
                                            inputs[0][:, 1:].flatten())
        return functional.cross_entropy(model(inputs[0]), inputs[1])

    def trainer(self, model):
        """The optimizer."""
        if self.optimizer == "sgd":
            return torch.optim.SGD(model.parameters(), lr=self.rate, momentum=0.9)
        return torch.optim.AdamW(model.parameters(), lr=self.rate)


def images(name):
    model = timm.create_model(TIMM_NAMES[name], num_classes=CLASSES)
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


def gpt2():
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(attn_implementation="eager", vocab_size=VOCABULARY))


TIMM_NAMES = {"resnet50": "resnet50", "densenet121": "densenet121",
              "efficientnet_b0": "efficientnet_b0", "vit_b_16": "vit_base_patch16_224"}
MODELS = {model.name: model for model in (
    Model("resnet50", 128, 8, False, "sgd", 0.01),
    Model("densenet121", 128, 8, False, "sgd", 0.01),
    Model("efficientnet_b0", 128, 8, False, "sgd", 0.01),
    Model("vit_b_16", 64, 8, False, "adamw", 1e-4),
    Model("gpt2", 8, 1, True, "adamw", 3e-4))}
