#!/bin/sh
# Reads and writes that are short, interrupted or fail, memory that runs out, signals: every verb
# leaves a whole output or none.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

sample 100000 >raw
python3 "$PZ_SOURCE_DIR/tests/cli/support/tensors.py" safetensors >model.safetensors
python3 "$PZ_SOURCE_DIR/tests/cli/support/tensors.py" npy '<f4' 300,40 >f32.npy
cp "$tiny" tiny.json
cp "$tiny_ratios" tiny_ratios.json
run 0 "a container" compress -d f32 --segment 8KiB raw
run 0 "one of format 2" compress -d f32 --segment 8KiB --codec planezip2 -o raw2.pz raw
run 0 "another one" compress model.safetensors
run 0 "a stream" stream encode -w 32 raw coded
run 0 "a platform" platform show A -o platform.json
run 0 "a plan" plan -q --trace tiny.json --ratios tiny_ratios.json --platform A --budget 90% \
    -o plan.json
check "faults" python3 -B "$PZ_SOURCE_DIR/tests/cli/support/faults.py" "$PZ_FAULTS" . \
    ${PZ_FAULTS_OPTION:+"$PZ_FAULTS_OPTION"}

finish
