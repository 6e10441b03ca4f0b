#!/usr/bin/env bash
# Installs a build into a scratch folder and builds a program against it in the three ways that a
# user has: pkg-config, pkg-config with the static library, CMake.
# Usage: check_install.sh BUILD_FOLDER [COMPILER]
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
cc=${2:-cc}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/usr
cmake --install "$build" --prefix "$scratch/before" >/dev/null
mv "$scratch/before" "$prefix" # everything in it has to stand a move
library=$(dirname "$(find "$prefix" -name libplanezip.a)")

mkdir "$scratch/user"
cd "$scratch/user"
cat >user.c <<'EOF'
#include <planezip/planezip.h>
#include <stdio.h>
int main(void)
{
    size_t bound = 0;
    if (pz_stream_bound(4097, &bound) != PZ_OK || bound != 4101)
        return 1;
    puts(pz_version());
    return 0;
}
EOF
cat >CMakeLists.txt <<'EOF'
cmake_minimum_required(VERSION 3.20)
project(user LANGUAGES C)
find_package(planezip 0.1 REQUIRED)
add_executable(user_cmake user.c)
target_link_libraries(user_cmake PRIVATE planezip::planezip)
EOF

export PKG_CONFIG_PATH=$library/pkgconfig
for header in "$prefix"/include/planezip/*.h; do
    printf '#include <planezip/%s>\n' "$(basename "$header")" >header.c
    "$cc" -std=c11 -pedantic -Wall -Wextra -Werror "-I$prefix/include" -c header.c
    if command -v c++ >/dev/null; then
        c++ -x c++ -Wall -Wextra -Werror "-I$prefix/include" -c header.c
    fi
done
# shellcheck disable=SC2046 # the flags are words
"$cc" user.c -o user_shared $(pkg-config --cflags --libs planezip)
# shellcheck disable=SC2046
"$cc" user.c -o user_static $(pkg-config --cflags planezip) "$library/libplanezip.a" \
    $(pkg-config --static --libs planezip | sed 's/-lplanezip//')
cmake -S . -B build "-DCMAKE_C_COMPILER=$cc" "-DCMAKE_PREFIX_PATH=$prefix" >/dev/null
cmake --build build >/dev/null

# The README's program.
# shellcheck disable=SC2046
"$cc" -std=c11 -pedantic -Wall -Wextra -Werror "$root/examples/half.c" -o half \
    $(pkg-config --cflags --libs planezip)
if [ -d "$build/data/traces" ]; then
    LD_LIBRARY_PATH=$library ./half "$build/data/traces/gpt2.json" \
        "$build/data/ratios/measured_gpt2.json" | grep -q '^gpt2: 7\.[67] % slower'
fi

version=$(pkg-config --modversion planezip)
for program in user_shared user_static build/user_cmake; do
    said=$(LD_LIBRARY_PATH=$library "./$program")
    [ "$said" = "$version" ] || { echo "$program says $said, planezip.pc $version"; exit 1; }
done
echo "install: ok, version $version"
