"""Step times of planezip.torch.offload() beside what else saves memory, on this machine's CPU.

    python bench/runtime.py --directory /var/tmp [--short] [--results FOLDER]

Each way to train has a process of its own, forked from one, and all of a model take turns, step by
step, so that they meet the same machine; times are medians of forward and backward passes.  Losses
and parameters must be those of plain training, bit for bit.  The processes of a model are there at
once, and take 12 GB.

- "peak": the most that PyTorch's allocator had given out during a step, above what it had before
  it, as its own events tell.  Gradients of parameters stay between steps and are no part of it.
- "resident": the most that the process had in its timed steps, seen from outside, above what it
  had when its model and optimizer were there.
- Plain training and checkpoints know no tier.  Behind an emulated link it is memory that stands for
  the other side, and is in "resident".
- "predicted": the simulator's time of the plan, on this machine as a profile step measured it.

Needs PyTorch, torchvision and transformers, and planezip.
"""
import argparse
import functools
import hashlib
import json
import multiprocessing
import os
import platform
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("KINETO_LOG_LEVEL", "99") # or every profile tells about GPUs

import torch # noqa: E402
from torch.utils.checkpoint import checkpoint # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "tests/python"), str(ROOT / "python")]
import planezip.torch # noqa: E402
import training # noqa: E402
from planezip._engine import Engine, Pool # noqa: E402
from planezip.torch._offload._step import Step # noqa: E402
from planezip.torch._offload._tape import Role, Script, Tape # noqa: E402
from planezip.torch._recorder import Recorder # noqa: E402

WARM_UP = 4 # a profile, an audit, another one if it found something, a step of the plan
LINKS = (None, "0.5GB/s", "1GB/s", "2GB/s")
BUDGETS = ("50%", "30%")
TOKENS, VOCABULARY = 128, 5000
TASKS = {
    "resnet50": training.Task(training.TASKS["resnet50"].build, training.images(8, 112, 10),
                              training.classify),
    "gpt2": training.Task(lambda: training.gpt2(4, 768, 12, TOKENS, VOCABULARY),
                          lambda: torch.randint(0, VOCABULARY, (2, TOKENS)), training.next_token),
}
SHORT = {"gpt2": training.TASKS["gpt2"]}
MIB = 1 << 20

# ---- Ways to train ----


class PlainSwaps:
    """What torch.autograd.graph.save_on_cpu does, to a tier: each saved tensor that is no parameter
    leaves at once, uncompressed, and comes back when it is asked for."""

    def __init__(self, model, directory, link):
        rate = rate_of(link)
        self.engine = Engine("memory" if link else "disk", bypass="always", link=(rate, rate),
                             pool=Pool(8 << 30) if link else None,
                             directory=None if link else directory)
        self.own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}

    def pack(self, tensor):
        if tensor.nbytes < 4096 or tensor.untyped_storage().data_ptr() in self.own:
            return tensor
        source = tensor.detach().contiguous()
        swap = self.engine.out(source.data_ptr(), source.nbytes,
                               str(tensor.dtype).removeprefix("torch."), keep=source)
        swap.wait()
        return swap, tensor.dtype, tensor.shape

    def unpack(self, packed):
        if isinstance(packed, torch.Tensor):
            return packed
        swap, dtype, shape = packed
        tensor = torch.empty(shape, dtype=dtype)
        swap.into(tensor.data_ptr(), keep=tensor)
        swap.wait()
        return tensor

    def __call__(self, step):
        def wrapped(batch):
            with torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack):
                return step(batch)
        return wrapped


def rate_of(link):
    """Bytes a second of a link, 0 for None."""
    return float(link.removesuffix("GB/s")) * 1e9 if link else 0


def checkpoint_blocks(model):
    """Computes every block again in the backward pass."""
    blocks = (model.transformer.h if hasattr(model, "transformer") else
              [block for i in range(1, 5) for block in getattr(model, f"layer{i}")])
    for block in blocks:
        block.forward = functools.partial(checkpoint, block.forward, use_reentrant=False)


def ways_anyway():
    """What knows no tier, as (tier, name, budget, change of the model, wrapper of its step)."""
    yield "", "plain", None, None, None
    yield "", "checkpoint", None, checkpoint_blocks, None
    yield "", "planned, nothing to do", "200%", None, within("200%", "planezip2", tier="memory")


def within(budget, codec, **where):
    return lambda model: planezip.torch.offload(model, budget, codec=codec, log=False, **where)


def ways_to(link, directory):
    """What goes to a tier, in the same form."""
    where = {"tier": "memory", "link": link} if link else {"tier": "disk", "directory": directory}

    tier = link or "disk"
    yield tier, "hooks", None, None, lambda model: PlainSwaps(model, directory, link)
    for budget in BUDGETS:
        yield tier, "planned, no codec", budget, None, within(budget, None, **where)
        yield tier, "planned", budget, None, within(budget, "planezip2", **where)


class Training:
    """A model that trains one way, from the same random numbers as all others."""

    def __init__(self, task, change, wrap):
        torch.manual_seed(1)
        self.model = task.build().train()
        if change:
            change(self.model)
        self.batch = task.batch()
        self.offload = wrap(self.model) if wrap else None
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.001)
        for parameter in self.model.parameters():
            parameter.grad = torch.zeros_like(parameter)

        def step(batch):
            loss = task.loss(self.model, batch)
            loss.backward()
            return loss.detach()

        self.pass_of = self.offload(step) if self.offload else step

    def step(self):
        """A step: seconds of its passes, and its loss."""
        start = time.perf_counter()
        loss = self.pass_of(self.batch)
        seconds = time.perf_counter() - start
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=False)
        return seconds, loss.item()

    def parameters(self):
        """A digest of all bits that training has made."""
        digest = hashlib.sha256()
        for tensor in self.model.state_dict().values():
            digest.update(tensor.contiguous().view(-1).view(torch.uint8).numpy())
        return digest.hexdigest()

    def peak(self):
        """The most bytes that the allocator gave out in a step."""
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                                    profile_memory=True) as profiler:
            self.pass_of(self.batch)
        self.optimizer.zero_grad(set_to_none=False)
        events = [(event.start_ns(), event.nbytes()) for event in
                  profiler.profiler.kineto_results.events() if event.name() == "[memory]"]
        live = most = 0
        for _, nbytes in sorted(events, key=lambda event: event[0]):
            live += nbytes
            most = max(most, live)
        return most

    def report(self):
        """What the runtime tells; nothing of other ways."""
        if not isinstance(self.offload, planezip.torch.Offload):
            return {}
        report = self.offload.report().as_dict()
        engine = self.offload.stats()["engine"]
        return {name: report[name] for name in (
            "budget_bytes", "planned_peak_bytes", "unplanned_peak_bytes", "predicted_ns", "seen",
            "swapped_bytes", "coded_bytes", "replayed", "problems")} | {
                "is_direct": engine["is_direct"], "staging_bytes": engine["staging_bytes"]}

# ---- Processes that take turns ----


def serve(pipe, task, change, wrap):
    """A process: does what it is told to, method by method, until there is nothing more."""
    trained = Training(task, change, wrap)
    pipe.send(None)
    while (what := pipe.recv()) is not None:
        pipe.send(getattr(trained, what)())
    os._exit(0) # what it has inherited is not its own to clean up


class Way:
    """A process, as its parent sees it."""

    def __init__(self, task, tier, name, budget, change, wrap):
        self.tier, self.name, self.budget = tier, name, budget
        self.times, self.losses = [], []
        context = multiprocessing.get_context("fork")
        self.pipe, end = context.Pipe()
        self.process = context.Process(target=serve, args=(end, task, change, wrap), daemon=True)
        self.process.start()
        end.close()
        self.pipe.recv()
        self.base = self.resident("VmRSS")

    def ask(self, what):
        self.pipe.send(what)
        return self.pipe.recv()

    def step(self):
        seconds, loss = self.ask("step")
        self.times.append(seconds)
        self.losses.append(loss)

    def resident(self, what):
        """Bytes of a line of its status."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith(what))

    def forget_most(self):
        """The resident set's maximum is that of what comes."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5", encoding="ascii")

    def row(self):
        """What there is to tell of it."""
        resident = self.resident("VmHWM") - self.base
        times = [seconds * 1e9 for seconds in self.times[WARM_UP:]]
        made, report = self.ask("parameters"), self.ask("report")
        return {"tier": self.tier, "way": self.name, "budget": self.budget,
                "resident_bytes": resident, "step_ns": statistics.median(times),
                "fastest_ns": min(times), "losses": self.losses, "parameters": made, **report,
                "peak_bytes": self.ask("peak")}

    def end(self):
        self.pipe.send(None)
        self.process.join()


def measure(name, task, links, options):
    """Rows of one model."""
    compared = [Way(task, *way) for way in (
        *ways_anyway(), *(way for link in links for way in ways_to(link, options.directory)))]
    for i in range(WARM_UP + options.steps):
        for way in compared:
            if i == WARM_UP:
                way.forget_most()
            way.step()
    rows = [{"model": name, **way.row()} for way in compared]
    for way in compared:
        way.end()
    return rows

# ---- Overhead ----


def fastest(run, times=50):
    """Seconds of processor time, which depend less on what else the machine does."""
    found = []
    for _ in range(times):
        start = time.thread_time()
        run()
        found.append(time.thread_time() - start)
    return min(found)


def overheads(count=200):
    """Microseconds for a saved tensor where nothing moves, for one that stays where others move,
    for an operator of a profile, and for one that is recorded because a plan drops something."""
    start = torch.ones(2048, requires_grad=True)
    sin, total = torch.ops.aten.sin.default, torch.ops.aten.sum.default
    script = Script([sin] * count + [total], [Role.RECORD] * (count + 1))
    recorder = Recorder()

    def run():
        x = start
        for _ in range(count):
            x = x.sin() # saves its input, and has an operator each way and a product
        x.sum().backward()

    def profiled():
        recorder.begin()
        with recorder:
            run()

    def recorded():
        with Tape(script, lambda tensor: None):
            run()

    kept = planezip.torch.offload(None, plan="keep", log=False)

    def beside():
        with Step(kept.store, kept.schedules, kept.persistent):
            run()

    plain = fastest(run)
    saved = (fastest(kept(run)) - plain) / count
    beside_swaps = (fastest(beside) - plain) / count
    profile = (fastest(profiled) - plain) / sum(len(one.ops) for one in recorder.passes)
    tape = (fastest(recorded) - plain) / count
    kept.close()
    return {"saved_us": saved * 1e6, "beside_us": beside_swaps * 1e6,
            "profiled_us": profile * 1e6, "recorded_us": tape * 1e6}

# ---- What is told ----

HEAD = ("model", "tier", "way", "budget", "step ms", "of plain", "peak MiB", "budget MiB",
        "resident MiB", "swapped MiB", "ratio", "dropped", "predicted ms", "off")


def cells(row, plain):
    """A row as texts."""
    found = [row["model"], row["tier"], row["way"], row["budget"] or "",
             f"{row['step_ns'] / 1e6:.0f}", f"{row['step_ns'] / plain['step_ns']:.2f}",
             f"{row['peak_bytes'] / MIB:.0f}", "", f"{row['resident_bytes'] / MIB:.0f}"]
    if "budget_bytes" in row:
        found[7] = f"{row['budget_bytes'] / MIB:.0f}"
        found += [f"{row['swapped_bytes'] / MIB:.0f}",
                  f"{row['swapped_bytes'] / (row['coded_bytes'] or 1):.2f}",
                  str(row["seen"].get("dropped", 0))]
        if row["predicted_ns"]:
            off = row["predicted_ns"] / row["step_ns"] - 1
            found += [f"{row['predicted_ns'] / 1e6:.0f}", f"{off:+.0%}"]
    return found + [""] * (len(HEAD) - len(found))


def table(rows):
    """All rows as texts."""
    plain = plain_of(rows)
    return [cells(row, plain[row["model"]]) for row in rows]


def plain_of(rows):
    """The row of plain training, by model."""
    return {row["model"]: row for row in rows if row["way"] == "plain"}


def verdicts(rows):
    """Where a plan with the codec is not faster than what else keeps to its peak; a line each."""
    for row in rows:
        if row["way"] != "planned":
            continue
        for other in rows:
            if (other["way"] in ("checkpoint", "hooks", "planned, no codec")
                    and other["model"] == row["model"] and other["tier"] in ("", row["tier"])
                    and other["budget"] in (None, row["budget"])
                    and other["peak_bytes"] <= max(row["peak_bytes"], row["budget_bytes"])
                    and other["step_ns"] < row["step_ns"]):
                yield (f"{row['model']}, {row['tier']}, {row['budget']}: {other['way']} is faster, "
                       f"{other['step_ns'] / 1e6:.0f} ms to {row['step_ns'] / 1e6:.0f} ms, at a "
                       f"peak of {other['peak_bytes'] / MIB:.0f} MiB to "
                       f"{row['peak_bytes'] / MIB:.0f} MiB")


def misses(rows):
    """Where a plan is not what it promises; a line each."""
    for row in rows:
        where = f"{row['model']}, {row['tier'] or 'memory'}, {row['way']} {row['budget']}"
        if row.get("budget_bytes") and row["peak_bytes"] > 1.05 * row["budget_bytes"]:
            yield (f"{where}: a peak of {row['peak_bytes'] / MIB:.0f} MiB, "
                   f"{row['peak_bytes'] / row['budget_bytes'] - 1:.0%} above the budget")
        yield from (f"{where}: {problem}" for problem in row.get("problems", ()))
        if row.get("predicted_ns"):
            off = row["predicted_ns"] / row["step_ns"] - 1
            if abs(off) > 0.15:
                yield f"{where}: predicted {off:+.0%}"


def is_same(rows):
    """Whether losses and parameters are those of plain training; says where they are not.
    Checkpoints run forward passes twice, and so change running statistics twice."""
    plain = plain_of(rows)
    wrong = [row for row in rows if row["losses"] != plain[row["model"]]["losses"]
             or (row["way"] != "checkpoint"
                 and row["parameters"] != plain[row["model"]]["parameters"])]
    for row in wrong:
        print(f"bench: {row['model']}, {row['tier']}, {row['way']} {row['budget']}: not the bits "
              "of plain training", file=sys.stderr)
    return not wrong


def show(texts):
    """A line of the table."""
    widths = (8, 7, 22, 6, 7, 8, 8, 10, 12, 11, 5, 7, 12, 5)
    print(" ".join(f"{text:<{width}}" if i < 4 else f"{text:>{width}}"
                   for i, (text, width) in enumerate(zip(texts, widths, strict=True))), flush=True)


def machine(options):
    """Where, and with what, it was measured."""
    return (f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} processors, "
            f"{torch.get_num_threads()} of them for PyTorch {torch.__version__}, "
            f"{platform.system()} on {platform.machine()}; {options.steps} steps each")


def markdown(result):
    """The page."""
    rows = [HEAD, ["---"] * 4 + ["---:"] * (len(HEAD) - 4), *table(result["rows"])]
    direct = all(row.get("is_direct", True) for row in result["rows"] if row["tier"] == "disk")
    return "\n".join([
        "# Training within a budget", "", result["machine"] + ".", "",
        "Medians of forward and backward passes, with losses and parameters that are the same, bit "
        "for bit; ways take turns,", "step by step. Disk: " + ("past the page cache" if direct else
                                                  "through the page cache") +
        ". Links are emulated. What is in the columns: `bench/runtime.py`. Made by", "", "```",
        "make bench-runtime", "```", "",
        *("| " + " | ".join(row) + " |" for row in rows), "",
        "Where another way, whose peak is no higher or within the budget, is faster than the plan "
        "with the codec:", "",
        *([f"- {line}" for line in result["verdicts"]] or ["nowhere."]), "",
        "Where a peak is more than 5 % above the budget, no plan fits, or the prediction is more "
        "than 15 % off:", "",
        *([f"- {line}" for line in result["misses"]] or ["nowhere."]), "",
        overhead_line(result), ""])


def overhead_line(result):
    return (f"A saved tensor takes {result['saved_us']:.1f} us of processor time where nothing "
            f"moves, one that stays where\nothers are swapped {result['beside_us']:.1f} us, an "
            f"operator of a profile {result['profiled_us']:.1f} us, one that is recorded,\nwhere a "
            f"plan drops something, {result['recorded_us']:.1f} us.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--directory", default="/var/tmp", help="of the disk tier")
    parser.add_argument("--steps", type=int, help="that are timed")
    parser.add_argument("--short", action="store_true", help="one small model, disk and one link")
    parser.add_argument("--results", type=Path, help="a folder for runtime.json and runtime.md")
    options = parser.parse_args()
    options.steps = options.steps or (3 if options.short else 5)
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // 2)) # the others are the codec's
    print(machine(options))
    show(HEAD)
    rows = []
    for name, task in (SHORT if options.short else TASKS).items():
        found = measure(name, task, LINKS[:2] if options.short else LINKS, options)
        rows += found
        for texts in table(found):
            show(texts)
    result = {"machine": machine(options), "rows": rows, "verdicts": list(verdicts(rows)),
              "misses": list(misses(rows)), **overheads()}
    for line in (*result["verdicts"], *result["misses"]):
        print(line)
    print(overhead_line(result))
    if options.results:
        options.results.mkdir(parents=True, exist_ok=True)
        (options.results / "runtime.json").write_text(json.dumps(result, indent=1) + "\n")
        (options.results / "runtime.md").write_text(markdown(result))
    return 0 if is_same(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
