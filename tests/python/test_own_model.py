"""From a training script to a plan and a timeline, as the README says, with models that are not
those of the paper; and from what PyTorch itself records of a run."""
import json
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import planezip.traces
from support import SOURCE, needs, optional

transformers = optional("transformers") if optional("torch") else None
if transformers:
    import planezip.torch
    import timm
    import torch
    from torch.nn import functional
    from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile


def blocks_of_readme(title):
    """The blocks of code of a section."""
    section = SOURCE.joinpath("README.md").read_text().split(f"\n## {title}\n")[1]
    return re.findall(r"^```\w*\n(.*?)^```$", section.split("\n## ")[0], re.DOTALL | re.MULTILINE)


@needs(transformers, "transformers")
class OwnModel(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_python(self, *arguments):
        done = subprocess.run([sys.executable, *map(str, arguments)], cwd=self.folder, text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def program(self, *arguments):
        return self.run_python("-m", "planezip", *arguments)

    def planned(self, name, *options):
        """A plan and its simulation with half of the memory; what the latter says."""
        self.program("plan", "--trace", f"{name}.json", "--platform", "B", "--budget", "50%",
                     "-o", "plan.json", *options)
        return json.loads(self.program(
            "simulate", "--trace", f"{name}.json", "--plan", "plan.json", "--platform", "B",
            "--timeline", "timeline.json", "--json", *options))

    def check(self, shown):
        """A simulated iteration within its budget, and not faster than without one."""
        self.assertLessEqual(shown["peak_bytes"], shown["budget_bytes"])
        self.assertGreaterEqual(shown["overhead"], 0)
        self.assertGreater(shown["swapped_bytes"] + shown["dropped_bytes"], 0)
        self.assertGreater(len(json.loads((self.folder / "timeline.json").read_text())[
            "traceEvents"]), 100)

    def test_readme(self):
        script, commands = blocks_of_readme("Bring your own model")[:2]
        (self.folder / "mine.py").write_text(script)
        self.run_python("mine.py")
        for command in commands.splitlines():
            words = shlex.split(command, comments=True)
            self.assertEqual(words[0], "planezip")
            self.program(*words[1:])
        self.assertTrue((self.folder / "timeline.json").stat().st_size)

    def test_a_decoder(self):
        """Llama's, with grouped heads; captured on the CPU for ratios, and on device meta."""
        def step(device, batch):
            config = transformers.LlamaConfig(
                vocab_size=2000, hidden_size=128, intermediate_size=256, num_hidden_layers=3,
                num_attention_heads=4, num_key_value_heads=2, attn_implementation="eager")
            with torch.device(device):
                model = transformers.LlamaForCausalLM(config).train()
                tokens = torch.ones(batch, 64, dtype=torch.long)
                # Without one, transformers would look at data to make it.
                mask = torch.full((64, 64), torch.finfo(torch.float32).min).triu(1)[None, None]
            optimizer = torch.optim.AdamW(model.parameters())

            def run():
                logits = model(tokens, attention_mask=mask, use_cache=False).logits
                functional.cross_entropy(logits[:, :-1].flatten(0, 1),
                                         tokens[:, 1:].flatten()).backward()
                optimizer.step()
                optimizer.zero_grad()
            return run

        small = planezip.torch.capture(step("cpu", 2), model="llama", batch=2, contents=self.folder)
        large = planezip.torch.capture(step("meta", 64), model="llama", batch=64)
        large.write(self.folder / "llama.json")
        table = planezip.torch.ratios(small.contents[0], small.trace, target=large.trace)
        (self.folder / "ratios.json").write_text(json.dumps(table))
        self.assertGreater(planezip.torch.matched_share(table, large.trace), 0.99)
        self.check(self.planned("llama", "--ratios", "ratios.json"))

    def test_an_imported_run(self):
        """ResNet-50 on the CPU, as torch.profiler records it."""
        network = timm.create_model("resnet50").train()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
        images, labels = torch.randn(2, 3, 64, 64), torch.zeros(2, dtype=torch.long)

        def step():
            functional.cross_entropy(network(images), labels).backward()
            optimizer.step()
            optimizer.zero_grad()

        step()
        path = self.folder / "et.json"
        observer = ExecutionTraceObserver().register_callback(str(path))
        with profile(activities=[ProfilerActivity.CPU], execution_trace_observer=observer) as run:
            step()
        run.export_chrome_trace(str(self.folder / "kineto.json"))
        self.run_python("-m", "planezip.traces", path, "--kineto", "kineto.json", "--model",
                        "resnet50", "--batch", 2, "-o", "mine.json")
        imported = json.loads((self.folder / "mine.json").read_text())
        captured = planezip.torch.capture(step, model="resnet50", batch=2).trace
        self.assertEqual(len(planezip.traces.saved(imported)), 216)
        self.assertEqual(self.saved_bytes(imported), self.saved_bytes(captured))
        self.check(self.planned("mine"))

    @staticmethod
    def saved_bytes(trace):
        return sorted(storage["bytes"] for storage in planezip.traces.saved(trace).values())


if __name__ == "__main__":
    unittest.main()
