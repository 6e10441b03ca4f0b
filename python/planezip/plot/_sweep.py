"""Figures of what `planezip sweep --json` prints: Figures 4, 5 and 6 of the paper."""
from ._figure import Figure, Key, beside_key
from ._panel import Plot, Rows
from ._scale import Linear, Log, nice_top
from . import _style

SHOWN = ("recomp", "dte", "bw", "bw+zvc", "planezip", "planezip, format 2", "best")


def rows_of(sweep):
    """The rows that have a plan."""
    return [row for row in sweep["rows"] if row.get("status", "ok") == "ok"]


def names(rows, field, first=()):
    """The values of a field, those of first in its order, then as they come."""
    found = list(dict.fromkeys(row[field] for row in rows))
    return [name for name in first if name in found] + [n for n in found if n not in first]


def mean_overheads(rows, *keys):
    """{values of keys: mean overhead in %}, a model counting once; what lacks a model of the
    others is left out."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), {})[row["model"]] = row["overhead"]
    most = max(map(len, groups.values()), default=0)
    return {key: 100 * sum(group.values()) / len(group) for key, group in groups.items()
            if len(group) == most}


def budget(row):
    return round(100 * row["budget_fraction"], 1)


def with_budget(rows):
    return [dict(row, budget_percent=budget(row)) for row in rows]


def keys_of(rows, policies, name):
    keys = [Key(_style.policy(policy)) for policy in policies]
    return keys + ([beside_key(name)] if rows else [])


def throughput(sweep, beside=None, name="the paper"):
    """Figure 4: throughput of every model against the budget, without a budget = 1."""
    rows = with_budget(rows_of(sweep))
    theirs = with_budget(rows_of(beside)) if beside else []
    policies = [p for p in names(rows, "policy", SHOWN) if p in SHOWN]
    models = names(rows, "model", _style.MODELS)
    panels = [throughput_panel(rows, theirs, policies, model, platform)
              for platform in names(rows, "platform", "AB") for model in models]
    return Figure("figure-4", "Throughput against memory budget", panels,
                  keys_of(theirs, policies, name), len(models))


def throughput_panel(rows, theirs, policies, model, platform):
    plot = Plot(f"{_style.model(model)}, {platform}", Linear(28, 102, at=(30, 50, 70, 90)),
                Linear(0.6, 1.0), x_label="budget, % of the peak", width=230, height=205,
                subtitle="throughput, unlimited = 1")

    def points(source, policy):
        return sorted((row["budget_percent"], 1 / (1 + row["overhead"])) for row in source
                      if (row["model"], row["platform"], row["policy"]) == (model, platform,
                                                                            policy))

    for policy in policies:
        found = points(rows, policy)
        if found:
            plot.line(found + [(100.0, 1.0)], _style.policy(policy))
    for policy in policies:
        plot.dots(points(theirs, policy), _style.policy(policy), hollow=True)
    return plot


def overheads(sweep, beside=None, name="the paper"):
    """Mean overhead over the models against the budget."""
    rows = with_budget(rows_of(sweep))
    ours = mean_overheads(rows, "platform", "policy", "budget_percent")
    theirs = means_beside(beside, "budget_percent")
    policies = [p for p in names(rows, "policy", SHOWN) if p in SHOWN]
    panels = []
    for platform in names(rows, "platform", "AB"):
        top = max((v for (p, policy, b), v in ours.items()
                   if p == platform and policy in SHOWN[2:]), default=10)
        plot = Plot(f"Platform {platform}", Linear(28, 92, at=range(30, 100, 10)),
                    Linear(0, nice_top(1.3 * top)), subtitle="mean overhead, %",
                    x_label="memory budget, % of the peak", width=340, height=260)
        for policy in policies:
            plot.line(series(ours, platform, policy), _style.policy(policy))
        for policy in policies:
            plot.dots(series(theirs, platform, policy), _style.policy(policy), hollow=True)
        panels.append(plot)
    return Figure("overheads", "Mean overhead against memory budget", panels,
                  keys_of(theirs, policies, name))


def means_beside(beside, key):
    """The means of others: rows whose model is "mean"."""
    rows = with_budget(rows_of(beside)) if beside else []
    return {(row["platform"], row["policy"], row[key]): 100 * row["overhead"] for row in rows
            if row["model"] == "mean" and key in row}


def series(means, platform, policy):
    return sorted((x, value) for (p, n, x), value in means.items()
                  if (p, n) == (platform, policy))


def bars(sweep, beside=None, name="the paper"):
    """Figure 5: mean overhead of policies at one budget."""
    rows = rows_of(sweep)
    ours = mean_overheads(rows, "platform", "policy")
    theirs = {(row["platform"], row["policy"]): 100 * row["overhead"]
              for row in rows_of(beside or {"rows": []}) if row["model"] == "mean"}
    policies = names(rows, "policy")
    panels = [bar_panel(platform, policies, ours, theirs, budget(rows[0]), name)
              for platform in names(rows, "platform", "AB")]
    return Figure("figure-5", "Mean overhead of the parts", panels,
                  [beside_key(name)] if theirs else [])


def bar_panel(platform, policies, ours, theirs, percent, name):
    values = [ours.get((platform, p), 0) for p in policies]
    values += [theirs.get((platform, p), 0) for p in policies]
    labels = [_style.policy(p).label for p in policies]
    columns = ("ours", "paper" if name == "the paper" else name) if theirs else ("",)
    panel = Rows(f"Platform {platform}", labels, Linear(0, nice_top(max(values))),
                 subtitle=f"mean overhead at {percent:g} % of the peak, %", columns=columns,
                 width=372)
    for i, policy in enumerate(policies):
        value, other = ours.get((platform, policy)), theirs.get((platform, policy))
        if value is not None:
            panel.bar(i, value, _style.policy(policy))
        if other is not None:
            panel.dot(i, other, _style.Series(name, "ink"), hollow=True)
        panel.cells(i, *[None if v is None else f"{v:.1f}" for v in (value, other)][:len(columns)])
    return panel


def sensitivity(sweep, beside=None, name="the paper"):
    """Figure 6: mean overhead against the rate of the link or of the engine, whichever varies."""
    rows = rows_of(sweep)
    key = "link_bps" if len(names(rows, "link_bps")) > 1 else "engine_bps"
    word = "host link" if key == "link_bps" else "engine"
    ours = mean_overheads(rows, "platform", "policy", key)
    theirs = means_beside(beside, key)
    policies = names(rows, "policy", SHOWN)
    panels = []
    for platform in names(rows, "platform", "AB"):
        rates = sorted({rate for p, _, rate in ours if p == platform})
        if not rates:
            continue # No policy has plans for as many models as on another platform.
        top = max(value for (p, *_), value in ours.items() if p == platform)
        plot = Plot(f"Platform {platform}: {word}", log_scale(rates), Linear(0, nice_top(top)),
                    subtitle=f"mean overhead at {budget(rows[0]):g} % of the peak, %",
                    x_label=f"{word}, GB/s per direction", width=340, height=230,
                    x_text=lambda rate: f"{rate / 1e9:g}")
        for policy in policies:
            plot.line(series(ours, platform, policy), _style.policy(policy))
            plot.dots(series(ours, platform, policy), _style.policy(policy),
                      hint="{y:.1f} %")
        for policy in policies:
            plot.dots(series(theirs, platform, policy), _style.policy(policy), hollow=True,
                      hint="{y:.1f} %", radius=3.6)
        panels.append(plot)
    return Figure(f"sensitivity-{word.split()[-1]}", f"Sensitivity to the {word}", panels,
                  keys_of(theirs, policies, name))


def log_scale(values):
    return Log(values[0] / 1.12, values[-1] * 1.12, at=values)
