"""Figures: planezip.plot."""
import contextlib
import io
import itertools
import json
import re
import tempfile
import unittest
import unittest.mock as mock
import xml.etree.ElementTree as xml
from pathlib import Path

from planezip import plot
from planezip.plot import __main__ as program
from planezip.plot import _scale, _style, _svg

SVG = "{http://www.w3.org/2000/svg}"
MODELS = ("resnet50", "gpt2")


def sweep(budgets=(0.3, 0.5), policies=("recomp", "bw", "planezip"), links=(24e9,)):
    """Rows whose overhead is 30 % over the budget, plus 1 % for each policy before."""
    return {"rows": [
        {"model": model, "platform": platform, "policy": policy, "status": "ok",
         "budget": f"{100 * budget:g}%", "budget_fraction": budget, "link_bps": link,
         "engine_bps": 64e9, "overhead": 0.1 / budget + 0.01 * i}
        for model, platform, budget, link in itertools.product(MODELS, "AB", budgets, links)
        for i, policy in enumerate(policies)]}


MEASURED = {
    "figure_3": [{"precision": precision, "model": model, "planezip_ratio": 1.5,
                  "planezip2_ratio": 2.0, "zvc_ratio": 0.9995}
                 for precision in ("bf16", "fp32") for model in (*MODELS, "geometric mean")],
    "table_3": [{"producer_class": name, "planezip_ratio": ratio, "planezip2_ratio": 3.0,
                 "zvc_ratio": 1.0} for name, ratio in (("Conv <output>", 1.5), ("ReLU", 2.0))]}
SHOWN = {"platforms": [{"model": model, "platform": platform, "link_share": 0.1,
                        "link_share_planezip": 0.2} for model in MODELS for platform in "AB"]}
TENSORS = {"tensors": [{"platform": platform, "fp32_bytes": 100, "bf16_bytes": 50,
                        "swap_ns": 1000 * (i + 1), "recompute_ns": 500 if i else None}
                       for platform in "AB" for i in range(5)]}
COMPARED = {"model": "gpt2", "wire_errors": [{"signature": name, "bf16_wire_error": error}
                                             for name, error in (("tensor", 0.01), ("none", 0.4))]}
TABLE = {"model": "gpt2", "entries": [{"op": i, "slot": 0, "producer_class": "relu",
                                       "planezip_bf16_ratio": 1 + i} for i in range(3)]}
TIMED = {"rows": [{"data": "a/x.npy", "dtype": "bf16", "codec": codec, "threads": threads,
                   "ratio": 2, "encode_bps": rate, "decode_bps": 2 * rate, "memcpy_bps": 1e10}
                  for codec in ("planezip", "lz4") for threads in (1, 2) for rate in (1e9, 5e8)]}
TIMELINE = {"traceEvents": [
    {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "gpt2"}},
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "compute"}},
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "D2H copies"}},
    {"ph": "X", "name": "a", "cat": "op", "pid": 1, "tid": 1, "ts": 0.0, "dur": 50.0},
    {"ph": "X", "name": "b", "cat": "replay", "pid": 1, "tid": 1, "ts": 50.0, "dur": 50.0},
    {"ph": "X", "name": "c", "cat": "swap-out", "pid": 1, "tid": 2, "ts": 0.0, "dur": 25.0},
    {"ph": "C", "name": "live bytes", "pid": 1, "ts": 0.0, "args": {"bytes": 10**9}},
    {"ph": "C", "name": "budget", "pid": 1, "ts": 0.0, "args": {"bytes": 2 * 10**9}}]}
DOCUMENTS = {"sweep": sweep(), "bars": sweep((0.3,)), "links": sweep((0.5,), links=(12e9, 24e9)),
             "measured": MEASURED, "shown": SHOWN, "tensors": TENSORS, "compared": COMPARED,
             "table": TABLE, "timed": TIMED, "timeline": TIMELINE}


def parsed(figure):
    return xml.fromstring(figure.svg().partition("\n")[2])


def marks(figure, tag, word):
    return [e for e in parsed(figure).iter(SVG + tag) if word in e.get("class", "").split()]


def luminance(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(p * w for p, w in zip(linear, (0.2126, 0.7152, 0.0722)))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


class Plot(unittest.TestCase):
    def test_every_document_is_known_and_drawn(self):
        expected = {"sweep": ["figure-4", "overheads"], "bars": ["figure-5"],
                    "links": ["sensitivity-link"], "measured": ["figure-3", "table-3"],
                    "shown": ["figure-1b"], "tensors": ["figure-1a"], "compared": ["predictor"],
                    "table": ["ratios"], "timed": ["speed"], "timeline": ["timeline"]}
        for name, document in DOCUMENTS.items():
            found = plot.figures(document)
            self.assertEqual([figure.name for figure in found], expected[name])
            for figure in found:
                root = parsed(figure)
                self.assertEqual(root.tag, SVG + "svg")
                self.assertNotIn("http", figure.svg().replace("http://www.w3.org/2000/svg", ""))
                xml.fromstring(f"<div>{figure.html()}</div>")
        self.assertEqual(plot.figures({"rows": []}), [])

    def test_bars_are_as_long_as_their_values(self):
        figure = plot.bars(sweep((0.3,)))
        widths = [float(bar.get("width")) for bar in marks(figure, "rect", "fill")]
        self.assertEqual(len(widths), 6)
        for i, width in enumerate(widths[:3]):
            self.assertAlmostEqual(width / widths[0], (100 / 3 + i) / (100 / 3), places=2)

    def test_values_of_others_are_hollow(self):
        beside = {"rows": [{"model": "mean", "platform": "A", "policy": "bw", "overhead": 0.35,
                            "budget_fraction": 0.3, "link_bps": 12e9}]}
        for make, document in ((plot.bars, sweep((0.3,))), (plot.overheads, sweep()),
                               (plot.sensitivity, sweep((0.3,), links=(12e9, 24e9)))):
            keys = len(marks(make(document), "circle", "hollow"))
            self.assertEqual(keys, 0)
            # One in the figure, and one in its legend.
            self.assertEqual(len(marks(make(document, beside), "circle", "hollow")), 2)
        self.assertIn(">35.0<", plot.bars(sweep((0.3,)), beside).svg())

    def test_means_leave_out_what_lacks_a_model(self):
        rows = sweep((0.5,))["rows"]
        means = plot.mean_overheads(rows, "platform", "policy")
        self.assertAlmostEqual(means["A", "bw"], 21)
        means = plot.mean_overheads(rows[1:], "platform", "policy")
        self.assertNotIn(("A", "recomp"), means)
        self.assertIn(("B", "recomp"), means)

    def test_what_lies_outside_is_cut_off(self):
        document = sweep((0.1, 0.5))
        figure = plot.throughput(document)
        clips = {e.get("id") for e in parsed(figure).iter(SVG + "clipPath")}
        used = {e.get("clip-path")[5:-1] for e in parsed(figure).iter(SVG + "g")
                if e.get("clip-path")}
        self.assertEqual(clips, used)
        self.assertEqual(len(clips), 4)

    def test_words_are_escaped(self):
        self.assertIn("Conv &lt;output&gt;", plot.classes(MEASURED).svg())

    def test_timeline_joins_what_cannot_be_seen_apart(self):
        document = json.loads(json.dumps(TIMELINE))
        document["traceEvents"] += [
            {"ph": "X", "name": "d", "cat": "op", "pid": 1, "tid": 1, "ts": 100 + i / 100,
             "dur": 0.01} for i in range(1000)]
        self.assertLess(len(plot.timeline(document).svg()), 12000)

    def test_ticks(self):
        self.assertEqual(_scale.Linear(0, 1).ticks(4), [0, 0.25, 0.5, 0.75, 1])
        self.assertEqual(_scale.Linear(0, 52).ticks(4), [0, 20, 40])
        self.assertEqual(_scale.Log(0.05, 200).ticks(), [0.1, 1, 10, 100])
        self.assertEqual(_scale.nice_top(52), 60)
        self.assertEqual(_scale.nice_top(50), 60)

    def test_wider_text_is_wider(self):
        self.assertGreater(_svg.width_of("MMM"), _svg.width_of("iii"))
        self.assertEqual(_svg.number(-0.001), "0")

    def test_colours_can_be_seen(self):
        for index in (0, 1):
            ground = _style.COLOURS["ground"][index]
            for name in ("ink", "soft"):
                self.assertGreater(contrast(_style.COLOURS[name][index], ground), 4.5, name)
            for name in _style.HUES:
                self.assertGreater(contrast(_style.COLOURS[name][index], ground), 3, name)
        self.assertEqual(len(re.findall("prefers-color-scheme", plot.css())), 1)
        self.assertNotIn(": ink ", plot.css())


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_with(self, text, *arguments):
        """Status, standard output and standard error for a file of that text."""
        path = self.folder / "in.json"
        path.write_text(text)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = program.main([str(path), *map(str, arguments)])
        return status, out.getvalue(), err.getvalue()

    def test_writes_every_figure_beside_the_file(self):
        status, out, _ = self.run_with(json.dumps(sweep()))
        self.assertEqual(status, 0)
        names = [Path(line).name for line in out.splitlines()]
        self.assertEqual(names, ["in-figure-4.svg", "in-overheads.svg"])
        for name in names:
            xml.parse(self.folder / name)
        status, _, err = self.run_with(json.dumps(sweep()))
        self.assertEqual((status, err.endswith("exists; -f overwrites it\n")), (1, True))
        self.assertEqual(self.run_with(json.dumps(sweep()), "-f")[0], 0)

    def test_one_figure_goes_where_it_is_told(self):
        path = self.folder / "there.svg"
        self.assertEqual(self.run_with(json.dumps(SHOWN), "-o", path)[:2], (0, f"{path}\n"))

    def test_others_beside(self):
        path = self.folder / "beside.json"
        path.write_text(json.dumps({"figure_3": [
            {"precision": "bf16", "model": "gpt2", "planezip_ratio": 1.9}]}))
        self.assertEqual(self.run_with(json.dumps(MEASURED), "--beside", path, "--name", "then")[0],
                         0)
        self.assertIn("then&#x27;s PlaneZip", (self.folder / "in-figure-3.svg").read_text())

    def test_never_onto_its_input(self):
        text = json.dumps(SHOWN)
        path = self.folder / "in.json"
        link = self.folder / "link.svg"
        link.symlink_to(path)
        beside = self.folder / "beside.json"
        beside.write_text(text)
        for place in (path, link, beside):
            status, out, err = self.run_with(text, "--beside", beside, "-o", place, "-f")
            self.assertEqual((status, out), (1, ""))
            self.assertEqual(err, f"planezip: {place}: the output is the input itself; "
                             "give another output with -o\n")
        self.assertEqual((path.read_text(), beside.read_text()), (text, text))

    def test_all_figures_or_none(self):
        text = json.dumps(sweep())
        for make in (lambda path: path.mkdir(), lambda path: path.write_text("kept")):
            last = self.folder / "in-overheads.svg"
            make(last)
            status, out, err = self.run_with(text)
            self.assertEqual((status, out, err.count("\n")), (1, "", 1), err)
            self.assertEqual({p.name for p in self.folder.iterdir()}, {"in.json", last.name})
            if last.is_dir():
                last.rmdir()
        with mock.patch.object(Path, "replace", side_effect=OSError(28, "No space")):
            status, out, err = self.run_with(text, "-f")
        self.assertEqual((status, out), (1, ""))
        self.assertEqual(err, f"planezip: {self.folder / 'in-figure-4.svg'}: No space\n")
        self.assertEqual({p.name for p in self.folder.iterdir()}, {"in.json", last.name})
        self.assertEqual(last.read_text(), "kept")

    def test_links_and_devices_stay(self):
        there, link = self.folder / "there.svg", self.folder / "link.svg"
        there.write_text("old")
        link.symlink_to(there)
        self.assertEqual(self.run_with(json.dumps(SHOWN), "-f", "-o", link)[0], 0)
        self.assertTrue(link.is_symlink())
        xml.parse(there)
        self.assertEqual(self.run_with(json.dumps(SHOWN), "-f", "-o", "/dev/null")[0], 0)
        self.assertTrue(Path("/dev/null").is_char_device())

    def test_standard_output(self):
        path = self.folder / "in.json"
        path.write_text(json.dumps(SHOWN))
        out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        with contextlib.redirect_stdout(out):
            self.assertEqual(program.main([str(path), "-o", "-"]), 0)
        self.assertEqual(xml.fromstring(out.buffer.getvalue()).tag, SVG + "svg")
        status, _, err = self.run_with(json.dumps(sweep()), "-o", "-")
        self.assertEqual((status, err), (1, "planezip: -: 2 figures (figure-4, overheads); "
                                         "name a file with -o\n"))
        self.assertEqual(list(self.folder.iterdir()), [path])

    def test_wrong_command_lines(self):
        for arguments in (["-o", ""], ["-o", "."], ["--name", "then"], ["--beside", "-"]):
            with self.subTest(arguments), contextlib.redirect_stderr(io.StringIO()):
                with self.assertRaises(SystemExit) as raised:
                    program.main(["-", *arguments])
                self.assertEqual(raised.exception.code, 2)

    def test_rows_without_plans_or_speeds(self):
        for document in (sweep(), sweep((0.3,)), sweep((0.5,), links=(12e9, 24e9))):
            for row in document["rows"]:
                row.update(status="infeasible", overhead=None)
            self.fails(json.dumps(document), "no row can be drawn")
        rows = [row for row in TIMED["rows"] if row["threads"] > 1]
        self.fails(json.dumps({"rows": rows}), "no row can be drawn")
        # On B one model alone has plans: nothing to compare with A.
        rows = [dict(row, status="ok" if row["platform"] == "A" or row["model"] == "gpt2" else
                     "infeasible") for row in sweep((0.5,), links=(12e9, 24e9))["rows"]]
        self.assertEqual(len(plot.sensitivity({"rows": rows}).panels), 1)

    def test_numbers_beyond_bounds(self):
        shown = json.dumps(SHOWN)
        for text, message in (("[" * 100000, "nested too deeply"),
                              (f'{{"rows": {"9" * 5000}}}', "a number is too large"),
                              (shown.replace("0.1", "1e999"), "1e999 is not finite"),
                              (shown.replace("0.1", "NaN"), "a number is too large"),
                              (shown.replace("0.1", "1" + "0" * 400), "wrong"),
                              (json.dumps(sweep()).replace('"overhead": 0.2', '"overhead": -1, '
                                                           '"x": 0.2'), "wrong"),
                              (json.dumps(sweep((0.5,), links=(0, 24e9))), "wrong")):
            with self.subTest(text[:40]):
                self.fails(text, message)

    def test_names_that_xml_cannot_hold(self):
        text = json.dumps(COMPARED).replace("gpt2", "a\\u0000\\u001b\\ud800\\uffff&\\ud83d\\ude00")
        self.assertEqual(self.run_with(text)[0], 0)
        words = "".join(xml.parse(self.folder / "in-predictor.svg").getroot().itertext())
        self.assertIn("a\ufffd\ufffd\ufffd\ufffd&\U0001f600", words)

    def fails(self, text, message):
        """With one line, and nothing written."""
        status, out, err = self.run_with(text)
        self.assertEqual((status, out, err.count("\n")), (1, "", 1), err)
        self.assertIn(message, err)
        self.assertRegex(err, f"^planezip: {self.folder / 'in.json'}: .*; give ")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["in.json"])

    def test_wrong_files(self):
        for text, message in (('{"rows": [\n 1, ]}', "(line 2, column 5)"),
                              ('{"something": 1}', "nothing to draw"),
                              ('{"rows": [{"overhead": 1}]}', "a field is missing"),
                              ("[]", "nothing to draw"), ("3", "a field is missing")):
            status, out, err = self.run_with(text)
            self.assertEqual((status, out, err.count("\n")), (1, "", 1), err)
            self.assertIn(message, err)
            self.assertTrue(err.startswith(f"planezip: {self.folder / 'in.json'}: "), err)


if __name__ == "__main__":
    unittest.main()
