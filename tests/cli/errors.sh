#!/bin/sh
# Wrong files and wrong numbers: every verb says what is wrong and leaves nothing behind.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

: >empty
mkdir folder
printf '{}' >object.json
printf '{"format":"planezip-trace","version":2}' >version.json
sed 's/"version":1/"version":99/' "$tiny" >trace99.json
sed 's/"version":1/"version":99/' "$tiny_ratios" >ratios99.json
sed 's/"planezip-trace"/"planezip-plan"/' "$tiny" >other_kind.json
"$PLANEZIP" platform show A >platform.json
"$PLANEZIP" plan -q --trace "$tiny" --ratios "$tiny_ratios" --platform A --budget 90% -o plan.json

# What the file is for, with the file in the place of each kind.
with_file()
{
    kind=$1
    file=$2
    case $kind in
    trace) set -- plan --trace "$file" --platform A --budget 90% -o out.json ;;
    ratios) set -- plan --trace "$tiny" --ratios "$file" --platform A --budget 90% -o out.json ;;
    platform) set -- plan --trace "$tiny" --platform "$file" --budget 90% -o out.json ;;
    plan) set -- simulate --trace "$tiny" --platform A --plan "$file" --timeline out.json ;;
    esac
    refuse 1 "$kind: $file is refused" "$@"
    is_absent "$kind: nothing is left of $file" out.json
}

for kind in trace ratios platform plan; do
    for file in ./missing.json empty folder object.json version.json trace99.json ratios99.json \
        other_kind.json; do
        with_file $kind $file
    done
done
refuse 1 "a missing file" trace check missing.json
says "the reason is named" 'missing.json: cannot open it: No such file'
refuse 1 "an empty file" trace check empty
refuse 1 "a folder" trace check folder
refuse 1 "another version" trace check trace99.json
refuse 1 "a plan instead of a trace" trace check plan.json
refuse 1 "a missing file of stream" stream encode -w 32 missing out
is_absent "and nothing is left" out
refuse 1 "a missing file of measure" measure -w 32 missing
refuse 1 "a missing index" measure --index missing.csv
refuse 1 "an empty index" measure --index empty
refuse 1 "a file that is no index" measure --index "$tiny"
refuse 1 "a missing folder of ratios" sweep --trace "$tiny" --ratios-dir missing
refuse 1 "a folder without ratios" sweep --trace "$tiny" --ratios-dir folder
refuse 1 "half an element" measure --dtype f64 plan.json "$tiny_ratios" "$tiny"

# Endless files, and such as are far too large.
truncate -s 1073741825 huge
for verb in "trace check" "ratios show" "platform show" "measure --index" \
    "plan --platform A --budget 9% --trace" "simulate --platform A --trace $tiny --plan"; do
    # shellcheck disable=SC2086 # options
    refuse 1 "a huge file: $verb" $verb ./huge
    says "file and limit are named" '^planezip: ./huge: it is larger than 1.00 GiB, the limit of'
done
status=0
"$PLANEZIP" trace check - <huge >out.txt 2>err.txt || status=$?
check "a huge standard input" test $status -eq 1
says "is named" '^planezip: standard input: it is larger than 1.00 GiB'
refuse 1 "an endless file" trace check /dev/zero
says "is named" '^planezip: /dev/zero: it is larger than 1.00 GiB'

# A name with a new line does not make two lines.
printf '{"format":' >"$(printf 'new\nline.json')"
refuse 1 "a name with a new line" trace check "$(printf 'new\nline.json')"

# Nor does any other that would act on a terminal: C0, DEL, C1, marks of the direction of writing,
# bytes that are no UTF-8.
for bytes in '\033[31m' '\177' '\302\233' '\302\205' '\342\200\252' '\342\200\256' '\342\201\246' \
    '\342\201\251' '\233' '\377' '\300\233' '\355\240\200' '\364\220\200\200' '\342\200'; do
    name=$(printf "a${bytes}b.json")
    refuse 1 "a name with $bytes" trace check "$name"
    says "it is shown without them" '^planezip: a?[^ ]*b.json: cannot open it'
    check "the message is plain" sh -c '! grep -q "[^ -~]" err.txt'
    refuse 2 "an option with $bytes" hw "--$name"
    check "the message is plain" sh -c '! grep -q "[^ -~]" err.txt'
    cp "$tiny" "$name"
    run 0 "a file with $bytes" trace check "$name"
    check "its message is plain" sh -c '! grep -q "[^ -~]" out.txt'
    run 0 "a table with $bytes" measure -w 8 "$name"
    check "is plain" sh -c '! grep -q "[^ -~]" out.txt'
done
refuse 1 "a name with letters of other scripts" trace check "$(printf 'caf\303\251\343\201\202')"
says "is shown as it is" "$(printf 'caf\303\251\343\201\202: ')"
name=$(printf 'a\302\233\342\200\256b.json')
cp "$tiny" "$name"
for form in --csv --json; do
    check "a terminal gets no such name with $form" python3 -c 'import os, pty, sys
os.dup2(os.open("pty.txt", os.O_CREAT | os.O_WRONLY), 1)
def read(descriptor):
    data = os.read(descriptor, 65536)
    text.append(data)
    return data
text = []
assert pty.spawn([os.environ["PLANEZIP"], "measure", "-w", "8", *sys.argv[1:]], read) == 0
text = b"".join(text)
assert b"b.json" in text and all(c < 0x80 for c in text), text' "$form" "$name"
    run 0 "a pipe" measure -w 8 "$form" "$name"
    check "gets it with $form" grep -q "$name" out.txt
done

# Long values lose their middle, not what is wrong with them.
long=$(printf '%03000d' 0 | tr 0 9)
refuse 2 "a long value" plan --budget "$long"
says "what is wrong is said" "^planezip: plan: --budget '9*\.\.\.9*': it is 2^63 .*; see 'planezip"
check "the line is short" test "$(wc -c <err.txt)" -lt 600
refuse 2 "a long option" plan "--$long"
says "what is wrong is said" "^planezip: plan: unknown option '--9*\.\.\.9*'; see 'planezip plan"
refuse 1 "a long name" trace check "$(printf '%04000d' 7)"
says "what is wrong is said" '^planezip: 0*\.\.\.0*7: cannot open it: File name too long; use a'
refuse 2 "a long value of characters of two bytes" plan \
    --budget "$(printf '%03000d' 0 | sed "s/0/$(printf '\303\251')/g")"
check "no character is torn" python3 -c 'open("err.txt", encoding="utf-8").read().index("...")'

# Names of operators that look like a message.
for name in 'a; rm -rf' 'a; use b' "$long"; do
    sed "s/aten.sin.default/$name/" "$tiny" >named.json
    "$PLANEZIP" plan -q --trace named.json --ratios "$tiny_ratios" --platform A --budget 90% \
        -o named_plan.json -f
    refuse 1 "an operator named $name" simulate --trace named.json --plan named_plan.json \
        --ratios "$tiny_ratios" --platform A --budget 25%
    says "there is one piece of advice" '^[^;]*\(; rm[^;]*\|; use b[^;]*\)*; raise the b'
    check "the line is short" test "$(wc -c <err.txt)" -lt 600
done
sed 's/"planezip-trace"/"a; use b"/' "$tiny" >named.json
refuse 1 "a format that looks like advice" trace check named.json
says "is shown whole" 'is "a; use b", expected "planezip-trace" (format); check that it is'

# JSON that is cut anywhere.  trace check goes on after a wrong file, so one run sees all cuts.
python3 - "$tiny" <<'PYTHON'
import os, sys
text = open(sys.argv[1], "rb").read().rstrip()
os.mkdir("cuts")
for n in range(len(text)):
    open("cuts/%05d" % n, "wb").write(text[:n])
PYTHON
cuts=$(ls cuts | wc -l)
status=0
"$PLANEZIP" trace check cuts/* >out.txt 2>err.txt || status=$?
check "cut traces are refused" test $status -eq 1
check "all $cuts of them" test ! -s out.txt
check "with one line each" test "$(grep -c '^planezip: cuts/[0-9]*: .*; ' err.txt)" -eq "$cuts"
check "and no others" test "$(wc -l <err.txt)" -eq "$cuts"
check "each with line and column" test "$(grep -c '([0-9]*:[0-9]*); ' err.txt)" -eq "$cuts"

cut_and_run()
{
    source_file=$1
    kind=$2
    size=$(wc -c <"$source_file")
    at=0
    while [ $at -lt $((size - 2)) ]; do
        head -c $at "$source_file" >cut.json
        with_file "$kind" ./cut.json
        at=$((at + size / 12))
    done
}
cut_and_run "$tiny" trace
cut_and_run "$tiny_ratios" ratios
cut_and_run plan.json plan
cut_and_run platform.json platform

# Numbers that no field allows.
for number in -1 1e300 NaN Infinity 9223372036854775808 18446744073709551616 '"4"' null 0.5; do
    sed "s/\"batch\":4/\"batch\":$number/" "$tiny" >number.json
    refuse 1 "a batch of $number" trace check number.json
    sed "s/\"bytes\":16777216/\"bytes\":$number/" "$tiny" >number.json
    refuse 1 "a storage of $number bytes" trace check number.json
    sed "s/\"flops\":80000000000/\"flops\":$number/" "$tiny" >number.json
    refuse 1 "an operator of $number flops" trace check number.json
    sed "s/\"gpus_per_link\": *[0-9]*/\"gpus_per_link\": $number/" platform.json >number.json
    refuse 1 "a link for $number GPUs" platform show ./number.json
done
for number in -1 0 NaN 1e300 '"2"' null; do
    sed "s/\(\"d2h_bytes_per_s\":\) *[0-9.e+]*/\1 $number/" platform.json >number.json
    refuse 1 "a link of $number" platform show ./number.json
done
for number in -1 0 NaN '"2"' null; do
    sed "s/\"planezip\":1.5/\"planezip\":$number/" "$tiny_ratios" >number.json
    refuse 1 "a ratio of $number" ratios show number.json
done
sed 's/"bytes":16777216/"bytes":-1/' "$tiny" >number.json
refuse 1 "a negative size" trace check number.json
says "the path of the field is named" '(storages\[2\].bytes)'

# Budgets.
for budget in 0 0% 0.0% 0GiB -1 -5% -1GiB nan NaN% inf 50%% %50 % '' GiB 1.5 0x10 1e9 12XiB 12GiBs \
    9223372036854775808 8388608TiB 8EiB 99999999999999999999 1e400% '5 0%' 1000000000%; do
    refuse 2 "a budget of '$budget'" plan --trace "$tiny" --platform A --budget "$budget" \
        -o out.json
done
is_absent "nothing is left of wrong budgets" out.json
refuse 2 "a budget of less than a byte" plan --trace "$tiny" --platform A --budget 0.0000001%
for budget in 0% -1 nan 30%,0% 30%, 9223372036854775808; do
    refuse 2 "a sweep with a budget of '$budget'" sweep --trace "$tiny" --budget "$budget"
done
for rate in 0 -1 nan inf 1e999 12x ''; do
    refuse 2 "a link of '$rate'" sweep --trace "$tiny" --link "$rate"
done
# Rates beyond what a platform may have: option, value and field are named.
sweep_rate()
{
    wanted=$1
    shift
    refuse 2 "a sweep with $*" sweep --trace "$tiny" "$@"
    says "option and value are named" "^planezip: sweep: $wanted"
}
sweep_rate '--link 1e+290: on platform A, d2h_bytes_per_s is 1e+299, outside ' --link 12,1e290
sweep_rate "--link '12,1e308': it is too large;" --link 12,1e308
sweep_rate '--link 1e-09: on platform B, d2h_bytes_per_s' --link 1e-9 --engine 64 --platform B
sweep_rate '--engine 1e+08: on platform A, engine_bytes_per_s' --link 12,24 --engine 64,1e8
sweep_rate "--engine '1e300': it is too large;" --engine 1e300
sweep_rate '--engine-per-link 1e+06: on platform A, engine_b' --link 12 --engine-per-link 2,1e6
sweep_rate '--engine-per-link 1e+308: on platform B, engine_b' --platform B --engine-per-link 1e308

# A platform on which the second of two traces has no time that can be counted.
sed 's/\("math_flops_per_s":\) *[0-9.e+]*/\1 1000000/' platform.json >slow.json
sed 's/"flops":[1-9][0-9]*/"flops":1000000000000000000/g' "$tiny" >endless.json
run 0 "a slow platform" trace show "$tiny" --platform ./slow.json
refuse 1 "an iteration that lasts for ever" trace show "$tiny" endless.json --platform ./slow.json
says "trace, platform, reason and a way out are named" \
    '^planezip: endless.json on platform ./slow.json: .* 30 years .*; use a faster link or fewer G'
run 0 "its plan on another platform" plan --trace endless.json --platform A --budget 100% \
    -o endless_plan.json
for command in "plan --budget 90%" "simulate --plan endless_plan.json" \
    "sweep --link 12,24 --engine 1,2 --budget 90% --policy bw --platform B"; do
    # shellcheck disable=SC2086 # options
    refuse 1 "the same for $command" $command --trace endless.json --platform ./slow.json
    says "they are named" '^planezip: endless.json on platform ./slow.json: .*; use a faster link'
done

# Nothing to plan, and no time in which it happens.
python3 - "$tiny" <<'PYTHON'
import json, sys
trace = json.load(open(sys.argv[1]))
trace["storages"] = [s for s in trace["storages"] if s["kind"] == "parameter"]
trace["ops"] = [dict(op, view=True, reads=[0], writes=[], flops=0, bytes=0, float_bytes=0)
                for op in trace["ops"]]
trace["parameters"] = 0
json.dump(trace, open("nothing.json", "w"))
PYTHON
for budget in 50% 100% 1GiB; do
    refuse 1 "a budget of $budget for nothing" plan --trace nothing.json --platform A \
        --budget $budget
    says "it is said so" '^planezip: nothing.json: its operators need no activation memory'
done
refuse 1 "a sweep over nothing" sweep --trace "$tiny" nothing.json --policy bw
says "it is said so" '^planezip: nothing.json: its operators need no activation memory'
for form in '' --csv --json; do
    # shellcheck disable=SC2086 # perhaps no option
    run 0 "what takes no time" trace show nothing.json --platform A $form
    check "has no infinite rate" sh -c '! grep -iq "inf\|nan" out.txt'
done
check "but none" test "$(field 'data["platforms"][0]["samples_per_s"]')" = None

# Files that do not belong together.
sed 's/"model":"tiny"/"model":"other"/' "$tiny_ratios" >other_ratios.json
refuse 1 "ratios of another model" plan --trace "$tiny" --ratios other_ratios.json --platform A \
    --budget 90%
refuse 1 "ratios of another model in a sweep" sweep --trace "$tiny" --ratios other_ratios.json
refuse 1 "a table without a trace" trace show "$tiny" --platform A \
    --ratios "$tiny_ratios,other_ratios.json"
says "it is named" "^planezip: other_ratios.json: it is a table of model 'other', of which"
refuse 1 "a table of another model alone" trace show "$tiny" -p A --ratios other_ratios.json
cp "$tiny_ratios" same_ratios.json
refuse 1 "two tables of one model to show" trace show "$tiny" -p A \
    -r "$tiny_ratios,same_ratios.json"
says "both are named" "^planezip: same_ratios.json: it is of model 'tiny', like .*tiny_ratios.json;"
refuse 1 "two tables of one model" sweep --trace "$tiny" --ratios "$tiny_ratios,$tiny_ratios"
sed 's/"flops":80000000000/"flops":80000000001/' "$tiny" >changed.json
refuse 1 "a plan of another trace" simulate --trace changed.json --plan plan.json --platform A
status=0
"$PLANEZIP" plan --trace - --ratios - --platform A --budget 90% <"$tiny" >out.txt 2>err.txt ||
    status=$?
check "standard input for two files" test $status -eq 2
says "is refused" 'standard input can be read only once'

finish
