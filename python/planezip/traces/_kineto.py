"""Durations from the profiler's Chrome trace: of kernels where a GPU ran them, else of
operators."""
from . import _text

DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


def durations(path, lenient):
    """Nanoseconds of operators by their number in an execution trace: a dictionary of the
    operators on the host, and one of what they started on a device."""
    document = _text.load(path, ("traceEvents",), lenient)
    events = document.get("traceEvents") if isinstance(document, dict) else document
    if not isinstance(events, list):
        _text.fail("traceEvents", "is missing; expected is what torch.profiler exports")
    events = [event for event in events if isinstance(event, dict) and event.get("ph") == "X"]
    host, device, record_of = {}, {}, {}
    for event in events:
        arguments = event.get("args") or {}
        if event.get("cat") in ("cpu_op", "Operator"):
            external = arguments.get("External id")
            record = arguments.get("Record function id", external)
            record_of[external] = record
            host[record] = nanoseconds(event)
    for event in events:
        if event.get("cat") in DEVICE:
            external = (event.get("args") or {}).get("External id")
            record = record_of.get(external)
            if record is not None:
                device[record] = device.get(record, 0) + nanoseconds(event)
    return host, device


def nanoseconds(event):
    duration = event.get("dur", 0)
    if not isinstance(duration, (int, float)) or duration < 0:
        _text.fail(f"traceEvents of {event.get('name')!r}", f"has the duration {duration!r}")
    return round(duration * 1000)
