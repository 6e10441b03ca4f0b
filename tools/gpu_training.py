"""With PyTorch, for tools/device_check: coding beside a matrix product, and training whose saved
tensors go to the host, against plain PyTorch and its save_on_cpu.  Prints JSON; exit status 77
where there is no PyTorch, or no device for it.

Usage: gpu_training.py BUILD SIZE [DRIVER]    DRIVER plays a device: tensors are then on the CPU
"""
import contextlib
import json
import sys
import time

import gpu_paths

try:
    import torch
except ImportError:
    print("no PyTorch")
    sys.exit(77)

STEPS = 6
LARGE, SMALL = (4096, 8, 8192), (64, 4, 256) # width, depth and rows of a network


def network(device, width, depth):
    torch.manual_seed(1)
    layers = []
    for _ in range(depth):
        layers += [torch.nn.Linear(width, width), torch.nn.GELU(), torch.nn.LayerNorm(width)]
    return torch.nn.Sequential(*layers).to(device)


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def train(device, shape, around):
    """Seconds of the fastest step, the peak of the device's memory, and the losses."""
    width, depth, rows = shape
    model = network(device, width, depth)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    data = torch.randn(rows, width, device=device)
    losses, best = [], float("inf")
    with around(model) as context:
        for step in range(STEPS):
            if step == 2 and device.type == "cuda":
                torch.cuda.reset_peak_memory_stats(device)
            begin = time.monotonic()
            with context():
                loss = model(data).square().mean()
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
            synchronize(device)
            best = min(best, time.monotonic() - begin) if step > 1 else best
    peak = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else 0
    return best, peak, losses


@contextlib.contextmanager
def plainly(_model):
    yield contextlib.nullcontext


@contextlib.contextmanager
def on_cpu(_model):
    yield lambda: torch.autograd.graph.save_on_cpu(pin_memory=torch.cuda.is_available())


def offloaded(driver):
    @contextlib.contextmanager
    def around(model):
        import planezip.torch
        from planezip.torch._offload._device import Played
        options = {"device": Played(driver)} if driver else {}
        context = planezip.torch.offload(model, budget="50%", tier="host", log=False, **options)
        try:
            yield lambda: context
        finally:
            context.close()
    return around


def trainings(device, driver):
    shape = SMALL if driver else LARGE
    rows, plain = [], None
    for name, around in (("plain", plainly), ("save_on_cpu", on_cpu),
                         ("offload, 50 %", offloaded(driver))):
        seconds, peak, losses = train(device, shape, around)
        plain = plain or losses
        rows.append({"training": name, "step_s": seconds, "peak_bytes": peak,
                     "is_same": losses == plain})
    return rows


def beside_products(device, build, size, driver):
    count = 64 if driver else 8192
    dtype = torch.float32 if driver else torch.bfloat16
    first, second = (torch.randn(count, count, device=device, dtype=dtype) for _ in range(2))

    def work():
        for _ in range(8):
            torch.mm(first, second)
        synchronize(device)

    raw = torch.randn(size // 2, dtype=torch.float32).bfloat16().view(torch.uint8).numpy().tobytes()
    gpu = gpu_paths.Gpu(build, "cuda", driver, raw)
    try:
        units = gpu.info().units
        return [gpu_paths.overlap(gpu, work, groups) for groups in (units, 4 * units, 0)]
    finally:
        gpu.close()


def main():
    build, size, driver = sys.argv[1], int(sys.argv[2]), (sys.argv[3:] or [None])[0]
    if driver is None and not torch.cuda.is_available():
        print("PyTorch has no device")
        return 77
    device = torch.device("cpu" if driver else "cuda")
    report = {"overlap": beside_products(device, build, size, driver),
              "training": trainings(device, driver)}
    print(json.dumps(report))
    return 0 if all(row["is_same"] for row in report["training"]) else 1


if __name__ == "__main__":
    sys.exit(main())
