#!/bin/sh
# compress, decompress, test and list: every kind of file there and back, and what is wrong.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

tensors()
{
    python3 "$PZ_SOURCE_DIR/tests/cli/support/tensors.py" "$@"
}

tensors npy '<f4' 300,40 >f32.npy
tensors npy '<f8' 7,5 fortran >fortran.npy
tensors npy '<i8' 0,5 >empty.npy
tensors npy '|b1' '' >scalar.npy
tensors npy '<V2' 1000 >void.npy
tensors npy '>f4' 3 >big_endian.npy
tensors safetensors >model.safetensors
sample 300000 >raw
: >nothing

# There and back: the identical file, with its permissions and time.
for file in f32.npy fortran.npy empty.npy scalar.npy model.safetensors; do
    touch -d '2021-02-03 04:05:06.789' $file
    chmod 640 $file
    run 0 "compress $file" compress $file
    run 0 "test it" test $file.pz
    prints "it is ok" "$file.pz: ok"
    run 0 "list it" list $file.pz
    mv $file original
    run 0 "decompress $file" decompress $file.pz
    check "$file is the same" cmp original $file
    check "its time is kept" test "$(stat -c %y $file)" = "$(stat -c %y original)"
    check "its permissions are kept" test "$(stat -c %a $file)" = 640
done
for codec in planezip2 planezip2-fast planezip zvc bpc bx zbx "planezip -p paper" "zvc -p paper" \
    "bpc -p paper" "bx -p paper" "zbx -p paper"; do
    # shellcheck disable=SC2086 # perhaps with a profile
    "$PLANEZIP" compress --codec $codec -o coded.pz -f model.safetensors || fail "$codec"
    "$PLANEZIP" decompress <coded.pz | cmp - model.safetensors || fail "$codec"
    run 0 "list it" list --json coded.pz
    check "the codec is $codec" test "$(field 'data["files"][0]["tensors"][0]["codec"]')" = \
        "${codec%% *}"
done
for dtype in bf16 float32 f64 u8 bool f4 F8_E5M2 c64; do
    "$PLANEZIP" compress -d $dtype -c raw | "$PLANEZIP" decompress | cmp - raw || fail "$dtype"
done
pass "raw files of several types"

# The default codec, and the fast one.
for options in "" "--codec planezip2" "--fast" "--codec planezip2-fast" "--codec planezip"; do
    # shellcheck disable=SC2086 # options
    "$PLANEZIP" compress $options -d f32 -f -o "coded$options" raw || fail "compress $options"
done
check "planezip2 is the default" cmp coded "coded--codec planezip2"
check "--fast is planezip2-fast" cmp coded--fast "coded--codec planezip2-fast"
check "they differ" sh -c '! cmp -s coded coded--fast && ! cmp -s coded "coded--codec planezip"'
run 0 "a raw file with a shape" compress -d f32 --shape 100,750 -o shaped.pz raw
run 0 "its list" list --json shaped.pz
check "has the shape" test "$(field 'data["files"][0]["tensors"][0]["shape"]')" = "[100, 750]"
run 0 "a file without bytes" compress -d f32 nothing
run 0 "and back" decompress -o back nothing.pz
check "is empty" cmp back nothing
run 0 "elements without a name" compress -d bf16 void.npy
run 0 "have the type that was told" list --json void.npy.pz
check "bf16" test "$(field 'data["files"][0]["tensors"][0]["dtype"]')" = bf16
refuse 1 "a type that an .npy file does not name" compress -d bf16 -o other.pz f32.npy
says "both are told" "its elements are f32, not bf16"
is_absent "nothing is written" other.pz
run 0 "the type that it names" compress -d f32 -o same.pz f32.npy
check "changes nothing" cmp same.pz f32.npy.pz
refuse 1 "a type that a .safetensors file does not name" compress -d c64 -o other.pz \
    model.safetensors
says "it is told" "its elements are .*, not c64; leave --dtype out"
run 0 "safetensors as raw" compress --format raw -d u8 -o as_raw.pz model.safetensors
"$PLANEZIP" decompress as_raw.pz -o back -f
check "is the same" cmp back model.safetensors

# Pipes: neither size is known, and the result is the same.
"$PLANEZIP" compress <model.safetensors >piped.pz
check "a pipe gives the same container" cmp piped.pz model.safetensors.pz
cat raw | "$PLANEZIP" compress -d f32 - --segment 8KiB | cat | "$PLANEZIP" decompress >back
check "raw through pipes, in small segments" cmp back raw
cat model.safetensors.pz | "$PLANEZIP" test
cat model.safetensors.pz | "$PLANEZIP" list --json - >listed.json
"$PLANEZIP" list --json model.safetensors.pz >by_index.json
check "a list through a pipe is that by the index" python3 -c 'import json
a, b = (json.load(open(name))["files"][0] for name in ("listed.json", "by_index.json"))
assert a["tensors"] == b["tensors"] and a["metadata"] == b["metadata"]'

# What list tells.
run 0 "list" list model.safetensors.pz
prints "a line for each tensor" '^block.0.weight *f32 *\[50, 60\] *planezip2 *32 '
prints "the sum" '^all '
run 0 "list -v" list -v model.safetensors.pz
prints "the metadata of the source" '"format": "pt"'
run 0 "list --json" list --json model.safetensors.pz
check "blocks add up" python3 -c 'import json
for row in json.load(open("out.txt"))["files"][0]["tensors"]:
    assert sum(row[mode + "_blocks"] for mode in "eidc") == (row["raw_bytes"] + 127) // 128, row
    assert sum(row[e + "_blocks"] for e in ("raw", "zvc", "bx", "dbx", "zbx")) == 0, row
    assert (row["format"], row["codec"]) == (2, "planezip2"), row
    assert (row["dtype"], row["width_bits"], row["exponent_bits"]) in (
        ("f32", 32, 8), ("bool", 8, 0), ("i64", 64, 0), ("bf16", 16, 8), ("f8_e4m3", 8, 4)), row'
run 0 "list of format 2" list model.safetensors.pz
check "has no columns of format 1" sh -c '! grep -q "RAW\|ZVC\|BX\|  C$" out.txt'
prints "and those of the modes" '  ratio  *E  *I  *D$'
# An output that is the input, by whatever name, would be removed as the input.
cp scalar.npy same.npy
ln -sf same.npy same.npy.pz
run 1 "the output is the input" compress --rm -f same.npy -o ./same.npy
run 1 "the output is a link to the input" compress --rm -f same.npy
check "the input is still there" cmp scalar.npy same.npy
rm same.npy.pz

run 0 "compress in format 1" compress --codec planezip -f -o one.pz model.safetensors
run 0 "list it" list --json one.pz
check "blocks add up" python3 -c 'import json
for row in json.load(open("out.txt"))["files"][0]["tensors"]:
    blocks = sum(row[e + "_blocks"] for e in ("raw", "zvc", "bx", "dbx", "zbx"))
    assert blocks == (row["raw_bytes"] + 127) // 128, row
    assert (row["format"], row["codec"], row["exponent_bits"]) == (1, "planezip", 0), row'
run 0 "list of format 1" list one.pz
prints "has its own columns" '  ratio  *RAW  *ZVC  *BX$'
run 0 "list --csv" list --csv model.safetensors.pz
run 0 "Fortran order is told" list --json fortran.npy.pz
check "it is" test "$(field 'data["files"][0]["tensors"][0]["fortran_order"]')" = True
run 0 "compress --json" compress -f --json f32.npy fortran.npy
check "two files" test "$(field 'len(data["files"])')" = 2
run 0 "test --json" test --json f32.npy.pz
is_json "it is JSON" out.txt

# Inputs that are wrong.
refuse 1 "big-endian" compress big_endian.npy
says "how to convert it" 'big-endian'
refuse 1 "a type that is not told" compress raw
says "the option is named" '--dtype'
refuse 1 "elements without a name and a type" compress -o out.pz void.npy
refuse 1 "a size that is no whole number" compress -d f64 -o out.pz f32.npy --format raw --shape 3
refuse 1 "an odd number of bytes" compress -d u64 -o out.pz --format raw scalar.npy
head -c 4000 f32.npy >cut.npy
refuse 1 "a .npy file that is cut" compress cut.npy
refuse 1 "the same through a pipe" compress /dev/stdin -o out.pz --format npy
(cat f32.npy && printf x) >longer.npy
refuse 1 "a .npy file with more behind" compress longer.npy
head -c 100 model.safetensors >cut.safetensors
refuse 1 "a header that is cut" compress cut.safetensors
refuse 1 "a .pz file" compress f32.npy.pz
refuse 1 "a file that is missing" compress missing.npy
refuse 1 "a folder" compress .
refuse 1 "no container" decompress -o out raw
refuse 1 "another name than .pz" decompress raw
refuse 1 "no container for list" list raw
refuse 1 "an empty container" test nothing
refuse 2 "list without a file" list
refuse 2 "an unknown type" compress -d f33 raw
refuse 2 "an unknown profile" compress -p fast raw
refuse 2 "an unknown codec" compress --codec lz4 raw
refuse 2 "fast and a codec" compress --fast --codec planezip raw
refuse 2 "a profile that does nothing" compress -p paper -d f32 raw
says "the reason is told" 'planezip2 takes its symbols from the type'
refuse 2 "a segment that is no multiple" compress -d f32 --segment 5000 raw
refuse 2 "a shape without a type" compress --shape 3 raw
refuse 2 "a shape that is none" compress -d f32 --shape 3,,4 raw
refuse 2 "a shape that is too large" compress -d f32 -o out.pz --shape 9223372036854775807,9 raw
refuse 2 "keep and remove" compress -k --rm f32.npy
refuse 2 "remove what only a device gets" compress --rm -f -o /dev/null f32.npy
refuse 2 "remove what standard output gets" compress --rm -o - f32.npy
check "the input is there" test -s f32.npy
refuse 2 "two outputs" compress -c -o out.pz f32.npy
refuse 2 "one output for two files" compress -o out.pz f32.npy fortran.npy
refuse 2 "two containers to standard output" compress -c f32.npy fortran.npy
refuse 2 "JSON among data" compress --json -c f32.npy
# Threads change nothing but the time.
cat "$PZ_DATA_DIR"/activations/*.f32 >floats
for codec in planezip2 planezip; do
    for threads in 1 2 5; do
        run 0 "$codec with $threads threads" compress --codec $codec -T $threads -d f32 -f \
            -o threads.pz floats
        [ $threads != 1 ] || cp threads.pz one.pz
        check "$threads threads: the same container" cmp one.pz threads.pz
        run 0 "decompress with $threads threads" decompress -T $threads -f -o back threads.pz
        check "$threads threads: the same data" cmp back floats
        run 0 "test with $threads threads" test -T $threads threads.pz
    done
done
refuse 2 "too many threads" compress -T 100000 f32.npy
is_absent "nothing is left" out.pz

# Damage: no output, a place, and what can be saved.
python3 -c 'data = bytearray(open("model.safetensors.pz", "rb").read())
data[2000] ^= 1
open("damaged.pz", "wb").write(data)
open("unfinished.pz", "wb").write(data[:1500])'
for file in damaged unfinished; do
    refuse 1 "decompress $file" decompress $file.pz
    says "the tensor is named" "tensor 'block.0.weight'"
    is_absent "no output" $file
    run 1 "test $file" test $file.pz
    check "one line" is_one_line
    refuse 1 "decompress $file to standard output" decompress -o /dev/null $file.pz
done
"$PLANEZIP" compress --segment 4KiB -d f32 raw -o many.pz
head -c 100000 many.pz >many_cut.pz
run 1 "salvage an unfinished file" decompress --salvage many_cut.pz
saved=$(wc -c <many_cut)
check "whole segments are saved" test $((saved % 4096)) -eq 0 -a "$saved" -gt 50000
check "they are right" cmp -n "$saved" many_cut raw
run 1 "salvage a damaged file" decompress --salvage damaged.pz
check "it has the right size" test "$(wc -c <damaged)" -eq "$(wc -c <model.safetensors)"
check "the rest is right" python3 -c 'a, b = (open(n, "rb").read() for n in
    ("damaged", "model.safetensors"))
assert a[-700:] == b[-700:] and a[:400] == b[:400]'
python3 -c 'data = bytearray(open("many.pz", "rb").read())
at = data.find(b"SEGM", 50000)
data[at + 9] ^= 1
open("many_head.pz", "wb").write(data)'
refuse 1 "a damaged head" decompress many_head.pz
run 0 "salvage by the index, past the head" decompress --salvage many_head.pz
check "nothing is lost" cmp many_head raw
run 1 "list of an unfinished file" list many_cut.pz
says "what can be saved is told" 'unfinished.*; get .*, or save .* decompress --salvage$'
(cat many.pz && echo more) >many_more.pz
refuse 1 "a file with bytes behind it" decompress -o back -f many_more.pz
says "they are told" 'there are bytes behind it'
refuse 1 "no container at all" test raw
says "what to do is told" '; check that it is the right file$'

# Several files: going on after one that fails.
run 1 "compress goes on" compress -f f32.npy missing.npy big_endian.npy fortran.npy
check "two messages" test "$(wc -l <err.txt)" -eq 2
check "the others are there" "$PLANEZIP" test -q f32.npy.pz fortran.npy.pz
run 1 "test goes on" test f32.npy.pz damaged.pz fortran.npy.pz
check "two are ok" test "$(grep -c ok out.txt)" -eq 2
rm f32.npy.pz fortran.npy.pz
"$PLANEZIP" decompress -c model.safetensors.pz model.safetensors.pz >twice
check "several to standard output" test "$(wc -c <twice)" -eq $((2 * $(wc -c <model.safetensors)))

# Outputs that exist; removing inputs; folders.
refuse 1 "an output that exists" compress model.safetensors
says "how to overwrite it" 'use -f'
mkdir tree tree/sub
cp f32.npy tree/
cp model.safetensors raw tree/sub/
run 0 "compress a folder" compress -r --rm tree
check "what is no tensor file stays" test -e tree/sub/raw
is_absent "inputs are removed" tree/f32.npy
check "outputs are there" test -e tree/sub/model.safetensors.pz
run 0 "test a folder" test -r tree
check "both" test "$(grep -c ok out.txt)" -eq 2
run 0 "decompress a folder" decompress -r --rm tree
check "the same again" cmp tree/sub/model.safetensors model.safetensors
is_absent "containers are removed" tree/f32.npy.pz
run 1 "an input is not removed after a failure" decompress --rm damaged.pz
check "it stays" test -e damaged.pz

# A full disk, a limit, signals.
refuse 1 "a full device" compress -o /dev/full f32.npy
status=0
(ulimit -f 8 && "$PLANEZIP" compress -d f32 raw -o limited.pz) >out.txt 2>err.txt || status=$?
check "a limit of the file size" test $status -eq 1
check "one line about it" is_one_line
is_absent "and nothing is left" limited.pz
head -c 67108864 /dev/zero >zeros
mkdir work
"$PLANEZIP" compress -d u8 zeros -o work/zeros.pz &
writer=$!
while kill -0 $writer 2>/dev/null && ! ls -A work | grep -q '^\.planezip'; do :; done
kill -TERM $writer 2>/dev/null || true
wait $writer || true
check "no temporary is left after a signal" sh -c '! ls -A work | grep -q "^\.planezip"'

# A terminal gets no binary data, and a progress bar for long work.
if command -v script >/dev/null; then
    script -qec "'$PLANEZIP' compress -c f32.npy" /dev/null >terminal.txt </dev/null || true
    check "a terminal gets no binary data" grep -q 'not written to a terminal' terminal.txt
    slowly="(head -c 99999 zeros; sleep 0.7; head -c 99999 zeros) |"
    script -qec "$slowly '$PLANEZIP' compress -d u8 -o slow.pz" /dev/null >terminal.txt </dev/null
    check "long work shows its progress" grep -q 'KiB/s' terminal.txt
    script -qec "$slowly '$PLANEZIP' compress -q -f -d u8 -o slow.pz" /dev/null >quiet.txt \
        </dev/null
    check "-q is quiet" test ! -s quiet.txt
fi

finish
