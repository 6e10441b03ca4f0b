#!/bin/sh
# ratios: show, compare and update.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

run 0 "show" ratios show "$tiny_ratios" --json
check "all entries" test "$(field 'len(data["entries"])')" -eq 5
check "harmonic means" test "$(field 'abs(data["means"][0]["bf16_ratio"]
    - 5 / (1 + 1 / 1.5 + 1 / 2.5 + 1 / 5 + 1 / 1.4)) < 1e-9')" = True
run 0 "show with a trace" ratios show "$tiny_ratios" --trace "$tiny" --json
check "means by bytes" test "$(field 'abs(data["means"][0]["fp32_ratio"]
    - 120 / (16 + 32 / 1.3 + 32 / 2 + 8 / 5 + 32 / 1.2)) < 1e-9')" = True

run 0 "a table against itself" ratios compare "$tiny_ratios" "$tiny_ratios" --trace "$tiny" --json
check "has no error by tensor" test "$(field 'data["wire_errors"][0]["bf16_wire_error"]')" = 0.0
check "and some by operator" test "$(field 'data["wire_errors"][1]["bf16_wire_error"] > 0')" = True
check "and more without a signature" test "$(field 'data["wire_errors"][2]["bf16_wire_error"]
    > data["wire_errors"][1]["bf16_wire_error"]')" = True
refuse 2 "an unknown codec" ratios compare "$tiny_ratios" "$tiny_ratios" --trace "$tiny" -c lz4
refuse 2 "one table" ratios compare "$tiny_ratios" --trace "$tiny"

place="--op 0 --slot 0"
kind="--codec planezip --precision bf16"
sizes="--raw 1MiB --coded 256KiB"
update="$place $kind $sizes"
# shellcheck disable=SC2086 # options
{
    run 0 "an entry is updated" ratios update "$tiny_ratios" $update -o new.json
    run 0 "the table" ratios show new.json --json
    check "has as many entries" test "$(field 'len(data["entries"])')" -eq 5
    check "and the new ratio" test "$(field '[e["planezip_bf16_ratio"] for e in data["entries"]
        if (e["op"], e["slot"]) == (0, 0)]')" = "[4.0]"
    run 0 "in place" ratios update new.json $place $kind --raw 1MiB --coded 512KiB \
        -o new.json -f
    run 0 "the table" ratios show new.json --json
    check "has the newer ratio" test "$(field '[e["planezip_bf16_ratio"] for e in data["entries"]
        if (e["op"], e["slot"]) == (0, 0)]')" = "[2.0]"
    run 0 "a table that does not exist" ratios update tables/gpt2.json $update
    cp out.txt gpt2.json
    run 0 "is created" ratios show gpt2.json --json
    check "with the name of the file" test "$(field 'data["model"]')" = gpt2
    run 0 "or the name that is given" ratios update none.json $update --model bert -o bert.json
    run 0 "is in it" ratios show bert.json --json
    check "as its model" test "$(field 'data["model"]')" = bert
    refuse 1 "a name that is no UTF-8" ratios update "$(printf 'latin\351.json')" $update
    refuse 2 "a model that is no UTF-8" ratios update none.json $update --model "$(printf '\351')"
    run 0 "the table grows" ratios update bert.json $kind $sizes --op -1 --slot 3 -o bert.json -f
    run 0 "the table" ratios show bert.json --json
    check "has two entries" test "$(field 'len(data["entries"])')" -eq 2
    refuse 1 "an existing table" ratios update bert.json $update -o bert.json
    refuse 2 "no stream of something" ratios update bert.json $place $kind --raw 1MiB --coded 0
    refuse 2 "a negative operator" ratios update bert.json $kind $sizes --op -2 --slot 0
    refuse 2 "a negative slot" ratios update bert.json $kind $sizes --op 0 --slot -1
    refuse 2 "an unknown codec" ratios update bert.json $place $sizes --precision bf16 --codec lz4
    refuse 2 "an unknown precision" ratios update bert.json $place $sizes --codec zvc \
        --precision fp8
    refuse 2 "an operator above the limit" ratios update bert.json $kind $sizes --slot 0 \
        --op 2147483648
    says "option and range are named" "--op 2147483648: it must be -1 to 2147483647; see 'plane"
    refuse 2 "a slot above the limit" ratios update bert.json $kind $sizes --op 0 \
        --slot 2147483648
    says "option and range are named" "--slot 2147483648: it must be 0 to 2147483647; see 'plane"
    refuse 2 "a stream of nothing" ratios update bert.json $place $kind --raw 0 --coded 50
    says "the option is named" '--coded 50: it must be 0'
    run 0 "the last operator and slot" ratios update bert.json $kind --op 2147483647 \
        --slot 2147483647 --raw 0 --coded 0 -o bert.json -f
    run 0 "are in the table" ratios show bert.json
    long=$(printf '%064d' 0)
    refuse 2 "a long model" ratios update none.json $update --model "$long"
    says "option and limit are named" "--model '0*': it is longer than 63 bytes; see 'planezip"
    run 0 "the longest model" ratios update none.json $update --model "${long%0}" -o long.json
    run 0 "can be read" ratios show long.json
    refuse 1 "a long name of a table" ratios update "$long.json" $update
    says "the option is named" 'but it is longer than 63 bytes; give --model$'
    refuse 2 "a model with a control character" ratios update none.json $update \
        --model "$(printf 'a\302\233b')"
    refuse 1 "a name of a table with one" ratios update "$(printf 'a\tb.json')" $update
    refuse 2 "a size of 2^63" ratios update bert.json $place $kind --coded 9 \
        --raw 9223372036854775808
    printf '{"format":' >broken.json
    refuse 1 "a broken table is not created anew" ratios update broken.json $update -o out.json
    is_absent "and nothing is written" out.json
}

finish
