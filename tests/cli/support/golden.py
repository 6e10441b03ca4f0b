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


count = 0
for name, width, raw, coded in cases("accept.txt", 4):
    raw = content(raw)
    result = run(content(coded), "decode", "-w", width, "--raw-bytes", str(len(raw)))
    expect(name, result.returncode == 0 and result.stdout == raw, result)
    count += 1
for name, width, exponent_bits, raw, coded in cases("accept2.txt", 5):
    raw = content(raw)
    result = run(content(coded), "decode", *symbols(width, exponent_bits), "--raw-bytes",
                 str(len(raw)))
    expect(name, result.returncode == 0 and result.stdout == raw, result)
    count += 1
for name, width, raw_bytes, _, status, chunk, block, coded in cases("bad.txt", 8):
    result = run(content(coded), "decode", "-w", width, "--raw-bytes", raw_bytes)
    place = "(chunk %s, block %s, " % (chunk, block)
    wanted = texts()[status] + " " + (place if "-" not in (chunk, block) else "(chunk ")
    expect(name, result.returncode == 1 and not result.stdout and
           result.stderr.decode().startswith("planezip: standard input: " + wanted), result)
    count += 1
for name, width, exponent_bits, raw_bytes, _, status, chunk, coded in cases("bad2.txt", 8):
    result = run(content(coded), "decode", *symbols(width, exponent_bits), "--raw-bytes", raw_bytes)
    wanted = texts()[status] + " (chunk " + (chunk + "," if chunk != "-" else "")
    expect(name, result.returncode == 1 and not result.stdout and
           result.stderr.decode().startswith("planezip: standard input: " + wanted), result)
    count += 1
# Every seventh, as the tests of the library compare them all: all inputs, widths and codecs come.
for name, width, codec, coded_bytes, coded in list(cases("streams.txt", 5))[::7]:
    with open(golden + name + ".bin", "rb") as file:
        result = run(file.read(), "encode", "-w", width, "-c", codec)
    expect("%s %s %s" % (name, width, codec), result.returncode == 0 and
           result.stdout == content(coded) and len(result.stdout) == int(coded_bytes), result)
    count += 1
for name, width, exponent_bits, codec, coded_bytes, coded in list(cases("streams2.txt", 6))[::7]:
    with open(golden + name + ".bin", "rb") as file:
        result = run(file.read(), "encode", *symbols(width, exponent_bits, codec))
    expect("%s %s %s %s" % (name, width, exponent_bits, codec), result.returncode == 0 and
           result.stdout == content(coded) and len(result.stdout) == int(coded_bytes), result)
    count += 1
print("%d streams, %d failures" % (count, failures))
sys.exit(1 if failures or count < 500 else 0)
