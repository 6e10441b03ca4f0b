#!/usr/bin/env bash
# The library compiles without a build system: no flags but two include paths.  Every instruction
# set is chosen inside its source file.
# Usage: check_direct.sh [COMPILER]
set -euo pipefail

cc=${1:-cc}
root=$(pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
"$cc" -I"$root/include" -I"$root/src" -c "$root"/src/*/*.c
echo "direct_compile: ok, $(find . -name '*.o' | wc -l) files"
