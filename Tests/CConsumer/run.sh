#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs liblarder and liblarder-store into a folder of their own, builds consumer.c, index.c and
# store.c against what was installed, as a user would, by each compiler and in each language there
# is, runs them, and uninstalls: make test-c.
set -eu
cd "$(dirname "$0")/../.."
MAKE=${MAKE:-make}
work=$PWD/.build/consumer
prefix=$work/installed
strict="-Wall -Wextra -Wpedantic -Werror"

fail() {
  echo "test-c: $*" >&2
  exit 1
}

rm -rf "$work"
mkdir -p "$work"
$MAKE -s install PREFIX="$prefix" >"$work/install.log" 2>&1 || {
  cat "$work/install.log" >&2
  fail "make install failed"
}

# Only larder_ names leave the libraries, and all that the headers declare do.
declared() {
  cat "$@" | tr '\n' ' ' | sed 's/LARDER_API/\n&/g' \
    | sed -n 's/^LARDER_API[^;(]*[ *]\(larder_[a-z0-9_]*\)(.*/\1/p' | sort -u
}
# exports LIBRARY HEADER…
exports() {
  library=$1
  shift
  declared "$@" >"$work/declared"
  # larder_os_ is what liblarder-store calls in liblarder; no header that is installed declares it.
  nm -D --defined-only "$prefix/lib/$library.so" | awk '$3 !~ /^larder_os_/ { print $3 }' \
    | sort -u >"$work/shared"
  nm -g --defined-only "$prefix/lib/$library.a" \
    | awk 'NF == 3 && $3 !~ /^larder_os_/ { print $3 }' | sort -u >"$work/static"
  [ -s "$work/declared" ] || fail "found no declaration in the headers of $library"
  for kind in shared static; do
    diff "$work/declared" "$work/$kind" >"$work/diff" || {
      cat "$work/diff" >&2
      fail "the headers declare (<) other functions than $kind $library exports (>)"
    }
  done
  if ldd "$prefix/lib/$library.so" | grep -i swift; then fail "$library needs Swift"; fi
}
if [ "$(uname)" = Linux ]; then
  # shellcheck disable=SC2046 # No name of ours has a space.
  exports liblarder $(ls "$prefix"/include/larder_*.h | grep -v '/larder_store')
  exports liblarder-store "$prefix"/include/larder_store*.h
  if ldd "$prefix/lib/liblarder.so" | grep -i lmdb; then fail "liblarder needs LMDB"; fi
fi

# The installed tree can be moved as a whole.
mv "$prefix" "$work/moved"
export PKG_CONFIG_PATH="$work/moved/lib/pkgconfig"

# use MODULE: what follows is compiled and linked with it, as pkg-config says.
use() {
  flags=$(pkg-config --cflags "$1")
  shared="$(pkg-config --libs "$1") -Wl,-rpath,$work/moved/lib"
  static=$(pkg-config --static --libs "$1" | sed "s|-l\(larder[a-z-]*\)|$work/moved/lib/lib\1.a|g")
}

# try PROGRAM NAME LIBRARIES COMPILER OPTION…
try() {
  program=$1
  name=$1-$2
  libraries=$3
  compiler=$4
  shift 4
  if ! command -v "$compiler" >/dev/null 2>&1; then
    echo "test-c: no $compiler, skipped $name"
    return 0
  fi
  "$compiler" "$@" "Tests/CConsumer/$program.c" $strict $flags -o "$work/$name" $libraries
  rm -rf "$work/files"
  mkdir "$work/files"
  printf 'test-c: %-24s ' "$name"
  "$work/$name" "$work/files"
}

for program in consumer index store; do
  case $program in store) use larder-store ;; *) use larder ;; esac
  try $program gcc-c11 "$shared" gcc -std=c11 -D_POSIX_C_SOURCE=200809L
  try $program gcc-c11-static "$static" gcc -std=c11 -D_POSIX_C_SOURCE=200809L
  try $program clang-c11 "$shared" clang -std=c11 -D_POSIX_C_SOURCE=200809L
  try $program g++-c++17 "$shared" g++ -std=c++17 -x c++
  try $program clang++-c++17 "$shared" clang++ -std=c++17 -x c++

  if command -v valgrind >/dev/null 2>&1 && [ -x "$work/$program-gcc-c11" ]; then
    rm -rf "$work/files"
    mkdir "$work/files"
    printf 'test-c: %-24s ' "$program-valgrind"
    valgrind -q --error-exitcode=9 --leak-check=full --track-fds=yes "$work/$program-gcc-c11" \
      "$work/files" 2>"$work/valgrind.log" || {
      cat "$work/valgrind.log" >&2
      fail "valgrind found something"
    }
  fi
done

# A program with functions that Larder might have called so.
use larder-store
cc -std=c11 $strict -c Tests/CConsumer/namesakes.c -o "$work/namesakes.o"
try store cc-c11-namesakes "$work/namesakes.o $static" cc -std=c11 -D_POSIX_C_SOURCE=200809L

# Where the system does not look for libraries, liblarder-store finds liblarder beside itself; the
# linkers of some systems leave out what a program does not call anyway.
alone="-L$work/moved/lib -llarder-store -Wl,-rpath,$work/moved/lib"
try store_alone cc-c11 "$alone" cc -std=c11 -D_POSIX_C_SOURCE=200809L

# What the README has, as it stands there, for a user whose folder is the system's.
sed -n '/^```c$/,/^```$/p' README.md | grep -v '^```' >"$work/app.c"
sed -n '/^    export PKG_CONFIG_PATH=/,/^$/p' README.md >"$work/app.sh"
mkdir -p "$work/home"
mv "$work/moved" "$work/home/.local"
(cd "$work" && env -u PKG_CONFIG_PATH HOME="$work/home" sh -e app.sh) || fail "the README's program"
[ -s "$work/app.larder" ] || fail "the README's program leaves no log"
mv "$work/home/.local" "$work/moved"
echo "test-c: the README's program     ok"

# Linked statically, it has nothing of the index.
if [ "$(uname)" = Linux ]; then
  use larder
  cc "$work/app.c" $flags $static -Wl,--gc-sections -o "$work/app"
  nm "$work/app" | grep -q ' larder_ring_append' || fail "a static program lacks its functions"
  if nm "$work/app" | grep ' larder_index_'; then fail "a static program has too much"; fi
fi

# How often a follower of another process looks, by a clock of the test's own.
if [ "$(uname)" = Linux ]; then
  use larder
  try follower cc-c11 "$shared" cc -std=c11 -D_POSIX_C_SOURCE=200809L
fi

# What Tests/Outside says, on a disk of its own.
if [ "$(uname)" = Linux ]; then
  use larder-store
  cc -std=c11 -D_POSIX_C_SOURCE=200809L Tests/Outside/full_disk.c $strict $flags \
    -o "$work/full_disk" $static
  mkdir -p "$work/disk"
  on_small_disk() {
    unshare -rm sh -c 'mount -t tmpfs -o size=20m tmpfs "$0" && exec "$@"' "$work/disk" "$@"
  }
  if on_small_disk true 2>/dev/null; then
    for way in "20 prefix" "1000 cursor" "20 process"; do
      printf 'test-c: '
      # shellcheck disable=SC2086
      on_small_disk "$work/full_disk" "$work/disk/store" $way || fail "a full disk, $way"
    done
  else
    echo "test-c: no small disk can be mounted, skipped full_disk"
  fi
fi

# What Tests/Outside says of logs that get another size meanwhile.
if [ "$(uname)" = Linux ]; then
  use larder
  cc -std=c11 Tests/Outside/resized_log.c $strict $flags -o "$work/resized_log" $static
  rm -rf "$work/files"
  mkdir "$work/files"
  printf 'test-c: '
  "$work/resized_log" "$work/files/log" 3 1 || fail "a log that is resized meanwhile"
fi

# What a program that logs one message waits for.
if [ "$(uname)" = Linux ]; then
  use larder
  cc -std=c11 -D_POSIX_C_SOURCE=200809L Tests/CConsumer/first_call.c $strict $flags \
    -o "$work/first_call" $shared
  rm -rf "$work/files"
  mkdir "$work/files"
  printf 'test-c: '
  sh Tests/CConsumer/first_call.sh "$work/first_call" "$work/files" || fail "the first call waits"
fi

mv "$work/moved" "$prefix"
$MAKE -s uninstall PREFIX="$prefix" >"$work/uninstall.log" 2>&1
left=$(find "$prefix" ! -type d)
[ -z "$left" ] || fail "uninstall left: $left"
rm -rf "$work/files" "$prefix"
