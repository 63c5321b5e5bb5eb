#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds a fuzzer, runs it and prints one line; a second one only if something was found. Skipped
# where the compiler has no libFuzzer. `make fuzz` and `make torture` call it and set FUZZ_CC,
# FUZZ_SWIFTC, FUZZ_OUT, MAKE and, if there is one, SEED.
set -eu
name=$1
seconds=$2
longest=$3
fuzzer=$FUZZ_OUT/fuzz-$name
log=$FUZZ_OUT/$name.log
mkdir -p "$FUZZ_OUT/corpus-$name"

# Whether a fuzzer of this kind can be built at all.
has_fuzzer() {
    case $name in
    *-swift)
        printf '%s\n' '@_cdecl("LLVMFuzzerTestOneInput")' \
            'public func fuzz(_ data: UnsafePointer<UInt8>, _ size: Int) -> CInt { 0 }' \
            >"$FUZZ_OUT/probe.swift"
        "$FUZZ_SWIFTC" -parse-as-library -sanitize=fuzzer,address "$FUZZ_OUT/probe.swift" \
            -o "$FUZZ_OUT/probe"
        ;;
    *)
        printf '%s\n' '#include <stddef.h>' '#include <stdint.h>' \
            'int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);' \
            'int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)' \
            '{ return data && size ? 0 : 0; }' >"$FUZZ_OUT/probe.c"
        "$FUZZ_CC" -fsanitize=fuzzer,address "$FUZZ_OUT/probe.c" -o "$FUZZ_OUT/probe"
        ;;
    esac
}

if ! "$MAKE" -s "$fuzzer" >"$log" 2>&1; then
    if has_fuzzer >"$FUZZ_OUT/probe.log" 2>&1; then
        cat "$log"
        exit 1
    fi
    printf 'fuzz %-12s skipped: there is no libFuzzer here\n' "$name"
    exit 0
fi

# The two of CBOR share their seeds. New finds stay with what was built; what is in the repository
# only seeds them. Swift's own report of a crash would outlive the fuzzer and hold its output.
if SWIFT_BACKTRACE=enable=no "$fuzzer" -max_total_time="$seconds" -timeout=10 \
    -max_len="$longest" -verbosity=0 -print_final_stats=1 -artifact_prefix="$FUZZ_OUT/" \
    ${SEED:+-seed="$SEED"} "$FUZZ_OUT/corpus-$name" "Tests/Torture/fuzz/corpus-${name%-swift}" \
    >"$log" 2>&1 </dev/null; then
    printf 'fuzz %-12s %8d inputs, no finding %10d s\n' "$name" \
        "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)" "$seconds"
else
    printf 'fuzz %-12s FOUND: %s; see %s\n' "$name" \
        "$(grep -E '^SUMMARY|does not hold' "$log" | head -n 1)" "$log"
    sed -n "s|^artifact_prefix=.*Test unit written to |       again: $fuzzer |p" "$log"
    exit 1
fi
