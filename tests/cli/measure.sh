#!/bin/sh
# measure: files, types and widths; the bundled activations as Figure 3 and Table III.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

head -c 8192 /dev/zero >zeros
: >empty
python3 - <<'PYTHON'
import struct
# Values on both sides of halfway, infinities, NaNs, both zeros.
words = [0x3f800000, 0x3f808000, 0x3f808001, 0x3f818000, 0x3f817fff, 0x7f800000, 0xff800000,
         0x7f800001, 0xffc12345, 0x00000000, 0x80000000, 0x7f7fffff, 0x00008000, 0x00018000]
want = [0x3f80, 0x3f80, 0x3f81, 0x3f82, 0x3f81, 0x7f80, 0xff80, 0x7fc0, 0x7fc0, 0, 0x8000, 0x7f80,
        0, 2]
open("f32", "wb").write(struct.pack("<%dI" % len(words), *words))
open("bf16", "wb").write(struct.pack("<%dH" % len(want), *want))
PYTHON

run 0 "a file" measure --dtype f32 zeros --json
check "its raw size" test "$(field 'data["files"][0]["raw_bytes"]')" -eq 8192
check "zeros shrink" test "$(field 'data["files"][0]["planezip_ratio"] > 10')" = True
check "one file is all" test "$(field '{**data["files"][0], "file": "all"} == data["all"]')" = True
run 0 "an empty file" measure --dtype f32 empty --json
check "it has no ratio" test "$(field 'data["all"]["planezip_ratio"]')" = None
run 0 "an empty file as text" measure --dtype f32 empty
run 0 "several files" measure --dtype f32 zeros zeros empty
prints "have a line for all" '^all '

# Widths: by profile, native, given.
for case in "f32 32 32" "bf16 16 16" "f16 16 16" "f64 32 64" "i64 32 64" "i16 32 16" "i8 32 8" \
    "u8 32 8" "bool 32 8" "complex64 32 32" "c128 32 64" "f8_e4m3 32 8" "f4 32 8"; do
    # shellcheck disable=SC2086 # three words
    set -- $case
    run 0 "$1" measure --dtype "$1" --json zeros
    check "width of $1" test "$(field 'data["all"]["width_bits"]')" -eq "$2"
    run 0 "$1 --native" measure --dtype "$1" --native --json zeros
    check "native width of $1" test "$(field 'data["all"]["width_bits"]')" -eq "$3"
done
run 0 "a given width" measure --width 64 --json zeros
check "is taken" test "$(field 'data["all"]["width_bits"]')" -eq 64

# planezip2 takes its symbols from the type, and integers where only a width is told.
sample 40000 >sample
for case in "f32 --dtype=f32" "f32 --dtype=f32 --native" "i32 --width=32" \
    "u16 --width=16" "f64 --dtype=f64" "c64 --dtype=f32"; do
    # shellcheck disable=SC2086 # words
    run 0 "$case" measure ${case#* } --json sample
    cp out.txt measure.json
    run 0 "compress as ${case%% *}" compress -d "${case%% *}" -o - sample
    cp out.txt sample.pz
    run 0 "its list" list --json sample.pz
    check "measured as ${case%% *}: $case" python3 -c 'import json
measured = json.load(open("measure.json"))["files"][0]
(stored,) = json.load(open("out.txt"))["files"][0]["tensors"]
assert measured["planezip2_bytes"] == stored["stream_bytes"]
assert all(measured[mode + "_blocks"] == stored[mode + "_blocks"] for mode in "eidc")'
done
refuse 2 "native without a type" measure --native zeros
refuse 2 "native and a width" measure --native --width 8 zeros
refuse 2 "a type and a width" measure --dtype f32 --width 8 zeros
says "they exclude each other" '--dtype and --width exclude each other'
refuse 2 "a width, rounded to bf16" measure --to-bf16 --width 16 zeros
refuse 2 "to bf16 from another type" measure --to-bf16 --dtype f64 zeros
refuse 1 "half an element" measure --dtype f64 bf16
refuse 2 "an unknown type" measure --dtype f17 bf16

# Rounding: the conversion measures like the expected words.
run 0 "--to-bf16" measure --dtype f32 --to-bf16 --json f32
cp out.txt rounded.json
run 0 "bf16" measure --dtype bf16 --json bf16
check "is to nearest, ties to even" python3 -c 'import json
a, b = (json.load(open(name))["all"] for name in ("rounded.json", "out.txt"))
assert a == b, (a, b)'

# A NUL byte ends no line of an index.
head='model,cls,kind,off,len,w'
printf '%s\n' "$head" >nul.csv
refuse 1 "an index without chunks" measure --index nul.csv
says "says so" 'it names no chunks; give an index of activations'
printf '\0\1\2' >m.other
printf '%s\nm,c,u8,0,1,8\n' "$head" >nul.csv
run 0 "a chunk of the other profile" measure --index nul.csv --native
refuse 1 "and none of this one" measure --index nul.csv
says "says so" 'its chunks are none of the profile'
for width in 0 7 16 64; do
    printf '%s\nm,c,u8,0,1,32\nm,c,u8,0,1,%s\n' "$head" $width >nul.csv
    refuse 1 "u8 in symbols of $width bits" measure --index nul.csv
    says "line and width are named" "no symbols of this width in any profile (line 3, '$width')"
done
printf '%s\nm,c,u8,0,1,32\nm,c,\0u8,0,1,32\nm,c,u8,0,1\n' "$head" >nul.csv
refuse 1 "an index with a NUL byte" measure --index nul.csv
says "its line is named" 'the line contains a NUL byte (line 3)'
printf '%s\n\0' "$head" >nul.csv
refuse 1 "a NUL byte at the end" measure --index nul.csv
says "its line is named" '(line 2)'
printf '\0%s\n' "$head" >nul.csv
refuse 1 "a NUL byte at the begin" measure --index nul.csv
says "its line is named" '(line 1)'

# The bundled activations.  A size that differs from the index is an error of the program itself.
index=$PZ_DATA_DIR/activations/index.csv
if [ -r "$index" ]; then
    run 0 "the index" measure --index "$index"
    prints "Figure 3" '^Figure 3'
    prints "Table III" '^Table III'
    run 0 "the index as JSON" measure --index "$index" --json
    is_json "it is JSON" out.txt
    check "five models and a mean, twice" test "$(field 'len(data["figure_3"])')" -eq 12
    check "planezip is the best codec of every row" test "$(field 'all(
        row["planezip_ratio"] >= row[codec + "_ratio"] - 1e-9
        for row in data["figure_3"] for codec in ("zvc", "bpc", "bx", "zbx", "bdi"))')" = True
    check "the mean of bf16 is near the paper" test "$(field 'all(
        1.6 < row["planezip_ratio"] < 1.85 for row in data["figure_3"]
        if row["model"] == "geometric mean" and row["precision"] == "bf16")')" = True
    check "planezip2 is better in every row, and its fast level, too" test "$(field 'all(
        row["planezip2_ratio"] >= row["planezip2_fast_ratio"] > row["planezip_ratio"]
        for row in data["figure_3"])')" = True
    check "and in every class" test "$(field 'all(
        row["planezip2_ratio"] > row["planezip_ratio"] for row in data["table_3"])')" = True
    check "blocks of both formats add up" test "$(field 'all(
        sum(row[e + "_blocks"] for e in ("raw", "zvc", "bx", "dbx", "zbx")) ==
        sum(row[mode + "_blocks"] for mode in "eidc") == row["raw_bytes"] // 128
        for row in data["table_3"])')" = True
    cp out.txt paper.json
    run 0 "native widths" measure --index "$index" --native --json
    check "are the same to planezip2, and not to planezip" python3 -c 'import json
a, b = (json.load(open(name))["figure_3"] for name in ("paper.json", "out.txt"))
for codec in "planezip2", "planezip2_fast", "planezip":
    same = [x[codec + "_ratio"] == y[codec + "_ratio"] for x, y in zip(a, b)]
    assert all(same) == (codec != "planezip"), (codec, same)'
    head -n 3 "$index" | sed '2s/,bf16,0,/,bf16,999999999,/' >"wrong.csv"
    ln -s "$PZ_DATA_DIR"/activations/*.f32 .
    refuse 1 "a chunk outside its file" measure --index wrong.csv
    says "the line is named" '(line 2)'
    awk -F, 'BEGIN { OFS = "," } NR == 2 { $14 = $14 + 1 } NR < 5' "$index" >wrong.csv
    refuse 1 "a size that differs" measure --index wrong.csv
    says "line and codec are named" '(line 2, planezip)'
    sed 5q "$index" | cut -d, -f1-7 >wrong.csv
    refuse 1 "a missing column" measure --index wrong.csv
    sed 5q "$index" | sed '3s/,0,/,/' >wrong.csv
    refuse 1 "a missing value" measure --index wrong.csv
    sed 5q "$index" | sed '2s/,bf16,/,bf17,/' >wrong.csv
    refuse 1 "a kind that is no type" measure --index wrong.csv
    says "it is named" "(line 2, 'bf17')"
    sed 5q "$index" | sed '2s/^[^,]*/..\/evil/' >wrong.csv
    refuse 1 "a model that leaves the folder" measure --index wrong.csv
fi

finish
