#!/bin/sh
# Packed rows: the identical file comes back, tables of other rows, and files that are wrong.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

python3 - <<'EOF'
import random, struct
rng = random.Random(1)
data = struct.pack("<6400f", *(rng.gauss(0, 0.04) for _ in range(6400)))
open("rows.f32", "wb").write(data)
header = "{'descr': '<f4', 'fortran_order': False, 'shape': (100, 64), }"
header = header.ljust(117) + "\n"
open("rows.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header))
                             + header.encode() + data)
EOF

run 0 "learn" ibp learn -d f32 -c 64 -o table rows.f32
run 0 "pack raw elements" ibp pack -t table -d f32 -c 64 rows.f32 rows.ibp
check "it is smaller" test "$(wc -c <rows.ibp)" -lt 24800
run 0 "unpack" ibp unpack rows.ibp again.f32
check "the same elements" cmp rows.f32 again.f32
run 0 "pack .npy with a table of its own" ibp pack rows.npy npy.ibp
run 0 "unpack it" ibp unpack npy.ibp again.npy
check "the same .npy" cmp rows.npy again.npy
run 0 "other groups and a threshold" ibp pack --group 32 --threshold 0.99 rows.npy groups.ibp
run 0 "unpack them" ibp unpack -f groups.ibp again.npy
check "the same .npy again" cmp rows.npy again.npy

run 0 "show a table" ibp show table
check "its row" grep -q "64 elements of 32 bits, 256 bytes" out.txt
run 0 "show rows" ibp show --json groups.ibp
check "what it tells" python3 -c 'import json
shown = json.load(open("out.txt"))
assert shown["rows"] == 100 and shown["group_bits"] == 32 and shown["raw_bytes"] == 25600
assert 0 < shown["packed_bytes"] < 24000 and 0.05 < shown["invariant"] < 0.3, shown'

refuse 1 "an output that is there" ibp unpack rows.ibp again.f32
refuse 2 "raw elements without a type" ibp learn -o other rows.f32
refuse 2 "groups below an element" ibp learn --group 16 -o other rows.npy
refuse 2 "a threshold of a half" ibp learn --threshold 0.5 -o other rows.npy
refuse 2 "a group that is no power of two" ibp learn --group 48 -o other rows.npy
refuse 1 "no whole rows" ibp learn -d f32 -c 63 -o other rows.f32
refuse 1 "a table of other rows" ibp pack -t table -d bf16 -c 128 rows.f32 other
refuse 1 "a table that is none" ibp pack -t rows.f32 rows.npy other
refuse 1 "packed rows that are none" ibp unpack table other
check "nothing is left behind" test ! -e other

# Every byte changed, and every length that is too short.
python3 - <<'EOF'
import os, subprocess
program = os.environ["PLANEZIP"]
data = open("rows.ibp", "rb").read()
wrong = []
places = [*range(0, 60), *range(60, len(data), 997), len(data) - 1]
for at in places:
    for damaged in (data[:at], data[:at] + bytes([data[at] ^ 4]) + data[at + 1:]):
        with open("damaged", "wb") as file:
            file.write(damaged)
        done = subprocess.run([program, "ibp", "unpack", "damaged", "other"], capture_output=True)
        if done.returncode != 1 or done.stderr.count(b"\n") != 1 or os.path.exists("other"):
            wrong.append((at, done.returncode, done.stderr))
open("wrong.txt", "w").write(repr(wrong[:3]) if wrong else "")
EOF
check "damaged files are refused: $(cat wrong.txt)" test ! -s wrong.txt

finish
