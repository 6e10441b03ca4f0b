"""The paper's evaluation: asks planezip for everything that the page shows."""
import json
import os
import subprocess
import tempfile
from pathlib import Path

import tables
from paper import BUDGETS, MODELS

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("PLANEZIP", str(ROOT / "build/planezip"))
POLICIES = ("recomp", "swap", "dte", "dte+codec", "bw", "bw+codec", "bw+zvc", "planezip")
LINKS, ENGINES = (12, 24, 48, 96, 192), (24, 32, 48, 64, 96, 128)
FORMAT_2 = "planezip, format 2"


def program(*arguments):
    """What the program prints."""
    try:
        done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    except OSError as error:
        raise tables.Failure(f"planezip: {PROGRAM}: {error.strerror}; "
                             "run make, or name the program with PLANEZIP") from None
    if done.returncode != 0:
        raise tables.Failure(done.stderr.strip() or no_program(f"exit status {done.returncode}"))
    return done.stdout


def no_program(why):
    return f"planezip: {PROGRAM}: is not planezip ({why}); name the program with PLANEZIP"


def version():
    """Of the program, which it tells first."""
    said = program("--version").strip().split("\n")[0]
    if not said.startswith("planezip "):
        raise tables.Failure(no_program("--version prints something else"))
    return said


def planezip(*arguments):
    """What the program prints as JSON."""
    try:
        return json.loads(program(*arguments, "--json"))
    except ValueError as error:
        raise tables.Failure(no_program(f"no JSON: {error}")) from None


def many(option, values):
    return [word for value in values for word in (option, value)]


class Evaluation:
    """Of the models of a source.  folder: for tables that are made on the way.  search: how many
    plans policy best looks at, 0 for its default."""

    def __init__(self, source, folder, search):
        self.source, self.folder, self.search = source, Path(folder), search
        self.traces = {model: tables.load(source.trace(model)) for model in MODELS}
        self.actual = {model: tables.load(source.tables(model)[-1]) for model in MODELS}
        self.sample = None
        if source.activations:
            self.sample = tables.Sample(source.activations, self.folder / "sample", planezip)

    # ---- Tables for the planner ----

    def table_paths(self, kind):
        """Of the tables of all models: "planezip" as measured, or with the ratios of
        "planezip2" or "planezip_w32" in its place."""
        if kind == "planezip":
            return [self.source.tables(model)[-1] for model in MODELS]
        paths = [self.folder / "tables" / f"{kind}-{model}.json" for model in MODELS]
        for model, path in zip(MODELS, paths):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(self.other_table(kind, model)))
        return paths

    def other_table(self, codec, model):
        def ratio_of(entry, precision):
            if codec in entry[precision]:
                return entry[precision][codec]
            if self.sample is None or entry["class"] not in tables.PRODUCERS:
                return entry[precision]["planezip"]
            return entry[precision]["planezip"] * self.sample.quotient(model, entry["class"],
                                                                       precision, codec)

        return tables.substituted(self.actual[model], ratio_of)

    def knows(self, codec):
        """"measured", "by class" of the sample, or None."""
        if all(tables.has(table, codec) for table in self.actual.values()):
            return "measured"
        return "by class" if self.sample else None

    def sweep(self, kind, *arguments):
        """As the paper plans: replays free what they rebuild, every budget on its own."""
        return planezip("sweep", *many("--trace", map(self.source.trace, MODELS)),
                        *many("--ratios", self.table_paths(kind)), *arguments)["rows"]

    def paper_sweep(self, kind, *arguments):
        return self.sweep(kind, "--replay", "free", "--as-planned", *arguments)

    # ---- Stages ----

    def traces_shown(self):
        """Table I, Figure 1."""
        def show(kind, *options):
            return planezip("trace", "show", "--platform", "A,B", *options,
                            *many("--ratios", self.table_paths(kind)),
                            *map(self.source.trace, MODELS))

        shown = show("planezip")
        if self.knows("planezip2"):
            for row, other in zip(shown["platforms"], show("planezip2")["platforms"]):
                row["link_share_planezip2"] = other["link_share_planezip"]
        keys = ("platform", "fp32_bytes", "bf16_bytes", "swap_ns", "recompute_ns")
        shown["tensors"] = [{key: row[key] for key in keys}
                            for row in show("planezip", "--tensors")["tensors"]]
        return shown

    def ratios(self):
        """Figure 3 and Table III: weighted by the saved bytes where the tables know the codec; in
        the sample, where there is one, chunk by chunk."""
        found = {"weighted": self.weighted_ratios(), "classes": self.weighted_classes()}
        if self.sample:
            found["sample"] = planezip("measure", "--index", self.source.activations)
        if self.source.captured(tables.PRETRAINED):
            found["pretrained"] = self.pretrained()
        return found

    def pretrained(self):
        """Ratios of a network with published weights."""
        trace = tables.load(self.source.trace(tables.PRETRAINED))
        table = tables.load(self.source.tables(tables.PRETRAINED)[-1])
        return [{"precision": precision, **{f"{codec}_ratio": tables.ratio(table, trace, precision,
                                                                           codec)
                                            for codec in tables.CODECS if tables.has(table, codec)}}
                for precision in ("bf16", "fp32")]

    def weighted_ratios(self):
        codecs = [c for c in tables.CODECS if all(tables.has(t, c) for t in self.actual.values())]
        if "planezip2" not in codecs and self.knows("planezip2"):
            codecs.insert(0, "planezip2")
        rows = []
        for precision in ("bf16", "fp32"):
            each = [{f"{codec}_ratio": self.weighted(model, precision, codec) for codec in codecs}
                    for model in MODELS]
            mean = {key: tables.geometric_mean(row[key] for row in each) for key in each[0]}
            rows += [{"precision": precision, "model": model, **row}
                     for model, row in zip((*MODELS, "geometric mean"), [*each, mean])]
        return {"figure_3": rows}

    def weighted(self, model, precision, codec):
        table, name = self.actual[model], codec
        if not tables.has(table, codec):
            table, name = self.other_table(codec, model), "planezip"
        return tables.ratio(table, self.traces[model], precision, name)

    def weighted_classes(self):
        """Table III: least and greatest share of a model, and ratios over all models."""
        rows = []
        for name, producer in tables.PRODUCERS.items():
            parts = [self.of_class(model, name) for model in MODELS]
            shares = [part["share"] for part in parts if part["share"] > 0]
            if shares:
                row = {"producer_class": producer, "low": min(shares), "high": max(shares)}
                for codec in parts[0]["coded"]:
                    small = sum(part["coded"][codec] for part in parts)
                    row[f"{codec}_ratio"] = sum(part["raw"] for part in parts) / small
                rows.append({**row, **self.top_encoding(name)})
        return {"table_3": sorted(rows, key=lambda row: -row["high"])}

    def of_class(self, model, name):
        table, trace = self.actual[model], self.traces[model]
        keys = {tables.signature(e) for e in table["entries"] if e["class"] == name}
        weights = tables.sizes(trace, "bf16")
        small = {codec: tables.coded(table, weights, "bf16", codec, keys.__contains__)[1]
                 for codec in tables.CODECS if tables.has(table, codec)}
        return {"raw": sum(size for key, size in weights.items() if key in keys), "coded": small,
                "share": tables.share(trace, keys.__contains__)}

    def top_encoding(self, name):
        """The encoding of most blocks, where captures tell it."""
        sums = {}
        for model in MODELS:
            for encoding, count in self.source.blocks(model).get(name, {}).items():
                sums[encoding] = sums.get(encoding, 0) + count
        if not sum(sums.values()):
            return {}
        top = max(sums, key=sums.get)
        return {"top_encoding": top, "top_share": sums[top] / sum(sums.values())}

    def stability(self):
        """Table IV: what there is of it."""
        return [self.stability_of(model) for model in MODELS]

    def stability_of(self, model):
        paths, trace = self.source.tables(model), self.traces[model]
        pair = paths[-2:] if len(paths) > 1 else paths * 2
        errors = planezip("ratios", "compare", "--trace", self.source.trace(model),
                          *pair)["wire_errors"]
        by = {row["signature"]: row["bf16_wire_error"] for row in errors}
        if len(paths) == 1:
            by["tensor"] = None # the only iteration would be compared with itself
        random = self.source.random_table(model)
        return {"model": model, "errors": by,
                "ratios": [tables.ratio(tables.load(path), trace, "bf16", "planezip")
                           for path in paths],
                "random": tables.ratio(tables.load(random), trace, "bf16", "planezip")
                if random else None}

    def policies(self):
        """Figure 4: every policy at every budget on both platforms."""
        common = ("--platform", "A,B", "--budget", ",".join(f"{b}%" for b in BUDGETS))
        rows = self.paper_sweep("planezip", *common, *many("--policy", POLICIES))
        rows += self.in_format_2(*common)
        return {"rows": rows + self.sweep("planezip", *common, "--policy", "best",
                                          *self.searching())}

    def searching(self):
        return ("--search-plans", self.search) if self.search else ()

    def in_format_2(self, *arguments):
        """The rows of policy planezip with the ratios of format 2."""
        if not self.knows("planezip2"):
            return []
        return [dict(row, policy=FORMAT_2) for row in
                self.paper_sweep("planezip2", *arguments, "--policy", "planezip")]

    def ablation(self, policies):
        """Figure 5, from the top down; policies: the stage of that name."""
        at_30 = [row for row in policies["rows"] if row["budget"] == "30%"]

        def known(*names):
            return [row for name in names for row in at_30 if row["policy"] == name]

        common = ("--platform", "A,B", "--budget", "30%", "--policy", "planezip")
        rows = known("dte", "dte+codec", "bw", "bw+codec", "bw+zvc")
        if self.knows("planezip_w32"):
            rows += renamed(self.paper_sweep("planezip_w32", *common), "planezip, 32-bit symbols")
        rows += renamed(self.paper_sweep("planezip", *common, "--signature", "operator"),
                        "planezip, operator types")
        if all(len(self.source.tables(model)) > 1 for model in MODELS):
            rows += self.predicted() + renamed(known("planezip"), "planezip, oracle")
        else:
            rows += known("planezip")
        return {"rows": rows + known(FORMAT_2, "best")}

    def predicted(self):
        """PlaneZip at 30 %, planned with the ratios of the iteration before."""
        rows = []
        for model in MODELS:
            before, now = self.source.tables(model)[-2:]
            for platform in "AB":
                row = planezip("plan", "--trace", self.source.trace(model), "--ratios", before,
                               "--actual", now, "--platform", platform, "--budget", "30%",
                               "--policy", "planezip")
                rows.append(dict(row, status="ok", budget="30%"))
        return rows

    def link_sweep(self):
        """Figure 6a, with an engine four times as fast as the link."""
        return self.varied("--link", ",".join(map(str, LINKS)), "--engine-per-link", "4")

    def engine_sweep(self):
        """Figure 6b."""
        return self.varied("--engine", ",".join(map(str, ENGINES)))

    def varied(self, *arguments):
        common = ("--platform", "B", "--budget", "50%", *arguments)
        rows = self.paper_sweep("planezip", *common, "--policy", "recomp,bw,planezip")
        return {"rows": rows + self.in_format_2(*common)}

    def attention(self):
        """Section V-F: GPT-2 without what a fused kernel does not save."""
        trace, table = self.traces["gpt2"], self.actual["gpt2"]
        keys, weights = attention_tensors(trace), tables.sizes(trace, "bf16")
        rows = []
        for name, wanted in (("attention", keys.__contains__), ("rest", lambda k: k not in keys)):
            raw, small = tables.coded(table, weights, "bf16", "planezip", wanted)
            row = {"part": name, "share": tables.share(trace, wanted), "ratio": raw / small}
            if self.knows("planezip2"):
                other = tables.coded(self.other_table("planezip2", "gpt2"), weights, "bf16",
                                     "planezip", wanted)
                row["ratio_2"] = raw / other[1]
            rows.append(row)
        return {"parts": rows, "fused": self.fused()}

    def fused(self):
        """GPT-2 with fused attention, where there is a trace and a table of it; else None."""
        if not self.source.captured(tables.FUSED):
            return None
        trace, found = self.source.trace(tables.FUSED), self.source.tables(tables.FUSED)
        rows = planezip("sweep", "--trace", trace, "--ratios", found[-1], "--replay", "free",
                        "--as-planned", "--platform", "A,B",
                        "--budget", ",".join(f"{b}%" for b in BUDGETS),
                        *many("--policy", ("recomp", "bw", "planezip")))["rows"]
        shown = planezip("trace", "show", trace)["traces"][0]
        return {"rows": rows, "trace": shown, "ratio": tables.ratio(
            tables.load(found[-1]), tables.load(trace), "bf16", "planezip")}

    def timeline(self):
        """GPT-2 on platform B with half its memory, planned by best."""
        with tempfile.TemporaryDirectory() as folder:
            plan, timeline = Path(folder) / "plan.json", Path(folder) / "timeline.json"
            what = ("--trace", self.source.trace("gpt2"), "--ratios",
                    self.source.tables("gpt2")[-1], "--platform", "B")
            planezip("plan", *what, "--budget", "50%", "--policy", "best", "-o", plan,
                     *self.searching())
            report = planezip("simulate", *what, "--plan", plan, "--timeline", timeline)
            report.pop("peak_storages", None)
            return {"report": report, "timeline": tables.load(timeline)}


def renamed(rows, policy):
    return [dict(row, policy=policy) for row in rows]


def attention_tensors(trace):
    """(op, slot) of the saved attention probabilities, their dropout outputs and masks."""
    softmax, dropout = set(), set()
    for op in trace["ops"]:
        name = op["name"].split(".")[1] if "." in op["name"] else op["name"]
        if op["phase"] != "forward":
            break
        if name == "_softmax":
            softmax.update(op["writes"])
        elif name == "native_dropout" and softmax & set(op["reads"]):
            dropout.update(op["writes"])
    return {key for key, storage in tables.saved(trace).items()
            if storage["id"] in softmax | dropout}


def evaluate(evaluation, stages):
    """All results by the names of their stages."""
    made = {"traces": evaluation.traces_shown, "ratios": evaluation.ratios,
            "stability": evaluation.stability, "policies": evaluation.policies,
            "links": evaluation.link_sweep, "engines": evaluation.engine_sweep,
            "attention": evaluation.attention, "timeline": evaluation.timeline}
    results = {name: stages.run(name, make) for name, make in made.items()}
    results["ablation"] = stages.run("ablation", evaluation.ablation, results["policies"])
    return results
