"""Memory that an operator takes for itself while it runs, beyond what it returns: PyTorch's own
profiler of a thread tells each time that its allocator gives or takes."""
import torch

try:
    from torch.autograd import ProfilerConfig, ProfilerState
    start, stop = (getattr(torch._C._autograd, f"_{what}_profiler_legacy")
                   for what in ("enable", "disable"))
    CONFIG = ProfilerConfig(ProfilerState.CPU, False, True, False, False, False,
                            torch._C._profiler._ExperimentalConfig())
except (ImportError, AttributeError, TypeError): # it is no part of PyTorch's interface
    CONFIG = None


class Scratch:
    """A context around one operator.  bytes: the most that it had at a time and did not keep; 0
    where nobody tells, as while another profiler is at work."""

    def __init__(self):
        self.bytes = 0
        self.works = False

    def __enter__(self):
        self.works = CONFIG is not None and not torch._C._autograd._profiler_enabled()
        if self.works:
            start(CONFIG)
        return self

    def __exit__(self, *_):
        if self.works:
            self.bytes = beyond(event.cpu_memory_usage() for events in stop() for event in events
                                if event.kind() == "memory_alloc")


def beyond(changes):
    """The highest sum of changes so far, above the last one."""
    live = most = 0
    for change in changes:
        live += change
        most = max(most, live)
    return most - max(live, 0)
