#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the programs of make coverage-c, and prints what they and, if there is a report of them, the
# Swift tests take of the C core's branches: run.sh FOLDER, where bin/ has the programs.
set -eu
out=$1
rm -rf "$out/raw" "$out/work"
mkdir -p "$out/raw"
failed=0

# taken NAME COMMAND…: runs it in a folder of its own and keeps what it took.
taken() {
  name=$1
  shift
  rm -rf "$out/work"
  mkdir -p "$out/work"
  LLVM_PROFILE_FILE="$PWD/$out/raw/$name-%p%c.profraw" "$@" >"$out/log" 2>&1 || {
    cat "$out/log" >&2
    echo "coverage: $name failed" >&2
    failed=1
  }
  "$LLVM/llvm-profdata" merge -o "$out/$name.profdata" "$out/raw/$name"-*.profraw
  "$LLVM/llvm-cov" show "$out/bin/$name" -instr-profile "$out/$name.profdata" \
    --show-branches=count >"$out/shown-$name"
}

# Without the families that kill at any moment: a branch that a function did not live to take would
# be counted, where the count is a difference of two.
families=$(LLVM_PROFILE_FILE=/dev/null "$out/bin/torture" --help | awk '
  /^Families:/ { listed = 1; next }
  /^$/ { listed = 0 }
  listed && $1 !~ /kill/ { print "--family", $1 }')
# shellcheck disable=SC2086 # Words.
taken torture "$out/bin/torture" $families --seed 1 $TORTURE
for program in consumer index store; do
  taken "$program" "$out/bin/$program" "$out/work"
done
for corpus in Tests/Torture/fuzz/corpus-*; do
  name=fuzz_${corpus##*-}
  taken "$name" "$out/bin/$name" -runs=0 "$corpus"
done
rm -rf "$out/work"
awk -v root="$PWD" -v least="$LEAST" -f Tests/Coverage/report.awk Tests/Coverage/explained.txt \
  "$out"/shown-*
exit $failed
