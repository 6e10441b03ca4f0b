#!/bin/sh
# Tensor streams: round trips of every width and codec, and streams that are wrong.
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
    pass "round trips of $file"
done

# What encode writes is what measure counts.
for width in 8 16 32 64; do
    "$PLANEZIP" measure -w $width --json 300001 >measure.json
    for codec in planezip zvc bpc bx zbx; do
        "$PLANEZIP" stream encode -w $width -c $codec 300001 - >coded
        counted=$(python3 -c 'import json, sys
print(json.load(open("measure.json"))["files"][0][sys.argv[1] + "_bytes"])' $codec)
        check "measured size of $codec, $width bits" test "$(wc -c <coded)" -eq "$counted"
    done
done

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
