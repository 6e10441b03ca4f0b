#!/bin/sh
# explain and diff: what they tell of a plan is what simulate says of the plan that they mean.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

world="--trace $tiny --ratios $tiny_ratios --platform A"

# shellcheck disable=SC2086 # options
{
    run 0 "a plan" plan $world --budget 80% --compress spare -o plan.json
    run 0 "explain" explain $world --plan plan.json
    prints "a row for each tensor" '^ *4  aten.mm.default  *32.00 MiB '
    prints "what the plan costs" '^With this plan the iteration takes [0-9.]* % longer within '
    run 0 "its first lines" explain $world --plan plan.json --top 2 --json
    check "are the largest tensors" test "$(field '[t["bytes"] for t in data["tensors"]]')" \
        = "[33554432, 33554432]"
    run 0 "tensors that are named" explain $world --plan plan.json 3 0 --json
    check "are explained in that order" test "$(field '[t["index"] for t in data["tensors"]]')" \
        = "[3, 0]"
    refuse 2 "a tensor that is named, and the largest" explain $world --plan plan.json --top 2 3
    says "says so" "--top is for the largest tensors, and '3' is named"
    refuse 2 "a tensor that is not there" explain $world --plan plan.json 5
    says "it says which there are" "'5' is no saved tensor: they are 0 to 4"
    python3 - "$tiny" <<'PYTHON'
import json, sys
tiny = json.load(open(sys.argv[1]))
forward, backward = tiny["ops"][0], tiny["ops"][7]
backward["reads"] = [s["id"] for s in tiny["storages"] if s["kind"] == "parameter"][:1]
touched = {s for op in (forward, backward) for s in op["reads"] + op["writes"]}
storages = [dict(s, op=min(s["op"], 1)) for s in tiny["storages"] if s["id"] in touched]
json.dump(dict(tiny, ops=[forward, backward], storages=storages), open("none.json", "w"))
PYTHON
    run 0 "a plan for nothing saved" plan --trace none.json --platform A --budget 100% \
        -o none_plan.json
    refuse 2 "a tensor of none" explain --trace none.json --platform A --plan none_plan.json 0
    says "it says that there is none" "'0' is no saved tensor: the trace has none"
    refuse 1 "a plan that does not fit" explain $world --plan plan.json --budget 20%

    # Each alternative is written into the plan and simulated.
    run 0 "all tensors" explain $world --plan plan.json --top 0 --json
    cp out.txt explained.json
    python3 - "$PLANEZIP" $world <<'PYTHON' >result.txt 2>&1 || true
import json, subprocess, sys
explained = json.load(open("explained.json"))
plan = json.load(open("plan.json"))
def simulate(steps, *options):
    json.dump(dict(plan, tensors=steps), open("other.json", "w"))
    run = subprocess.run([sys.argv[1], "simulate", *sys.argv[2:], "--plan", "other.json", "--json",
                          *options], capture_output=True, text=True)
    return json.loads(run.stdout) if run.returncode == 0 else None
tried = fit = 0
for tensor in explained["tensors"]:
    steps = {step["storage"]: step for step in plan["tensors"]}
    own = steps[tensor["storage"]]
    assert own["action"] == tensor["action"] and own.get("prefetch_op") == tensor["prefetch_op"]
    for action in {"keep", "swap", "drop", "compress"} - {own["action"]}:
        point = tensor[action + "_prefetch_op"]
        step = {k: v for k, v in own.items() if k != "prefetch_op"} | {"action": action}
        if action in ("swap", "compress"):
            step["prefetch_op"] = tensor["first_backward_use"] if point is None else point
        run = simulate([step if s is own else s for s in steps.values()])
        tried += 1
        overhead, excess = tensor[action + "_overhead"], tensor[action + "_excess_bytes"]
        assert (run is None) == (overhead is None), (tensor, action)
        assert overhead is None or excess is None
        if run is not None:
            fit += 1
            assert abs(run["overhead"] - overhead) < 1e-12, (tensor, action)
        elif excess is not None:
            run = simulate([step if s is own else s for s in steps.values()], "--budget", "1TiB")
            assert run["peak_bytes"] - plan["budget_bytes"] == excess, (tensor, action)
    recomputed = tensor["recompute_ns"]
    assert (recomputed is None) == (tensor["op"] < 0), tensor
    assert (tensor["replay_ns"] > 0) == (own["action"] == "drop"), tensor
assert abs(explained["overhead"] - simulate(plan["tensors"])["overhead"]) < 1e-12
assert tried == 15 and 3 <= fit < 15, (tried, fit)
print("ok")
PYTHON
    check "alternatives are what simulate says: $(tail -n 1 result.txt)" grep -qx ok result.txt

    run 0 "another plan" plan $world --budget 85% --policy recomp -o recomp.json
    run 0 "diff" diff $world plan.json recomp.json
    prints "names the plans" '^recomp.json  *recomp '
    run 0 "diff as JSON" diff $world plan.json recomp.json --json
    check "is what the files say" python3 -c 'import json
data = json.load(open("out.txt"))
plans = [{t["storage"]: t for t in json.load(open(name))["tensors"]}
         for name in ("plan.json", "recomp.json")]
def what(step):
    return step["action"], step.get("prefetch_op")
differ = {s for s in plans[0] if what(plans[0][s]) != what(plans[1][s])}
assert differ and {t["storage"] for t in data["tensors"]} == differ
assert sum(c["tensors"] for c in data["changes"]) == len(differ)
assert sum(c["bytes"] for c in data["changes"]) == sum(t["bytes"] for t in data["tensors"])
for t in data["tensors"]:
    assert what(plans[0][t["storage"]]) == (t["from"], t["from_prefetch_op"])
    assert what(plans[1][t["storage"]]) == (t["to"], t["to_prefetch_op"])
assert [p["policy"] for p in data["plans"]] == ["best", "recomp"]'
    cp out.txt diff.json
    run 0 "simulate" simulate $world --plan recomp.json --json
    check "tells the same of a plan" python3 -c 'import json
run, plan = json.load(open("out.txt")), json.load(open("diff.json"))["plans"][1]
same = [key for key in run if key in plan]
assert len(same) > 20 and all(run[key] == plan[key] for key in same), (run, plan)'
    run 0 "tensors as text" diff $world plan.json recomp.json -v
    prints "there is a list" '^Tensors, the largest first'
    run 0 "explain without ratios" explain --trace "$tiny" --platform A --plan plan.json \
        --budget 100%
    says "it says so" 'plan.json: without --ratios every ratio is 1'
    run 0 "diff without ratios" diff --trace "$tiny" --platform A plan.json recomp.json
    check "it says so of the plan that has a codec" test "$(cat err.txt)" \
        = "planezip: warning: plan.json: without --ratios every ratio is 1"
    run 0 "a plan and itself" diff $world plan.json plan.json
    prints "there is no difference" '^The plans do the same with every tensor\.$'
    sed 's/"replay": *"[a-z]*"/"replay":"keep"/' recomp.json >keep.json
    sed 's/"replay": *"[a-z]*"/"replay":"free"/' recomp.json >free.json
    run 0 "plans that differ in their replays" diff $world keep.json free.json
    prints "their replays are told" '^keep.json .* keep '
    prints "of both" '^free.json .* free '
    run 0 "a plan for all memory" plan $world --budget 100% -o all.json
    run 0 "a budget that one does not fit" diff $world plan.json all.json --budget 80% --json
    check "it says so" test "$(field '[p["status"] for p in data["plans"]]')" \
        = "['ok', 'infeasible']"
    refuse 2 "one plan" diff $world plan.json
    refuse 1 "no plan" diff $world plan.json "$tiny"
}

finish
