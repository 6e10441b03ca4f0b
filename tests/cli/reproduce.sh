#!/usr/bin/env bash
# reproduce/run: what it asks for, in which order, and that it goes on where it was stopped.  The
# tools that it calls are stubs here, which note their call and leave the files of the real ones.
set -euo pipefail

mkdir -p root/tools root/reproduce out
cp "$PZ_SOURCE_DIR/reproduce/run" root/reproduce/
cat >root/tools/python_env <<'END'
#!/bin/sh
echo "$PWD_OF_TEST/python"
END
cat >python <<'END'
#!/bin/bash
if [ "$1" = -c ]; then
    case $2 in
    *MODELS*) echo resnet50 gpt2_fused ;;
    *) echo weights ;;
    esac
    exit
fi
script=$(basename "$1")
shift
echo "$script ${*#"$PWD_OF_TEST/"}" >>"$PWD_OF_TEST/calls"
[ "$script" != "${STOP_AT:-}" ] || exit 1
case $script in
record.py) mkdir -p "$1" && touch "$1/$2.json" ;;
activations.py)
    mkdir -p "$1/$2"
    case $* in
    *--random*) touch "$1/$2/random-0.json" ;;
    *) touch "$1/$2/about.json" ;;
    esac ;;
pretrained.py) mkdir -p "$1/minilm" && touch "$1/minilm/random-0.json" ;;
report.py) echo page ;;
esac
END
chmod +x root/tools/python_env python
export PWD_OF_TEST=$PWD PZ_PYTHON=$PWD/python

# expect WHAT: the calls since the last one are those on standard input.
expect() {
    diff - calls || { echo "$1: other calls than expected" >&2; exit 1; }
    rm calls
}
run() {
    root/reproduce/run "$@" >stdout 2>stderr
}

for arguments in --unknown '--steps' '--steps x' 'one two'; do
    status=0
    # shellcheck disable=SC2086
    run $arguments || status=$?
    [ $status = 2 ] && grep -q usage stderr || { echo "$arguments: status $status" >&2; exit 1; }
done

status=0
STOP_AT=train.py run --steps 7 out || status=$?
[ $status = 1 ] || { echo "a failed step: status $status" >&2; exit 1; }
expect "a run that is stopped" <<'END'
record.py out/traces resnet50
train.py out resnet50 --steps 7
END

run out
expect "a run that goes on" <<'END'
train.py out resnet50
activations.py out resnet50
activations.py out resnet50 --random --iterations 1
record.py out/traces gpt2_fused
train.py out gpt2_fused
activations.py out gpt2_fused
pretrained.py out weights
report.py out --captures out
END
[ "$(cat stdout)" = page ]

run out
expect "a run with everything there" <<'END'
report.py out --captures out
END

PZ_DATA_DIR=data run --quick out
expect "a quick run" <<'END'
report.py out/quick --bundled data
END
