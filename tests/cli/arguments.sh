#!/bin/sh
# Wrong arguments of every verb: the message names the option, shows the value that was found, and
# says which ones are expected.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

"$PLANEZIP" --help >help.txt
sed -n '/^Verbs:/,/^$/s/^  \([a-z]* *[a-z]*\)  .*/\1/p' help.txt | sed 's/ *$//' >commands.txt
check "there are commands" test "$(wc -l <commands.txt)" -ge 19
known="$(cut -d' ' -f1 commands.txt | uniq | tr '\n' ' ' | sed 's/ $//; s/ /, /g')"

refuse 2 "an unknown verb" compres
says "the known ones are named" "^planezip: unknown verb 'compres': known are $known;"
refuse 2 "half a verb" trace
says "the other halves are named" 'what to do is missing: known are show, check;'
refuse 2 "an unknown half" ratios frobnicate
says "the known ones are named" "unknown command 'frobnicate': known are show, compare, update;"

# What an option says that is expected.
expected="known are \|it must be \|it is not \|they are \|this machine has \|a budget must be \
\|neither a built-in platform nor a file\|unknown unit; known are \|a part of the list is empty"

# Every option of every command that takes a value.
typed=0
options=0
while read -r command; do
    # shellcheck disable=SC2086 # perhaps two words
    "$PLANEZIP" $command --help </dev/null |
        sed -n 's/^  [ -][^-][, ] --\([a-z0-9-]*\) [A-Z].*/\1/p' >names.txt
    while read -r option; do
        options=$((options + 1))
        # shellcheck disable=SC2086
        refuse 2 "no value of $command --$option" $command "--$option"
        says "that one is expected is said" "$command: --$option needs a value, [A-Z]"
        if [ "$option" != shape ]; then # which is a single element then
            # shellcheck disable=SC2086
            refuse 2 "an empty value of $command --$option" $command "--$option="
            says "option, value and problem are named" "$command: --$option '': [a-z]"
        fi
        status=0
        # shellcheck disable=SC2086
        "$PLANEZIP" $command "--$option=x!" -- </dev/null >out.txt 2>err.txt || status=$?
        if grep -q -e "--$option 'x!'" err.txt; then
            typed=$((typed + 1))
            check "status of a wrong $command --$option" test $status -eq 2
            says "what is expected is said" "--$option 'x!': \($expected\)"
        fi
    done <names.txt
done <commands.txt
check "options take values" test $options -ge 60
check "most of them only certain ones" test $typed -ge 38

# Values of the right kind that are out of range.
wants()
{
    wants_text=$1
    shift
    refuse 2 "$*" "$@"
    says "found and expected" "$wants_text"
}
for verb in compress decompress test; do
    wants '--threads 100000: it must be 0 to 1024' $verb -T 100000 x
done
wants '--threads 100000: it must be 0 to ' sweep --trace "$tiny" -T 100000
wants "--segment '5000': it must be a multiple of 4096, and at most 256MiB" compress --segment 5000
wants "--shape '9223372036854775807,9': of f32 elements .* below 2^63" \
    compress -d f32 --shape 9223372036854775807,9 -o out "$tiny"
wants "--raw-bytes '-1': a size cannot be negative" stream decode -w 8 --raw-bytes -1
wants "--raw-bytes '9223372036854775808': it is 2^63 " stream decode -w 8 --raw-bytes \
    9223372036854775808
wants "--width '24': it must be 8, 16, 32 or 64" measure -w 24 x
wants '--op 2147483648: it must be -1 to 2147483647' ratios update x --op 2147483648 --slot 0 \
    -c zvc --precision bf16 --raw 1 --coded 1
wants '--slot 2147483648: it must be 0 to 2147483647' ratios update x --op 0 --slot 2147483648 \
    -c zvc --precision bf16 --raw 1 --coded 1
wants "--lanes '65537': it must be 1 to 65536" hw --lanes 65537
wants "--budget '0%': a budget must be greater than 0" plan --trace x --platform A --budget 0%

# Numbers of arguments.
wants "unexpected argument 'b': it takes at most 1;" platform show a b
wants "unexpected argument '3': options are all that it takes;" hw 3
wants 'an argument is missing: 1 given, at least 2 needed;' ratios compare --trace "$tiny" x
wants 'an argument is missing: 0 given, at least 1 needed;' list
wants '--output takes one input that is a file, not 2 inputs;' compress -o out x y
wants '--output takes one input that is a file, not folders;' decompress -r -o out x
wants '--csv takes one file, not 3;' list --csv x y z

# Files: what was found, and what is expected.
finds()
{
    finds_text=$1
    shift
    refuse 1 "$*" "$@"
    says "found and expected" "$finds_text"
}
printf 12345 >five
finds 'it has 5 bytes instead of 8;' compress -d f32 --shape 2 five
finds 'it has 5 bytes instead of 6;' stream encode -w 8 --raw-bytes 6 five out
finds '5 bytes are not a whole number of rows of f32 elements;' compress -d f32 five
finds 'is "planezip-trace", expected "planezip-ratios" (format);' ratios show "$tiny"
sed 's/"version":1/"version":99/' "$tiny" >trace99.json
finds 'is 99; this release reads version 1 (version);' trace check trace99.json
python3 "$PZ_SOURCE_DIR/tests/cli/support/tensors.py" npy '<f4' 300,40 >f32.npy
head -c 4000 f32.npy >cut.npy
finds 'it has 4000 bytes instead of 48128;' compress cut.npy

finish
