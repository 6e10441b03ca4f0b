#!/bin/sh
# The golden streams through the program: it encodes to them, accepts what the library accepts, and
# refuses what it refuses, with the same reason.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

check "golden streams" python3 -B "$PZ_SOURCE_DIR/tests/cli/support/golden.py" "$PLANEZIP" \
    "$PZ_SOURCE_DIR"

finish
