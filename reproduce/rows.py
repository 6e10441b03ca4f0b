#!/usr/bin/env python3
"""Invariant bit packing of real rows, beside what its source tells and beside planezip2: the tables
of docs/ibp.md.

Usage: rows.py FOLDER WEIGHTS
FOLDER has gpt2/checkpoint.pt, as train.py writes it; WEIGHTS is what
pretrained.py takes.  PLANEZIP: the program (build/planezip).  Needed: the environment torch of
tools/python_env.

Rows are word vectors, weights of linear layers, keys and values of a forward pass, means of hidden
states as features of texts, vectors that are trained here, and counts of words.
"""
import collections
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import data
import models
import row_tables
import safetensors.torch
import tokenizers
import torch
import transformers
from row_tables import Told
from torch.nn import functional

LENGTH, BATCH = 256, 4
VECTORS = Told("8 %", "look-ups", 2.8)
LANGUAGE = Told("up to 27 %", "inference", 1.24)
FEATURES = Told("10 to 12 %", "training", 1.74)
COUNTS = Told("9.7 x", "training", 1.74)
TYPES = {"bf16": torch.bfloat16, "f32": torch.float32, "u8": torch.uint8}


@dataclass
class Rows:
    """Parts, each with a table of its own, in several types."""
    name: str
    parts: list
    told: Told
    types: tuple = ("bf16", "f32")


# ---- What is packed ----


def linear_weights(tensors, columns):
    """Weights of one number of columns, one below the other."""
    return torch.cat([tensor for name, tensor in sorted(tensors.items())
                      if tensor.dim() == 2 and tensor.shape[1] == columns
                      and "embedding" not in name and "wte" not in name and "wpe" not in name])


def minilm(folder):
    """Weights, keys and values, and features."""
    weights = safetensors.torch.load_file(folder / "model.safetensors")
    config = transformers.BertConfig.from_pretrained(folder)
    model = transformers.BertModel.from_pretrained(folder, config=config,
                                                   add_pooling_layer=False).eval()
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    ids = torch.tensor(tokenizer.encode(data.text(), add_special_tokens=False).ids)
    sides = collections.defaultdict(list)
    for name, layer in model.named_modules():
        if name.endswith((".key", ".value")):
            layer.register_forward_hook(
                lambda _, __, out, name=name: sides[name].append(out.flatten(0, 1)))
    with torch.no_grad():
        model(ids[:LENGTH * BATCH].view(BATCH, LENGTH))
        cached = [torch.cat(side) for side in sides.values()]
        short = ids[:len(ids) // 32 * 32].view(-1, 32)
        features = torch.cat([functional.normalize(model(some).last_hidden_state.mean(1))
                              for some in short.split(64)])
    return [Rows("word vectors, MiniLM", [weights["embeddings.word_embeddings.weight"]], VECTORS),
            Rows("linear weights, MiniLM", [linear_weights(weights, 384)], LANGUAGE),
            Rows("keys and values, MiniLM", cached, LANGUAGE),
            Rows("features of texts, MiniLM", [features], FEATURES)]


def gpt2(folder):
    """Weights, and a cache of keys and values."""
    network = models.MODELS["gpt2"].build("cpu")
    network.load_state_dict(torch.load(folder / "gpt2/checkpoint.pt",
                                       weights_only=True)["network"])
    weights = {name: tensor.detach() for name, tensor in network.state_dict().items()}
    inner = next(module for module in network.modules()
                 if isinstance(module, transformers.GPT2Model)).eval()
    words = data.tokens(inner.config.vocab_size)[:LENGTH * BATCH].view(BATCH, LENGTH)
    with torch.no_grad():
        cache = inner(words, use_cache=True).past_key_values
    cached = [side.transpose(1, 2).flatten(2).flatten(0, 1)
              for layer in cache.layers for side in (layer.keys, layer.values)]
    vectors = next(tensor for name, tensor in weights.items() if name.endswith("wte.weight"))
    return [Rows("word vectors, GPT-2", [vectors], VECTORS),
            Rows("linear weights, GPT-2", [linear_weights(weights, 3072)], LANGUAGE),
            Rows("keys and values, GPT-2", cached, LANGUAGE)]


def words_of_topics():
    """Words of each topic of Python's help, and of all of them by how often they are there."""
    topics = [re.findall(r"[a-z]{2,}", text.lower()) for text in re.split(r"\n\n+", data.text())]
    topics = [words for words in topics if len(words) >= 5]
    counts = collections.Counter(word for words in topics for word in words)
    return topics, [word for word, _ in counts.most_common(2048)]


def counts_of_words(topics, words):
    """A row for each paragraph with a number for each word."""
    places = {word: i for i, word in enumerate(words)}
    rows = torch.zeros(len(topics), len(words))
    for row, topic in zip(rows, topics):
        for word in topic:
            if word in places:
                row[places[word]] += 1
    return rows


def trained_vectors(counts, size=64, steps=400):
    """Vectors of paragraphs and words whose products tell which words a paragraph has, as those of
    users and items."""
    torch.manual_seed(1)
    pairs, rate = counts.nonzero(), 0.05
    users, items = (torch.nn.Embedding(count, size) for count in counts.shape)
    optimizer = torch.optim.Adagrad([*users.parameters(), *items.parameters()], lr=rate)
    for _ in range(steps):
        some = pairs[torch.randint(len(pairs), (2048,))]
        others = torch.randint(counts.shape[1], (2048,))
        user = users(some[:, 0])
        scores = torch.cat(((user * items(some[:, 1])).sum(1), (user * items(others)).sum(1)))
        right = torch.cat((torch.ones(2048), torch.zeros(2048)))
        functional.binary_cross_entropy_with_logits(scores, right).backward()
        optimizer.step()
        optimizer.zero_grad()
    return torch.cat((users.weight.detach(), items.weight.detach()))


def made_here():
    topics, words = words_of_topics()
    counts = counts_of_words(topics, words)
    return [Rows("trained vectors, 64", [trained_vectors(counts)], VECTORS),
            Rows("counts of words", [counts], COUNTS, ("u8", "f32"))]


def write_parts(rows, kind, folder):
    paths = []
    for number, part in enumerate(rows.parts):
        path = Path(folder, f"{number}.{kind}")
        raw = part.to(TYPES[kind]).contiguous().view(torch.uint8)
        path.write_bytes(raw.numpy().tobytes())
        paths.append(path)
    return paths


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: rows.py FOLDER WEIGHTS")
    transformers.logging.set_verbosity_error()
    every = [*minilm(Path(sys.argv[2])), *gpt2(Path(sys.argv[1])), *made_here()]
    with tempfile.TemporaryDirectory() as folder:
        results = [row_tables.measured(rows.name, rows.told, kind, rows.parts[0].shape[1],
                                       write_parts(rows, kind, folder))
                   for rows in every for kind in rows.types]
    row_tables.print_all(results)


if __name__ == "__main__":
    main()
