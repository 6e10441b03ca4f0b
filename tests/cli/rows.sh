#!/bin/sh
# reproduce/row_tables.py: its tables are those of the program, and what it makes of them.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

data=$PZ_DATA_DIR/activations
check "tables of bundled activations" sh -c "python3 '$PZ_SOURCE_DIR/reproduce/row_tables.py' \
    --dtype f32 --columns 256 '$data/gpt2.f32' '$data/vit_b_16.f32' >tables.txt"
run 0 "the same by the program" ibp measure --json -d f32 -c 256 "$data/gpt2.f32"
cat >check.py <<'END'
import json, os, sys
sys.dont_write_bytecode = True
sys.path.insert(0, os.environ["PZ_SOURCE_DIR"] + "/reproduce")
import row_tables

lines = [line.strip("| ").split(" | ") for line in open("tables.txt") if line.startswith("|")]
ours = [line for line in lines if line[0] == "gpt2.f32"]
(row,) = json.load(open("out.txt"))
assert len(ours) == 5 and len([line for line in lines if line[0] == "vit_b_16.f32"]) == 5, lines
assert ours[0][3:6] == ["1024", str(row["group_bits"]), f"**{100 * row['saved']:.1f}**"], ours
assert float(ours[0][7]) > 100 * row["saved"] > 0, ours
assert ours[2][2] == f"+{100 * (1 / (1 - row['saved']) - 1):.1f} %", ours

assert row_tables.faster(0.5, 2) == 1 / 0.75 and row_tables.faster(1, 3) == 3
assert abs(row_tables.faster(row_tables.share_for(1.24, 1.32), 1.32) - 1.24) < 1e-9
assert row_tables.share_for(2, 1.5) > 1 and row_tables.share_for(2, 1) > 1
assert row_tables.bounded({"packed_speedup": None}) == {"packed_speedup": float("inf")}
assert row_tables.faster(0.5, float("inf")) == 2 and row_tables.gain(float("inf")) == "+inf %"
one = {"row_bytes": 1024, "cache": {"link_speedup": 1.25}}
plain, packed = row_tables.lookup_times(one, 1)
assert abs(plain - (220e-9 + 1024 / 24e9) / (1024 / 24e9)) < 1e-9 and packed == plain * 1.25
END
check "what the tables tell" python3 check.py
check "a file that is not there" sh -c "! python3 '$PZ_SOURCE_DIR/reproduce/row_tables.py' \
    --dtype f32 --columns 256 none 2>err.txt && grep -q 'planezip: none' err.txt"

finish
