#!/bin/sh
# The program with several threads: the same files and tables as with one.  Runs a second time under
# ThreadSanitizer.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

sample 1000000 >raw
python3 "$PZ_SOURCE_DIR/tests/cli/support/tensors.py" safetensors >model.safetensors
cp raw other
for threads in 1 2 5; do
    for codec in planezip planezip2; do
        run 0 "compress two files, $codec, $threads threads" compress -T $threads -f -d f32 \
            --codec $codec raw other
        [ $threads != 1 ] || cp raw.pz one_$codec.pz
        check "the same container" cmp one_$codec.pz raw.pz
        run 0 "test with $threads threads" test -T $threads raw.pz other.pz
        run 0 "decompress with $threads threads" decompress -T $threads -f -o back raw.pz
        check "the same data" cmp back raw
    done
    run 0 "a container in small segments, $threads threads" compress -T $threads -f \
        --segment 64KiB model.safetensors
    [ $threads != 1 ] || cp model.safetensors.pz one_model.pz
    check "the same container" cmp one_model.pz model.safetensors.pz
    run 0 "salvage with $threads threads" decompress --salvage -T $threads -f -o back \
        model.safetensors.pz
    check "the same file" cmp back model.safetensors
    run 0 "sweep with $threads threads" sweep -T $threads --trace "$tiny" --ratios "$tiny_ratios" \
        --budget 80%,90%,100% --json
    [ $threads != 1 ] || cp out.txt one.json
    check "the same table" cmp one.json out.txt
done

# Damage that several threads meet at once gives one message, always the same.
python3 -c 'data = bytearray(open("one_planezip.pz", "rb").read())
for at in range(5000, len(data) - 5000, 40000):
    data[at] ^= 1
open("damaged.pz", "wb").write(data)'
for threads in 1 2 5; do
    refuse 1 "damage with $threads threads" decompress -T $threads -o out damaged.pz
    [ $threads != 1 ] || cp err.txt one_error.txt
    check "the same message" cmp one_error.txt err.txt
    is_absent "nothing is left" out
done

finish
