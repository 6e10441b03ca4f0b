#!/bin/sh
# bench --device, with a driver of CUDA that plays a GPU.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

quick='--size 32KiB --runs 1 -d bf16'
sample 40000 >x.raw

# shellcheck disable=SC2086 # several words
run 0 "both formats" bench $quick --device cuda --driver "$PZ_MOCK_CUDA" --json x.raw
check "have a row each" test "$(field '[(row["codec"], row["isa"], row["clock"])
    for row in data["rows"]]')" = "[('planezip2', 'cuda: mock: kernels as plain C', 'device'), \
('planezip', 'cuda: mock: kernels as plain C', 'device')]"
check "rates are numbers" test "$(field 'all(row[name] > 0 for row in data["rows"] for name in (
    "size_model_bps", "encode_bps", "decode_bps"))')" = True
check "calls are not timed" test "$(field 'all(row["encode_call_ns"] is None
    for row in data["rows"])')" = True
check "nor are cycles of the processor told" test "$(field 'all(row[name] is None
    for row in data["rows"] for name in row if name.endswith("_cycles"))')" = True
cp out.txt device.json
# shellcheck disable=SC2086
run 0 "the same on the processor" bench $quick --json -T 1 -c planezip2,planezip --isa scalar x.raw
check "has the same sizes" test "$(field '[row["coded_bytes"] for row in data["rows"]]
    == [row["coded_bytes"] for row in json.load(open("device.json"))["rows"]]')" = True
# shellcheck disable=SC2086
run 0 "as text" bench $quick --device cuda --driver "$PZ_MOCK_CUDA" x.raw
prints "names the device" 'cuda: mock'
check "tells no clock of the processor" sh -c '! grep -q "core clock" out.txt'

refuse 1 "a driver that is not there" bench -d bf16 --device cuda --driver ./none.so x.raw
says "says so" 'the library cannot be opened: .*none.so'
refuse 2 "an unknown device" bench -d bf16 --device metal x.raw
says "those that are known" 'cuda or opencl'
refuse 2 "a driver without a device" bench -d bf16 --driver "$PZ_MOCK_CUDA" x.raw
refuse 2 "instruction sets of a device" bench -d bf16 --device cuda --isa scalar x.raw
refuse 2 "peers on a device" bench -d bf16 --device cuda -c lz4 x.raw

finish
