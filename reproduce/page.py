"""The page: every table and figure of the paper's evaluation, ours beside its own."""
import statistics
from html import escape
from pathlib import Path

from planezip import plot

import paper
from evaluate import FORMAT_2
from markup import (Table, beside, bullets, figure, pair, paragraph, tag, titled_table)
from paper import BUDGETS, MODELS

NAMES = dict(zip(MODELS, ("ResNet-50", "DenseNet-121", "EfficientNet-B0", "ViT-B/16", "GPT-2")))
POLICIES = {"recomp": "RECOMP (DTR)", "swap": "SWAP", "dte": "DTE (MegTaiChi)",
            "dte+codec": "DTE + compression", "bw": "BW", "bw+codec": "BW + codec, unaware plan",
            "bw+zvc": "BW + ZVC", "planezip": "PlaneZip", FORMAT_2: "PlaneZip, format 2",
            "best": "best"}
PLATFORMS = {"A": "A: RTX 2080 Ti, FP32, PCIe 3, engine of 64 GB/s",
             "B": "B: A100, BF16, PCIe 4, engine of 64 GB/s"}
SCRIPT = ("addEventListener('beforeprint',function(){document.querySelectorAll('details')"
          ".forEach(function(d){d.open=true})})")


class Page:
    """results: of evaluate().  about: what is told of the run, see foot()."""

    def __init__(self, results, about):
        self.results, self.about = results, about
        self.rows = results["policies"]["rows"]
        self.means = plot.mean_overheads([r for r in self.rows if r["status"] == "ok"],
                                         "platform", "policy", "budget")
        self.figures, self.tables = [], []

    # ---- Parts that are written as files, too ----

    def figure(self, drawn, number, words, table=None):
        self.figures.append(drawn)
        if table:
            self.tables.append(table)
        return figure(drawn.html(), number, words, table)

    def table(self, table, number, words):
        self.tables.append(table)
        return titled_table(table, number, words)

    def mean(self, platform, policy, budget):
        return self.means.get((platform, policy, f"{budget}%"))

    def ratio(self, precision, model="geometric mean", codec="planezip"):
        for row in self.results["ratios"]["weighted"]["figure_3"]:
            if (row["precision"], row["model"]) == (precision, model):
                return row.get(f"{codec}_ratio")
        return None

    @property
    def sampled(self):
        """Ratios of a sample of chunks, if that is what there is."""
        return self.results["ratios"].get("sample")

    # ---- Sections ----

    def head(self):
        words = (
            'The evaluation of <a href="https://arxiv.org/abs/2610.25033">the paper</a>, run again '
            "with this implementation: its Tables I, III and IV and its Figures 1, 3, 4, 5 and 6, "
            "each beside what the paper prints. <b>Hollow circles and small grey numbers are the "
            "paper's.</b>")
        return tag("h1", "PlaneZip: the paper's evaluation, reproduced") + paragraph(
            words, cls="lead") + self.cards() + self.contents()

    def cards(self):
        def card(value, words):
            return tag("div", f"<b>{value}</b><span>{words}</span>", class_="card")

        two = self.ratio("bf16", codec="planezip2")
        made = [card(f"{self.ratio('bf16'):.2f}×",
                     "BF16 activations, geometric mean (paper: 1.71×)"
                     + (f"; {two:.2f}× in format 2" if two else "")),
                card(f"{self.ratio('fp32'):.2f}×",
                     "FP32 activations (paper: 1.39×)" + (
                         f"; {self.ratio('fp32', codec='planezip2'):.2f}× in format 2"
                         if two else ""))]
        for platform, theirs in (("A", "3.5"), ("B", "9.0")):
            made.append(card(f"{self.mean(platform, 'planezip', 50):.1f} %",
                             f"overhead at half the memory on platform {platform} "
                             f"(paper: {theirs} %); {self.mean(platform, 'best', 50):.1f} % with a "
                             "search"))
        return tag("div", "".join(made), class_="cards")

    def contents(self):
        parts = (("honesty", "What is measured, what is simulated"), ("workloads", "Workloads"),
                 ("compression", "Compression"), ("prediction", "Prediction"),
                 ("throughput", "Throughput"), ("gains", "Where the gains come from"),
                 ("sensitivity", "Sensitivity"), ("attention", "Attention"),
                 ("differences", "Where we differ"), ("again", "Run it again"))
        return tag("nav", "".join(tag("a", words, href=f"#{name}") for name, words in parts))

    def honesty(self):
        items = [
            "<b>Measured:</b> " + self.about["measured"],
            "<b>Recorded:</b> " + self.about["recorded"],
            "<b>Simulated:</b> every time and every overhead. An event-driven simulator runs the "
            "recorded operators with the ratios on models of two GPUs, as the paper's does: no "
            "kernel fusion, no interference between copies and kernels, an allocator without "
            "fragmentation. No GPU has been used.",
            "<b>Assumed:</b> a compression engine of 64 GB/s in the copy path, which no GPU on "
            "sale has. It codes format 1. What simulations say of format 2 is what the same engine "
            "would give if it coded that, which was made for software.",
            "<b>Not compared:</b> unified virtual memory (UVM). It moves pages on demand, which a "
            "trace of operators does not tell; the paper does not measure it either.",
            "<b>Beyond the paper:</b> format 2, a stream format of our own, and policy "
            "<code>best</code>, which starts from the best of all other plans, lets replays keep "
            f"what they rebuild, and searches ({self.about['search']}).",
        ]
        return section("honesty", "What is measured, what is simulated", bullets(items))

    def workloads(self):
        shown = self.results["traces"]
        return section("workloads", "Workloads", self.table_1(shown),
                       paragraph(self.workload_differences(shown), cls="note"),
                       self.figure_1(shown))

    def workload_differences(self, shown):
        """Which columns of Table I differ by more than 3 %, and why."""
        far = []
        for trace in shown["traces"]:
            saved, size, ops = paper.TABLE_1[trace["model"]]
            columns = [name for name, ours, theirs in (
                ("saved tensors", trace["saved_tensors"], saved),
                ("GB", trace["saved_fp32_bytes"] / 1e9, size),
                ("operators", trace["ops"], ops)) if abs(ours / theirs - 1) > 0.03]
            if columns:
                far.append(f"{NAMES[trace['model']]} ({' and '.join(columns)})")
        if not far:
            return "Every number is within 3 % of the paper's."
        return (f"More than 3 % off the paper's are: {', '.join(far)}. How many views, copies and "
                "sums of gradients an iteration has, and how attention is written, changes with "
                "the versions of PyTorch and of the model libraries, which the paper does not "
                "name. The saved bytes are what counts for memory and transfers.")

    def table_1(self, shown):
        rows = []
        for trace in shown["traces"]:
            saved, size, ops = paper.TABLE_1[trace["model"]]
            rows.append([NAMES[trace["model"]], str(trace["batch"]),
                         f"{trace['parameters'] / 1e6:.1f} M",
                         beside(f"{trace['saved_tensors']:,}", f"{saved:,}"),
                         beside(trace["saved_fp32_bytes"] / 1e9, size),
                         beside(f"{trace['ops']:,}", f"{ops:,}"),
                         f"{trace['peak_fp32_bytes'] / 1e9:.1f}"])
        return self.table(
            Table("table-1", ["Model", "Batch", "Parameters", "Saved tensors", "Saved, GB",
                              "Operators", "Peak, GB"], rows), "Table I",
            "Workloads, in FP32; peak: of all activations, from the start of an iteration on.")

    def figure_1(self, shown):
        every = {row["platform"]: row for row in shown["platforms"] if row["model"] == "all"}
        rows = [[f"Platform {row['platform']}",
                 beside(f"{100 * every[row['platform']]['swap_costs_more_share']:.2f}",
                        row["swap_costs_more_percent"]),
                 beside(every[row["platform"]]["swap_to_recompute_median"],
                        row["swap_to_recompute_median"])]
                for row in paper.FIGURE_1["platforms"]]
        cost = self.figure(
            plot.swap_cost(shown, paper.FIGURE_1), "Figure 1a",
            "How much longer a swap of a saved tensor takes than recomputing it, its inputs being "
            "there; all five models, by size.",
            Table("figure-1a", ["", "bytes dearer to swap, %", "median ratio"], rows))
        shares = ("link_share", "link_share_zvc", "link_share_planezip", "link_share_planezip2")
        rows = [[f"{NAMES[row['model']]}, {row['platform']}",
                 *["–" if row.get(key) is None else f"{100 * row[key]:.1f}" for key in shares]]
                for row in sorted(shown["platforms"], key=lambda row: row["platform"])
                if row["model"] != "all"]
        return pair(cost, self.figure(
            plot.link_share(shown, paper.FIGURE_1), "Figure 1b",
            "Share of the saved bytes that the host link can move in the shorter of both passes: "
            "as they are, and compressed.",
            Table("figure-1b", ["Model, platform", "as they are, %", "ZVC", "PlaneZip",
                                "format 2"], rows)))

    def compression(self):
        parts = [self.figure_3()]
        if self.sampled:
            parts.append(self.weighted_note())
        if self.results["ratios"].get("pretrained"):
            parts.append(self.pretrained())
        return section("compression", "Compression", *parts, self.table_3())

    def figure_3(self):
        found = self.sampled or self.results["ratios"]["weighted"]
        words = ("Ratio of every model and codec" + (
            ", on the bundled sample: 4 KB chunks of every class with about equal weight."
            if self.sampled else ", weighted by the saved bytes, as in the paper."))
        codecs = [c for c in ("planezip2", "planezip2_fast", "planezip", "zbx", "bx", "bpc", "zvc",
                              "bdi") if f"{c}_ratio" in found["figure_3"][0]]
        rows = []
        for precision in ("bf16", "fp32"):
            rows.append([precision.upper()])
            for row in found["figure_3"]:
                if row["precision"] == precision:
                    rows.append([NAMES.get(row["model"], "Geometric mean"),
                                 *[self.ratio_cell(row, codec) for codec in codecs]])
        names = [c.replace("_", "-") if c.startswith("planezip") else c.upper() for c in codecs]
        return self.figure(plot.ratios(found, paper.FIGURE_3), "Figure 3", words,
                           Table("figure-3", ["Model", *names], rows))

    @staticmethod
    def ratio_cell(row, codec):
        theirs = None
        if codec == "planezip":
            order = (*MODELS, "geometric mean")
            theirs = paper.RATIOS[row["precision"]][order.index(row["model"])]
        elif row["model"] == "geometric mean":
            theirs = paper.OTHER_MEANS.get((row["precision"], codec))
        return beside(row[f"{codec}_ratio"], theirs, "{:.2f}")

    def weighted_note(self):
        """The same weighted by bytes, as the tables have it that the planner uses."""
        rows = []
        for model in (*MODELS, "geometric mean"):
            cells = [NAMES.get(model, "Geometric mean")]
            for precision in ("bf16", "fp32"):
                theirs = paper.RATIOS[precision][(*MODELS, "geometric mean").index(model)]
                cells += [beside(self.ratio(precision, model, "zvc"),
                                 paper.OTHER_MEANS.get((precision, "zvc"))
                                 if model == "geometric mean" else None, "{:.2f}"),
                          beside(self.ratio(precision, model), theirs, "{:.2f}"),
                          f"{self.ratio(precision, model, 'planezip2'):.2f}"]
            rows.append(cells)
        return self.table(
            Table("ratios", ["Model", "BF16: ZVC", "PlaneZip", "format 2", "FP32: ZVC", "PlaneZip",
                             "format 2"], rows, ["Geometric mean"]), "Ratio tables",
            "The same of all saved activations, weighted by bytes, as the paper's Figure 3 is: "
            "what the planner works with. Format 2 here is estimated: each tensor's measured "
            "ratio, times what format 2 gains on the sample's chunks of its model and class.")

    def pretrained(self):
        found = self.results["ratios"]["pretrained"]
        codecs = [key for key in found[0] if key.endswith("_ratio")]
        names = {"planezip2": "format 2", "planezip": "PlaneZip"}
        rows = [[row["precision"].upper(), *[f"{row[key]:.2f}" for key in codecs]]
                for row in found]
        head = [names.get(key[:-6], key[:-6].upper()) for key in codecs]
        return self.table(Table("pretrained", ["", *head], rows), "Published weights",
                          "The same of a network that its makers trained, the sentence encoder "
                          "all-MiniLM-L6-v2, as it is trained further.")

    def table_3(self):
        shares = {row["producer_class"]: row
                  for row in self.results["ratios"]["classes"]["table_3"]}
        order = list(paper.CLASSES)
        found = sorted(self.sampled["table_3"] if self.sampled else shares.values(),
                       key=lambda row: (order + [row["producer_class"]]).index(
                           row["producer_class"]))
        rows = []
        for row in found:
            name = row["producer_class"]
            share, zvc, bx, ratio, top = paper.CLASSES.get(name, (None,) * 5)
            low, high = (100 * shares.get(name, {}).get(key, 0) for key in ("low", "high"))
            ours = f"{low:.0f}–{high:.0f}" if f"{low:.0f}" != f"{high:.0f}" else f"{high:.0f}"
            if name not in shares:
                ours = "–"
            encoding = row.get("top_encoding")
            rows.append([name, beside(ours, share),
                         beside(row.get("zvc_ratio"), zvc, "{:.2f}"),
                         beside(row.get("bx_ratio"), bx, "{:.2f}"),
                         beside(row["planezip_ratio"], ratio, "{:.2f}"),
                         beside(row.get("planezip2_ratio"), None, "{:.2f}"),
                         beside(f"{encoding.upper()} ({100 * row['top_share']:.0f} %)"
                                if encoding else None, top)])
        words = ("Saved activations in BF16 by the operator that produced them: range of the "
                 "shares of a model's saved bytes (counted in FP32), ratios, and the encoding of "
                 "most blocks.")
        if self.sampled:
            words += " Ratios are of the sample's chunks, shares of all saved bytes."
        drawn = plot.classes({"table_3": found}, paper.TABLE_3)
        self.figures.append(drawn)
        table = Table("table-3", ["Producer", "Share, %", "ZVC", "BX", "PlaneZip", "Format 2",
                                  "Top"], rows)
        return pair(self.table(table, "Table III", words), tag(
            "figure", tag("figcaption", "<b>The same, drawn.</b>") + drawn.html()))

    def prediction(self):
        rows = []
        for model in self.results["stability"]:
            ratios, errors, random = paper.TABLE_4[model["model"]]
            cells = [beside(None if value is None else 100 * value, theirs)
                     for value, theirs in zip((model["errors"][key] for key in
                                               ("tensor", "operator", "none")), errors)]
            rows.append([NAMES[model["model"]],
                         beside(" / ".join(f"{r:.2f}" for r in model["ratios"]),
                                " / ".join(f"{r:.2f}" for r in ratios)), *cells,
                         beside(model["random"], random, "{:.2f}")])
        words = ("Stability of the ratios (PlaneZip, BF16): in consecutive iterations; error of "
                 "the wire size by what the predictor tells tensors apart by; at random "
                 "initialisation.")
        parts = [self.table(Table("table-4", ["Model", "Ratio per iteration", "Tensor, %",
                                              "Operator type, %", "Global, %",
                                              "Random weights"], rows), "Table IV", words)]
        if any(model["errors"]["tensor"] is None for model in self.results["stability"]):
            parts.append(paragraph(
                "The bundled ratio tables are of one iteration, so that the error per tensor, "
                "which compares two, and random weights are only in the full run.", cls="note"))
        return section("prediction", "Prediction", *parts)

    def throughput(self):
        words = ("Throughput without a memory budget = 1, against the budget for activations and "
                 "their gradients. SWAP is left out as in the paper; what leaves the axis is "
                 "slower than 0.6.")
        first = self.figure(plot.overheads(self.results["policies"], paper.sweep()),
                            "Policy means", "Mean overhead of the five models; RECOMP and DTE "
                            "leave the axis.", self.means_table())
        return section("throughput", "Throughput under a memory budget", first, self.figure(
            plot.throughput(self.results["policies"], paper.sweep()), "Figure 4", words,
            self.model_table()), self.section_v_c())

    def means_table(self):
        rows = []
        for platform in "AB":
            rows.append([PLATFORMS[platform]])
            for policy, name in POLICIES.items():
                cells = [beside(self.mean(platform, policy, budget),
                                paper.MEANS.get(policy, {}).get((platform, budget)))
                         for budget in BUDGETS]
                if cells != ["–"] * len(cells):
                    rows.append([name, *cells])
        return Table("policy-means", ["Overhead, %, at % of the peak", *map(str, BUDGETS)], rows,
                     ["PlaneZip"])

    def model_table(self):
        rows = []
        for platform in "AB":
            for model in MODELS:
                rows.append([f"{NAMES[model]} on {platform}"])
                for policy in ("bw", "planezip", FORMAT_2, "best"):
                    cells = [self.overhead(platform, model, policy, b) for b in BUDGETS]
                    if any(cell is not None for cell in cells):
                        theirs = [paper.PER_MODEL.get((model, platform, b), {}).get(policy)
                                  for b in BUDGETS]
                        rows.append([POLICIES[policy], *map(beside, cells, theirs)])
        return Table("figure-4", ["Overhead, %, at % of the peak", *map(str, BUDGETS)], rows)

    def overhead(self, platform, model, policy, budget):
        for row in self.rows:
            if (row["platform"], row["model"], row["policy"], row["budget"], row["status"]) == (
                    platform, model, policy, f"{budget}%", "ok"):
                return 100 * row["overhead"]
        return None

    def of(self, **keys):
        return [row for row in self.rows if all(row[k] == v for k, v in keys.items())]

    def section_v_c(self):
        rows = []
        for platform, theirs in paper.SLOWDOWN_SWAP.items():
            rows.append([f"SWAP at 50 %, {platform}: times slower",
                         f"{1 + self.mean(platform, 'swap', 50) / 100:.1f}", f"{theirs}"])
        equal = sum(abs(a["total_ns"] - b["total_ns"]) <= 1e-4 * b["total_ns"]
                    for a, b in zip(self.of(policy="dte"), self.of(policy="recomp")))
        kept = sum(not row["candidate"].startswith(("uncompressed", "recomputation"))
                   for row in self.of(policy="planezip"))
        rows += [["DTE is as fast as RECOMP, of 70", str(equal), str(paper.DTE_IS_RECOMP)],
                 ["compression-aware plan kept, of 70", str(kept), str(paper.AWARE_PLAN_KEPT)]]
        for platform, policies in paper.BUDGET_FOR_5.items():
            for policy, theirs in policies.items():
                ours = statistics.mean(self.budget_for(platform, model, policy, 5)
                                       for model in MODELS)
                rows.append([f"budget for 5 % overhead, {POLICIES[policy]}, {platform}",
                             f"{ours:.0f} %", f"{theirs} %"])
        for platform, (swapped, less) in paper.AGAINST_BW.items():
            ours = self.of(policy="planezip", platform=platform, budget="30%")
            base = self.of(policy="bw", platform=platform, budget="30%")
            rows += [[f"PlaneZip at 30 %, {platform}: bytes swapped, times those of BW",
                      f"{total(ours, 'swapped_bytes') / total(base, 'swapped_bytes'):.1f}",
                      f"{swapped}"],
                     [f"PlaneZip at 30 %, {platform}: less time on recomputation than BW",
                      f"{100 * (1 - replay(ours) / replay(base)):.0f} %", f"{less} %"]]
        stall = max((r["stall_memory_ns"] + r["stall_prefetch_ns"]) / r["total_ns"]
                    for r in self.of(policy="planezip", budget="30%"))
        rows.append(["stalls at 30 %, at most", f"{100 * stall:.1f} %",
                     f"{paper.STALLS_AT_MOST} %"])
        return self.table(Table("section-5", ["", "ours", "paper"], rows), "Sections V-C and V-D",
                          "What the paper says of throughput in words.")

    def budget_for(self, platform, model, policy, limit):
        """Least budget in % whose overhead stays within limit, on the line through the points."""
        points = [(100.0, 0.0)] + [
            (b, self.overhead(platform, model, policy, b)) for b in reversed(BUDGETS)
            if self.overhead(platform, model, policy, b) is not None]
        for (high, less), (low, more) in zip(points, points[1:]):
            if more > limit:
                return low + (high - low) * (more - limit) / (more - less)
        return points[-1][0]

    def gains(self):
        found = self.results["ablation"]
        means = plot.mean_overheads(found["rows"], "platform", "policy")
        rows = []
        for policy in dict.fromkeys(row["policy"] for row in found["rows"]):
            theirs = paper.FIGURE_5.get(policy, (None, None))
            label = POLICIES.get(policy) or policy.replace("planezip", "PlaneZip")
            rows.append([label, *[beside(means.get((platform, policy)), value)
                                  for platform, value in zip("AB", theirs)]])
        words = ("Mean overhead of the five models at 30 % of the peak. 32-bit symbols: what BF16 "
                 "costs coded as the original BPC does" + (
                     ", estimated by model and class from the sample" if self.sampled else "")
                 + "; op-type predictor: one ratio for all tensors of an operator type.")
        if not any(row["policy"] == "planezip, oracle" for row in found["rows"]):
            words += (" One iteration is bundled, so PlaneZip is planned with the ratios that its "
                      "transfers have: the paper's oracle.")
        return section("gains", "Where the gains come from", self.figure(
            plot.bars(found, paper.ablation()), "Figure 5", words,
            Table("figure-5", ["Policy", "A, %", "B, %"], rows)), self.timeline())

    def timeline(self):
        found = self.results["timeline"]
        report = found["report"]
        wide = plot.timeline(found["timeline"], width=900)
        narrow = plot.timeline(found["timeline"], width=340)
        self.figures.append(wide)
        words = (f"GPT-2 on platform B with half of its memory, planned by <code>best</code>: "
                 f"{100 * report['overhead']:.1f} % slower. {report['swapped']} tensors are copied "
                 f"out and back, {report['dropped']} dropped and recomputed. "
                 "<code>planezip simulate --timeline</code> writes it for Perfetto, too.")
        drawn = (tag("div", wide.html(), class_="wide") + tag("div", narrow.html(),
                                                              class_="narrow"))
        return tag("figure", tag("figcaption", f"<b>One iteration.</b> {words}") + drawn,
                   id="timeline")

    def sensitivity(self):
        link = self.sweep_table("links", "link_bps", paper.FIGURE_6A)
        engine = self.sweep_table("engines", "engine_bps", {"planezip": paper.FIGURE_6B})
        gains = [f"{self.gain(rate):.1f} points at {rate} GB/s (paper: {theirs})"
                 for rate, theirs in paper.GAINS_6A.items()]
        return section("sensitivity", "Sensitivity", pair(self.figure(
            plot.sensitivity(self.results["links"], paper.links()), "Figure 6a",
            "Host links of 12 to 192 GB/s, with an engine four times as fast. PlaneZip takes "
            f"{' and '.join(gains)} off BW.", link), self.figure(
            plot.sensitivity(self.results["engines"], paper.engines()), "Figure 6b",
            "Rates of the engine with a link of 24 GB/s. An engine as fast as the link never "
            "helps.", engine)))

    def swept(self, stage, key):
        return plot.mean_overheads(self.results[stage]["rows"], "policy", key)

    def gain(self, rate):
        means = self.swept("links", "link_bps")
        return means["bw", rate * 1e9] - means["planezip", rate * 1e9]

    def sweep_table(self, stage, key, theirs):
        means = self.swept(stage, key)
        rates = sorted({rate for _, rate in means})
        rows = [[POLICIES[policy], *[beside(means.get((policy, rate)),
                                            theirs.get(policy, {}).get(rate / 1e9))
                                     for rate in rates]]
                for policy in dict.fromkeys(policy for policy, _ in means)]
        return Table(f"figure-6-{stage}", ["Overhead, %, at GB/s",
                                           *[f"{rate / 1e9:g}" for rate in rates]], rows)

    def attention(self):
        found = self.results["attention"]
        theirs = {"attention": (paper.ATTENTION["share"], paper.ATTENTION["attention"]),
                  "rest": (100 - paper.ATTENTION["share"], paper.ATTENTION["rest"])}
        names = {"attention": "Probabilities, their dropout outputs and masks", "rest": "The rest"}
        rows = [[names[row["part"]],
                 beside(f"{100 * row['share']:.0f}", str(theirs[row["part"]][0])),
                 beside(row["ratio"], theirs[row["part"]][1], "{:.2f}"),
                 f"{row['ratio_2']:.2f}" if row.get("ratio_2") else "–"] for row in found["parts"]]
        parts = [self.table(
            Table("attention", ["Saved tensors of GPT-2", "Share, %", "PlaneZip", "Format 2"],
                  rows), "Section V-F", "GPT-2 in BF16: what a fused attention kernel would not "
            "save, and the rest.")]
        if found["fused"]:
            parts.append(self.fused(found["fused"]))
        else:
            parts.append(paragraph("GPT-2 with fused attention is part of the full run, which "
                                   "records it.", cls="note"))
        return section("attention", "Attention", *parts)

    def fused(self, found):
        rows = []
        for platform in "AB":
            rows.append([PLATFORMS[platform]])
            for policy in ("bw", "planezip"):
                for name, source in (("unfused", [r for r in self.rows if r["model"] == "gpt2"]),
                                     ("fused", found["rows"])):
                    at = {r["budget"]: 100 * r["overhead"] for r in source if r["status"] == "ok"
                          and (r["platform"], r["policy"]) == (platform, policy)}
                    rows.append([f"{POLICIES[policy]}, {name}",
                                 *[beside(at.get(f"{b}%"), None) for b in BUDGETS]])
        unfused = next(trace for trace in self.results["traces"]["traces"]
                       if trace["model"] == "gpt2")
        saved, peaks = (found["trace"]["saved_bf16_bytes"] / 1e9,
                        [trace["peak_bf16_bytes"] / 1e9 for trace in (found["trace"], unfused)])
        return self.table(
            Table("fused", ["Overhead, %, at % of the peak", *map(str, BUDGETS)], rows),
            "Fused attention", "GPT-2 with a fused attention kernel beside GPT-2 without. It saves "
            f"{saved:.1f} GB in BF16, which PlaneZip compresses {found['ratio']:.2f}×. Budgets are "
            f"shares of each one's own peak, in BF16 {peaks[0]:.1f} GB instead of {peaks[1]:.1f}. "
            "The paper expects that GPT-2 gains less with it. –: the loss alone needs more.")

    def differences(self):
        return section("differences", "Where we differ, and why", bullets(
            [self.planner_difference(), *self.ratio_differences(),
             "<b>Cuts against BW.</b> At half the memory the paper's PlaneZip takes 47 % (A) and "
             f"31 % (B) off BW's overhead; ours {self.cut('A'):.0f} % and {self.cut('B'):.0f} %, "
             "since BW itself and the ratios differ as said above.",
             "<b>What beats the paper.</b> Replays that keep what they rebuild, and a search: "
             f"<code>best</code> has {self.mean('A', 'best', 30):.1f} % (A) and "
             f"{self.mean('B', 'best', 30):.1f} % (B) at 30 % of the peak, where PlaneZip has "
             f"{self.mean('A', 'planezip', 30):.1f} % and {self.mean('B', 'planezip', 30):.1f} %.",
             self.format_difference()]))

    def cut(self, platform):
        return 100 * (1 - self.mean(platform, "planezip", 50) / self.mean(platform, "bw", 50))

    def planner_difference(self):
        gaps = [(self.mean(*place[:1], policy, place[1]) - value, policy, place)
                for policy, points in paper.MEANS.items() for place, value in points.items()]
        rms = statistics.mean(gap * gap for gap, *_ in gaps) ** 0.5
        worst, policy, (platform, budget) = max(gaps, key=lambda gap: abs(gap[0]))
        return (f"<b>Planner.</b> Of the {len(gaps)} policy means that the paper prints, ours "
                f"differ by {rms:.1f} points (root mean square), at most {abs(worst):.1f} "
                f"({POLICIES[policy]}, {platform} at {budget} %). The paper leaves open what "
                "counts against the budget, when an intermediate of a replay is freed, how ties "
                "break and how prefetches are placed; our readings are in docs/simulator.md. A "
                "greedy planner turns small differences into plans that swap other tensors.")

    def ratio_differences(self):
        gaps = []
        for model, theirs in zip(MODELS, paper.RATIOS["bf16"]):
            ours = self.ratio("bf16", model)
            if abs(ours / theirs - 1) > 0.04:
                gaps.append(f"{NAMES[model]} {ours:.2f} (paper: {theirs:.2f})")
        found = "; ".join(gaps) if gaps else "all within 4 % of the paper"
        parts = {row["part"]: row["ratio"] for row in self.results["attention"]["parts"]}
        relu = next(row["planezip_ratio"] for row in self.results["ratios"]["classes"]["table_3"]
                    if row["producer_class"] == "ReLU output")
        return [
            "<b>Ratios.</b> In BF16, weighted by bytes: " + found + ". " +
            self.about["training"] + " How many zeros a ReLU gives, and how sharp attention is, "
            f"depends on data and training: outputs of ReLUs compress {relu:.2f}× (paper: 3.21×), "
            f"GPT-2's attention {parts['attention']:.2f}× (paper: 2.82×), its other tensors "
            f"{parts['rest']:.2f}× (paper: 1.46×)."]

    def format_difference(self):
        a, b = (self.mean(platform, FORMAT_2, 30) for platform in "AB")
        if a is None:
            return "<b>Format 2</b> is not in these ratio tables."
        return (
            "<b>Format 2.</b> Smaller streams need not give faster plans: transfers are bound by "
            "the engine from a ratio of engine / link on (5.3 on A, 2.7 on B), and the greedy "
            f"planner is not monotone. At 30 % it gives {a:.1f} % (A) and {b:.1f} % (B)."
            + self.behind())

    def behind(self):
        """Where format 2 compresses less than format 1."""
        found = [f"{row['producer_class']} ({row['planezip2_ratio']:.2f}× after "
                 f"{row['planezip_ratio']:.2f}×)"
                 for row in (self.sampled or self.results["ratios"]["classes"])["table_3"]
                 if row.get("planezip2_ratio", row["planezip_ratio"]) < row["planezip_ratio"]]
        return f" It compresses less than format 1: {', '.join(found)}." if found else ""

    def again(self):
        return section("again", "Run it again", paragraph(self.about["command"]), paragraph(
            "Beside this page lie <code>figures/*.svg</code>, <code>tables/*.csv</code> and "
            "<code>results/*.json</code>, what <code>planezip --json</code> printed. "
            "<code>python -m planezip.plot FILE.json</code> draws the same figures of your own "
            "models."), paragraph(escape(self.about["version"]), cls="note"))

    def html(self):
        body = "".join(part() for part in (
            self.head, self.honesty, self.workloads, self.compression, self.prediction,
            self.throughput, self.gains, self.sensitivity, self.attention, self.differences,
            self.again))
        style = (Path(__file__).parent / "page.css").read_text(encoding="utf-8") + plot.css()
        return ("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                '<meta name="viewport" content="width=device-width,initial-scale=1">'
                '<link rel="icon" href="data:,">'
                f"<title>PlaneZip: the paper's evaluation</title><style>{style}</style></head>"
                f"<body><main>{body}</main><script>{SCRIPT}</script></body></html>\n")


def section(name, title, *parts):
    return tag("section", tag("h2", title, id=name) + "".join(parts))


def total(rows, key):
    return sum(row[key] for row in rows)


def replay(rows):
    return sum(row["replay_ns"] / row["unlimited_ns"] for row in rows)
