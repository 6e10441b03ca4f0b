"""Where the tensors of a training are: what the runtime does differently on a device.

In host memory a transfer is waited for before its source is let go of, or its target is read.  On a
device nobody waits: the stream of the computation is made to, by an event, and memory goes back to
PyTorch's allocator at the same point of the program.  That the allocator gives memory out again in
the order of a stream makes this right, and the peak is the same in every run; record_stream() would
keep it back until some later allocation happens to find the event reached.
"""
import torch

from ..._engine import Device


class HostMemory:
    """Tensors on the CPU."""
    gpu = None
    device = torch.device("cpu")

    def stream(self):
        """The stream that computes, as the library takes it."""
        return None

    def join(self, swap, stream):
        """Memory of a transfer may be used, or let go of, by what follows in a stream."""
        swap.wait()

    def synchronize(self):
        """Until everything has been computed that was asked for."""

    def captures(self):
        """Whether what is asked for now is only recorded, to run later."""
        return False

    def close(self):
        pass


class Cuda(HostMemory):
    """Tensors of a CUDA device."""

    def __init__(self, device):
        self.device = torch.device(device)
        if self.device.index is None:
            self.device = torch.device("cuda", torch.cuda.current_device())
        torch.cuda.init()
        self.gpu = Device(self.device.index)

    def stream(self):
        return torch.cuda.current_stream(self.device).cuda_stream

    def join(self, swap, stream):
        swap.join(stream)

    def synchronize(self):
        torch.cuda.synchronize(self.device)

    def captures(self):
        return torch.cuda.is_current_stream_capturing()

    def close(self):
        self.gpu.close()


class Played(HostMemory):
    """Tensors on the CPU as those of a device, for tests: a driver plays it whose memory is the
    process's.  What computes is the host, so it is the host that waits where a stream would."""

    def __init__(self, driver):
        self.gpu = Device(0, driver=driver)

    def close(self):
        self.gpu.close()


def memory_of(tier, device, model):
    """Where the tensors are that a tier takes: for "host" a device, that of the model unless it is
    told."""
    if tier != "host":
        if device is not None:
            raise ValueError(f"planezip: tier {tier!r} is for tensors on the CPU; leave out "
                             "device, or take tier 'host'")
        return HostMemory()
    if isinstance(device, HostMemory):
        return device
    if device is None:
        first = next(iter(model.parameters()), None) if model is not None else None
        device = first.device if first is not None and first.is_cuda else torch.device("cuda")
    if torch.device(device).type != "cuda":
        raise ValueError(f"planezip: tier 'host' is for tensors of CUDA devices, not {device}; "
                         "take tier 'memory' on the CPU")
    if not torch.cuda.is_available():
        raise RuntimeError("planezip: tier 'host' needs a CUDA device, and PyTorch finds none; "
                           "take tier 'memory' on the CPU")
    return Cuda(device)
