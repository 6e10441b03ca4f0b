"""What became of the saved tensors: counts, bytes, ratios, and how well it was predicted."""
import collections
from dataclasses import asdict, dataclass

from ._amounts import shown


@dataclass(frozen=True)
class Report:
    """Of the last step.  Times are nanoseconds, sizes bytes, ratios raw / coded.

    seen: tensors that autograd saved, by what happened to them: "swapped", "shared" (in a storage
    that is swapped already), "dropped", "kept" (as planned), and otherwise the reason why they
    stayed: "persistent" (parameters, buffers), "input", "tiny", "special" (subclasses, sparse),
    "backward" (saved in a backward pass), and others that speak for themselves.
    predicted_*: of the simulator; planned_peak_bytes: of what comes and goes, as planned; both None
    where there is no plan.  unplanned_peak_bytes: the same without a plan.
    replayed, replay_ns: operators that were run again for what was dropped, and the time of it.
    tensors: of the plan, a dictionary each; classes: sums by operator of those that are swapped.
    """
    steps: int
    plans: int
    tier: str
    codec: str
    emulated_link_bps: float
    budget_bytes: int
    unplanned_peak_bytes: int
    planned_peak_bytes: int | None
    seen: dict
    swapped_bytes: int
    coded_bytes: int
    refused: int
    replayed: int
    replay_ns: int
    step_ns: int
    predicted_ns: int | None
    predicted_unlimited_ns: int | None
    blocked_ns: int
    problems: tuple
    tensors: tuple
    classes: dict

    def as_dict(self):
        """The fields by name, for json.dump()."""
        return asdict(self)

    def __str__(self):
        lines = [self.line()]
        lines += [f"  {count:6} {name}" for name, count in sorted(self.seen.items())]
        for name, (count, raw, coded) in sorted(self.classes.items(), key=lambda row: -row[1][1]):
            lines.append(f"  {name}: {count} tensors of {shown(raw)}, ratio {raw / coded:.2f}")
        return "\n".join(lines + [f"  {problem}" for problem in self.problems])

    def line(self):
        """The most important of it in one line."""
        ratio = self.swapped_bytes / self.coded_bytes if self.coded_bytes else 1
        text = (f"planezip: {sum(self.seen.values())} tensors saved, {self.seen.get('swapped', 0)} "
                f"of {shown(self.swapped_bytes)} swapped to {self.tier} at ratio {ratio:.2f}")
        if self.seen.get("dropped"):
            text += (f", {self.seen['dropped']} dropped and computed again with {self.replayed} "
                     "operators")
        if self.emulated_link_bps:
            text += f" over an emulated link of {self.emulated_link_bps / 1e9:g} GB/s"
        if self.predicted_ns is not None:
            text += (f"; peak {shown(self.planned_peak_bytes)} planned within "
                     f"{shown(self.budget_bytes)}, {shown(self.unplanned_peak_bytes)} without; "
                     f"step {self.step_ns / 1e6:.1f} ms, "
                     f"predicted {self.predicted_ns / 1e6:.1f} ms")
        return text


def rows_of(planned, number):
    """The tensors of a plan, a dictionary each."""
    if planned.model is None:
        return []
    writers = {}
    for op in planned.model.ops:
        for key in op.writes:
            writers.setdefault(key, op.name)
    schedule, rows = planned.schedule, []
    for key, pack in planned.model.movable.items():
        rows.append({"pass": number, "pack": pack, "operator": writers.get(key, "input"),
                     "bytes": planned.model.sizes[key], "ratio": schedule.latest.get(pack, 1.0),
                     "action": schedule.action(pack).name.lower()})
    return rows


def classes_of(rows):
    """By operator of the swapped tensors: how many, raw and coded bytes."""
    sums = collections.defaultdict(lambda: [0, 0, 0])
    for row in rows:
        if row["action"] == "swap":
            one = sums[row["operator"]]
            one[0] += 1
            one[1] += row["bytes"]
            one[2] += row["bytes"] / row["ratio"]
    return dict(sums)
