"""What the models train on: photographs that come with scikit-image, one class each, and the text
of Python's own help.  Nothing is fetched."""
import functools
import importlib.util
import pydoc_data.topics
from pathlib import Path

import torch
from PIL import Image
from tokenizers import ByteLevelBPETokenizer
from torchvision.transforms import v2

PHOTOGRAPHS = ("astronaut.png", "brick.png", "camera.png", "cell.png", "chelsea.png", "coffee.png",
               "coins.png", "grass.png", "gravel.png", "hubble_deep_field.jpg", "ihc.png",
               "moon.png", "motorcycle_left.png", "motorcycle_right.png", "retina.jpg",
               "rocket.jpg")
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@functools.cache
def photographs():
    folder = Path(importlib.util.find_spec("skimage").origin).parent / "data"
    return [v2.functional.to_image(Image.open(folder / name).convert("RGB"))
            for name in PHOTOGRAPHS]


@functools.cache
def augmentation(size):
    return v2.Compose([v2.RandomResizedCrop(size, antialias=True), v2.RandomHorizontalFlip(),
                       v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, DEVIATION)])


def images(batch, size, spread=False):
    """Random crops of random photographs, and which they are.  spread: of different photographs,
    the same ones every time, so that batches differ no more than they do where there are many."""
    labels = torch.randint(0, len(PHOTOGRAPHS), (batch,))
    if spread:
        labels = torch.arange(batch) * len(PHOTOGRAPHS) // batch
    crops = [augmentation(size)(photographs()[label]) for label in labels.tolist()]
    return torch.stack(crops), labels


def text():
    return "\n".join(text for _, text in sorted(pydoc_data.topics.topics.items()))


@functools.cache
def tokens(vocabulary):
    """The text, in tokens that are learned from it."""
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator([text()], vocab_size=vocabulary, show_progress=False)
    return torch.tensor(tokenizer.encode(text()).ids)


def sequences(batch, length, vocabulary, pieces=1):
    """Random pieces of the text.  pieces: so many, one of each equal part of the text, make a
    sequence, so that sequences differ no more than batches of many do."""
    all_tokens = tokens(vocabulary)
    piece, part = length // pieces, len(all_tokens) // pieces
    starts = torch.randint(0, part - piece, (batch, pieces)) + part * torch.arange(pieces)
    return torch.stack([all_tokens[start:start + piece]
                        for start in starts.flatten().tolist()]).view(batch, -1)
