"""Every verb of the program under faults: calls of the system that do less than they were asked
for, that are interrupted or fail, memory that runs out, signals.

Whatever happens, an output is there whole or not at all, no temporary is left, an input that was
to be removed is there if the output is not, and a failure is one line and status 1.

Usage: faults.py PROGRAM FOLDER_OF_FILES [--plain | --fewer]

PROGRAM is planezip_faults (faults.c).  --plain: every command once and without faults, for another
program that looks at what it does.  --fewer: of the calls that fail one after another only some, as
a program with sanitizers starts slowly.
"""
import os
import shutil
import signal
import subprocess
import sys

program, files = sys.argv[1], os.path.abspath(sys.argv[2])
plain = sys.argv[3:] == ["--plain"]
fewer = sys.argv[3:] == ["--fewer"]
failures = []
runs = 0

# Commands run in a folder of their own, with the files one level above.
LIBRARY = [
    "compress -d f32 -T1 --segment 4KiB -o out ../raw",
    "compress -d f32 -T3 --segment 64KiB -o out ../raw",
    "compress -T1 -o out ../model.safetensors",
    "compress -T1 -o out ../f32.npy",
    "decompress -T1 -o out ../raw.pz",
    "decompress -T3 -o out ../raw.pz",
    "decompress -T1 -o out ../model.safetensors.pz",
    "decompress -T1 -f -o old ../raw.pz",
    "decompress -T1 --salvage -o out ../raw.pz",
    "compress --rm -d f32 -T1 in",
    "compress --codec planezip2 -d f32 -T1 --segment 64KiB -o out ../raw",
    "decompress -T3 -o out ../raw2.pz",
    "test -T1 ../raw.pz",
    "test -T3 --json ../raw.pz",
    "list ../model.safetensors.pz",
    "list -v --json ../model.safetensors.pz",
    "stream encode -w 32 ../raw out",
    "stream decode -w 32 --raw-bytes 100000 ../coded out",
    "stream encode -w 32 -e 8 -c planezip2 ../raw out",
    "measure -w 32 ../raw",
    "measure --dtype f32 --json ../raw",
]
PLANNING = [
    "trace check ../tiny.json",
    "trace show --json -t ../tiny.json",
    "trace show --platform A ../tiny.json",
    "ratios show ../tiny_ratios.json",
    "ratios compare ../tiny_ratios.json ../tiny_ratios.json --trace ../tiny.json",
    "ratios update ../tiny_ratios.json --op 0 --slot 0 -c zvc --precision bf16 --raw 9 --coded 9"
    " -o out",
    "plan --trace ../tiny.json --ratios ../tiny_ratios.json --platform A --budget 90% -o out",
    "simulate --trace ../tiny.json --plan ../plan.json --platform A --timeline out",
    "simulate --trace ../tiny.json --plan ../plan.json --platform A --allocator",
    "fit --trace ../tiny.json --platform A --memory 128MiB --reserve 0 --batch 4 --policy bw",
    "explain --trace ../tiny.json --plan ../plan.json --ratios ../tiny_ratios.json"
    " --platform A 1",
    "diff --trace ../tiny.json --platform A ../plan.json ../plan.json",
    "sweep --trace ../tiny.json --policy bw,planezip --budget 90% -T 2",
    "platform show ../platform.json",
    "platform show A -o out",
    "hw --json",
]


def start(arguments, fault=None, stdin=None):
    """Runs a command in a fresh folder; its status, outputs, files, and whether the fault was."""
    global runs
    runs += 1
    shutil.rmtree("work", ignore_errors=True)
    os.mkdir("work")
    with open("work/old", "w", encoding="ascii") as old:
        old.write("old")
    shutil.copyfile("raw", "work/in")
    if os.path.exists("met"):
        os.unlink("met")
    environment = dict(os.environ, PZ_FAULT_MET=os.path.abspath("met"))
    if fault is not None:
        environment["PZ_FAULT"] = fault
    result = subprocess.run([program, *arguments.split()], cwd="work", env=environment,
                            stdin=stdin or subprocess.DEVNULL, capture_output=True, timeout=300,
                            check=False)
    content = {}
    for name in os.listdir("work"):
        with open("work/" + name, "rb") as file:
            content[name] = file.read()
    return result, content, os.path.exists("met")


def note(arguments, fault, text, result):
    line = "FAIL %s: %s: %s (status %d, %r)" % (arguments, fault, text, result.returncode,
                                              result.stderr[:300])
    failures.append(line)
    print(line)


class Command:
    """A command, and what it gives when nothing fails."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.before = {"old": b"old", "in": open("raw", "rb").read()}
        result, self.content, _ = start(arguments)
        self.stdout = result.stdout
        if result.returncode != 0:
            note(arguments, "no fault", "it fails", result)

    def check_success(self, fault, result, content):
        if content != self.content:
            note(self.arguments, fault, "other files: %s" % sorted(content), result)
        elif result.stdout != self.stdout:
            note(self.arguments, fault, "another standard output", result)

    def check_failure(self, fault, result, content):
        # The results of several files as JSON are one more thing that may fail, and what is printed
        # after an output is written, too.
        lines = result.stderr.splitlines()
        if result.returncode != 1:
            note(self.arguments, fault, "not status 1", result)
        elif not all(line.startswith(b"planezip: ") and b"; " in line for line in lines):
            note(self.arguments, fault, "not lines of error", result)
        elif not 1 <= len(lines) <= (2 if "--json" in self.arguments else 1):
            note(self.arguments, fault, "not one line of error", result)
        elif content != self.before and not (self.stdout and content == self.content):
            note(self.arguments, fault, "files: %s" % sorted(content), result)

    def run(self, fault, must=None):
        """False if the fault was not met; must: the status that it has to lead to."""
        result, content, met = start(self.arguments, fault)
        if result.returncode == 0 and must != 1:
            self.check_success(fault, result, content)
        elif met and must != 0:
            self.check_failure(fault, result, content)
        elif met:
            note(self.arguments, fault, "it fails", result)
        elif result.returncode != 0 or content != self.content:
            note(self.arguments, fault, "it fails though nothing was wrong", result)
        return met

    def each(self, call, error, must=None):
        """The call fails from the first time on, from the second ..., up to the last one."""
        n = 1
        while self.run("%s %s %d" % (call, error, n), must):
            n += 1 if n < (4 if fewer else 10) else n if fewer else n // 3
        return n > 1

    def signals(self):
        """The program is stopped at its writes and just before the file gets its name."""
        for fault in ("write SIGINT 1", "write SIGTERM 3", "fsync SIGHUP 1", "link SIGINT 1",
                      "rename SIGTERM 1"):
            number = signal.Signals[fault.split()[1]]
            result, content, met = start(self.arguments, fault)
            if met and result.returncode != -number:
                note(self.arguments, fault, "it goes on", result)
            elif met and content != self.before:
                note(self.arguments, fault, "files: %s" % sorted(content), result)


def check(arguments):
    command = Command(arguments)
    if plain:
        return
    writes = command.content != command.before
    must = None if "--salvage" in arguments else 1
    for call in ("read", "pread", "write"):
        command.run("%s short %d" % (call, 333 if "raw" in arguments else 1), 0)
        command.run(call + " short 4099", 0)
        command.run(call + " EINTR 2", 0)
    command.each("write", "ENOSPC", 1)
    command.each("read", "EIO", must)
    if "--salvage" not in arguments: # which goes on, with what can be read
        command.each("pread", "EIO", 1)
    for call, error in (("open", "EMFILE"), ("close", "EIO"), ("fchmod", "EPERM"),
                        ("link", "EPERM")):
        command.each(call, error)
    command.each("pthread_create", "EAGAIN", 0)
    command.each("rename", "EIO", 1)
    synced = command.each("fsync", "EIO")
    allocated = command.each("malloc", "ENOMEM")
    if not allocated or synced != writes:
        failures.append(arguments)
        print("FAIL %s: allocates: %s, synchronises: %s" % (arguments, allocated, synced))
    if writes:
        command.run("fsync EIO 1", 1)
        command.signals()


os.chdir(files)
for line in LIBRARY + PLANNING:
    check(line)
print("%d runs, %d failures" % (runs, len(failures)))
sys.exit(1 if failures else 0)
