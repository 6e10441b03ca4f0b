# What the tests of the program share.  A script sources this file, runs its checks and ends with
# "finish".  Needed: PLANEZIP (the program), PZ_DATA_DIR, PZ_SOURCE_DIR, an empty working folder.
set -eu
LC_ALL=C
export LC_ALL

data=$PZ_SOURCE_DIR/tests/cli/data
tiny=$data/tiny.json
tiny_ratios=$data/tiny_ratios.json
passed=0
failed=0

pass()
{
    passed=$((passed + 1))
    echo "PASS $1"
}

fail()
{
    failed=$((failed + 1))
    echo "FAIL $1"
}

# check NAME COMMAND...: the command succeeds.
check()
{
    check_name=$1
    shift
    if "$@"; then pass "$check_name"; else fail "$check_name"; fi
}

# run STATUS NAME ARGUMENT...: the program ends with that status; output in out.txt and err.txt.
run()
{
    run_want=$1
    run_name=$2
    shift 2
    run_got=0
    "$PLANEZIP" "$@" >out.txt 2>err.txt </dev/null || run_got=$?
    if [ "$run_got" -eq "$run_want" ]; then
        pass "$run_name"
    else
        fail "$run_name: status $run_got instead of $run_want: $(head -c 300 err.txt)"
    fi
}

# refuse STATUS NAME ARGUMENT...: as run; nothing on standard output, one line on standard error.
refuse()
{
    refuse_want=$1
    refuse_name=$2
    shift 2
    refuse_got=0
    "$PLANEZIP" "$@" >out.txt 2>err.txt </dev/null || refuse_got=$?
    if [ "$refuse_got" -ne "$refuse_want" ]; then
        fail "$refuse_name: status $refuse_got instead of $refuse_want: $(head -c 300 err.txt)"
    elif [ -s out.txt ]; then
        fail "$refuse_name: it prints something"
    elif ! is_one_line; then
        fail "$refuse_name: not one line of error: $(head -c 300 err.txt)"
    else
        pass "$refuse_name"
    fi
}

is_one_line()
{
    [ "$(wc -l <err.txt)" -eq 1 ] && grep -q '^planezip: .*; ' err.txt
}

# says NAME PATTERN: the last error message has it.
says()
{
    if grep -q -e "$2" err.txt; then pass "$1"; else fail "$1: $(head -c 300 err.txt)"; fi
}

# prints NAME PATTERN: the last output has it.
prints()
{
    if grep -q -e "$2" out.txt; then pass "$1"; else fail "$1: $(head -c 300 out.txt)"; fi
}

# is_absent NAME FILE: neither the file nor a temporary beside it is there.
is_absent()
{
    absent_folder=$(dirname "$2")
    if [ -e "$2" ] || [ -h "$2" ]; then
        fail "$1: $2 exists"
    elif ls -A "$absent_folder" | grep -q '^\.planezip'; then
        fail "$1: a temporary is left"
    else
        pass "$1"
    fi
}

# is_json NAME FILE
is_json()
{
    if python3 -m json.tool "$2" >/dev/null 2>json_error.txt; then
        pass "$1"
    else
        fail "$1: $(head -c 300 json_error.txt)"
    fi
}

# sample BYTES: floats near one another, zeros and noise, the same every time; the last byte is 1.
sample()
{
    python3 -c 'import random, struct, sys
count, rng = int(sys.argv[1]), random.Random(1)
words = [rng.choice((0.0, rng.gauss(1, 0.1), rng.random() * 1e9)) for _ in range(count // 4 + 1)]
data = struct.pack("<%df" % len(words), *words)[:count]
sys.stdout.buffer.write(data[:-1] + b"\1")' "$1"
}

# field EXPRESSION: prints a value of the last output, "data", in Python.
field()
{
    python3 -c 'import json, sys
data = json.load(open("out.txt"))
print(eval("(" + sys.argv[1] + ")"))' "$1"
}

finish()
{
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}
