#!/bin/sh
# bench: what is timed, on tiny data.  No peer is needed, and no rate has to reach anything.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

unset PZ_ISA
few='--runs 1 -T 1 --codec planezip'
quick="--size 32KiB $few"
sample 40000 >f32.raw
head -c 4095 f32.raw >small.raw
python3 - <<'PYTHON'
import json
import struct
data = open("f32.raw", "rb").read()
header = {"a": {"dtype": "F32", "shape": [3000], "data_offsets": [0, 12000]},
          "b": {"dtype": "BF16", "shape": [100, 80], "data_offsets": [12000, 28000]},
          "c": {"dtype": "F32", "shape": [3000], "data_offsets": [28000, 40000]}}
text = json.dumps(header).encode()
open("model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data)
head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (10000,), }"
head += b" " * (117 - len(head)) + b"\n"
open("f32.npy", "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + data)
PYTHON

# shellcheck disable=SC2086 # several words
bench()
{
    bench_status=$1
    bench_name=$2
    shift 2
    run "$bench_status" "$bench_name" bench $quick "$@"
}

bench 0 "a raw file" -d f32 f32.raw
prints "memcpy stands beside it" '^memcpy [0-9.]* GB/s, non-temporal copy'
prints "a row" '^f32 .* planezip '
bench 0 "as JSON" -d f32 --json f32.raw
is_json "it is JSON" out.txt
cp out.txt raw.json
check "every instruction set has a row" test "$(field 'len(data["rows"])
    == len({row["isa"] for row in data["rows"]}) >= 1')" = True
check "all have the same size" test "$(field 'len({row["coded_bytes"] for row in data["rows"]})')" \
    -eq 1
check "rates are numbers" test "$(field 'all(row[name] > 0 for row in data["rows"] for name in (
    "size_model_bps", "encode_bps", "decode_bps", "encode_per_memcpy", "encode_call_ns"))')" = True
check "memcpy is a number" test "$(field 'data["memcpy_bps"] > 0')" = True
check "the machine is told" test "$(field 'data["machine"]["processors"] >= 1')" = True
head -c 32768 f32.raw >cut.raw
run 0 "the same bytes as a stream" stream encode --width 32 cut.raw cut.pzs
check "take the size that is told" test "$(python3 -c 'import json
print(json.load(open("raw.json"))["rows"][0]["coded_bytes"])')" -eq "$(wc -c <cut.pzs)"
bench 0 "as CSV" -d f32 --csv f32.raw
prints "its head" '^data,dtype,width_bits,codec,'

bench 0 "an .npy file" --json f32.npy
check "is measured like its elements" test "$(field 'data["rows"][0]["coded_bytes"]
    == json.load(open("raw.json"))["rows"][0]["coded_bytes"]')" = True
# shellcheck disable=SC2086
run 0 "a .safetensors file" bench $few --json --size 12KiB model.safetensors
check "has a set for each type" test "$(field '[row["dtype"] for row in data["rows"]
    if row["isa"] == "scalar"]')" = "['f32', 'bf16']"
# shellcheck disable=SC2086
"$PLANEZIP" bench $quick --json -d f32 - <f32.raw >out.txt
check "standard input" test "$(field 'data["rows"][0]["data"]')" = -
# shellcheck disable=SC2086
run 0 "a small file is repeated" bench $few -d u8 --json --size 256KiB f32.raw
check "up to the size" test "$(field 'data["rows"][0]["raw_bytes"]')" -eq 262144
bench 0 "two files" --json -d f32 f32.raw cut.raw
check "have a row each" test "$(field '[row["data"] for row in data["rows"]
    if row["isa"] == "scalar"]')" = "['f32.raw', 'cut.raw']"

# What is timed.
run 0 "several codecs" bench --size 32KiB --runs 1 -T 1 --isa scalar --codec planezip,zvc \
    --codec bx --json -d f32 f32.raw
check "have a row each" test "$(field '[row["codec"] for row in data["rows"]]')" = \
    "['planezip', 'zvc', 'bx']"
run 0 "several threads" bench --size 32KiB --runs 1 -T 1,2 --isa scalar --codec planezip --json \
    -d f32 f32.raw
check "are timed by the wall clock" test "$(field '[(row["threads"], row["clock"])
    for row in data["rows"]]')" = "[(1, 'cpu'), (1, 'wall'), (2, 'wall')]"
run 0 "both profiles" bench --size 32KiB --runs 1 -T 1 --isa scalar --codec planezip --json \
    -p native,paper -d i64 f32.raw
check "give two widths" test "$(field '[row["width_bits"] for row in data["rows"]]')" = "[64, 32]"
run 0 "both profiles of floats" bench --size 32KiB --runs 1 -T 1 --isa scalar --codec planezip \
    --json -p native,paper -d f32 f32.raw
check "give one" test "$(field '[row["width_bits"] for row in data["rows"]]')" = "[32]"
run 0 "both profiles of both formats" bench --size 32KiB --runs 1 -T 1 --isa scalar \
    --codec planezip2,planezip --json -p native,paper -d i64 f32.raw
check "are the same in format 2" test "$(field '[(row["codec"], row["width_bits"])
    for row in data["rows"]]')" = "[('planezip2', 64), ('planezip', 64), ('planezip', 32)]"
run 0 "codecs, threads and profiles that are named twice" bench --size 32KiB --runs 1 \
    --isa scalar,scalar -T 2,2 --codec planezip2,planezip2 -p native,native --json -d f32 f32.raw
check "are timed once" test "$(field '[(row["threads"], row["clock"])
    for row in data["rows"]]')" = "[(1, 'cpu'), (2, 'wall')]"
run 0 "what the machine has" bench --size 32KiB --runs 1 -T 1 --json -d f32 f32.raw
check "peers are timed or missing" test "$(field '{row["codec"] for row in data["rows"]
    if row["isa"] is None} | set(data["missing_peers"])
    == {"lz4", "zstd", "bitshuffle+lz4", "shuffle+zstd"}')" = True
run 0 "peers on data that repeats" bench --size 64KiB --runs 1 -T 1 --json -d f32 f32.raw
check "are left out" test "$(field 'all(row["isa"] for row in data["rows"])')" = True

index=$PZ_DATA_DIR/activations/index.csv
if [ -r "$index" ]; then
    bench 0 "the index" --isa scalar --json --index "$index"
    check "has four types" test "$(field 'sorted(row["dtype"] for row in data["rows"])')" = \
        "['bf16', 'bool', 'f32', 'i64']"
    refuse 2 "an index and a file" bench --index "$index" f32.raw
fi

# Wrong command lines and files.
refuse 2 "nothing to code" bench
says "says what to give" 'raw files with their --dtype'
refuse 2 "an unknown codec" bench --codec lzma -d f32 f32.raw
says "the codecs are listed" 'known are .*planezip, .*, lz4, zstd'
PZ_ISA=scalar refuse 2 "an instruction set that is forced" bench --isa scalar -d f32 f32.raw
says "says so" "--isa: PZ_ISA='scalar' forces one"
refuse 2 "an unknown instruction set" bench --isa mmx -d f32 f32.raw
says "those of the machine are listed" 'this machine has scalar'
refuse 2 "an unknown profile" bench --profile small -d f32 f32.raw
refuse 2 "a profile without its format" bench -p paper -c planezip2 -d f32 f32.raw
says "what it is for is told" 'paper.s format, as in --codec planezip'
refuse 2 "too many threads" bench -T 1025 -d f32 f32.raw
refuse 2 "no number of threads" bench -T two -d f32 f32.raw
refuse 2 "a size that is no multiple" bench --size 5000 -d f32 f32.raw
refuse 2 "too large a size" bench --size 2GiB -d f32 f32.raw
refuse 2 "no run" bench --runs 0 -d f32 f32.raw
refuse 2 "CSV and JSON" bench --csv --json -d f32 f32.raw
refuse 1 "raw without a type" bench f32.raw
refuse 1 "too little data" bench -d f32 small.raw
says "its size is told" '4095 bytes are too few'
refuse 1 "a file that is not there" bench -d f32 nothing.raw
refuse 1 "a truncated file" bench --format npy small.raw

finish
