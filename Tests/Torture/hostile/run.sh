#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh PROGRAM ARGUMENT…: builds larder-hostile, and runs it. `make torture-short` and `make fuzz`
# call it, with MAKE and CC.
set -eu
program=$1
shift
log=$program.log
mkdir -p "$(dirname "$program")"
if ! "$MAKE" -s "$program" >"$log" 2>&1; then
    if echo 'int main(void) { return 0; }' |
        $CC -fsanitize=address,undefined -x c - -o "$program.probe" 2>/dev/null; then
        cat "$log"
        exit 1
    fi
    echo "hostile stores       skipped: the compiler has no sanitizers here"
    exit 0
fi
exec "$program" "$@"
