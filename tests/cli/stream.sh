#!/bin/sh
# Tensor streams: round trips of every codec and its symbols, and streams that are wrong.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

: >0
printf x >1
sample 127 >127
sample 4096 >4096
head -c 4097 /dev/zero >4097
sample 300001 >300001
if [ -r "$PZ_DATA_DIR/activations/gpt2.other" ]; then
    cp "$PZ_DATA_DIR/activations/gpt2.other" .
fi

for file in 0 1 127 4096 4097 300001 gpt2.other; do
    [ -e $file ] || continue
    size=$(wc -c <$file)
    for width in 8 16 32 64; do
        for codec in planezip zvc bpc bx zbx; do
            "$PLANEZIP" stream encode -w $width -c $codec -f $file coded &&
                "$PLANEZIP" stream decode -w $width --raw-bytes "$size" -f coded decoded &&
                cmp $file decoded || fail "$file, $width bits, $codec"
        done
    done
    for symbols in "8 0" "8 4" "8 5" "16 0" "16 5" "16 8" "32 0" "32 8" "64 0" "64 11"; do
        for codec in planezip2 planezip2-fast; do
            set -- -w "${symbols% *}" -e "${symbols#* }" -f
            "$PLANEZIP" stream encode -c $codec "$@" $file coded &&
                "$PLANEZIP" stream decode -c planezip2 "$@" --raw-bytes "$size" coded decoded &&
                cmp $file decoded || fail "$file, symbols $symbols, $codec"
        done
    done
    pass "round trips of $file"
done

# What encode writes is what measure counts.
measured()
{
    python3 -c 'import json, sys
name = sys.argv[1].replace("-", "_") + "_bytes"
print(json.load(open("measure.json"))["files"][0][name])' "$1"
}
for width in 8 16 32 64; do
    "$PLANEZIP" measure -w $width --json 300001 >measure.json
    for codec in planezip zvc bpc bx zbx planezip2 planezip2-fast; do
        "$PLANEZIP" stream encode -w $width -c $codec 300001 - >coded
        check "measured size of $codec, $width bits" test "$(wc -c <coded)" -eq "$(measured $codec)"
    done
done
head -c 300000 300001 >300000
for symbols in "f8_e4m3 8 4" "f8_e5m2 8 5" "i8 8 0" "f16 16 5" "bf16 16 8" "i16 16 0" "f32 32 8" \
    "i32 32 0" "f64 64 11" "i64 64 0"; do
    # shellcheck disable=SC2086 # three words
    set -- $symbols
    "$PLANEZIP" measure -d "$1" --json 300000 >measure.json
    for codec in planezip2 planezip2-fast; do
        "$PLANEZIP" stream encode -w "$2" -e "$3" -c $codec 300000 - >coded
        check "measured size of $codec, $1" test "$(wc -c <coded)" -eq "$(measured $codec)"
    done
done

# Symbols that do not exist, and format 2 read as format 1.
refuse 2 "exponents that do not fit the width" stream encode -w 32 -c planezip2 -e 5 300001 out
says "those that do are named" 'symbols of 32 bits have 0 or 8;'
refuse 2 "the same for decode" stream decode -w 64 -c planezip2 -e 8 --raw-bytes 1 300001 out
says "those that do are named" 'symbols of 64 bits have 0 or 11;'
refuse 2 "exponents of format 1" stream encode -w 32 -e 8 300001 out
says "the codec is named" 'codec planezip has none; give --codec planezip2;'
refuse 2 "exponents of no type" stream encode -w 32 -c planezip2 -e 7 300001 out
"$PLANEZIP" stream encode -w 32 -e 8 -c planezip2 -f 300001 coded
refuse 1 "format 2 as format 1" stream decode -w 32 --raw-bytes 300001 coded out
says "the codec may be wrong" 'whether --codec is planezip2, '
refuse 1 "other symbols" stream decode -w 16 -e 5 -c planezip2 --raw-bytes 300001 coded out
says "the place has no block" ' (chunk [0-9]*, bit [0-9]*); check .* --exponent-bits '
is_absent "nothing is written" out

# Standard input and output, named and by default.
"$PLANEZIP" stream encode -w 32 - - <300001 >coded
"$PLANEZIP" stream encode -w 32 <300001 >coded_too
check "standard input and output" cmp coded coded_too
"$PLANEZIP" stream decode -w 32 --raw-bytes 300001 <coded >decoded
check "a pipe" cmp decoded 300001
head -c 65536 /dev/zero | "$PLANEZIP" stream encode -w 32 - zeros
"$PLANEZIP" stream decode -w 32 --raw-bytes 64KiB zeros >decoded
check "a size with a unit" test "$(wc -c <decoded)" -eq 65536
check "zeros" cmp -s -n 65536 decoded /dev/zero

run 0 "the right size is accepted" stream encode -w 32 --raw-bytes 300001 -f 300001 coded
refuse 1 "another size is refused" stream encode -w 32 --raw-bytes 300002 300001 out
is_absent "and nothing is written" out

# Streams that are wrong.  Every error has its place, and leaves nothing.
refuse 1 "too small a size" stream decode -w 32 --raw-bytes 300000 coded out
says "it has a place" '(chunk [0-9]*, block [0-9]*, bit [0-9]*)'
refuse 1 "too large a size" stream decode -w 32 --raw-bytes 300200 coded out
refuse 1 "far too large a size" stream decode -w 32 --raw-bytes 7EiB coded out
refuse 1 "a size but no stream" stream decode -w 32 --raw-bytes 1 0 out
refuse 1 "a stream but no size" stream decode -w 32 --raw-bytes 0 coded out
refuse 2 "a size of 2^63" stream decode -w 32 --raw-bytes 9223372036854775808 coded out
refuse 2 "a negative size" stream decode -w 32 --raw-bytes -1 coded out
is_absent "nothing is left" out
size=$(wc -c <coded)
for part in 1 2 3 100 $((size / 2)) $((size - 1)); do
    head -c "$part" coded >cut
    refuse 1 "a stream cut at $part" stream decode -w 32 --raw-bytes 300001 cut out
done
cat coded 1 >longer
refuse 1 "a byte after the stream" stream decode -w 32 --raw-bytes 300001 longer out
printf '\377\377' >header
cat header coded >wrong
refuse 1 "a wrong header" stream decode -w 32 --raw-bytes 300001 wrong out
refuse 1 "another width" stream decode -w 8 --raw-bytes 65536 zeros out
is_absent "nothing is left of wrong streams" out
printf keep >kept
refuse 1 "a wrong stream over a file" stream decode -w 32 --raw-bytes 300001 -f wrong kept
check "which stays" test "$(cat kept)" = keep

finish
