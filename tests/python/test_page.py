"""What reproduce/ makes a page of: tables of ratios, stages that are kept, HTML."""
import csv
import io
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import SOURCE

sys.path.insert(0, str(SOURCE / "reproduce"))
import markup  # noqa: E402
import paper  # noqa: E402
import stages  # noqa: E402
import tables  # noqa: E402

TRACE = {"ops": [
    {"name": "aten.relu.default", "phase": "forward", "reads": [1], "writes": [2]},
    {"name": "aten._softmax.default", "phase": "forward", "reads": [2], "writes": [3]},
    {"name": "aten.mul.Tensor", "phase": "backward", "reads": [1, 2, 3], "writes": [4]}],
    "storages": [
        {"id": 1, "op": -1, "slot": 0, "kind": "input", "dtype": "int64", "bytes": 400},
        {"id": 2, "op": 0, "slot": 0, "kind": "activation", "dtype": "float32", "bytes": 1000},
        {"id": 3, "op": 1, "slot": 0, "kind": "activation", "dtype": "float32", "bytes": 600}]}
TABLE = {"model": "m", "entries": [
    {"op": 0, "slot": 0, "class": "relu", "bf16": {"planezip": 2.0, "planezip2": 4.0},
     "fp32": {"planezip": 1.0, "planezip2": 2.0}, "measured": []},
    {"op": 1, "slot": 0, "class": "softmax", "bf16": {"planezip": 3.0}, "fp32": {"planezip": 1.5}}]}


class Tables(unittest.TestCase):
    def test_ratios_are_weighted_by_saved_bytes(self):
        self.assertEqual(tables.sizes(TRACE, "bf16"), {(-1, 0): 400, (0, 0): 500, (1, 0): 300})
        # What a table does not know has ratio 1: 1200 / (400 + 250 + 100), 2000 / 1800.
        self.assertAlmostEqual(tables.ratio(TABLE, TRACE, "bf16", "planezip"), 1.6)
        self.assertAlmostEqual(tables.ratio(TABLE, TRACE, "fp32", "planezip"), 2000 / 1800)
        self.assertEqual(tables.ratio(TABLE, TRACE, "bf16", "planezip", {(0, 0)}.__contains__), 2)

    def test_shares_are_of_bytes_in_fp32(self):
        self.assertEqual(tables.share(TRACE, {(0, 0)}.__contains__), 0.5)

    def test_a_table_with_other_ratios(self):
        made = tables.substituted(TABLE, lambda entry, precision:
                                  entry[precision].get("planezip2", 9.0))
        self.assertEqual([entry["bf16"]["planezip"] for entry in made["entries"]], [4, 9])
        self.assertEqual(made["format"], "planezip-ratios")
        self.assertNotIn("measured", made["entries"][0])
        self.assertEqual(TABLE["entries"][0]["bf16"]["planezip"], 2)

    def test_rounding_to_bfloat16(self):
        words = (0x3f800000, 0x3f808000, 0x3f818000, 0x3f808001, 0xbf7fffff, 0)
        self.assertEqual(struct.unpack("<6H", tables.rounded(struct.pack("<6I", *words))),
                         (0x3f80, 0x3f80, 0x3f82, 0x3f81, 0xbf80, 0))

    def test_geometric_mean(self):
        self.assertAlmostEqual(tables.geometric_mean([1, 4, 16]), 4)


class Stages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.runs = []

    def stage(self, key, value=1, *arguments):
        def make(*given):
            self.runs.append(given)
            return {"value": value}

        return stages.Stages(self.folder, key, say=lambda line: None).run("s", make, *arguments)

    def test_a_stage_runs_once(self):
        self.assertEqual([self.stage("k")["value"], self.stage("k", 2)["value"]], [1, 1])
        self.assertEqual(len(self.runs), 1)

    def test_and_again_when_what_it_depends_on_has_changed(self):
        self.stage("k")
        self.assertEqual(self.stage("other", 2)["value"], 2)
        self.assertEqual(self.stage("other", 3, "argument")["value"], 3)
        self.assertEqual(len(self.runs), 3)

    def test_or_what_was_kept_is_broken(self):
        self.stage("k")
        (self.folder / "s.json").write_text('{"key": ')
        self.assertEqual(self.stage("k", 2)["value"], 2)

    def test_or_what_was_kept_is_something_else(self):
        self.stage("k")
        key = json.loads((self.folder / "s.json").read_text())["key"]
        kept = ("[]", "null", "5", '"key"', "[" * 100000, json.dumps({"key": key}))
        for i, text in enumerate(kept):
            (self.folder / "s.json").write_text(text)
            self.assertEqual(self.stage("k", i)["value"], i)

    def test_a_digest_is_of_contents(self):
        one, two = self.folder / "one", self.folder / "two"
        one.write_text("a")
        two.write_text("a")
        self.assertEqual(stages.digest([one]), stages.digest([two]))
        two.write_text("b")
        self.assertNotEqual(stages.digest([one]), stages.digest([two]))


class Markup(unittest.TestCase):
    def test_tables_as_csv(self):
        table = markup.Table("t", ["", "x, %", "y"], [
            ["group"], ["a", markup.beside(1.25, 2, "{:.2f}"), "–"], ["b", "18–52", "1"]])
        rows = list(csv.reader(io.StringIO(table.csv())))
        self.assertEqual(rows, [["group", "", "x, %", "x, % (paper)", "y"],
                                ["group", "a", "1.25", "2.00", "-"],
                                ["group", "b", "18-52", "", "1"]])
        self.assertIn("<small>2.00</small>", table.html())

    def test_nothing_beside(self):
        self.assertEqual(markup.beside(None, 3), "–")
        self.assertEqual(markup.beside(3, None), "3.0")


class Paper(unittest.TestCase):
    def test_has_the_form_of_what_the_program_prints(self):
        for document in (paper.sweep(), paper.ablation(), paper.links(), paper.engines()):
            for row in document["rows"]:
                self.assertLessEqual({"model", "platform", "policy", "overhead",
                                      "budget_fraction"}, set(row))
        json.dumps(paper.FIGURE_3)

    def test_means_agree_with_one_another(self):
        """A number that the paper prints in more than one place is the same everywhere."""
        for policy, points in paper.MEANS.items():
            if policy in paper.FIGURE_5:
                for platform, percent in zip("AB", paper.FIGURE_5[policy]):
                    self.assertEqual(points[platform, 30], percent)
        self.assertEqual(paper.FIGURE_6B[64], paper.MEANS["planezip"]["B", 50])


class Report(unittest.TestCase):
    """What is wrong is told in one line, before any stage."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.source, self.output = self.folder / "captures", self.folder / "out"
        (self.source / "traces").mkdir(parents=True)
        for model in paper.MODELS:
            (self.source / model).mkdir()
            self.put(f"traces/{model}.json", json.dumps(TRACE))
            for name in ("ratios-0", "ratios-1", "random-0"):
                self.put(f"{model}/{name}.json", json.dumps(TABLE))
            self.put(f"{model}/about.json", '{"matched_share": 1}')
            self.put(f"{model}/blocks.json", '{"relu": {"bx": 1}}')
        self.program = self.folder / "planezip"
        self.program.write_text('#!/bin/sh\n[ "$1" = --version ] && echo planezip 0 || exit 3\n')
        self.program.chmod(0o755)

    def put(self, name, text):
        (self.source / name).write_text(text)

    def report(self, *arguments):
        """Exit status and the lines of standard error."""
        done = subprocess.run(
            [sys.executable, SOURCE / "reproduce/report.py", self.output, "--captures", self.source,
             *arguments], capture_output=True, text=True,
            env={**os.environ, "PLANEZIP": str(self.program),
                 "PYTHONPATH": f"{SOURCE / 'python'}:{os.environ.get('PYTHONPATH', '')}"})
        self.assertEqual(done.stdout, "")
        return done.returncode, done.stderr.splitlines()

    def fails(self, path, what):
        status, lines = self.report()
        self.assertEqual((status, len(lines)), (1, 1), lines)
        self.assertTrue(lines[0].startswith(f"planezip: {path}: "), lines)
        self.assertIn(what, lines[0])
        self.assertIn("; ", lines[0])

    def test_wrong_inputs(self):
        for name, text, what in (
                ("traces/gpt2.json", json.dumps(TRACE)[:99], "(line 1, column "),
                ("traces/gpt2.json", "{}", "lacks the field 'ops'"),
                ("resnet50/ratios-0.json", "", "(line 1, column 1)"),
                ("resnet50/ratios-1.json", '{"entries": []}', "no entries"),
                ("resnet50/random-0.json", "[]", "a field is wrong"),
                ("gpt2/about.json", "{}", "lacks the field 'matched_share'"),
                ("gpt2/blocks.json", '{"relu": 1}', "a field is wrong"),
                ("gpt2/blocks.json", "[" * 100000, "not JSON")):
            with self.subTest(name, text=text[:20]):
                path = self.source / name
                kept = path.read_text()
                path.write_text(text)
                self.fails(path, what)
                path.write_text(kept)
        # All is well but for the program, which does nothing.
        self.fails(self.program, "is not planezip (exit status 3)")

    def test_wrong_programs(self):
        self.program = self.folder / "none"
        self.fails(self.program, "No such file")
        self.program = Path("/bin/true")
        self.fails(self.program, "is not planezip (--version prints something else)")

    def test_wrong_output(self):
        self.output.write_text("")
        self.fails(self.output, "File exists")

    def test_wrong_command_lines(self):
        for plans in ("-5", "x"):
            self.assertEqual(self.report("--plans", plans)[0], 2)
        self.assertFalse(self.output.exists())


if __name__ == "__main__":
    unittest.main()
