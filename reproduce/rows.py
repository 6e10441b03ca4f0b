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
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import data
import models
import safetensors.torch
import tokenizers
import torch
import transformers
from torch.nn import functional

PROGRAM = os.environ.get("PLANEZIP", "build/planezip")
LENGTH, BATCH = 256, 4
LINK_BPS = 24e9 # PCIe 4
CACHE_BYTES = 32 << 20 # memcpy of less is that of caches
TYPES = {"bf16": torch.bfloat16, "f32": torch.float32, "u8": torch.uint8}


@dataclass
class Rows:
    """Parts, each with a table of its own, in several types; what the source tells of such rows."""
    name: str
    parts: list
    told: str
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
    return [Rows("word vectors, MiniLM", [weights["embeddings.word_embeddings.weight"]], "8 %"),
            Rows("linear weights, MiniLM", [linear_weights(weights, 384)], "up to 27 %"),
            Rows("keys and values, MiniLM", cached, "up to 27 %"),
            Rows("features of texts, MiniLM", [features], "10 to 12 %")]


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
    return [Rows("word vectors, GPT-2", [vectors], "8 %"),
            Rows("linear weights, GPT-2", [linear_weights(weights, 3072)], "up to 27 %"),
            Rows("keys and values, GPT-2", cached, "up to 27 %")]


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
    return [Rows("trained vectors, 64", [trained_vectors(counts)], "8 %"),
            Rows("counts of words", [counts], "9.7 x", ("u8", "f32"))]


# ---- What it gives ----


def program(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return json.loads(done.stdout)


def write_parts(rows, kind, folder):
    paths = []
    for number, part in enumerate(rows.parts):
        path = Path(folder, f"{number}.{kind}")
        raw = part.to(TYPES[kind]).contiguous().view(torch.uint8)
        path.write_bytes(raw.numpy().tobytes())
        paths.append(path)
    return paths


def measured(rows, kind, folder):
    """Shares that are saved, and times of a byte, over all parts; and caches of the first one."""
    columns = rows.parts[0].shape[1]
    told = ("--dtype", kind, "--columns", columns)
    paths = write_parts(rows, kind, folder)
    parts = program("ibp", "measure", "--json", *told, *paths)
    raw = [part["rows"] * part["row_bytes"] for part in parts]

    def mean(field):
        return sum(part[field] * size for part, size in zip(parts, raw)) / sum(raw)

    def rate(field):
        return sum(raw) / sum(size / part[field] for part, size in zip(parts, raw))

    caches = program("ibp", "cache", "--json", "--link", LINK_BPS / 1e9, *told, paths[0])
    return {"name": rows.name, "type": kind, "told": rows.told, "raw": sum(raw),
            "row_bytes": parts[0]["row_bytes"],
            "groups": sorted({part["group_bits"] for part in parts}), "saved": mean("saved"),
            "planezip2": mean("planezip2_saved"), "by_row": mean("planezip2_by_row_saved"),
            "learn_ms": sum(part["learn_ns"] for part in parts) / 1e6,
            "part": max(raw), "pack": rate("pack_bps"), "unpack": rate("unpack_bps"),
            "memcpy": rate("memcpy_bps"),
            "cache": next(row for row in caches if row["memory"] == 0.2)}


def line(*cells):
    print("| " + " | ".join(cells) + " |")


def head(*titles):
    line(*titles)
    line(*("---" for _ in titles))


def per_cent(share):
    return f"{100 * share:.1f}"


def print_savings(results):
    print("\nSaved, %\n")
    head("rows", "type", "MB", "row", "group", "packed", "the source", "planezip2",
         "by row")
    for one in results:
        line(one["name"], one["type"], f"{one['raw'] / 1e6:.1f}", str(one["row_bytes"]),
             " ".join(map(str, one["groups"])), f"**{per_cent(one['saved'])}**", one["told"],
             per_cent(one["planezip2"]), per_cent(one["by_row"]))


def print_speeds(results):
    print("\nRates, GB/s of raw bytes on one core; of memcpy where it does not fit caches\n")
    head("rows", "type", "learn, ms", "pack", "unpack", "of memcpy", "cores for the link")
    for one in results:
        line(one["name"], one["type"], f"{one['learn_ms']:.0f}", f"{one['pack'] / 1e9:.2f}",
             f"{one['unpack'] / 1e9:.2f}",
             f"{one['unpack'] / one['memcpy']:.2f}" if one["part"] > CACHE_BYTES else "",
             f"{LINK_BPS / (1 - one['saved']) / one['unpack']:.1f}")


def print_effects(results):
    print("\nThrough a link that is all that takes time; caches with memory for a fifth\n")
    head("rows", "type", "link alone", "hits", "packed", "lines on the link", "and cache")
    for one in results:
        cache = one["cache"]
        line(one["name"], one["type"], f"+{per_cent(1 / (1 - one['saved']) - 1)} %",
             f"{per_cent(cache['plain_hits'])} %", f"{per_cent(cache['packed_hits'])} %",
             f"+{per_cent(cache['link_speedup'] - 1)} %",
             f"+{per_cent(cache['packed_speedup'] - 1)} %")


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: rows.py FOLDER WEIGHTS")
    transformers.logging.set_verbosity_error()
    every = [*minilm(Path(sys.argv[2])), *gpt2(Path(sys.argv[1])), *made_here()]
    with tempfile.TemporaryDirectory() as folder:
        results = [measured(rows, kind, folder) for rows in every for kind in rows.types]
    print_savings(results)
    print_speeds(results)
    print_effects(results)


if __name__ == "__main__":
    main()
