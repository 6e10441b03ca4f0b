"""What a step did, as a Chrome trace beside what was simulated of it."""
import json
import os
from pathlib import Path

LANES = {"step": 1, "wait: memory": 2, "wait: prefetch": 2, "swap-out": 3, "prefetch": 4,
         "replay": 5}
MEASURED, SIMULATED = 1, 2


def document(events, span, planners):
    """The trace.  events: those of a Store; span: from and to in nanoseconds; planners: of the
    passes that were planned, whose simulations follow one another."""
    begin, end = span
    rows = [named("process_name", MEASURED, 0, "measured"),
            named("process_name", SIMULATED, 0, "simulated")]
    rows += [named("thread_name", MEASURED, lane, name)
             for lane, name in ((1, "step"), (2, "waits"), (3, "out"), (4, "in"), (5, "replays"))]
    rows.append(event("step", "step", begin, end - begin, begin, {}))
    rows += [event(what, f"{what} {number}", start, stop - start, begin,
                   {"tensor": number, "bytes": nbytes})
             for what, number, start, stop, nbytes in events]
    offset = 0.0
    for planner in planners:
        simulated = planner.timeline()["traceEvents"]
        rows += [{**row, "pid": SIMULATED, **({"ts": row["ts"] + offset} if "ts" in row else {})}
                 for row in simulated if row.get("name") != "process_name"]
        offset += planner.report.total_ns / 1e3
    return {"traceEvents": rows, "displayTimeUnit": "ms"}


def named(what, process, thread, name):
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}


def event(what, name, start, length, begin, details):
    return {"ph": "X", "name": name, "cat": what, "pid": MEASURED, "tid": LANES[what],
            "ts": (start - begin) / 1e3, "dur": length / 1e3, "args": details}


def write_json(path, content):
    """Writes a file once it is whole."""
    path = Path(path)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
