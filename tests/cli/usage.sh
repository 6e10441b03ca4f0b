#!/bin/bash
# Help, version and wrong command lines.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

commands=(compress decompress test list "stream encode" "stream decode" measure bench "ibp learn"
    "ibp pack" "ibp unpack" "ibp show" "ibp measure" "ibp cache" "trace show" "trace check"
    "ratios show" "ratios compare" "ratios update" plan simulate sweep fit explain diff
    "platform list" "platform show" hw)

run 0 "--version" --version
prints "--version names the version" '^planezip [0-9]*\.[0-9]*\.[0-9]*$'
run 0 "--help" --help
for verb in compress decompress test list stream measure bench ibp trace ratios plan simulate \
    sweep fit explain diff platform hw; do
    run 0 "--help of $verb" "$verb" --help
    prints "$verb is in its help" "^Usage: planezip $verb"
    run 0 "-h of $verb" "$verb" -h
done
run 0 "the list of verbs" --help
for command in "${commands[@]}"; do
    prints "$command is in the list of verbs" "^  $command "
done
for command in "${commands[@]}"; do
    # shellcheck disable=SC2086 # two words
    run 0 "--help of $command" $command --help
    prints "usage of $command" "^Usage: planezip $command"
done

# The man page knows every option, under the heading of its verb or of all verbs.
sed 's/\\//g' "$PZ_SOURCE_DIR/docs/planezip.1" >man.txt
for command in "${commands[@]}"; do
    awk -v command="$command" '/^\.S[HS]/ { on = index(", " $0 ",", command) || /ALL VERBS/ } on' \
        man.txt >section.txt
    # shellcheck disable=SC2086 # two words
    "$PLANEZIP" $command --help | sed -n 's/^  [ -][^-][, ] \(--[a-z0-9-]*\).*/\1/p' >names.txt
    missing=
    while read -r name; do
        grep -q -e "$name\\b" section.txt || missing="$missing $name"
    done <names.txt
    check "the man page has the options of $command:$missing" test -z "$missing"
done

refuse 2 "no verb"
refuse 2 "an unknown verb" compres
refuse 2 "an unknown option instead of a verb" --frobnicate
refuse 2 "half a verb" trace
refuse 2 "an unknown second word" trace frobnicate
for command in "${commands[@]}"; do
    # shellcheck disable=SC2086 # two words
    refuse 2 "an unknown option of $command" $command --frobnicate
    # shellcheck disable=SC2086
    refuse 2 "an unknown letter of $command" $command -Z
    says "the message of $command names its help" "see 'planezip $command --help'"
done

refuse 2 "a missing value" plan --trace
refuse 2 "a missing value of a letter" stream encode -w
refuse 2 "an empty value" plan --trace= --platform A --budget 50%
refuse 2 "a switch with a value" hw --json=yes
refuse 2 "an abbreviated option" hw --jso
refuse 2 "a missing option of plan" plan --platform A --budget 50%
says "it is named" '--trace TRACE is missing'
refuse 2 "missing operands" trace show
refuse 2 "missing files of measure" measure --dtype f32
refuse 2 "a missing type of measure" measure "$tiny"
refuse 2 "an extra operand of platform" platform show A B
refuse 2 "an extra operand of hw" hw 3
refuse 2 "an extra operand of stream" stream encode -w 32 a b c
refuse 2 "an extra operand of plan" plan --trace "$tiny" --platform A --budget 50% extra
refuse 2 "a missing width" stream encode "$tiny" out
refuse 2 "an unknown width" stream encode -w 24 "$tiny" out
refuse 2 "a width of 2^32 + 32" stream encode -w 4294967328 "$tiny" out
refuse 2 "an unknown codec" stream encode -w 32 -c lz4 "$tiny" out
refuse 2 "decode without a size" stream decode -w 32 "$tiny" out
refuse 2 "decode with an unknown codec" stream decode -w 32 --raw-bytes 1 -c lz4 "$tiny" out
refuse 2 "an unknown width of measure" measure -w 24 "$tiny"
refuse 2 "an unknown dtype" measure --dtype f33 "$tiny"
refuse 2 "two forms at once" measure --dtype f32 --csv --json "$tiny"
for command in "trace show" "ratios show" "ratios compare --trace missing.json missing.json" \
    "sweep --trace"; do
    # shellcheck disable=SC2086 # words
    refuse 2 "two forms of a file that is missing: $command" $command missing.json --csv --json
    says "the forms are named, not the file" '--csv and --json exclude each other'
done
refuse 2 "too many threads" sweep --trace "$tiny" -T 100000
refuse 2 "negative threads" sweep --trace "$tiny" -T -1
refuse 2 "ratios twice" sweep --trace "$tiny" --ratios "$tiny_ratios" --ratios-dir .
refuse 2 "two kinds of engine" sweep --trace "$tiny" --engine 64 --engine-per-link 2
refuse 2 "an empty part of a list" sweep --trace "$tiny" --policy bw,,recomp
refuse 2 "an unknown policy of plan" plan --trace "$tiny" --platform A --budget 50% --policy worst
says "the known ones are named" "recomp"
refuse 2 "an unknown policy of sweep" sweep --trace "$tiny" --policy bw,worst
refuse 2 "an unknown platform" plan --trace "$tiny" --platform Z --budget 50%
refuse 2 "an unknown signature" plan --trace "$tiny" --platform A --budget 50% --signature layer
refuse 2 "no lanes" hw --lanes 0
refuse 2 "lanes that are no number" hw --lanes two
refuse 2 "a negative clock" hw --clock -1
refuse 2 "a clock of nan" hw --clock nan
refuse 2 "an infinite area" hw --bpc-area 1e999
refuse 2 "an unknown unit of a clock" hw --clock 3THz
long=0.$(printf '%080d' 0)1e81
run 0 "a clock of many digits" hw --clock 1.$(printf '%080d' 0)e3MHz --json
check "is read to its end" test "$(field 'data["clock_hz"]')" = 1000000000.0
run 0 "a clock of many digits and an exponent" hw --clock "$long" --json
check "is read to its end" test "$(field 'data["clock_hz"]')" = 1000000000.0
for clock in 1e300 1e308 1e301GHz 1e308MHz 1.5.2 1e 1-2 e5 .; do
    refuse 2 "a clock of $clock" hw --clock "$clock"
done
for option in die-area:1e-320 bpc-clock:1e-320 cycles-per-block:1e-320 density-scaling:1e-320 \
    power-scaling:1e-320 bpc-area:1e308 lane-area-factor:1e308 clock:1e-310; do
    refuse 2 "a result that is infinite by --${option%:*}" hw "--${option%:*}" "${option#*:}"
done
refuse 2 "numbers whose result overflows" hw --clock 1e300GHz --bytes-per-block 1e300

# hw tells its defaults, and what its factors divide.
run 0 "the defaults of hw" hw --json
"$PLANEZIP" hw --help >help.txt
check "are those of its help" python3 -c 'import json, re
told = [float(text) for text in re.findall(r"\(([0-9.]+)\)$", open("help.txt").read(), re.M)]
data = list(json.load(open("out.txt")).items())[:len(told)]
assert len(told) == 12
assert told == [value / 1e9 if name.endswith("clock_hz") else value for name, value in data]'
cp out.txt default.json
for factor in "power-scaling 8 power_w" "density-scaling 32 area_mm2"; do
    # shellcheck disable=SC2086 # three words
    set -- $factor
    run 0 "--$1 doubled" hw "--$1" "$2" --json
    check "halves $3" python3 -c 'import json, sys
default, scaled = (json.load(open(name))[sys.argv[1]] for name in ("default.json", "out.txt"))
assert abs(default / scaled - 2) < 1e-9' "$3"
done

# "--" ends the options; "-" is no option.
cp "$tiny" ./-dash.json
run 0 "a file after --" trace check -- -dash.json
run 0 "options after files" trace show "$tiny" --json
run 0 "letters together" trace show -vt "$tiny"
run 0 "a value in the word of its letter" sweep --trace "$tiny" -T1 --policy recomp -b100%
run 0 "a value after =" plan --trace="$tiny" --platform=A --budget=100%
run 0 "-q prints nothing" trace check -q "$tiny"
check "and there is nothing" test ! -s out.txt

# An instruction set that is not there: the program says so, the library would do without.
for isa in no-such-isa AVX2; do
    export PZ_ISA=$isa
    refuse 2 "PZ_ISA=$isa" platform list
    says "those of the machine are listed" "PZ_ISA='$isa': this machine has scalar"
    run 0 "the help with PZ_ISA=$isa" platform list --help
done
for isa in scalar ''; do
    export PZ_ISA=$isa
    run 0 "PZ_ISA='$isa'" platform list
done
unset PZ_ISA

finish
