#!/bin/sh
# Names that would act on a terminal, in files, tensors, metadata and models: nothing that the
# program prints for people contains them.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

# is_plain WHAT: all that the last command printed can be shown.
is_plain()
{
    check "$1 is plain" sh -c '! grep -q "[^ -~]" out.txt err.txt'
}

sample 3000 >raw
# C0, DEL, C1, marks of the direction of writing, bytes that are no UTF-8.
for bytes in '\033]0;x\007' '\r' '\n' '\177' '\302\233' '\302\205' '\342\200\256' '\342\201\246' \
    '\377' '\355\240\200' '\342\200'; do
    name=$(printf "a${bytes}b")
    cp raw "$name"
    run 0 "compress -v with $bytes" compress -v -d f32 "$name"
    is_plain "compress -v"
    says "the name is shown without it" '^a?.*b: 1 tensor'
    run 0 "test with $bytes" test "$name.pz"
    is_plain "test"
    prints "the name is shown without it" '^a?.*b.pz: ok, 1 tensor'
    run 0 "list of two files with $bytes" list -v "$name.pz" "$name.pz"
    is_plain "list"
    prints "the name of the file is shown without it" '^a?.*b.pz$'
    prints "that of the tensor, too" '^a?.*b  *f32'
    rm "$name"
    run 0 "decompress -v with $bytes" decompress -v "$name.pz"
    is_plain "decompress -v"
    says "the name is shown without it" '^a?.*b.pz: 1 tensor'
    check "the file is the same" cmp "$name" raw
    head -c 1000 "$name.pz" >"cut$name"
    refuse 1 "a container that is cut, with $bytes" test "cut$name"
    is_plain "its message"
done
run 0 "JSON of all of them" list --json ./*.pz
is_json "it is JSON" out.txt
run 0 "JSON of compressing the last one" compress --json -f -d f32 "$name"
is_json "it is JSON" out.txt
run 0 "JSON of testing it" test --json "$name.pz"
is_json "it is JSON" out.txt

# A .safetensors file whose tensors and metadata have such names.
python3 - <<'PYTHON'
import json, struct
evil = "\033[31m\x7f\x9b\u202e\u2066"
header = json.dumps({"__metadata__": {evil: evil},
                     evil: {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]}},
                    ensure_ascii=False).replace("\033", "\\u001b").encode()
open("evil.safetensors", "wb").write(struct.pack("<Q", len(header)) + header + b"abc")
PYTHON
run 0 "compress it" compress evil.safetensors
run 0 "list -v of names in a file" list -v evil.safetensors.pz
is_plain "list -v"
prints "the metadata is there" '^metadata: {".*[?]*": ".*"}$'
run 0 "list --json of names in a file" list --json evil.safetensors.pz
check "programs get them as they are" \
    test "$(field 'data["files"][0]["tensors"][0]["name"].encode().hex()')" = \
    "$(python3 -c 'print("\033[31m\x7f\x9b\u202e\u2066".encode().hex())')"
python3 -c 'data = bytearray(open("evil.safetensors.pz", "rb").read())
at = data.find(b"abc")
data[at] ^= 1
open("evil.pz", "wb").write(data)'
refuse 1 "an error that names the tensor" test evil.pz
is_plain "the message"
says "the tensor is named" "tensor '?"

# Models: such a table or trace is wrong.
for bytes in '\302\233' '\342\200\256' '\\\\u001b'; do
    model=$(printf "m$bytes")
    sed "s/\"model\":\"tiny\"/\"model\":\"$model\"/" "$tiny_ratios" >ratios.json
    sed "s/\"model\":\"tiny\"/\"model\":\"$model\"/" "$tiny" >trace.json
    refuse 1 "a table of model $bytes" ratios show ratios.json
    says "the field is named" 'control character (model)'
    refuse 1 "a trace of model $bytes" trace check -v trace.json
    says "the field is named" 'control character (model)'
done

# The progress bar, on a terminal: a name that is too long, of characters that it must not tear.
cat >terminal.py <<'PYTHON'
import os, pty, sys, threading, time
name = os.fsdecode(sys.argv[2].encode().decode("unicode_escape").encode("latin-1"))
os.mkfifo(name)
def feed():
    with open(name, "wb", buffering=0) as pipe:
        pipe.write(bytes(99999))
        time.sleep(0.7)
        pipe.write(bytes(99999))
text = []
def read(descriptor):
    text.append(os.read(descriptor, 65536))
    return text[-1]
threading.Thread(target=feed).start()
stdout = os.dup(1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
status = pty.spawn([sys.argv[1], "compress", "-d", "u8", "-f", "-o", "slow.pz", name], read)
os.unlink(name)
os.write(stdout, b"".join(text))
sys.exit(os.waitstatus_to_exitcode(status))
PYTHON
# progress NAME: shows the progress of a file; what was shown is in out.txt.
progress()
{
    check "progress of a file $1" python3 terminal.py "$PLANEZIP" "$1" >shown.txt </dev/null
    tr -d '\r\n' <shown.txt >out.txt
    : >err.txt
    prints "it is shown" 'KiB/s'
}
progress 'a\x1b[31m\x7f\xc2\x9b\xe2\x80\xae\xffb'
is_plain "the progress"
prints "the name is shown without it" 'a?\[31m????b  '
progress "$(printf '\\xc3\\xa9%.0s' 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0)x"
check "no character is torn" python3 -c 'text = open("shown.txt", encoding="utf-8").read()
assert "\xe9" * 13 + "x  " in text and "?" not in text, text'

finish
