#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the C core, LMDB, the C programs of Tests/CConsumer and the openers as static programs with
# musl, runs them, and lets the openers meet those of this system's C library on one store:
# make test-musl. Without musl-gcc, or LMDB's sources, it says so and succeeds.
# usage: musl.sh SECONDS VERSION
set -eu

seconds=$1
version=$2
lmdb=.build/lmdb/$version/lib
out=.build/musl
mkdir -p "$out"

fail() {
  echo "test-musl: $*" >&2
  exit 1
}

command -v musl-gcc >/dev/null || {
  echo "test-musl: no musl-gcc (Debian: musl-tools); skipped"
  exit 0
}
[ -f "$lmdb/mdb.c" ] || {
  echo "test-musl: no sources of LMDB $version; skipped"
  exit 0
}

# The kernel's headers are the system's.
system=/usr/include
musl="musl-gcc -static -O2 -pthread -D_GNU_SOURCE -idirafter $system \
  -idirafter $system/$(uname -m)-linux-gnu"
includes=$(find Sources/CLarderSystem Sources/CLarder Sources/CLarderStore -maxdepth 1 \
  \( -name include -o -name 'CLarder*' \) | sed 's/^/-I/')
objects=
: >"$out/stale"
for source in $(find Sources/CLarderSystem Sources/CLarder Sources/CLarderStore -name '*.c') \
  "$lmdb/mdb.c" "$lmdb/midl.c"; do
  object=$out/$(echo "$source" | tr / -).o
  objects="$objects $object"
  [ "$object" -nt "$source" ] || echo "$source $object" >>"$out/stale"
done
# Headers are not looked at one by one.
if [ -n "$(find Sources/CLarder* -name '*.h' -newer "$out/openers" 2>/dev/null)" ]; then
  rm -rf "$out"
  exec sh "$0" "$@"
fi
# shellcheck disable=SC2086 # No name of ours has a space.
xargs -r -P 2 -L 1 sh -c "$musl -w $(echo $includes) -I$lmdb -c \$0 -o \$1" <"$out/stale" ||
  fail "the C core does not compile"
# shellcheck disable=SC2086
$musl -w $(echo $includes) Tests/LMDB/openers.c $objects -o "$out/openers"
for program in consumer index store; do
  # shellcheck disable=SC2086
  $musl -w -std=c11 $(echo $includes) "Tests/CConsumer/$program.c" $objects -lm -o "$out/$program"
  rm -rf "$out/files"
  mkdir "$out/files"
  "$out/$program" "$out/files" >"$out/$program.log" 2>&1 ||
    fail "$program.c: see $out/$program.log"
done
echo "test-musl: the C programs run with musl"

store=$out/folder
rm -rf "$store.alone"
# The other openers, those of this system's C library, find what was installed for them.
export LD_LIBRARY_PATH="$PWD/.build/lmdb/installed/lib"
says=$("$out/openers" race "$store.alone" "$seconds") || fail "musl alone: $says"
echo "musl: $says"
meet() { # WHERE-THE-WRITER-IS WHERE-THE-OTHERS-ARE WORDS
  rm -rf "$store"
  "$1" write "$store" || fail "$1 cannot write"
  # shellcheck disable=SC2086
  "$1" race "$store" "$seconds" $3 >"$out/meet.log" 2>&1 &
  other=$!
  says=$("$2" race "$store" "$seconds" readers) || fail "$2 beside $1: $says"
  wait "$other" || fail "$1 beside $2: $(cat "$out/meet.log")"
  echo "$1${3:+, $3} beside $2: $says"
}
for words in "" stays "kills 50"; do
  meet "$out/openers" .build/lmdb/openers "$words"
  meet .build/lmdb/openers "$out/openers" "$words"
done
echo "test-musl: ok"
