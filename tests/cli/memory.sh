#!/bin/sh
# Memory of the program: it does not grow with the file, and a few bytes of input ask for little.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

# A sanitizer keeps freed memory back, which is not what is measured here.
ASAN_OPTIONS=${ASAN_OPTIONS:-}:quarantine_size_mb=0
export ASAN_OPTIONS

# peak ARGUMENT...: KiB in memory at most; nothing if the program fails.
peak()
{
    python3 -c 'import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss if status == 0 else "")' "$PLANEZIP" "$@"
}

# Noise, as what compresses well asks for less: 48 MiB and 144 MiB in segments of 16 MiB.
python3 -c 'import os
block = os.urandom(1 << 24)
for name, count in (("small", 3), ("large", 9)):
    with open(name, "wb") as file:
        for _ in range(count):
            file.write(block)'
for file in small large; do
    "$PLANEZIP" compress -T 2 -d u8 $file
done
for command in "compress -T 2 -d u8 -f -o /dev/null FILE" "test -T 2 FILE.pz" "list FILE.pz" \
    "decompress -T 2 -f -o /dev/null FILE.pz" "decompress --salvage -f -o /dev/null FILE.pz"; do
    # shellcheck disable=SC2046 # words
    small_kib=$(peak $(echo "$command" | sed 's/FILE/small/'))
    # shellcheck disable=SC2046
    large_kib=$(peak $(echo "$command" | sed 's/FILE/large/'))
    check "$command: $small_kib KiB for 48 MiB, $large_kib KiB for 144 MiB" \
        test "$large_kib" -lt $((small_kib + 8192))
    check "a few segments" test "$large_kib" -lt 131072
done

# Sizes in headers that are not true take no memory, here less than 192 MiB in all.
is_bounded()
{
    bounded_name=$1
    shift
    status=0
    (ulimit -v 196608 2>/dev/null && "$PLANEZIP" "$@") >out.txt 2>err.txt </dev/null || status=$?
    check "$bounded_name: status" test $status -eq 1
    check "$bounded_name: one line" is_one_line
    check "$bounded_name: not for want of memory" sh -c '! grep -q memory err.txt'
}
if "$PLANEZIP" --version >/dev/null && (ulimit -v 196608 && "$PLANEZIP" --version) >/dev/null 2>&1
then
    printf '\377\377\377\005\000\000\000\000{"a":1' >header.safetensors
    is_bounded "a header of 100 MB that is not there" compress -T 1 header.safetensors
    printf '\223NUMPY\002\000\377\377\377\377{' >header.npy
    is_bounded "a header of 4 GiB that is not there" compress -T 1 header.npy
    head -c 100000 small.pz >cut.pz
    is_bounded "a container of 48 MiB that is cut" test -T 1 cut.pz
    is_bounded "the same at random access" list cut.pz
    printf '\001\000' >coded
    is_bounded "a stream of 4 EiB" stream decode -w 8 --raw-bytes 4EiB coded out
    python3 -c 'data = bytearray(open("small.pz", "rb").read()[:100000])
data[24:] = b"\xff" * (len(data) - 24)
open("wrong.pz", "wb").write(data)'
    is_bounded "a container of large numbers" test -T 1 wrong.pz
fi

finish
