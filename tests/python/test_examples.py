"""The examples that train, and the short form of the benchmark of training within a budget: they
run, and what they train both ways is the same.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import SOURCE, needs, optional

ready = optional("torch") and optional("torchvision") and optional("transformers")


@needs(ready, "torch with torchvision and transformers")
class Scripts(unittest.TestCase):
    def run_script(self, path, *arguments):
        """What it prints."""
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)),
                           OMP_NUM_THREADS="1")
        done = subprocess.run([sys.executable, SOURCE / path, *arguments], env=environment,
                              text=True, capture_output=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_resnet50(self):
        with tempfile.TemporaryDirectory() as folder:
            text = self.run_script("examples/train_resnet50.py", "--side", "64", "--batch", "2",
                                   "--steps", "4", "--budget", "60%", "--tier", "disk",
                                   "--directory", folder)
        self.assertIn("the same, bit for bit", text)
        self.assertRegex(text, "[1-9][0-9]* swapped")

    def test_gpt2(self):
        text = self.run_script("examples/train_gpt2.py", "--layers", "2", "--width", "128",
                               "--tokens", "64", "--steps", "4", "--link", "1GB/s")
        self.assertIn("the same, bit for bit", text)
        self.assertIn("over an emulated link of 1 GB/s", text)

    def test_benchmark(self):
        with tempfile.TemporaryDirectory() as folder:
            self.run_script("bench/runtime.py", "--short", "--steps", "1", "--directory", folder,
                            "--results", folder)
            found = json.loads((Path(folder) / "runtime.json").read_text(encoding="utf-8"))
            page = (Path(folder) / "runtime.md").read_text(encoding="utf-8")
        rows = {(row["tier"], row["way"], row["budget"]): row for row in found["rows"]}
        self.assertEqual(len(rows), 13)
        self.assertEqual(page.count("\n| gpt2 |"), 13)
        plain = rows["", "plain", None]
        for (tier, way, budget), row in rows.items():
            with self.subTest(tier=tier, way=way, budget=budget):
                self.assertEqual(row["losses"], plain["losses"])
                self.assertEqual(row["parameters"], plain["parameters"])
                if way in ("checkpoint", "hooks") or budget in ("50%", "30%"):
                    self.assertLess(row["peak_bytes"], 0.8 * plain["peak_bytes"])


if __name__ == "__main__":
    unittest.main()
