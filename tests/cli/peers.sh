#!/bin/sh
# Files that NumPy and safetensors write and read, if PZ_PYTHON or python3 has both packages.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

python=${PZ_PYTHON:-python3}
if ! "$python" -c 'import numpy, safetensors.numpy' 2>/dev/null; then
    echo "skipped: $python has no numpy and safetensors"
    exit 0
fi
check "what NumPy and safetensors do" env PYTHONDONTWRITEBYTECODE=1 \
    "$python" "$PZ_SOURCE_DIR/tests/cli/support/peers.py" "$PLANEZIP"

finish
