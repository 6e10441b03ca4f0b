#!/bin/sh
# bench/peers.py and bench/results.py without any codec of others, which python3 need not have.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE

# peers NAME ARGUMENT...: the script succeeds; what it prints in text.txt.
peers()
{
    peers_name=$1
    shift
    if python3 -S "$PZ_SOURCE_DIR/bench/peers.py" --planezip "$PLANEZIP" --mib 1 --runs 1 \
        --json peers.json "$@" >text.txt; then
        pass "$peers_name"
    else
        fail "$peers_name"
    fi
}

index=$PZ_DATA_DIR/activations/index.csv
[ -r "$index" ] || { echo "skipped: no activations"; exit 0; }

peers "the bundled activations" --data "$PZ_DATA_DIR/activations"
cp peers.json out.txt
check "have two types" test "$(field '[kind["dtype"] for kind in data]')" = "['bf16', 'f32']"
check "and are printed as tables" test "$(grep -c '^planezip2  ' text.txt)" -eq 2
check "five models" test "$(field 'all(len(kind["raw_bytes"]) == 5 for kind in data)')" = True
check "every codec is there or absent" test "$(field 'all(
    len(kind["codecs"]) + len(kind["absent"]) == 10 for kind in data)')" = True
check "codecs of ours" test "$(field '[entry["name"] for entry in data[0]["codecs"]
    if entry["ours"]]')" = "['planezip2', 'planezip2-fast', 'planezip']"
check "the better ratio for the halves" test "$(field '
    data[0]["codecs"][0]["ratio"] > data[1]["codecs"][0]["ratio"] > 1.3')" = True

# The ratio of a model is that of its chunks in the index.
check "the ratio is the right one" python3 - "$index" <<'PYTHON'
import csv
import json
import sys
sums = {}
for line in csv.DictReader(open(sys.argv[1])):
    if line["kind"] in ("bf16", "f32"):
        entry = sums.setdefault((line["kind"], line["model"]), [0, 0])
        entry[0] += int(line["len"])
        entry[1] += int(line["planezip"])
for kind in json.load(open("peers.json")):
    for model, row in kind["codecs"][2]["models"].items():
        raw, coded = sums[kind["dtype"], model]
        # Data of a run are whole series of tensors, each as often as the others.
        assert abs(row["ratio"] / (raw / coded) - 1) < 1e-6, (kind["dtype"], model, row["ratio"])
PYTHON

"$PLANEZIP" bench --index "$index" --size 64KiB --runs 1 --isa scalar --codec planezip -T 1 --json \
    -q >codec.json
python3 "$PZ_SOURCE_DIR/bench/results.py" codec.json peers.json >page.md ||
    fail "the page of results"
check "the page has the codec" grep -q '^| bf16 | 16 | planezip | scalar | ' page.md
check "and the means of the models" grep -q '^| \*\*planezip2\*\* | 1\.' page.md
check "and says what is absent" grep -q '^ZipNN is absent: ' page.md

head -c 40960 "$PZ_DATA_DIR/activations/gpt2.f32" >own.f32
peers "a file of one's own" --dtype f32 own.f32
cp peers.json out.txt
check "is a model" test "$(field 'data[0]["raw_bytes"]')" = "{'own.f32': 40960}"
check "a file without a type is refused" test "$(python3 "$PZ_SOURCE_DIR/bench/peers.py" own.f32 \
    >/dev/null 2>&1; echo $?)" -eq 2

finish
