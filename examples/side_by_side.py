"""Trains a model twice, as PyTorch does by itself and within a budget, and compares: what the
examples train_*.py share."""
import argparse
import contextlib
import os
import statistics
import time

os.environ.setdefault("KINETO_LOG_LEVEL", "99") # or torch.profiler tells about GPUs

import torch # noqa: E402

import planezip.torch # noqa: E402


def options(text):
    """A parser of the options that all examples have."""
    parser = argparse.ArgumentParser(description=text.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--budget", default="50%", help="as 200MiB, or a share of the peak as 50%%")
    parser.add_argument("--tier", choices=("memory", "disk", "host"), default="memory",
                        help="host: with --device cuda")
    parser.add_argument("--directory", help="of tier disk")
    parser.add_argument("--link", help="emulate a link to the tier, as 1GB/s")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--device", default="cpu")
    return parser


def train(given, build, batch, loss, context):
    """Trains a new model; context(model) is for each forward and backward pass.  Returns losses and
    parameters, the median of seconds a step, and the peak of bytes above what is there between
    steps."""
    torch.manual_seed(1)
    model = build(given).to(given.device).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    within, losses, seconds = context(model), [], []
    for i in range(given.steps):
        data, start = batch(given), time.perf_counter()
        with watched(given, i == given.steps - 1) as peak:
            with within:
                found = loss(model, data)
                found.backward()
            losses.append(found.item())
        seconds.append(time.perf_counter() - start)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False) # so that gradients are no part of the peak
    results = torch.tensor(losses), *(parameter.detach() for parameter in model.parameters())
    return results, statistics.median(seconds[:-1]), peak[0]


@contextlib.contextmanager
def watched(given, wanted):
    """A list that gets the peak of a step, by PyTorch's allocator."""
    peak = []
    if not wanted:
        yield peak
    elif given.device == "cpu":
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                                    profile_memory=True) as profiler:
            yield peak
        live, events = [0], profiler.profiler.kineto_results.events()
        for event in sorted(events, key=lambda event: event.start_ns()):
            live.append(live[-1] + (event.nbytes() if event.name() == "[memory]" else 0))
        peak.append(max(live))
    else:
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        yield peak
        peak.append(torch.cuda.max_memory_allocated() - before)


def compare(given, build, batch, loss):
    """Trains both ways, and prints what is the same and what it costs.  Exits with 1 if something
    is not the same."""
    offloads = []
    torch.backends.cudnn.deterministic = True # or plain training is not the same twice

    def within(model):
        offloads.append(planezip.torch.offload(
            model, given.budget, given.tier, given.directory, link=given.link))
        return offloads[0]

    plain, plain_seconds, plain_peak = train(given, build, batch, loss,
                                             lambda model: contextlib.nullcontext())
    ours, seconds, peak = train(given, build, batch, loss, within)
    print(offloads[0].report())
    same = all(map(torch.equal, plain, ours))
    print(f"\nplain   {plain_seconds * 1e3:8.1f} ms a step, peak {plain_peak / 2**20:8.1f} MiB, "
          f"last loss {plain[0][-1]:.6f}")
    print(f"within  {seconds * 1e3:8.1f} ms a step, peak {peak / 2**20:8.1f} MiB, "
          f"last loss {ours[0][-1]:.6f}")
    print("losses and parameters: " + ("the same, bit for bit" if same else "NOT the same"))
    raise SystemExit(0 if same else 1)
