"""The tools of reproduce/ on models that are small enough for a test."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import SOURCE, needs, optional

timm = optional("timm") if optional("torch") else None
if timm:
    import planezip.torch
    import torch
    import transformers
    from tokenizers import ByteLevelBPETokenizer
    from torch import nn

    sys.path.insert(0, str(SOURCE / "reproduce"))
    import activations
    import data
    import models
    import train


class Small:
    """A model of photographs, as models.Model describes one."""
    name, batch, small, rate, optimizer, text = "small", 4, 2, 0.01, "sgd", False

    def build(self, device):
        with torch.device(device):
            return nn.Sequential(nn.Conv2d(3, 4, 3, 2), nn.BatchNorm2d(4), nn.ReLU(True),
                                 nn.Dropout(0.2), nn.AdaptiveAvgPool2d(4), nn.Flatten(),
                                 nn.Linear(64, 16))

    def batch_of_data(self):
        return data.images(self.small, 32)

    lesson_of_data = batch_of_data

    def loss(self, model, inputs):
        return nn.functional.cross_entropy(model(inputs[0]), inputs[1])

    def trainer(self, model):
        return torch.optim.SGD(model.parameters(), lr=self.rate, momentum=0.9)


@needs(timm, "timm")
class Reproduce(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def weights(self, training):
        return torch.cat([value.flatten().double() for value
                          in training.network.state_dict().values()])

    def test_a_stopped_training_goes_on(self):
        whole = train.train(Small(), self.folder / "a" / "c.pt", 6)
        path = self.folder / "b" / "c.pt"
        train.train(Small(), path, 4)
        losses = []
        parts = train.train(Small(), path, 6, lambda done, loss: losses.append(done))
        self.assertEqual(losses, [5, 6])
        self.assertTrue(torch.equal(self.weights(whole), self.weights(parts)))
        self.assertFalse(torch.equal(self.weights(whole), self.weights(train.Training(Small()))))

    def test_tables_of_consecutive_iterations(self):
        network, inputs = Small().build("meta"), torch.empty(64, 3, 32, 32, device="meta")
        labels = torch.empty(64, dtype=torch.long, device="meta")
        target = planezip.torch.capture(lambda: Small().loss(network, (inputs, labels)).backward(),
                                        model="small", batch=64, fused_dropout=True).trace
        training = train.Training(Small())
        tables, share = activations.measure(training, target, 2)
        self.assertGreater(share, 0.999)
        self.assertEqual(training.done, 2)
        first, second = ({(entry["op"], entry["slot"]): entry["bf16"] for entry in table["entries"]}
                         for table in tables)
        self.assertEqual(set(first), set(second))
        self.assertNotEqual(first, second)
        self.assertEqual(set(first[-1, 0]), set(activations.CODECS))

    def test_published_weights(self):
        weights = self.folder / "weights"
        config = transformers.BertConfig(vocab_size=300, hidden_size=32, num_hidden_layers=1,
                                         num_attention_heads=2, intermediate_size=64)
        transformers.BertModel(config).save_pretrained(weights)
        tokenizer = ByteLevelBPETokenizer()
        tokenizer.train_from_iterator([data.text()[:10000]], vocab_size=300, show_progress=False)
        tokenizer.save(str(weights / "tokenizer.json"))
        subprocess.run([sys.executable, SOURCE / "reproduce/pretrained.py", self.folder, weights],
                       check=True, capture_output=True)
        place = self.folder / "minilm"
        self.assertGreater(json.loads((place / "about.json").read_text())["matched_share"], 0.999)
        tables = [(place / name).read_text() for name in
                  ("ratios-0.json", "ratios-1.json", "ratios-2.json", "random-0.json")]
        self.assertEqual(len(set(tables)), 4)
        self.assertIn("softmax", json.loads((place / "blocks.json").read_text()))

    def test_data(self):
        torch.manual_seed(1)
        pictures, labels = data.images(4, 64)
        self.assertEqual((tuple(pictures.shape), labels.dtype), ((4, 3, 64, 64), torch.int64))
        self.assertGreater(pictures.std().item(), 0.3)
        spread = [data.images(4, 64, spread=True) for _ in range(2)]
        self.assertEqual(spread[0][1].tolist(), [0, 4, 8, 12])
        self.assertEqual(spread[1][1].tolist(), [0, 4, 8, 12])
        self.assertFalse(torch.equal(spread[0][0], spread[1][0]))
        text = data.sequences(2, 100, models.VOCABULARY)
        self.assertEqual(tuple(text.shape), (2, 100))
        self.assertGreater(len(set(text.flatten().tolist())), 20)
        self.assertLess(data.tokens(models.VOCABULARY).max().item(), models.VOCABULARY)

    def test_pieces_of_text(self):
        """Each piece of a sequence is from a part of its own."""
        parts = data.tokens(models.VOCABULARY).tensor_split(4)
        rows = data.sequences(3, 80, models.VOCABULARY, pieces=4)
        self.assertEqual(tuple(rows.shape), (3, 80))
        for row in rows:
            for part, piece in zip(parts, row.split(20)):
                self.assertTrue((part.unfold(0, 20, 1) == piece).all(1).any())


if __name__ == "__main__":
    unittest.main()
