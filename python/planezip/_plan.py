"""Traces, plans and simulations of planezip/plan.h, as dictionaries and reports.

Private: what the training runtime plans with.
"""
import json
from ctypes import byref, c_char_p, c_double, c_uint64, c_void_p, pointer

from . import _library as c


def text_of(text):
    """A text of the library as a dictionary; the text is freed."""
    try:
        return json.loads(text.value)
    finally:
        c.lib.pz_text_free(text)


class Planner:
    """A trace on a platform.  trace: a dictionary; platform: a c.Platform; ratios: per saved
    tensor, in the order of the trace's storages."""

    def __init__(self, trace, platform, ratios, budget, seed=0):
        self.platform, self.diag = platform, c.Diag()
        self.trace, self.plan = c_void_p(), c_void_p()
        text = json.dumps(trace).encode()
        c.check(c.lib.pz_trace_parse(text, len(text), byref(self.trace), byref(self.diag)),
                self.diag)
        self.ratios = (c_double * (len(trace["storages"]) + 1))(*ratios) # 0, an error, if too few
        self.setup = c.Setup(trace=self.trace, budget_bytes=budget, search_seed=seed)
        self.setup.platform, self.setup.predicted = pointer(platform), self.ratios
        self.report = c.Report()

    def __del__(self):
        c.lib.pz_plan_free(self.plan)
        c.lib.pz_trace_free(self.trace)

    def set_ratios(self, ratios):
        """Other ratios for the same tensors."""
        self.ratios[:len(ratios)] = ratios

    def make(self, policy):
        """Makes a plan; False if none fits."""
        c.lib.pz_plan_free(self.plan)
        self.plan = c_void_p()
        status = c.lib.pz_plan_make(byref(self.setup), policy.encode(), byref(self.plan),
                                    byref(self.report), byref(self.diag))
        if status != c.ERR_INFEASIBLE:
            c.check(status, self.diag)
        return status == c.OK

    def least_budget(self, policy):
        """The least budget for which the policy has a plan."""
        least = c_uint64()
        c.check(c.lib.pz_plan_least_budget(byref(self.setup), policy.encode(), byref(least),
                                           byref(self.diag)), self.diag)
        return least.value

    def set_plan(self, plan):
        """Takes a plan, a dictionary, and simulates it; False if it does not fit the budget.  It
        may be of another recording of the same operators and storages, whose durations differ."""
        c.lib.pz_plan_free(self.plan)
        self.plan = c_void_p()
        c.check(c.lib.pz_plan_new(self.trace, byref(self.plan)))
        plan = {**plan, "trace_digest": self.document()["trace_digest"]}
        text, made = json.dumps(plan).encode(), c_void_p()
        c.check(c.lib.pz_plan_parse(self.trace, text, len(text), byref(made), byref(self.diag)),
                self.diag)
        c.lib.pz_plan_free(self.plan)
        self.plan = made
        status = c.lib.pz_simulate(byref(self.setup), self.plan, byref(self.report), None,
                                   byref(self.diag))
        if status != c.ERR_INFEASIBLE:
            c.check(status, self.diag)
        return status == c.OK

    def change_pace(self, factor):
        """Simulates the plan again with operators that take so many times as long."""
        self.platform.memory_bps /= factor
        self.platform.launch_ns = round(self.platform.launch_ns * factor)
        self.set_plan(self.document())

    def document(self):
        """The plan as a dictionary."""
        text = c_char_p()
        c.check(c.lib.pz_plan_json(self.trace, self.plan, byref(text)))
        return text_of(text)

    def timeline(self):
        """The simulated run, as a Chrome trace."""
        timeline, text = c_void_p(), c_char_p()
        c.check(c.lib.pz_simulate(byref(self.setup), self.plan, byref(c.Report()), byref(timeline),
                                  byref(self.diag)), self.diag)
        try:
            c.check(c.lib.pz_timeline_json(timeline, byref(text)))
        finally:
            c.lib.pz_timeline_free(timeline)
        return text_of(text)


def platform_document(platform):
    """A platform as a dictionary."""
    text = c_char_p()
    c.check(c.lib.pz_platform_json(byref(platform), byref(text)))
    return text_of(text)
