#!/bin/sh
# Online policies in plan, sweep and fit.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

world="--trace $tiny --ratios $tiny_ratios --platform A"
names="online-dtr online-dte online-dte+codec"

# shellcheck disable=SC2086 # options
{
    for policy in $names; do
        run 0 "$policy" plan $world --budget 85% --policy "$policy" --json
        check "it stays within the budget" test "$(field 'data["peak_bytes"] <=
            data["budget_bytes"] and data["kept"] < 5 and data["total_ns"] > data["unlimited_ns"]
            and data["policy"]')" = "$policy"
        refuse 2 "it has no plan to write" plan $world --budget 85% --policy "$policy" -o plan.json
        refuse 2 "nor one to plan again" plan $world --budget 85% --policy "$policy" --allocator
        refuse 2 "nor replays to choose" plan $world --budget 85% --policy "$policy" --replay free
        refuse 1 "too little memory" plan $world --budget 10% --policy "$policy"
        says "the least budget is named" 'the least budget found is [0-9]* bytes'
        least=$(sed 's/.*the least budget found is \([0-9]*\) bytes.*/\1/' err.txt)
        run 0 "the least budget" plan $world --budget "$least" --policy "$policy"
    done
    run 0 "a sweep" sweep $world --policy $names recomp --budget 10% 85% 100% --json
    cp out.txt sweep.json
    check "has a row for each" test "$(field 'len(data["rows"]), [row["status"] for row in
        data["rows"][:3]]')" = "(15, ['infeasible', 'ok', 'ok'])"
    run 0 "plan" plan $world --budget 85% --policy online-dte+codec --json
    check "agrees with it" python3 -c 'import json
plan, rows = json.load(open("out.txt")), json.load(open("sweep.json"))["rows"]
row, = (r for r in rows if (r["policy"], r["budget"]) == ("online-dte+codec", "85%"))
same = [key for key in plan if key in row and key != "replay"]
assert len(same) > 20 and all(plan[key] == row[key] for key in same), (plan, row)'
    refuse 2 "replays of theirs" sweep $world --policy $names --replay keep
    says "says so" '--replay is for policies that plan'
    run 0 "replays of another one" sweep $world --policy $names recomp --budget 85% --replay free \
        --json
    check "are its own" test "$(field '[row["replay"] for row in data["rows"]]')" \
        = "['keep', 'keep', 'keep', 'free']"
    run 0 "all policies" sweep $world --budget 85% --json
    check "are those with a plan" test "$(field 'any("online" in row["policy"] for row in
        data["rows"])')" = False
    run 0 "fit" fit $world --memory 128MiB --reserve 0 --batch 4 --policy online-dtr --json
    check "runs it" test "$(field 'data["rows"][0]["dropped"] > 0')" = True
    refuse 2 "an unknown one" sweep $world --policy online
    says "they are named with the others" 'known are recomp, .*, best, online-dtr, online-dte'
}

finish
