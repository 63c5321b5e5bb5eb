#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs what uses LMDB with several of its versions: make test-lmdb. The sources come from PyPI's
# packages of `lmdb`, which contain them; without a network it says so and succeeds. As all have one
# binary interface, what is built once runs with each.
# usage: run.sh SECONDS VERSION…, with TORTURE, SWIFT_TESTS and CC from the Makefile
set -eu

seconds=$1
shift
out=.build/lmdb
installed=$PWD/$out/installed
mkdir -p "$out"

fail() {
  echo "test-lmdb: $*" >&2
  exit 1
}

# The release of the Python package that has a version of LMDB in it.
package_of() {
  case "$1" in
  0.9.24) echo 1.0.0 ;;
  0.9.29) echo 1.2.1 ;;
  0.9.31) echo 1.5.1 ;;
  0.9.33) echo 1.7.5 ;;
  0.9.35) echo 2.3.0 ;;
  *) fail "no package is known to have LMDB $1" ;;
  esac
}

# Its sources, in $out/VERSION/lib.
fetch() { # VERSION
  [ -f "$out/$1/lib/mdb.c" ] && return
  [ -x "$out/python/bin/python3" ] || python3 -m venv "$out/python"
  rm -rf "$out/fetched" "$out/$1.new"
  mkdir -p "$out/fetched" "$out/$1.new"
  "$out/python/bin/python3" -m pip download --quiet --disable-pip-version-check --no-deps \
    --no-binary :all: --dest "$out/fetched" "lmdb==$(package_of "$1")" >"$out/fetch.log" 2>&1 ||
    return 1
  tar -xzf "$out"/fetched/*.tar.gz -C "$out/$1.new" --strip-components 1
  mv "$out/$1.new" "$out/$1"
}

build() { # VERSION
  [ -f "$out/$1/liblmdb.so.0" ] && return
  patch=$(sed -n 's/^#define MDB_VERSION_PATCH[^0-9]*\([0-9]*\).*/\1/p' "$out/$1/lib/lmdb.h")
  [ "0.9.$patch" = "$1" ] || fail "package $(package_of "$1") has LMDB 0.9.$patch"
  $CC -O2 -w -pthread -fPIC -shared -Wl,-soname,liblmdb.so.0 "$out/$1/lib/mdb.c" \
    "$out/$1/lib/midl.c" -o "$out/$1/liblmdb.so.0"
}

# What follows, with a version.
with() { # VERSION COMMAND…
  version=$1
  shift
  LD_LIBRARY_PATH="$PWD/$out/$version:$installed/lib" "$@"
}

for version; do
  if ! fetch "$version"; then
    tail -n 1 "$out/fetch.log"
    echo "test-lmdb: the sources of LMDB $version cannot be had; skipped"
    exit 0
  fi
  build "$version"
done

${MAKE:-make} -s install PREFIX="$installed" >"$out/install.log" 2>&1 || fail "see $out/install.log"
$CC -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -O2 -pthread Tests/LMDB/openers.c \
  -I"$installed/include" -L"$installed/lib" -llarder-store -llarder -llmdb -o "$out/openers"

store=$out/store
for version; do
  ldd_says=$(with "$version" ldd "$out/openers")
  case "$ldd_says" in *"$out/$version/"*) ;; *) fail "the openers find another LMDB" ;; esac
  for how in "" stays "kills 500" "stays kills 500"; do
    rm -rf "$store"
    # shellcheck disable=SC2086 # Words.
    says=$(with "$version" "$out/openers" race "$store" "$seconds" $how) || fail "$version: $says"
    echo "LMDB $version, openers${how:+, $how}: $says"
  done
  [ -z "${TORTURE:-}" ] || with "$version" $TORTURE >"$out/torture-$version.log" 2>&1 ||
    fail "torture with $version: $(grep -a -A 3 FAILED "$out/torture-$version.log")"
  [ -z "${TORTURE:-}" ] || echo "LMDB $version: $(tail -n 1 "$out/torture-$version.log")"
  if [ -n "${SWIFT_TESTS:-}" ]; then
    with "$version" $SWIFT_TESTS >"$out/swift-$version.log" 2>&1 ||
      fail "Swift tests with $version: see $out/swift-$version.log"
    echo "LMDB $version: $(grep -a 'Test run with' "$out/swift-$version.log" | tail -n 1)"
  fi
done

# A store made with one is read with each.
for version; do
  rm -rf "$store"
  with "$version" "$out/openers" write "$store" || fail "$version cannot write"
  for other; do
    rm -rf "$store.copy"
    cp -r "$store" "$store.copy"
    with "$other" "$out/openers" read "$store.copy" ||
      fail "$other cannot read what $version wrote"
  done
done
echo "test-lmdb: $* ok, each reading what the others wrote"
