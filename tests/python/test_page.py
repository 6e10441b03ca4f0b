"""What reproduce/ makes a page of: tables of ratios, stages that are kept, HTML."""
import csv
import io
import json
import struct
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


if __name__ == "__main__":
    unittest.main()
