#!/bin/sh
# SPDX-License-Identifier: MIT
# first_call.sh PROGRAM DIRECTORY: creating a log, opening one that was closed and one that was
# killed, appending a message and ending: no fsync, fdatasync or msync, no write above 4 KiB, and
# no thread.
set -eu
program=$1
directory=$2
if ! command -v strace >/dev/null 2>&1 || ! strace -o /dev/null true 2>/dev/null; then
    echo "first call: no strace, skipped"
    exit 0
fi
failed=0
for how in exit close exit exit close; do
    strace -f -o "$directory/calls" "$program" "$directory/log" "$how" >/dev/null
    sed -n '/write(1, "begin/,/write(1, "end/p' "$directory/calls" >"$directory/between"
    grep -q openat "$directory/between" || { echo "first call: nothing was traced"; exit 1; }
    if grep -E ' (fsync|fdatasync|msync|sync_file_range|syncfs|clone3?)\(' \
        "$directory/between"; then
        echo "first call ($how): it syncs, or starts a thread"
        failed=1
    fi
    if grep -E ' (write|pwrite64|writev|pwritev2?)\(' "$directory/between" \
        | awk '$NF > 4096 { print; found = 1 } END { exit !found }'; then
        echo "first call ($how): it writes more than a page"
        failed=1
    fi
done
[ "$failed" -eq 0 ] && echo "first call: no sync, no thread, no write above 4 KiB"
exit "$failed"
