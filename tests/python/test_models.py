"""The five models of the paper on device meta: Table I, beside the bundled traces."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import planezip.traces
from support import SOURCE, needs, optional

timm = optional("timm") if optional("torch") else None
if timm:
    sys.path.insert(0, str(SOURCE / "reproduce"))
    import models
    import record

# The paper's Table I: saved tensors, GB, operators.  ViT-B/16 has its 211 tensors and 1,910
# operators only if it drops paths; otherwise they are 189 and 1,800, with timm's other attention
# 189 and 1,824, in torchvision 189 and 2,208 with 9.9 GB, in transformers 189 and 2,352.
TABLE_1 = {"resnet50": (216, 11.0, 896), "densenet121": (494, 16.7, 3162),
           "efficientnet_b0": (314, 11.3, 1276), "vit_b_16": (211, 9.0, 1910),
           "gpt2": (275, 21.2, 2115)}


@needs(timm, "timm")
class TableOne(unittest.TestCase):
    def shown(self, trace):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "trace.json"
            path.write_text(json.dumps(trace))
            done = subprocess.run([sys.executable, "-m", "planezip", "trace", "show", "--json",
                                   str(path)], check=True, text=True, capture_output=True)
        return json.loads(done.stdout)["traces"][0]

    def test_models(self):
        for name in TABLE_1:
            with self.subTest(name):
                captured = record.record(models.MODELS[name])
                tensors, gigabytes, operators = TABLE_1[name]
                saved = planezip.traces.saved(captured.trace)
                self.assertEqual(len(saved), tensors)
                size = sum(storage["bytes"] for storage in saved.values())
                self.assertAlmostEqual(size / 1e9 / gigabytes, 1, delta=0.01)
                self.assertAlmostEqual(len(captured.trace["ops"]) / operators, 1, delta=0.01)
                # All but the loss, which only gives its shape.
                self.assertEqual((len(captured.saved.confirmed), captured.saved.packed),
                                 (tensors - 1, ()))
                self.assertEqual(self.shown(captured.trace)["saved_tensors"], tensors)

    def test_fused_attention(self):
        """It saves what GPT-2 saves but for probabilities, their dropout and its masks: half."""
        captured = record.record(models.MODELS["gpt2_fused"])
        saved = planezip.traces.saved(captured.trace)
        size = sum(storage["bytes"] for storage in saved.values())
        self.assertAlmostEqual(size / 1e9 / TABLE_1["gpt2"][1], 0.49, delta=0.02)
        attention = next(op for op in captured.trace["ops"] if "attention" in op["name"])
        # Two products of 1024 x 1024 x 64 for each of 12 heads and 8 sequences.
        self.assertEqual(attention["flops"], 2 * 2 * 1024 * 1024 * 64 * 12 * 8)


if __name__ == "__main__":
    unittest.main()
