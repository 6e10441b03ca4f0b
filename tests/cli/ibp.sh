#!/bin/sh
# Packed rows: the identical file comes back, tables of other rows, and files that are wrong.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

python3 - <<'EOF'
import random, struct
rng = random.Random(1)
data = struct.pack("<6400f", *(rng.gauss(0, 0.04) for _ in range(6400)))
open("rows.f32", "wb").write(data)
header = "{'descr': '<f4', 'fortran_order': False, 'shape': (100, 64), }"
header = header.ljust(117) + "\n"
open("rows.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header))
                             + header.encode() + data)
EOF

run 0 "learn" ibp learn -d f32 -c 64 -o table rows.f32
run 0 "pack raw elements" ibp pack -t table -d f32 -c 64 rows.f32 rows.ibp
cp rows.ibp raw.ibp
check "it is smaller" test "$(wc -c <rows.ibp)" -lt 24800
run 0 "unpack" ibp unpack rows.ibp again.f32
check "the same elements" cmp rows.f32 again.f32
run 0 "pack .npy with a table of its own" ibp pack rows.npy npy.ibp
run 0 "unpack it" ibp unpack npy.ibp again.npy
check "the same .npy" cmp rows.npy again.npy
run 0 "other groups and a threshold" ibp pack --group 32 --threshold 0.99 rows.npy groups.ibp
run 0 "unpack them" ibp unpack -f groups.ibp again.npy
check "the same .npy again" cmp rows.npy again.npy

run 0 "show a table" ibp show table
check "its row" grep -q "64 elements of 32 bits, 256 bytes" out.txt
run 0 "show rows" ibp show --json groups.ibp
check "what it tells" python3 -c 'import json
shown = json.load(open("out.txt"))
assert shown["dtype"] == "f32" and shown["file_bytes"] > shown["packed_bytes"] + 808
assert shown["rows"] == 100 and shown["group_bits"] == 32 and shown["raw_bytes"] == 25600
assert 0 < shown["packed_bytes"] < 24000 and 0.05 < shown["invariant"] < 0.3, shown'

run 0 "measure" ibp measure --json rows.npy
check "what it measures" python3 -c 'import json
(row,) = json.load(open("out.txt"))
assert (row["rows"], row["row_bytes"]) == (100, 256), row
assert 0.05 < row["saved"] < row["planezip2_by_row_saved"] < row["planezip2_saved"] < 0.25, row
assert min(row[name] for name in ("pack_bps", "unpack_bps", "memcpy_bps")) > 1e6, row'
run 0 "complex numbers are two symbols" ibp measure --json -d c64 -c 32 rows.f32
check "their row" grep -q '"row_bytes": 256' out.txt
run 0 "caches" ibp cache --json -n 5000 --line 4 rows.npy
check "what they give" python3 -c 'import json
rows = json.load(open("out.txt"))
assert [row["memory"] for row in rows] == [0.02, 0.05, 0.1, 0.2, 0.4], rows
for row, more in zip(rows, rows[1:]):
    assert row["plain_hits"] < more["plain_hits"] and row["packed_hits"] < more["packed_hits"]
for row in rows:
    assert row["plain_bytes"] > row["link_bytes"] >= row["packed_bytes"], row
    assert abs(row["plain_lookups"] * row["plain_bytes"] - 24e9) < 1e3, row
assert rows[-1]["packed_hits"] > rows[-1]["plain_hits"] > 0.4, rows'
run 0 "other look-ups" ibp cache -s 0.5 -n 100 --link 12 --line 1 rows.npy
refuse 2 "a skew of nothing" ibp cache --skew 0 rows.npy
refuse 2 "no look-ups" ibp cache -n 0 rows.npy
refuse 2 "lines without bytes" ibp cache --line 0 rows.npy
refuse 2 "a link without a rate" ibp cache --link 0 rows.npy
head -c 512 rows.f32 >two.f32
refuse 1 "two rows" ibp cache -d f32 -c 64 two.f32

refuse 1 "packed over its input" ibp pack -f rows.npy rows.npy
refuse 1 "packed over its table" ibp pack -f -t table -d f32 -c 64 rows.f32 table
refuse 1 "unpacked over its input" ibp unpack -f rows.ibp ./rows.ibp
refuse 1 "a table over its rows" ibp learn -f -o rows.npy rows.npy
refuse 1 "an output that is there" ibp unpack rows.ibp again.f32
refuse 2 "raw elements without a type" ibp learn -o other rows.f32
refuse 2 "rows without elements" ibp learn -o other -d f32 -c 0 rows.f32
says "names the option" 'columns'
refuse 1 ".npy of another type" ibp learn -d bf16 -o other rows.npy
refuse 1 ".npy with other rows" ibp measure -c 32 rows.npy
refuse 2 "groups beside a table" ibp pack -t table --group 64 -d f32 -c 64 rows.f32 other
refuse 2 "groups below an element" ibp learn --group 16 -o other rows.npy
refuse 2 "a threshold of a half" ibp learn --threshold 0.5 -o other rows.npy
refuse 2 "a group that is no power of two" ibp learn --group 48 -o other rows.npy
refuse 1 "no whole rows" ibp learn -d f32 -c 63 -o other rows.f32
refuse 1 "a table of other rows" ibp pack -t table -d bf16 -c 128 rows.f32 other
refuse 1 "a table that is none" ibp pack -t rows.f32 rows.npy other
refuse 1 "packed rows that are none" ibp unpack table other
check "nothing is left behind" test ! -e other

# Every byte changed, and every length that is too short.
python3 - <<'EOF'
import os, subprocess
program = os.environ["PLANEZIP"]
data = open("rows.ibp", "rb").read()
wrong = []
places = [*range(0, 60), *range(60, len(data), 997), len(data) - 1]
for at in places:
    for damaged in (data[:at], data[:at] + bytes([data[at] ^ 4]) + data[at + 1:]):
        with open("damaged", "wb") as file:
            file.write(damaged)
        done = subprocess.run([program, "ibp", "unpack", "damaged", "other"], capture_output=True)
        if done.returncode != 1 or done.stderr.count(b"\n") != 1 or os.path.exists("other"):
            wrong.append((at, done.returncode, done.stderr))
open("wrong.txt", "w").write(repr(wrong[:3]) if wrong else "")
EOF
check "damaged files are refused: $(cat wrong.txt)" test ! -s wrong.txt

# Files with right checksums whose parts do not fit: another type, bytes that are none of a row's;
# and .npy files with other bytes than their shape takes.
python3 - <<'EOF'
import ctypes, ctypes.util, os, struct, subprocess
hashes = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0")
hashes.XXH3_64bits.restype = ctypes.c_uint64
hashes.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
data, npy = open("npy.ibp", "rb").read(), open("rows.npy", "rb").read()
count, prefix, packed = struct.unpack_from("<3Q", data, 16)
table_end = 48 + 40 + 2 * 256 + 8
at, offsets_end = table_end + prefix, table_end + prefix + 8 * (count + 1)
rows = data[offsets_end:-8]
def checked(part):
    return part + struct.pack("<Q", hashes.XXH3_64bits(part, len(part)))
def file(dtype=None, add=0, rows=rows):
    dtype = data[12:16] if dtype is None else struct.pack("<I", dtype)
    numbers = struct.unpack(f"<{count + 1}Q", data[at:offsets_end])
    offsets = struct.pack(f"<{count + 1}Q", *(number + add for number in numbers))
    header = checked(data[:12] + dtype + data[16:32] + struct.pack("<Q", len(rows)))
    return header + data[48:table_end] + checked(data[table_end:at] + offsets + rows)
bad = [("show", "its type of", file(dtype)) for dtype in (0, 3, 999, 2**32 - 1)]
bad += [("unpack", "its type of", file(3)),
        ("unpack", "its offsets", file(add=1, rows=b"x" + rows)),
        ("show", "its offsets", file(add=1, rows=b"x" + rows)),
        ("unpack", "its offsets", file(rows=rows + b"x")),
        ("learn", "12928 bytes instead of 25728", npy[:128 + 50 * 256]),
        ("learn", "26240 bytes instead of 25728", npy + bytes(512)),
        ("learn", "25728 bytes instead of 128", npy.replace(b"(100, 64)", b"(0, 64)  "))]
wrong = [] if file() == data else ["file() is not what pack writes"]
for command, text, content in bad:
    name = "damaged.npy" if command == "learn" else "damaged"
    with open(name, "wb") as damaged:
        damaged.write(content)
    last = {"show": [name], "unpack": [name, "other"], "learn": ["-o", "other", name]}[command]
    done = subprocess.run([os.environ["PLANEZIP"], "ibp", command, *last], capture_output=True,
                          text=True)
    if done.returncode != 1 or text not in done.stderr or os.path.exists("other"):
        wrong.append((command, text, done.returncode, done.stderr))
# A file of no rows is none of ours, but a right one.
with open("empty.ibp", "wb") as empty:
    empty.write(checked(data[:16] + struct.pack("<3Q", 0, prefix, 0)) + data[48:table_end]
                + checked(data[table_end:at] + bytes(8)))
with open("empty.npy", "wb") as empty:
    empty.write(data[table_end:at])
open("wrong.txt", "w").write(repr(wrong[:3]) if wrong else "")
EOF
check "files that do not fit are refused: $(cat wrong.txt)" test ! -s wrong.txt
run 0 "unpack no rows" ibp unpack empty.ibp none.npy
check "what is before them" cmp empty.npy none.npy

# Files may be larger than memory: what it takes does not grow with them.
cat >peaks.py <<'END'
import os, sys
ASAN = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=0"}
def peak(*arguments):
    program = os.environ["PLANEZIP"]
    pid = os.posix_spawn(program, [program, "ibp", *arguments], {**os.environ, **ASAN})
    _, status, usage = os.wait4(pid, 0)
    assert status == 0, arguments
    return usage.ru_maxrss
def peaks(name, mib):
    block = bytearray(os.urandom(1 << 20))
    block[1::2] = b"\x3c" * (1 << 19)
    with open(name, "wb") as file:
        for _ in range(mib):
            file.write(block)
    rows = ("-d", "bf16", "-c", "512")
    found = [peak("learn", *rows, "-f", "-o", "large.table", name),
             peak("pack", *rows, "-f", "-t", "large.table", name, "large.ibp"),
             peak("unpack", "-f", "large.ibp", "large.again")]
    assert os.path.getsize("large.ibp") < 0.6 * os.path.getsize(name)
    assert os.system(f"cmp {name} large.again") == 0
    return found
small, large = peaks("small", 8), peaks("large", 32)
print(small, large)
assert all(more < less + 4096 for less, more in zip(small, large))
END
check "memory for files of 8 and 32 MiB" python3 peaks.py
rm -f small large large.*

# A file that changes between its checksum and its rows: no rows, or those that were packed.
cat >changes.py <<'END'
import os, subprocess
block = os.urandom(1 << 20)
with open("still", "wb") as file:
    for _ in range(24):
        file.write(block)
program = [os.environ["PLANEZIP"], "ibp"]
subprocess.run([*program, "pack", "-d", "bf16", "-c", "512", "still", "moving"], check=True)
with subprocess.Popen([*program, "unpack", "moving", "other"], stderr=subprocess.PIPE) as unpack:
    while unpack.poll() is None and not any(name.startswith(".planezip") for name in os.listdir()):
        pass
    with open("moving", "r+b") as file:
        at = file.seek(-100, os.SEEK_END)
        last = file.read(1)[0]
        file.seek(at)
        file.write(bytes([last ^ 1]))
    error = unpack.stderr.read()
print(error)
if unpack.returncode == 0: # it was over before
    assert os.system("cmp still other") == 0
else:
    assert unpack.returncode == 1 and b"changed while it was read" in error
    assert not os.path.exists("other")
END
check "a file that changes" python3 changes.py
rm -f still moving other

# A file that cannot be written to its end leaves nothing behind, not even under another name.
mkdir full
status=0
(ulimit -f 8 && cd full && "$PLANEZIP" ibp pack ../rows.npy other) 2>err.txt || status=$?
check "a limit of file sizes: status" test $status -eq 1
check "a limit of file sizes: one line" is_one_line
check "nothing is left in the folder" test -z "$(ls -A full)"
"$PLANEZIP" ibp pack -d f32 -c 64 -t table - piped.ibp <rows.f32
check "standard input is packed as a file is" cmp piped.ibp raw.ibp

finish
