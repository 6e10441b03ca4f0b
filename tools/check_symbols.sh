#!/usr/bin/env bash
# Checks what the built libraries expose:
# - the shared library exports pz_ names only;
# - the static libraries define no global names but pz_ and pzi_ (libplanezip), pzb_ (baselines);
# - nothing writable is global or static, apart from the pointers to the chosen ISA.
# Usage: check_symbols.sh BUILD_FOLDER
set -euo pipefail

writable_allowed='^(pzi_active_ops)$'

build=$1
failures=0

# Prints the lines of stdin as violations, if there are any.
report()
{
    local lines
    lines=$(cat)
    [ -n "$lines" ] || return 0
    printf '%s\n' "$lines" | sed "s|^|$1: |"
    failures=$((failures + 1))
}

# "name section" of the symbols defined in the file $2; $1: -g for the global ones, -D for exports.
# In this format of nm: name | value | class | type | size | line | section.
defined()
{
    nm --format=sysv --defined-only "$@" | awk -F'|' 'NF == 7 && $1 !~ /^Name/ {
        gsub(/[ \t]/, "", $1); gsub(/[ \t]/, "", $7); print $1, $7 }'
}

report "libplanezip.so exports" < <(defined -D "$build/libplanezip.so" | awk '$1 !~ /^pz_/')
report "libplanezip.a defines" < <(defined -g "$build/libplanezip.a" | awk '$1 !~ /^pzi?_/')
report "libpz_baselines.a defines" < <(defined -g "$build/libpz_baselines.a" | awk '$1 !~ /^pzb_/')

# Constants with addresses in them lie in .data.rel.ro, which is read-only after loading.
for library in libplanezip.a libpz_baselines.a; do
    report "$library: writable data" < <(defined "$build/$library" |
        awk -v allowed="$writable_allowed" '
            $2 ~ /^(\.data|\.bss|\.tdata|\.tbss|\*COM\*)/ && $2 !~ /^\.data\.rel\.ro/ {
                if ($1 !~ allowed && $1 !~ /^\.(data|bss|tdata|tbss)/) print $1 " (" $2 ")" }')
done

if [ "$(defined -D "$build/libplanezip.so" | grep -c '^pz_')" = 0 ]; then
    echo "libplanezip.so exports nothing"
    failures=$((failures + 1))
fi
[ $failures = 0 ] && echo "symbols: ok"
exit $((failures > 0))
