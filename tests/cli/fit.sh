#!/bin/sh
# fit: what it counts, that its plans are those of plan, and that the largest batch is the largest.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

# The same trace at other batch sizes.
python3 - "$tiny" <<'PYTHON'
import copy, json, sys
tiny = json.load(open(sys.argv[1]))
for batch in (2, 6, 8):
    trace = copy.deepcopy(tiny)
    trace["batch"] = batch
    for op in trace["ops"]:
        for key in ("flops", "bytes", "float_bytes"):
            op[key] = op[key] * batch // 4
    for storage in trace["storages"]:
        if storage["kind"] in ("input", "activation"):
            storage["bytes"] = storage["bytes"] * batch // 4
    json.dump(trace, open("tiny%d.json" % batch, "w"))
PYTHON

card="--platform A --ratios $tiny_ratios"
# shellcheck disable=SC2086 # options
{
    run 0 "a card that is large enough" fit --trace "$tiny" $card --memory 24GiB --reserve 0 \
        --batch 4 --json
    check "what is counted" test "$(field '[data["rows"][0][key] for key in ("parameter_bytes",
        "gradient_bytes", "optimizer_bytes", "fixed_bytes", "status", "overhead")]')" \
        = "[8192, 8192, 8192, 24576, 'yes', 0.0]"
    check "and that it adds up" test "$(field 'data["rows"][0]["needed_bytes"] ==
        data["rows"][0]["fixed_bytes"] + data["rows"][0]["activation_bytes"] and
        data["rows"][0]["budget_bytes"] == 24 * 2**30 - 24576')" = True
    run 0 "the platform's own memory" fit --trace "$tiny" --platform A --batch 4 --json
    check "is that of the platform" test "$(field 'data["memory_bytes"]')" -eq $((11 << 30))
    run 0 "mixed precision" fit --trace "$tiny" --platform B --batch 4 --json
    check "has a copy of the weights" test "$(field 'data["rows"][0]["parameter_bytes"]')" -eq 12288
    run 0 "bytes of a parameter" fit --trace "$tiny" --platform A --batch 4 \
        --bytes-per-parameter 16 --json
    check "are counted instead" test "$(field 'data["rows"][0]["fixed_bytes"]')" -eq 32768

    # A card on which only a plan fits.
    memory=134217728
    run 0 "a small card" fit --trace "$tiny" $card --memory $memory --reserve 0 --batch 4 --json
    cp out.txt fit.json
    check "takes a plan" test "$(field 'data["rows"][0]["status"]')" = "with a plan"
    run 0 "plan" plan --trace "$tiny" $card --budget $((memory - 24576)) --json
    check "makes the same" python3 -c 'import json
plan, row = json.load(open("out.txt")), json.load(open("fit.json"))["rows"][0]
same = [key for key in plan if key in row and key != "model"]
assert len(same) > 20 and all(plan[key] == row[key] for key in same), (plan, row)
assert abs(row["samples_per_s"] - 4e9 / plan["total_ns"]) < 1e-6'
    run 0 "another policy" fit --trace "$tiny" $card --memory $memory --batch 4 --policy recomp \
        --reserve 0 --json
    check "is it" test "$(field 'data["policy"], data["rows"][0]["swapped"]')" = "('recomp', 0)"
    run 0 "two GPUs on the link" fit --trace "$tiny" $card --memory $memory --reserve 0 --batch 4 \
        --gpus 2 --policy swap --json
    cp out.txt two.json
    run 0 "one" fit --trace "$tiny" $card --memory $memory --reserve 0 --batch 4 --gpus 1 \
        --policy swap --json
    check "which copies faster" python3 -c 'import json
one, two = (json.load(open(name))["rows"][0]["d2h_busy_ns"] for name in ("out.txt", "two.json"))
assert 1.9 < two / one <= 2, (one, two)'
    run 0 "no memory at all" fit --trace "$tiny" $card --memory 1MiB --json
    check "is told" test "$(field '[row["status"] for row in data["rows"]]
        + [data["largest"][0]["as_it_is"], data["largest"][0]["with_plan"]]')" = "['no', 0, 0]"

    # The largest batch, and the one after it.
    run 0 "the largest batch" fit --trace "$tiny" $card --memory 1GiB --reserve 0 --policy bw \
        --most 5 --json
    as_it_is=$(field 'data["largest"][0]["as_it_is"]')
    with_plan=$(field 'data["largest"][0]["with_plan"]')
    check "a plan makes it larger" test "$with_plan" -gt "$as_it_is"
    run 0 "they and the next ones" fit --trace "$tiny" $card --memory 1GiB --reserve 0 --policy bw \
        --batch "$as_it_is,$((as_it_is + 1)),$with_plan,$((with_plan + 1))" --json
    check "are the largest" test "$(field '[row["status"] == "yes" for row in data["rows"]] +
        [row["overhead"] is not None and row["overhead"] <= 0.05 for row in data["rows"][2:]]')" \
        = "[True, False, False, False, True, False]"

    # One trace, two traces, and the trace of that batch itself.
    run 0 "the trace itself" fit --trace tiny6.json $card --memory $memory --batch 6 --json
    cp out.txt six.json
    run 0 "between two" fit --trace tiny2.json tiny8.json $card --memory $memory --batch 6 --json
    check "is the same" cmp -s out.txt six.json
    run 0 "beyond two" fit --trace tiny2.json "$tiny" $card --memory $memory --batch 6 --json
    check "is the same" cmp -s out.txt six.json
    run 0 "traces of one model" fit --trace tiny8.json tiny2.json $card --memory 24GiB --policy bw
    prints "have a row each, the smallest first" '^tiny  *2 '
    prints "and the largest batch one" '^model  *as it is  *with a plan'
    refuse 2 "the same batch twice" fit --trace "$tiny" "$tiny" $card
    sed 's/aten.sin.default/aten.cos.default/' tiny8.json >other.json
    refuse 1 "traces that do not go together" fit --trace tiny2.json other.json $card --batch 4
    sed 's/"batch": *8/"batch":1/' tiny8.json >shrinks.json
    refuse 1 "memory that falls with the batch" fit --trace tiny2.json shrinks.json $card
    says "both are named" 'tiny2.json: .* less memory than those of shrinks.json, of a smaller b'
    run 0 "more memory than any batch takes" fit --trace "$tiny" $card --memory 100TB --policy bw
    prints "it is said where it ends" '^No batch above 1048576 was tried\.$'
    run 0 "less memory" fit --trace "$tiny" $card --memory 2GiB --policy bw
    check "it does not come to that" sh -c '! grep -q "was tried" out.txt'
    refuse 2 "a batch and what the largest may cost" fit --trace "$tiny" $card --batch 4 --most 5
    refuse 2 "no trace" fit --platform A
    refuse 2 "an unknown policy" fit --trace "$tiny" --platform A --policy worst
    refuse 2 "a search by a policy that does not" fit --trace "$tiny" --platform A --policy dte \
        --search-plans 9
    says "it says whose they are" "are for policy 'best'"
    refuse 2 "slots without --compress" fit --trace "$tiny" --platform A --slot 4KiB
    refuse 2 "no GPU" fit --trace "$tiny" --platform A --gpus 0
    refuse 2 "a batch of nothing" fit --trace "$tiny" --platform A --batch 0
}

finish
