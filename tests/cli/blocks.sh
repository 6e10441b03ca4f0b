#!/bin/sh
# --allocator: what simulate tells of a plan, and plans that fit in spite of fragmentation.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

world="--trace $tiny --ratios $tiny_ratios --platform A"
# Sizes that are no whole segments: 33, 8.5 and 17 MB.
sed 's/33554432/33000000/g; s/8388608,"dtype"/8500000,"dtype"/; s/16777216/17000000/g' "$tiny" \
    >odd.json
odd="--trace odd.json --ratios $tiny_ratios --platform A"

# shellcheck disable=SC2086 # options
{
    run 0 "a plan" plan $world --budget 80% -o plan.json
    run 0 "its blocks" simulate $world --plan plan.json --allocator --json
    # 16, 32, 32 and 32 MiB in segments of their own, 8 MiB in one of 20 MiB.
    check "are those of the four sizes" test "$(field '[data["allocator"][key] >> 20 for key in (
        "allocated_bytes", "reserved_bytes", "largest_free_bytes", "needed_bytes")]')" \
        = "[120, 132, 12, 132]"
    run 0 "its run without them" simulate $world --plan plan.json --json
    check "does not speak of them" test "$(field '"allocator" in data')" = False

    run 0 "a plan for all memory" plan $odd --budget 100% -o all.json
    run 0 "its blocks as text" simulate $odd --plan all.json --allocator
    prints "have a heading" "^In blocks of PyTorch's allocator$"
    prints "it does not fit" '^fits the budget  *no$'
    prints "the operator is named" '^  which is  *aten\.'
    run 0 "as JSON" simulate $odd --plan all.json --allocator --json
    cp out.txt all_run.json
    needed=$(field 'data["allocator"]["needed_bytes"]')
    check "more is needed than the budget" test "$needed" -gt "$(field 'data["budget_bytes"]')"
    check "and no block was large enough" test "$(field 'data["allocator"]["failed_bytes"] >
        data["allocator"]["failed_largest_bytes"]')" = True
    run 0 "the memory that is needed" simulate $odd --plan all.json --budget "$needed" --allocator \
        --json
    check "is enough" test "$(field '[data["allocator"][key] for key in ("fits",
        "needed_bytes")]')" = "['yes', $needed]"
    run 0 "4 MiB less" simulate $odd --plan all.json --budget $((needed - 4194304)) --allocator \
        --json
    check "is not" test "$(field 'data["allocator"]["fits"]')" = no

    # A plan that fits in blocks is one for less.
    run 0 "a plan in blocks" plan $odd --budget 100% --allocator -o blocks.json --json
    cp out.txt planned.json
    check "fits" test "$(field '[data["allocator"]["fits"], data["budget_bytes"] ==
        data["peak_without_plan_bytes"], data["kept"] < 5]')" = "['yes', True, True]"
    run 0 "its run" simulate $odd --plan blocks.json --allocator --json
    check "agrees" python3 -c 'import json
a, b = (json.load(open(name)) for name in ("planned.json", "out.txt"))
same = [key for key in a if key in b]
assert "allocator" in same and len(same) > 20 and all(a[key] == b[key] for key in same), (a, b)'
    run 0 "as text" plan $odd --budget 100% --allocator
    prints "with a heading" "^In blocks of PyTorch's allocator$"
    check "not everything is kept" sh -c '! grep -q "everything is kept" out.txt'
    refuse 1 "no plan in blocks" plan $odd --budget 70% --policy recomp --allocator
}

finish
