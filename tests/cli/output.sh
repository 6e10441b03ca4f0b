#!/bin/sh
# Files appear whole or not at all; failed writes are errors; signals leave nothing.
. "$PZ_SOURCE_DIR/tests/cli/support/lib.sh"

plan_tiny="plan -q --trace $tiny --ratios $tiny_ratios --platform A --budget 90%"
sample 100000 >raw
"$PLANEZIP" stream encode -w 32 raw coded
# shellcheck disable=SC2086 # options
"$PLANEZIP" $plan_tiny -o plan.json

# Existing files.
for command in "$plan_tiny -o" "stream encode -w 32 raw" \
    "stream decode -w 32 --raw-bytes 100000 coded" "platform show A -o" \
    "ratios update $tiny_ratios --op 0 --slot 0 -c zvc --precision bf16 --raw 9 --coded 9 -o" \
    "simulate --trace $tiny --plan plan.json --platform A --timeline"; do
    printf old >exists
    chmod 640 exists
    # shellcheck disable=SC2086 # options
    refuse 1 "an existing file: $command" $command exists
    says "how to overwrite is said" 'use -f'
    check "it is untouched" test "$(cat exists)" = old
    # shellcheck disable=SC2086
    run 0 "with -f: $command" $command exists -f
    check "it is written" test "$(head -c 3 exists)" != old
    check "its permissions stay" test "$(ls -l exists | cut -c1-10)" = -rw-r-----
done
(umask 027 && "$PLANEZIP" stream encode -w 32 raw by_umask)
check "new files follow the umask" test "$(ls -l by_umask | cut -c1-10)" = -rw-r-----

# Links, folders, devices, pipes.
mkdir real
printf old >real/file
ln -s real/file link
refuse 1 "a link to a file" stream encode -w 32 raw link
run 0 "a link to a file, with -f" stream encode -w 32 -f raw link
check "the link stays" test -h link
check "its file is written" cmp real/file coded
ln -s real/nothing dangling
refuse 1 "a link to nothing" stream encode -w 32 -f raw dangling
is_absent "whose target is not made" real/nothing
refuse 1 "a folder" stream encode -w 32 raw real
refuse 1 "a folder, with -f" stream encode -w 32 -f raw real
refuse 1 "a folder that is missing" stream encode -w 32 raw missing/out
refuse 1 "a name that ends with a slash" stream encode -w 32 raw missing/
refuse 1 "an empty name" stream encode -w 32 raw ''
refuse 1 "a name that is too long" stream encode -w 32 raw "$(printf '%0300d' 0)"
run 0 "a device" stream encode -w 32 raw /dev/null
check "which stays one" test -c /dev/null
"$PLANEZIP" stream encode -w 32 raw /dev/stdout | cat >through_pipe
check "/dev/stdout" cmp through_pipe coded
"$PLANEZIP" stream encode -w 32 raw /dev/stdout >to_file
check "/dev/stdout that is a file" cmp to_file coded
mkfifo pipe
cat pipe >from_pipe &
run 0 "a named pipe" stream encode -w 32 raw pipe
wait
check "what went through it" cmp from_pipe coded
check "it stays one" test -p pipe
run 0 "the input as output" stream encode -w 32 -f by_umask by_umask
mkdir closed
chmod 555 closed
if ! touch closed/try 2>/dev/null; then
    refuse 1 "a folder without permission" stream encode -w 32 raw closed/out
fi

# An output that another program makes in the meantime.
mkfifo slow
{
    cat raw
    until ls -A | grep -q '^\.planezip'; do :; done
    printf other >raced
} >slow &
refuse 1 "an output that appears" compress --dtype f32 -o raced slow
wait
says "how to overwrite is said" 'raced: the output exists; use -f to overwrite it'
check "it stays" test "$(cat raced)" = other

# A full disk: every verb that prints, and those that write.
for command in --help --version "plan --help" "stream encode -w 32 raw" \
    "stream decode -w 32 --raw-bytes 100000 coded" "measure -w 32 raw" "measure -w 32 --json raw" \
    "trace show $tiny" "trace show --json $tiny" "trace check $tiny" "ratios show $tiny_ratios" \
    "ratios compare $tiny_ratios $tiny_ratios --trace $tiny" \
    "ratios update $tiny_ratios --op 0 --slot 0 -c zvc --precision bf16 --raw 9 --coded 9" \
    "plan --trace $tiny --platform A --budget 90%" "$plan_tiny -o -" \
    "simulate --trace $tiny --plan plan.json --platform A" "sweep --trace $tiny --policy recomp" \
    "sweep --trace $tiny --policy recomp --csv" "platform list" "platform show A" hw; do
    status=0
    # shellcheck disable=SC2086 # options
    "$PLANEZIP" $command >/dev/full 2>err.txt || status=$?
    check "status for a full standard output: $command" test $status -eq 1
    check "one line about it" is_one_line
    status=0
    # shellcheck disable=SC2086
    "$PLANEZIP" $command >&- 2>err.txt || status=$?
    check "a closed standard output: $command" test $status -eq 1
done
refuse 1 "a full device" stream encode -w 32 raw /dev/full
status=0
(ulimit -f 1 && "$PLANEZIP" stream encode -w 32 raw limited) >out.txt 2>err.txt || status=$?
check "a limit of the file size" test $status -eq 1
check "one line about it" is_one_line
is_absent "and nothing is left" limited
mkdir small
if mount -t tmpfs -o size=8k none small 2>/dev/null; then
    refuse 1 "a full file system" stream encode -w 32 raw small/out
    says "the reason is named" 'No space left on device'
    is_absent "and nothing is left on it" small/out
    printf old >small/out
    refuse 1 "a full file system and an old file" stream encode -w 32 -f raw small/out
    check "which stays" test "$(cat small/out)" = old
    umount small
fi

# A signal in the middle of a write: the writer is caught by its temporary.
head -c 134217728 /dev/zero | "$PLANEZIP" stream encode -w 32 - zeros
mkdir work
for signal in TERM HUP INT; do
    caught=no
    for try in 1 2 3 4 5 6 7 8; do
        rm -f work/out
        # A shell in the background ignores SIGINT for its children; env brings it back.
        env --default-signal=INT "$PLANEZIP" stream decode -w 32 --raw-bytes 128MiB zeros \
            work/out 2>/dev/null &
        writer=$!
        while kill -0 $writer 2>/dev/null && ! ls -A work | grep -q '^\.planezip'; do :; done
        kill -$signal $writer 2>/dev/null || true
        status=0
        wait $writer || status=$?
        if [ $status -gt 128 ]; then
            caught=yes
            break
        fi
    done
    check "SIG$signal in try $try" test $caught = yes
    is_absent "nothing is left after SIG$signal" work/out
done
# What the caller ignores stays ignored.
(trap '' HUP && exec "$PLANEZIP" stream decode -w 32 --raw-bytes 128MiB zeros work/out) &
writer=$!
while kill -0 $writer 2>/dev/null && ! ls -A work | grep -q '^\.planezip'; do :; done
kill -HUP $writer 2>/dev/null || true
check "an ignored signal does not end the program" wait $writer
check "which writes all" test "$(wc -c <work/out)" -eq 134217728

finish
