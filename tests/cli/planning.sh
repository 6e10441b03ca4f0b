#!/bin/sh
# plan, simulate and sweep: budgets, policies, and that the three agree.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

make_plan="plan --trace $tiny --ratios $tiny_ratios --platform A"

# shellcheck disable=SC2086 # options
{
    run 0 "a plan" $make_plan --budget 80% -o plan.json --json
    cp out.txt summary.json
    check "the budget in bytes" test "$(field 'data["budget_bytes"] ==
        int(0.8 * data["peak_without_plan_bytes"])')" = True
    check "the peak is below the budget" test "$(field \
        'data["peak_bytes"] <= data["budget_bytes"]')" = True
    check "every tensor has an action" test "$(field \
        'data["kept"] + data["swapped"] + data["dropped"]')" -eq 5
    check "all bytes are counted" test "$(field \
        'data["kept_bytes"] + data["swapped_bytes"] + data["dropped_bytes"]')" -eq 125829120

    # simulate tells the same as plan, by default with the plan's budget.
    run 0 "simulate" simulate --trace "$tiny" --ratios "$tiny_ratios" --platform A \
        --plan plan.json --json
    check "agrees with plan" python3 -c 'import json
a, b = (json.load(open(name)) for name in ("summary.json", "out.txt"))
same = [key for key in a if key in b]
assert len(same) > 20 and all(a[key] == b[key] for key in same), (a, b)'
    check "parts of the time add up" test "$(field 'data["total_ns"] - sum(data[key] for key in (
        "compute_ns", "optimizer_ns", "replay_ns", "stall_memory_ns", "stall_prefetch_ns",
        "codec_ns"))')" -eq 0
    check "the live set is the peak" test "$(field \
        'sum(s["bytes"] for s in data["peak_storages"]) == data["peak_bytes"]')" = True
    run 0 "the live set as text" simulate --trace "$tiny" --ratios "$tiny_ratios" --platform A \
        --plan plan.json -v
    prints "lists storages" '^storage '
    refuse 1 "a budget that the plan does not fit" simulate --trace "$tiny" --plan plan.json \
        --ratios "$tiny_ratios" --platform A --budget 20%
    check "with one piece of advice" test "$(grep -o 'raise the budget' err.txt | wc -l)" -eq 1
    run 0 "no ratios" simulate --trace "$tiny" --plan plan.json --platform A
    prints "it says so" '^ratios  *none; every ratio is 1'
    run 0 "another codec" simulate --trace "$tiny" --ratios "$tiny_ratios" --plan plan.json \
        --platform A --codec none
    refuse 2 "an unknown codec" simulate --trace "$tiny" --plan plan.json --platform A --codec lz4

    # The plan on standard output, the summary beside it.
    "$PLANEZIP" $make_plan --budget 80% -o - >stdout.txt 2>stderr.txt
    check "-o - writes the plan" cmp -s stdout.txt plan.json
    check "and the summary to standard error" grep -q '^budget ' stderr.txt
    "$PLANEZIP" $make_plan --budget 80% -q -o - >stdout.txt 2>stderr.txt
    check "-q only the plan" test ! -s stderr.txt
    "$PLANEZIP" plan --trace - --platform A --budget 80% --policy bw <"$tiny" >stdout.txt
    check "a trace from standard input" grep -q '^budget ' stdout.txt
    run 0 "the same twice" $make_plan --budget 80% -o plan2.json
    check "gives the same plan" cmp -s plan.json plan2.json

    # Budgets: what is enough, more than enough, and not enough.
    for budget in 100% 150% 100000% 1TiB 9223372036854775807; do
        run 0 "a budget of $budget" $make_plan --budget "$budget"
        prints "it is said that all is kept" 'The budget covers the peak'
        run 0 "as JSON" $make_plan --budget "$budget" --json
        check "nothing is moved" test "$(field 'data["kept"], data["overhead"]')" = "(5, 0.0)"
    done
    run 0 "bytes with a unit" $make_plan --budget 128MiB --json
    check "are powers of two" test "$(field 'data["budget_bytes"]')" -eq 134217728
    run 0 "a fraction with a unit" $make_plan --budget 0.125g --json
    check "is exact" test "$(field 'data["budget_bytes"]')" -eq 134217728
    run 0 "a decimal unit" $make_plan --budget 140MB --json
    check "is a power of ten" test "$(field 'data["budget_bytes"]')" -eq 140000000
    refuse 1 "an infeasible budget" $make_plan --budget 10% -o infeasible.json
    is_absent "leaves no plan" infeasible.json
    says "the least budget is named" 'the least budget found is [0-9]* bytes'
    least=$(sed 's/.*the least budget found is \([0-9]*\) bytes.*/\1/' err.txt)
    run 0 "the least budget" $make_plan --budget "$least"
    refuse 1 "a byte less than the least budget" $make_plan --budget $((least - 1))
    cp "$tiny" own.json
    ln -sf own.json link.json
    refuse 1 "a plan over its trace" plan --trace own.json --platform A --budget 80% -f -o link.json
    says "says so" 'the output is the input itself'
    refuse 1 "a timeline over its plan" simulate --trace own.json --platform A --plan plan.json \
        -f --timeline plan.json
    check "the inputs are there" cmp -s "$tiny" own.json
    refuse 2 "two traces" $make_plan --trace own.json --budget 80%
    says "says so" '--trace is given twice'
    refuse 2 "two budgets" $make_plan -b 80% -b 90%
    refuse 2 "--force without a plan" $make_plan --budget 80% -f
    refuse 2 "--force without a timeline" simulate --trace "$tiny" --platform A --plan plan.json -f
    refuse 2 "a signature of nothing" plan --trace "$tiny" --platform A --budget 80% \
        --signature operator

    # Plans made for something else run, and say so.
    run 0 "a plan on its platform" simulate --trace "$tiny" --ratios "$tiny_ratios" --platform a \
        --plan plan.json
    check "nothing is said" test ! -s err.txt
    run 0 "on another one" simulate --trace "$tiny" --ratios "$tiny_ratios" --platform B \
        --plan plan.json
    check "one line says so" test "$(cat err.txt)" = \
        "planezip: warning: plan.json: it was made for platform A, and runs on B"
    sed 's/"model":"tiny"/"model":"other"/' "$tiny" >renamed.json
    run 0 "with a trace of another name" simulate --trace renamed.json --platform A --plan plan.json
    says "says so" "made for model 'tiny', and runs with the trace of 'other'"
    sed -E 's/"(float_)?bytes": *[0-9]+/"\1bytes":8/g' "$tiny" >bytes.json
    refuse 1 "a trace of a few bytes" plan --trace bytes.json --platform A --budget 1B
    says "its least budget is named" 'the least budget found is [0-9]* bytes'
}

# Per cent of a peak that no double holds.
python3 - "$tiny" <<'PYTHON'
import json, sys
trace = json.load(open(sys.argv[1]))
for i in range(127):
    trace["storages"].append(dict(trace["storages"][4], id=100 + i, slot=2 + i, bytes=2**48 - 1))
    trace["ops"][1]["writes"].append(100 + i)
    trace["ops"][6]["reads"].append(100 + i)
json.dump(trace, open("vast.json", "w"))
PYTHON
for percent in 100 100.0 100.000000000000000001 123.456789012345678901 199.99 25000 7000.07; do
    run 0 "$percent % of a vast peak" plan --trace vast.json --platform A --budget $percent% --json
    check "is exact" test "$(field '__import__("fractions").Fraction("'$percent'") / 100 *
        data["peak_without_plan_bytes"] // 1 == data["budget_bytes"] and
        data["peak_without_plan_bytes"] > 2**53 and data["peak_without_plan_bytes"] % 2 == 1')" \
        = True
done
run 0 "a million per cent of it" plan --trace vast.json --platform A --budget 1000000% --json
check "ends below 2^63" test "$(field 'data["budget_bytes"] == 2**63 - 1')" = True
for budget in 1.1EiB=1268213655067531673 0.7EB=700000000000000000 0.3gb=300000000 \
    7.9999999999999999999EiB=9223372036854775807; do
    run 0 "a budget of ${budget%=*}" plan --trace "$tiny" --platform A --json \
        --budget "${budget%=*}"
    check "is exact" test "$(field 'data["budget_bytes"]')" -eq "${budget#*=}"
done

for policy in recomp swap dte dte+codec bw bw+codec bw+zvc planezip best; do
    for platform in A B B-software; do
        run 0 "$policy on $platform" plan --trace "$tiny" --ratios "$tiny_ratios" \
            --platform $platform --budget 85% --policy $policy
        run 0 "$policy on $platform, replays that keep" plan --trace "$tiny" \
            --ratios "$tiny_ratios" --platform $platform --budget 85% --policy $policy --replay keep
    done
done
run 0 "a short search" plan --trace "$tiny" --platform A --budget 75% --search-plans 100 --json
check "is one" test "$(field 'data["evaluations"] > 0 and
    data["overhead"] <= data["start_overhead"]')" = True
if "$PLANEZIP" plan --trace "$tiny" --platform A --budget 75% --bound --json >out.txt \
    2>err.txt; then
    check "a bound is below the plan" test "$(field '0 <= data["bound"] <= data["overhead"] and
        abs(data["overhead"] - data["bound"] - data["gap"]) < 1e-12')" = True
else
    says "a build without a solver says so" '^planezip: plan: --bound: this build has no solver'
fi
if "$PLANEZIP" sweep --trace "$tiny" --policy dte,best --budget 70%,80% --bound --json >out.txt \
    2>err.txt; then
    check "so is one of a sweep" test "$(field 'all(0 <= row["bound"] <= row["overhead"] and
        abs(row["overhead"] - row["bound"] - row["gap"]) < 1e-9
        for row in data["rows"] if row["status"] == "ok")')" = True
    run 0 "as text" sweep --trace "$tiny" --policy dte --budget 80% --bound
    prints "has a column for the gap" ' bound (%)  *gap (%) '
    run 0 "its means" sweep --trace "$tiny" --policy dte --budget 10%,80% --bound --summary
    prints "have a row for plans" ' free  *plan  *-  *[0-9.]*$'
    prints "and one for bounds" ' free  *bound  *-  *[0-9.]*$'
    run 0 "as JSON" sweep --trace "$tiny" --policy dte --budget 10%,80% --bound --json
    check "are those of the rows" test "$(field '[(m["mean_overhead"], m["mean_bound"])
        for m in data["means"]] == [(r["overhead"], r["bound"]) for r in data["rows"]]')" = True
else
    says "a sweep without a solver says so" '^planezip: sweep: --bound: this build has no solver'
fi
for who in spare second; do
    run 0 "compression in device memory, $who" plan --trace "$tiny" --ratios "$tiny_ratios" \
        --platform A --budget 80% --compress $who -f -o packed.json --json
    cp out.txt summary2.json
    check "has tensors" test "$(field 'data["compressed"] > 0 and
        data["packed_bytes"] < data["compressed_bytes"]')" = True
    run 0 "its run" simulate --trace "$tiny" --ratios "$tiny_ratios" --platform A \
        --plan packed.json --json
    check "is as planned" python3 -c 'import json
a, b = (json.load(open(name)) for name in ("summary2.json", "out.txt"))
assert all(a[key] == b[key] for key in a if key in b), (a, b)'
done
run 0 "replays that hold" plan --trace "$tiny" --ratios "$tiny_ratios" --platform A \
    --budget 80% --replay hold --json
check "are no worse" python3 -c 'import json
keep, hold = (json.load(open(name)) for name in ("summary.json", "out.txt"))
assert hold["overhead"] <= keep["overhead"], (keep, hold)'
run 0 "a sweep that holds" sweep --trace "$tiny" --policy dte,best --replay hold --budget 80% \
    --platform A --json
check "is of one mode" test "$(field '[row["replay"] for row in data["rows"]]')" = \
    "['hold', 'all']"
refuse 1 "no engine to compress" plan --trace "$tiny" --platform RTX4090 --budget 60% \
    --compress spare
says "says so" 'no engine that could compress in device memory; use one that has$'
refuse 2 "nor in a sweep" sweep --trace "$tiny" --platform A,RTX4090 --budget 60% --policy best \
    --compress spare
says "which platform" '--compress: platform RTX4090 has no engine; leave the platform out'
refuse 1 "no codec to compress" plan --trace "$tiny" --platform A --budget 60% --compress software
says "says so" 'no software codec that could'
sed 's/"compress": *"second",//' packed.json >unnamed.json
refuse 1 "a plan without who compresses" simulate --trace "$tiny" --platform A --plan unnamed.json
says "the field is named" 'who compresses tensors (compress)'
run 1 "a plan that needs its ratios" simulate --trace "$tiny" --platform A --plan packed.json
says "without them it is said why it may not fit" 'packed.json: without --ratios every ratio is 1'
refuse 2 "nobody known" plan --trace "$tiny" --platform A --budget 60% --compress third
run 0 "a search by the clock" plan --trace "$tiny" --platform A --budget 75% --search-seconds 0.05
refuse 2 "no time to search" plan --trace "$tiny" --platform A --budget 75% --search-seconds 0
for seconds in 1e300 1e7 nan inf -1; do
    refuse 2 "$seconds seconds of search" plan --trace "$tiny" --platform A --budget 75% \
        --search-seconds $seconds
done
refuse 2 "a search with two ends" plan --trace "$tiny" --platform A --budget 75% \
    --search-plans 100 --search-seconds 1
refuse 2 "slots without bytes" plan --trace "$tiny" --platform A --budget 75% --compress spare \
    --slot 0
refuse 2 "slots of nothing" plan --trace "$tiny" --platform A --budget 75% --slot 4096
for search in "--search-plans 100" "--search-seconds 1" "--search-seed 1" "--compress spare"; do
    # shellcheck disable=SC2086 # an option and its value
    refuse 2 "a policy without a search, $search" plan --trace "$tiny" --platform A --budget 75% \
        --policy recomp $search
    # shellcheck disable=SC2086
    refuse 2 "a sweep without a search, $search" sweep --trace "$tiny" --policy recomp,dte $search
done
refuse 2 "an unknown replay mode" plan --trace "$tiny" --platform A --budget 75% --replay both
run 0 "a platform from a file" platform show B -o b.json
run 0 "is a platform" plan --trace "$tiny" --platform b.json --budget 90%
run 0 "other signatures" plan --trace "$tiny" --ratios "$tiny_ratios" --platform A --budget 85% \
    --signature operator
run 0 "other actual ratios" plan --trace "$tiny" --ratios "$tiny_ratios" --platform A \
    --budget 90% --actual "$tiny_ratios"

# A sweep plans with some ratios and runs with others, as plan does.
python3 - "$tiny_ratios" <<'PYTHON'
import json, sys
table = json.load(open(sys.argv[1]))
for entry in table["entries"]:
    for ratios in (entry["fp32"], entry["bf16"]):
        ratios["planezip"] = 1 + (ratios["planezip"] - 1) / 4
json.dump(table, open("actual.json", "w"))
PYTHON
both="--trace $tiny --ratios $tiny_ratios --actual actual.json --platform A --policy planezip"
# shellcheck disable=SC2086 # options
run 0 "a plan for other ratios" plan $both --budget 75% --json
cp out.txt other.json
# shellcheck disable=SC2086
run 0 "in a sweep" sweep $both --budget 75% --replay free --json
check "is the same" python3 -c 'import json
plan, row = json.load(open("other.json")), json.load(open("out.txt"))["rows"][0]
same = [key for key in plan if key in row]
assert len(same) > 20 and all(plan[key] == row[key] for key in same), (plan, row)
assert plan["overhead"] > plan["predicted_overhead"], plan'
refuse 1 "actual ratios of another model" sweep --trace renamed.json --actual actual.json
says "says so" "no ratio table is of its model 'other'"
run 0 "actual ratios alone" sweep --trace "$tiny" --actual actual.json --policy planezip \
    --budget 90% --platform A
prints "are said to be unknown to the plan" '^Planned without ratio tables'
refuse 2 "a sweep with a signature of nothing" sweep --trace "$tiny" --signature none
refuse 2 "ratios of nothing times two" sweep --trace "$tiny" --ratio-times 2

# Sweeps.
run 0 "a sweep" sweep --trace "$tiny" --ratios "$tiny_ratios" --budget 10%,70%,80%,90%,100% --json
cp out.txt sweep.json
check "has a row for each combination" test "$(field 'len(data["rows"])')" \
    -eq $((2 * (2 * 8 + 1) * 5))
check "rows that do not fit say so" test \
    "$(field 'sorted({row["status"] for row in data["rows"]})')" = "['infeasible', 'ok']"
check "and the least budget that does" test "$(field 'all((row["status"] == "ok") ==
    (row["least_budget_bytes"] is None) for row in data["rows"])')" = True
check "more memory is never slower" test "$(field 'any(row["non_monotone"]
    for row in data["rows"])')" = False
check "nothing is faster than best" python3 -c 'import json
rows = [row for row in json.load(open("sweep.json"))["rows"] if row["status"] == "ok"]
best = {(r["platform"], r["budget"]): r["total_ns"] for r in rows if r["policy"] == "best"}
for row in rows:
    assert row["total_ns"] >= best[row["platform"], row["budget"]], row'
check "a full budget costs nothing" test "$(field 'all(row["overhead"] == 0 for row in data["rows"]
    if row["budget"] == "100%")')" = True
for threads in 1 2 3 0; do
    run 0 "$threads threads" sweep --trace "$tiny" --ratios "$tiny_ratios" \
        --budget 10%,70%,80%,90%,100% --json -T $threads
    check "give the same" cmp -s out.txt sweep.json
done
cp "$tiny_ratios" ratios.json
mkdir tables
cp "$tiny_ratios" tables/
run 0 "a folder of tables" sweep --trace "$tiny" --ratios-dir tables --budget 10%,70%,80%,90%,100% \
    --json
check "gives the same" cmp -s out.txt sweep.json
check "plan agrees with sweep" python3 -c 'import json
plan = json.load(open("summary.json"))
row, = (row for row in json.load(open("sweep.json"))["rows"]
        if (row["platform"], row["policy"], row["budget"]) == ("A", "best", "80%"))
same = [key for key in plan if key in row]
assert len(same) > 20 and all(plan[key] == row[key] for key in same), (plan, row)'
sed 's/"model":"tiny"/"model":"copy"/' "$tiny" >copy.json
run 0 "words after a list" sweep --trace "$tiny" copy.json --platform A B --policy recomp bw \
    --budget 80% 90% --replay free --json
check "belong to it" test "$(field 'len(data["rows"]), len(data["means"])')" = "(16, 8)"
check "means are over models" test "$(field 'data["means"][0]["models"]')" -eq 2
run 0 "a sweep as text" sweep --trace "$tiny" copy.json --policy recomp --budget 80%
prints "ends with the means" '^Mean overhead'
run 0 "only the means" sweep --trace "$tiny" copy.json --policy recomp --budget 10%,80% --summary
prints "a column per budget" '^platform .* 10%  *80%$'
prints "no mean over fewer models" '^A .* recomp  *free  *-  '
run 0 "only the means as JSON" sweep --trace "$tiny" --policy recomp --summary --json
check "has no rows" test "$(field 'list(data)')" = "['means']"
run 0 "links and engines" sweep --trace "$tiny" --platform B --policy bw --budget 85% \
    --replay free --link 12,24 --engine 0,64,96 --json
check "are combined" test "$(field '[(row["link_bps"], row["engine_bps"]) for row in data["rows"]]
    == [(l * 1e9, e * 1e9) for l in (12, 24) for e in (0, 64, 96)]')" = True
run 0 "engines per link" sweep --trace "$tiny" --platform B --policy bw --budget 85% \
    --replay free --link 12,24 --engine-per-link 2 --json
check "follow the link" test "$(field '[row["engine_bps"] for row in data["rows"]]')" \
    = "[24000000000.0, 48000000000.0]"
run 0 "what if tensors compressed better" sweep --trace "$tiny" --ratios "$tiny_ratios" \
    --policy bw,planezip,best --budget 70%,80%,90% --ratio-times 2,0.5,1 --json
cp out.txt sweep.json
check "larger ratios are no worse" python3 -c 'import json
data = json.load(open("sweep.json"))
assert len(data["rows"]) == 90 and len(data["means"]) == 90, len(data["rows"])
found = {}
for row in data["rows"]:
    assert not row["non_monotone"], row
    assert row["plan_for_ratio_times"] <= row["ratio_times"], row
    if row["status"] == "ok":
        key = row["platform"], row["policy"], row["replay"], row["budget"]
        found.setdefault(key, {})[row["ratio_times"]] = row["overhead"]
changed = 0
for overheads in found.values():
    order = [overheads[times] for times in (0.5, 1, 2) if times in overheads]
    assert order == sorted(order, reverse=True), overheads
    changed += order[0] > order[-1]
assert changed > 0'
# Where a real model is out of order, the plan for smaller ratios is taken.
real="--trace $PZ_DATA_DIR/traces/efficientnet_b0.json
    --ratios $PZ_DATA_DIR/ratios/paper_efficientnet_b0.json --platform A --policy planezip
    --budget 70% --replay free --ratio-times 1,1.25 --json"
# shellcheck disable=SC2086 # options
run 0 "plans as they were made" sweep $real --as-planned
check "are out of order" test "$(field '[r["non_monotone"] for r in data["rows"]]')" \
    = "[False, True]"
# shellcheck disable=SC2086 # options
run 0 "plans in order" sweep $real
check "reuse the one for less" test "$(field '[r["plan_for_ratio_times"] for r in data["rows"]]')" \
    = "[1.0, 1.0]"
run 0 "factors as text" sweep --trace "$tiny" --ratios "$tiny_ratios" --policy planezip \
    --budget 80% --ratio-times 2 --summary
prints "have a column" '^platform .* ratios x '
cp "$tiny" 'with,comma.json'
run 0 "a file whose name has a comma" sweep --trace 'with,comma.json' --policy recomp --budget 90%

# A larger budget with a larger overhead is marked, wherever a policy has one.
run 0 "a sweep of plans as they were made" sweep --trace "$tiny" --ratios "$tiny_ratios" \
    --budget 10%,70%,80%,90%,100% --as-planned --json
cp out.txt sweep.json
check "the mark is right" python3 -c 'import json
rows = json.load(open("sweep.json"))["rows"]
def cost(row):
    return float("inf") if row["overhead"] is None else row["overhead"]
for row in rows:
    worse = any(all(other[key] == row[key] for key in ("platform", "policy", "replay"))
                and other["budget_bytes"] < row["budget_bytes"] and cost(other) < cost(row) - 1e-9
                for other in rows)
    assert worse == row["non_monotone"], row'

# Without tables every ratio is 1, which matters to policies that compress.
run 0 "a sweep without ratios" sweep --trace "$tiny" --policy recomp bw+zvc --budget 90%
prints "says that every ratio is 1" '^No ratio tables: every ratio is 1\.$'
run 0 "as CSV" sweep --trace "$tiny" --policy bw+zvc --budget 90% --csv
check "there are rows only" test "$(wc -l <out.txt)" -eq 5
run 0 "a policy that does not compress" sweep --trace "$tiny" --policy recomp --budget 90%
check "needs no ratios" sh -c '! grep -q "every ratio" out.txt'
run 0 "a sweep with ratios" sweep --trace "$tiny" --ratios "$tiny_ratios" --policy bw+zvc \
    --budget 90%
check "has them" sh -c '! grep -q "every ratio" out.txt'

# Storages in another order: the live set names the saved tensors as trace show does.
python3 - "$tiny" <<'PYTHON'
import json, sys
trace = json.load(open(sys.argv[1]))
trace["storages"].reverse()
json.dump(trace, open("reversed.json", "w"))
# Two operators that need all that there is: nothing can be evicted.
forward, backward = trace["ops"][0], trace["ops"][7]
backward["reads"] = [3, 2]
kept = [dict(s, op=min(s["op"], 1)) for s in trace["storages"] if s["id"] in (0, 2, 3, 11)]
json.dump(dict(trace, ops=[forward, backward], storages=kept), open("two.json", "w"))
PYTHON
run 0 "a plan" plan --trace reversed.json --platform A --budget 80% -o reversed_plan.json
run 0 "its run" simulate --trace reversed.json --platform A --plan reversed_plan.json --json
cp out.txt run.json
run 0 "its tensors" trace show --tensors reversed.json --json
check "are those of the live set" python3 -c 'import json
tensors = {t["storage"]: (t["index"], t["op"], t["op_name"])
           for t in json.load(open("out.txt"))["tensors"]}
live = json.load(open("run.json"))["peak_storages"]
found = [(s["tensor"], s["op"], s["op_name"]) for s in live]
assert found == [tensors.get(s["storage"], (None, None, None)) for s in live], found
assert any(place[0] is not None for place in found)'
refuse 1 "a budget below a peak that cannot shrink" plan --trace two.json --platform A \
    --budget 99% --policy recomp
says "no other budget is named" '; no budget below the peak is feasible$'

run 0 "two platforms" trace show "$tiny" --platform A --platform B --json
check "are both shown" test "$(field '[p["platform"] for p in data["platforms"]]')" \
    = "['A', 'B']"

# The bundled traces, as far as a quick test goes.
if [ -r "$PZ_DATA_DIR/traces/resnet50.json" ]; then
    run 0 "the bundled traces" trace show "$PZ_DATA_DIR"/traces/*.json --platform A --json
    check "95 % of the bytes cost more to swap on A" test "$(field \
        '0.945 < data["platforms"][-1]["swap_costs_more_share"] < 0.955')" = True
    run 0 "a bundled trace" plan --trace "$PZ_DATA_DIR/traces/resnet50.json" \
        --ratios "$PZ_DATA_DIR/ratios/paper_resnet50.json" --platform B --budget 50% \
        -o resnet50.json
    run 0 "its timeline" simulate --trace "$PZ_DATA_DIR/traces/resnet50.json" --platform B \
        --ratios "$PZ_DATA_DIR/ratios/paper_resnet50.json" --plan resnet50.json --timeline tl.json
    is_json "it is JSON" tl.json
fi

finish
