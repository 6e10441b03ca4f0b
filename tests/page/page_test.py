#!/usr/bin/env python3
"""The page that reproduce/run makes, of the bundled data: what is in it, and, where there is a
Chromium, how it looks.

PZ_PAGE_DIR: the folder of the page, where screenshots are left, too.  PLANEZIP: the program.
PZ_DATA_DIR: the unpacked data.  PZ_CHROMIUM: the browser.
Exit status 77, with an argument "browser": there is none.
"""
import csv
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml
from html.parser import HTMLParser
from pathlib import Path

FOLDER = Path(os.environ["PZ_PAGE_DIR"])
SCREENSHOTS = FOLDER / "screenshots"
CHROMIUM = os.environ.get("PZ_CHROMIUM") or shutil.which("chromium")
PROBE = (Path(__file__).parent / "probe.js").read_text()
# Nothing may come from anywhere; errors are kept for the probe.
GUARD = """<meta http-equiv="Content-Security-Policy" content="default-src 'none';
style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"><script>
window.probeErrors = [];
addEventListener("error", function (e) { probeErrors.push(e.message); });
document.addEventListener("securitypolicyviolation", function (e) {
    probeErrors.push("asks for " + e.blockedURI + " against " + e.violatedDirective);
});</script>"""
FRAME = """<!DOCTYPE html><iframe src="{page}" style="border:0;width:{width}px;height:900px">
</iframe><script>
addEventListener("message", function (event) {{
    const place = document.createElement("pre");
    place.id = "probe";
    place.hidden = true;
    place.textContent = event.data;
    document.body.appendChild(place);
}});</script>"""
FIGURES = {"table-i", "figure-1a", "figure-1b", "figure-3", "table-iii", "table-iv",
           "policy-means", "figure-4", "figure-5", "timeline", "figure-6a", "figure-6b",
           "section-v-f", "sections-v-c-and-v-d"}
SOURCE = Path(__file__).resolve().parent.parent.parent
# The package as it is in the source tree, with the library beside the program.
PYTHON = {"PLANEZIP_LIBRARY": str(Path(os.environ["PLANEZIP"]).resolve().parent /
                                  "libplanezip.so"),
          "PYTHONDONTWRITEBYTECODE": "1", **os.environ, "PYTHONPATH": str(SOURCE / "python")}
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Reader(HTMLParser):
    """Elements, ids and references; nesting that is wrong."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.references, self.tags, self.wrong = [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.note(tag, attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.note(tag, attributes)

    def note(self, tag, attributes):
        self.tags.append(tag)
        for key, value in attributes:
            if key == "id":
                self.ids.append(value)
            elif key in ("src", "href", "xlink:href", "data", "poster", "action"):
                self.references.append((tag, value))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> at line {self.getpos()[0]}")


class Content(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = (FOLDER / "index.html").read_text(encoding="utf-8")
        cls.read = Reader(cls.text)

    def test_is_well_formed(self):
        self.assertEqual(self.read.wrong + self.read.open, [])
        self.assertEqual(len(self.read.ids), len(set(self.read.ids)))

    def test_has_every_figure_and_table(self):
        self.assertLessEqual(FIGURES, set(self.read.ids))

    def test_asks_for_nothing(self):
        for tag, value in self.read.references:
            if tag == "a":
                self.assertRegex(value, r"^(#[\w-]+|data:text/csv;|https://arxiv\.org/abs/)")
                if value.startswith("#"):
                    self.assertIn(value[1:], self.read.ids)
            else:
                self.assertRegex(value, "^data:")
        self.assertNotRegex(self.text, r"@import|url\((?!#)")
        self.assertEqual(self.read.tags.count("img") + self.read.tags.count("iframe"), 0)

    def test_says_what_it_must(self):
        text = html.unescape(re.sub("<[^>]*>", " ", self.text))
        for words in ("Measured:", "Simulated:", "Not compared:", "(UVM)", "Where we differ",
                      "Format 2"):
            self.assertIn(words, text)
        self.assertNotRegex(text, r"\b(None|nan|inf|True|False)\b")

    def test_files_beside_it(self):
        for path in FOLDER.glob("figures/*.svg"):
            xml.parse(path)
        self.assertGreaterEqual(len(list(FOLDER.glob("figures/*.svg"))), 10)
        with open(FOLDER / "tables/policy-means.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        self.assertEqual({len(row) for row in rows}, {len(rows[0])})
        policies = [row[1] for row in rows[1:]]
        for policy in ("RECOMP (DTR)", "BW", "PlaneZip", "PlaneZip, format 2", "best"):
            self.assertEqual(policies.count(policy), 2, policy)
        found = [row for row in rows if row[1] == "PlaneZip"]
        for row in found:
            self.assertEqual(sum(1 for cell in row[2:] if re.fullmatch(r"\d+\.\d", cell)), 9)

    def test_numbers_near_the_papers(self):
        means = {}
        for row in json.loads((FOLDER / "results/policies.json").read_text())["result"]["rows"]:
            means.setdefault((row["policy"], row["platform"], row["budget"]), []).append(
                100 * row["overhead"])
        self.assertEqual({len(values) for values in means.values()}, {5})
        for (policy, platform, budget), theirs in {
                ("planezip", "A", "50%"): 3.5, ("planezip", "B", "50%"): 9.0,
                ("bw", "A", "30%"): 17.4, ("recomp", "B", "50%"): 19.6}.items():
            ours = sum(means[policy, platform, budget]) / 5
            self.assertLess(abs(ours - theirs), 2.5, (policy, platform, budget, ours))
        self.assertEqual(len({budget for _, _, budget in means}), 7)


class Verbs(unittest.TestCase):
    """python -m planezip.plot takes what the program prints."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def planezip(self, *arguments):
        done = subprocess.run([os.environ["PLANEZIP"], *map(str, arguments)], capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def drawn(self, name, text):
        """The names of the figures of a document."""
        path = self.folder / f"{name}.json"
        path.write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, "-m", "planezip.plot", path], capture_output=True,
                              text=True, env=PYTHON)
        self.assertEqual(done.returncode, 0, done.stderr)
        paths = [Path(line) for line in done.stdout.splitlines()]
        for svg in paths:
            self.assertGreater(len(list(xml.parse(svg).iter())), 20)
        return [svg.stem.removeprefix(f"{name}-") for svg in paths]

    def test_verbs(self):
        data, table = Path(os.environ["PZ_DATA_DIR"]), "ratios/measured_resnet50.json"
        trace = ("--trace", data / "traces/resnet50.json")
        plan, timeline = self.folder / "plan.json", self.folder / "timeline.json"
        self.planezip("plan", *trace, "--ratios", data / table, "--platform", "B", "--budget",
                      "50%", "--policy", "planezip", "-o", plan)
        self.planezip("simulate", *trace, "--plan", plan, "--platform", "B", "--ratios",
                      data / table, "--timeline", timeline)
        sweep = ("sweep", *trace, "--ratios", data / table, "--policy", "bw,planezip", "--json")
        for name, expected, arguments in (
                ("bench", ["speed"], ("bench", "--dtype", "f32", "--size", "64KiB", "--runs", "1",
                                      "--json", data / "activations/resnet50.f32")),
                ("table", ["ratios"], ("ratios", "show", "--json", data / table)),
                ("errors", ["predictor"], ("ratios", "compare", *trace, "--json", data / table,
                                           data / table)),
                ("shown", ["figure-1b"], ("trace", "show", "--platform", "A,B", "--json",
                                          trace[1])),
                ("tensors", ["figure-1a"], ("trace", "show", "--platform", "A,B", "--tensors",
                                            "--json", trace[1])),
                ("sweep", ["figure-4", "overheads"], sweep),
                ("one", ["figure-5"], (*sweep, "--budget", "50%")),
                ("links", ["sensitivity-link"], (*sweep, "--budget", "50%", "--link", "12,24"))):
            self.assertEqual(self.drawn(name, self.planezip(*arguments)), expected, name)
        self.assertEqual(self.drawn("timeline", timeline.read_text()), ["timeline"])


class Browser(unittest.TestCase):
    """In headless Chromium, in a wide and in a narrow window, light and dark."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        page = (FOLDER / "index.html").read_text(encoding="utf-8")
        cls.page = cls.folder / "page.html"
        cls.page.write_text(page.replace("<head>", "<head>" + GUARD, 1).replace(
            "</body>", f"<script>{PROBE}</script></body>", 1), encoding="utf-8")
        SCREENSHOTS.mkdir(exist_ok=True)

    def chromium(self, *arguments):
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                   "--no-first-run", "--disable-background-networking", "--disable-dev-shm-usage",
                   f"--user-data-dir={self.folder / 'profile'}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        return done.stdout

    def probe(self, page, width, *arguments):
        """What the probe found; in a frame, which may be narrower than any window."""
        frame = self.folder / "frame.html"
        frame.write_text(FRAME.format(page=page.name, width=width), encoding="utf-8")
        text = self.chromium("--window-size=1400,1000", "--virtual-time-budget=3000", "--dump-dom",
                             *arguments, frame.as_uri())
        found = re.search(r'<pre id="probe" hidden="">({.*?)</pre>', text, re.S)
        self.assertTrue(found, "the probe did not run")
        return json.loads(html.unescape(found[1]))

    def screenshot(self, width, height, name, *arguments):
        path = SCREENSHOTS / f"{name}.png"
        path.unlink(missing_ok=True)
        self.chromium(f"--window-size={width},{min(height, 16000)}", f"--screenshot={path}",
                      *arguments, (FOLDER / "index.html").as_uri())
        self.assertGreater(path.stat().st_size, 50_000)

    def look(self, width, name, *arguments):
        found = self.probe(self.page, width, *arguments)
        self.screenshot(width, found["height"], name, *arguments)
        self.assertEqual(found["errors"], [])
        self.assertEqual(found["requests"], [])
        self.assertEqual(found["width"], width)
        self.assertLessEqual(found["content"], width, "wider than its window")
        self.assertEqual(found["faint"], [])
        self.assertEqual(found["cut"], [])
        self.assertEqual(found["overlaps"], [])
        self.assertEqual(found["small"], [])
        self.assertEqual(found["flat"], 0)
        self.assertEqual(found["panels"], 23)
        self.assertGreater(found["texts"], 800)
        return found

    def test_wide(self):
        self.assertFalse(self.look(1280, "wide")["dark"])

    def test_narrow(self):
        self.look(360, "narrow")

    def test_dark(self):
        self.assertTrue(self.look(1280, "dark", "--blink-settings=preferredColorScheme=0")["dark"])

    def test_on_paper(self):
        path = SCREENSHOTS / "paper.pdf"
        path.unlink(missing_ok=True)
        self.chromium(f"--print-to-pdf={path}", "--no-pdf-header-footer",
                      (FOLDER / "index.html").as_uri())
        pages = len(re.findall(rb"/Type\s*/Page\b", path.read_bytes()))
        self.assertGreater(pages, 3)
        self.assertLess(pages, 25)

    def test_the_probe_sees(self):
        """What the other tests look for is found where it is."""
        wrong = ('<p style="color:#999">faint</p><div style="width:3000px">wide</div>'
                 '<div class="panels"><svg viewBox="0 0 100 100" style="width:100px">'
                 '<text x="90" y="50">far too long</text><text x="90" y="52">over it</text></svg>'
                 '</div><img src="http://localhost:9/x.png"><script>nothing()</script></main>')
        page = self.page.read_text(encoding="utf-8")
        path = self.folder / "wrong.html"
        path.write_text(page.replace("</main>", wrong, 1), encoding="utf-8")
        found = self.probe(path, 1280)
        self.assertEqual(len(found["errors"]), 2, found["errors"])
        self.assertGreater(found["content"], 2000)
        self.assertIn("faint", found["faint"])
        self.assertIn("far too long", found["cut"])
        self.assertEqual(len(found["overlaps"]), 1)


if __name__ == "__main__":
    if sys.argv[1:] == ["browser"] and not CHROMIUM:
        print("page_test: no chromium; tools/bootstrap --browser installs it, as make test-all "
              "does")
        sys.exit(77)
    names = {"content": ["Content", "Verbs"], "browser": ["Browser"]}[sys.argv[1]]
    unittest.main(argv=[sys.argv[0], *names, "-v"])
