#!/bin/sh
# The bundled captures of whole iterations: what they are must stay what the paper says of its own,
# the means of Figure 3 nearly, and Table IV by its order.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

folder=$PZ_DATA_DIR/captured
product_bf16=1 product_fp32=1
for model in resnet50 densenet121 efficientnet_b0 vit_b_16 gpt2 minilm; do
    trace=$folder/traces/$model.json
    run 0 "$model: the trace" trace check "$trace"
    run 0 "$model: ratios" ratios show --trace "$trace" "$folder/$model/ratios-2.json" --json
    if [ "$model" != minilm ]; then
        product_bf16="$product_bf16 * $(field 'data["means"][0]["bf16_ratio"]')"
        product_fp32="$product_fp32 * $(field 'data["means"][0]["fp32_ratio"]')"
    fi
    run 0 "$model: a prediction" ratios compare --trace "$trace" "$folder/$model/ratios-1.json" \
        "$folder/$model/ratios-2.json" --json
    check "$model: the finer the signature, the smaller the error" test "$(field '(
        lambda errors: 0 < errors[0] < 0.02 and errors == sorted(errors))(
        [row["bf16_wire_error"] for row in data["wire_errors"]])')" = True
done
check "BF16 as in the paper, 1.71" python3 -c "exit(not 1.66 < ($product_bf16) ** 0.2 < 1.78)"
check "FP32 as in the paper, 1.39" python3 -c "exit(not 1.34 < ($product_fp32) ** 0.2 < 1.44)"

finish
