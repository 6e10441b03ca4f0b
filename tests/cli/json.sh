#!/bin/sh
# Whatever says JSON or CSV is JSON or CSV.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

sample 10000 >raw
: >empty
"$PLANEZIP" plan -q --trace "$tiny" --ratios "$tiny_ratios" --platform A --budget 90% -o plan.json
is_json "a plan" plan.json

for command in "measure -w 32 raw empty" "measure --dtype f32 --to-bf16 raw" "trace show $tiny" \
    "trace show $tiny --platform A,B,GH200 --ratios $tiny_ratios" "trace show --tensors $tiny" \
    "trace show --tensors --platform B $tiny" "ratios show $tiny_ratios" \
    "ratios show $tiny_ratios --trace $tiny" \
    "ratios compare $tiny_ratios $tiny_ratios --trace $tiny --codec zvc" \
    "plan --trace $tiny --platform A --budget 90%" "plan --trace $tiny --platform B --budget 110%" \
    "simulate --trace $tiny --plan plan.json --platform A" "platform list" "platform show A" \
    "sweep --trace $tiny --ratios $tiny_ratios" "sweep --trace $tiny --link 12,24 --engine 0,64" \
    hw; do
    # shellcheck disable=SC2086 # options
    run 0 "$command --json" $command --json
    is_json "it is JSON: $command" out.txt
    cp out.txt first.txt
    # shellcheck disable=SC2086
    run 0 "again" $command --json
    check "the same again" cmp -s first.txt out.txt
done

run 0 "a name that is no UTF-8" measure -w 32 --json raw
cp raw "$(printf 'latin\351')"
run 0 "a name that is no UTF-8" measure -w 32 --json "$(printf 'latin\351')"
is_json "it is JSON" out.txt
run 0 "compress such a name" compress -d f32 --json "$(printf 'latin\351')"
is_json "it is JSON" out.txt
check "it is there in hexadecimal" test "$(field '[(row["file"], bytes.fromhex(row["file_hex"]),
    bytes.fromhex(row["output_hex"])) for row in data["files"]]')" = \
    "[('latin?', b'latin\\xe9', b'latin\\xe9.pz')]"
run 0 "list it" list --json "$(printf 'latin\351.pz')"
check "names of files and tensors are" test "$(field 'data["files"][0]["file_hex"] + " " +
    data["files"][0]["tensors"][0]["name_hex"]')" = "6c6174696ee92e707a 6c6174696ee9"
run 0 "a name that is UTF-8" compress -d f32 --json -f raw
check "stands for itself" test "$(field '"file_hex" in data["files"][0]')" = False
run 0 "the timeline" simulate --trace "$tiny" --plan plan.json --platform A --timeline timeline.json
is_json "it is JSON" timeline.json
run 0 "the timeline on standard output" simulate --trace "$tiny" --plan plan.json --platform A \
    --timeline -
check "it is the same" cmp -s out.txt timeline.json
run 0 "an updated table" ratios update "$tiny_ratios" --op 0 --slot 0 -c zvc --precision bf16 \
    --raw 1MiB --coded 512KiB
is_json "it is JSON" out.txt

cp raw 'with,comma "and quotes"'
for command in "measure -w 32 raw" "trace show $tiny" "trace show --tensors $tiny" \
    "trace show --platform A $tiny" "ratios show $tiny_ratios" \
    "ratios compare $tiny_ratios $tiny_ratios --trace $tiny" "sweep --trace $tiny"; do
    # shellcheck disable=SC2086 # options
    run 0 "$command --csv" $command --csv
    check "every line has the same columns: $command" python3 -c 'import csv
rows = list(csv.reader(open("out.txt")))
assert len(rows) > 1 and len({len(row) for row in rows}) == 1'
done
run 0 "a name that CSV must quote" measure -w 32 --csv 'with,comma "and quotes"'
check "it is quoted" python3 -c 'import csv
assert list(csv.reader(open("out.txt")))[1][0] == "with,comma \"and quotes\""'

# No escape sequences in a pipe.
run 0 "a table in a pipe" platform list
check "has no colour" sh -c '! grep -q "$(printf "\033")" out.txt'

finish
