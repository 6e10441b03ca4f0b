#!/usr/bin/env bash
# Checks what the built libraries expose:
# - the shared library exports pz_ names only;
# - the static libraries define no global names but pz_ and pzi_ (libplanezip), pzb_ (baselines);
# - nothing writable is global or static, apart from the atomics that hold the chosen instruction
#   set and what the CPU can do.
# Usage: check_symbols.sh BUILD_FOLDER       prints every violation, exits 1 if there is one
#        check_symbols.sh --self-test [CC]   proves on planted violations that the check sees them
set -euo pipefail

# object:name; gcc and clang number or prefix the statics of functions.
writable_allowed='^isa\.c\.o:(active|(cpu_features\.)?known(\.[0-9]+)?)$'

# "name section object" of the symbols defined in the file $2; $1: -g for the global ones, -D for
# exports.  In this format of nm: name | value | class | type | size | line | section.
defined()
{
    nm --format=sysv --defined-only "$@" | awk -F'|' '
        /^Symbols from/ { object = $0; sub(/^.*\[/, "", object); sub(/\].*$/, "", object) }
        NF == 7 && $1 !~ /^Name/ { gsub(/[ \t]/, ""); print $1, $7, object }'
}

# The writable ones among them.  Constants with addresses in them lie in .data.rel.ro, which is
# read-only after loading.
writable()
{
    allowed=$writable_allowed awk '
        $2 ~ /^(\.data|\.bss|\.tdata|\.tbss|\*COM\*)/ && $2 !~ /^\.data\.rel\.ro/ &&
        $1 !~ /^\./ && $3 ":" $1 !~ ENVIRON["allowed"] { print $1 " in " $3 " (" $2 ")" }'
}

# Prints all violations in the build folder $1.
check()
{
    defined -D "$1/libplanezip.so" | awk '
        $1 !~ /^pz_/ { print "libplanezip.so exports " $1 }
        $1 ~ /^pz_/ { count++ }
        END { if (!count) print "libplanezip.so exports nothing" }'
    defined -g "$1/libplanezip.a" | awk '$1 !~ /^pzi?_/ { print "libplanezip.a defines " $1 }'
    defined -g "$1/libpz_baselines.a" | awk '
        $1 !~ /^pzb_/ { print "libpz_baselines.a defines " $1 }'
    for library in libplanezip.a libpz_baselines.a; do
        defined -a "$1/$library" | writable | sed "s|^|$library has writable data: |"
    done
}

# Builds the three libraries from one source $1 and expects $2 violations.
expect()
{
    printf '%s\n' "$1" >isa.c
    printf 'extern int pzb_none;\nint pzb_function(void);\nint pzb_function(void) { return 1; }\n' \
        >baseline.c
    "$cc" -fPIC -fvisibility=hidden -c isa.c -o isa.c.o
    "$cc" -c baseline.c
    rm -f ./*.a
    "$cc" -shared isa.c.o -o libplanezip.so
    ar rc libplanezip.a isa.c.o
    ar rc libpz_baselines.a baseline.o
    [ "$(check . | wc -l)" = "$2" ] || { echo "expected $2 violations: $1"; check .; exit 1; }
}

self_test()
{
    local api='__attribute__((visibility("default"))) int pz_f(void) { return 1; }'

    expect "$api" 0
    expect "$api int pzi_g(void) { return 1; }" 0
    expect "$api static int x; const int *const pzi_table[1] = { &x };" 1
    expect "$api const int pzi_y = 3; const int *const pzi_table[1] = { &pzi_y };" 0
    expect "$api static int *active; int *pzi_g(void) { return active++; }" 0
    expect "$api static int count; int pzi_g(void) { return count++; }" 1
    expect "$api int pzi_g(void) { static int count = 4; return count++; }" 1
    expect "$api _Thread_local int pzi_last;" 1
    expect "$api int helper(void) { return 1; }" 1
    expect "$api __attribute__((visibility(\"default\"))) int pzi_g(void) { return 1; }" 1
    expect "int pzi_f(void) { return 1; }" 1
}

if [ "$1" = --self-test ]; then
    cc=${2:-cc}
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    cd "$scratch"
    self_test
    found=
else
    found=$(check "$1")
fi
printf '%s\n' "${found:-symbols: ok}"
[ -z "$found" ]
