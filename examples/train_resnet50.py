"""Trains ResNet-50 within a budget, and beside it as PyTorch does by itself: what is the same, and
what it costs.

    python examples/train_resnet50.py --budget 50% --tier disk --directory /var/tmp
    python examples/train_resnet50.py --side 224 --batch 32 --link 1GB/s --tier memory

Minutes on a CPU; on a GPU with --device cuda --tier host, which nobody has tried yet.
Needs torchvision.
"""
import side_by_side # first, as it sets how torch begins

import torch
import torchvision


def options():
    parser = side_by_side.options(__doc__)
    parser.add_argument("--side", type=int, default=128, help="pixels of an image")
    parser.add_argument("--batch", type=int, default=8, help="images")
    return parser.parse_args()


def build(_):
    return torchvision.models.resnet50(num_classes=10)


def batch(given):
    """Noise that is brighter the higher its class, so that there is something to learn."""
    labels = torch.randint(10, (given.batch,))
    images = torch.randn(given.batch, 3, given.side, given.side) + labels[:, None, None, None] / 5
    return images.to(given.device), labels.to(given.device)


def loss(model, images_and_labels):
    images, labels = images_and_labels
    return torch.nn.functional.cross_entropy(model(images), labels)


if __name__ == "__main__":
    side_by_side.compare(options(), build, batch, loss)
