"""tests/golden through the program.  Usage: golden.py PROGRAM SOURCE_FOLDER"""
import re
import subprocess
import sys

program, source = sys.argv[1:]
golden = source + "/tests/golden/"
failures = 0


def texts():
    """The sentence of every status, from the header."""
    with open(source + "/include/planezip/planezip.h", encoding="utf-8") as header:
        return dict(re.findall(r'X\((PZ_\w+), "(.*?)"\)', header.read()))


def cases(name, fields):
    with open(golden + name, encoding="utf-8") as file:
        for line in file:
            words = line.partition("#")[0].split()
            if words:
                assert len(words) == fields, line
                yield words


def content(text):
    return b"" if text == "-" else bytes.fromhex(text)


def run(data, *arguments):
    return subprocess.run([program, "stream", *arguments], input=data, capture_output=True,
                          check=False)


def symbols(width, exponent_bits, codec="planezip2"):
    """The options for symbols of format 2."""
    return "-w", width, "-e", exponent_bits, "-c", codec


def expect(name, held, result):
    global failures
    if not held:
        failures += 1
        print("FAIL %s: status %d, %r" % (name, result.returncode, result.stderr[:200]))


def check_accepted(name, raw, coded, *symbols):
    raw = content(raw)
    result = run(content(coded), "decode", "--raw-bytes", str(len(raw)), *symbols)
    expect(name, result.returncode == 0 and result.stdout == raw, result)


def check_rejected(name, raw_bytes, coded, wanted, *symbols):
    """wanted: what the message begins with; format 2 may find another fault in the chunk."""
    result = run(content(coded), "decode", "--raw-bytes", raw_bytes, *symbols)
    message = re.sub("^planezip: standard input: ", "", result.stderr.decode())
    expect(name, result.returncode == 1 and not result.stdout and message.startswith(wanted) and
           message.count("\n") == 1 and "(chunk " in message, result)


def check_canonical(name, coded_bytes, coded, *symbols):
    with open(golden + name + ".bin", "rb") as file:
        result = run(file.read(), "encode", *symbols)
    expect(" ".join((name, *symbols)), result.returncode == 0 and
           result.stdout == content(coded) and len(result.stdout) == int(coded_bytes), result)


count = 0
sentences = texts()
for name, w, raw, coded in cases("accept.txt", 4):
    check_accepted(name, raw, coded, "-w", w)
    count += 1
for name, w, e, raw, coded in cases("accept2.txt", 5):
    check_accepted(name, raw, coded, "-w", w, "-e", e, "-c", "planezip2")
    count += 1
for name, w, raw_bytes, _, status, chunk, block, coded in cases("bad.txt", 8):
    place = " (chunk %s, block %s, " % (chunk, block) if "-" not in (chunk, block) else " (chunk "
    check_rejected(name, raw_bytes, coded, sentences[status] + place, "-w", w)
    count += 1
for name, w, e, raw_bytes, *_, coded in cases("bad2.txt", 8):
    check_rejected(name, raw_bytes, coded, "", "-w", w, "-e", e, "-c", "planezip2")
    count += 1
# One in some, as the tests of the library compare them all: all inputs, symbols and codecs come.
for name, w, codec, coded_bytes, coded in list(cases("streams.txt", 5))[::7]:
    check_canonical(name, coded_bytes, coded, "-w", w, "-c", codec)
    count += 1
for name, w, e, codec, coded_bytes, coded in list(cases("streams2.txt", 6))[::7]:
    check_canonical(name, coded_bytes, coded, "-w", w, "-e", e, "-c", codec)
    count += 1
print("%d streams, %d failures" % (count, failures))
sys.exit(1 if failures or count < 400 else 0)
