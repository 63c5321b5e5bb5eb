#!/bin/sh
# SPDX-License-Identifier: MIT
# Shows that check.sh can fail: each mistake that it is there for is made in a copy of the sources,
# and has to be found, for the reason given here.
# usage: selftest.sh OUT        `make check-apple` calls it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
tree=$out/tree
found=0
status=0

# check PART: says all in $out/log.
check() { TREE=$tree sh "$here/check.sh" "$out/check" "$1" >"$out/log" 2>&1; }

# judge MISTAKE TEXT PART: the part fails, and says the text; or cannot be checked here.
judge() {
  if check "$3"; then
    if grep 'skipped$' "$out/log"; then return; fi
    echo "check-apple: $1: not found"
  elif grep -qF "$2" "$out/log"; then
    found=$((found + 1))
    return
  else
    echo "check-apple: $1: failed without saying '$2'"
    cat "$out/log"
  fi
  status=1
}

# The tree's only C source, outside of the system layer, is standard input.
plant_c() {
  rm -rf "$tree"
  mkdir -p "$tree"
  cp -R Package.swift Sources "$tree"
  find "$tree/Sources" -name '*.c' -exec rm {} +
  cat >"$tree/Sources/CLarder/planted.c"
}

# in_c TARGET MISTAKE TEXT [PART]
in_c() {
  plant_c
  TARGETS=$1 && export TARGETS
  judge "$2" "$3" "${4:-c}"
}

# C -----------------------------------------------------------------------------------------------

macos=arm64-apple-macos15
watch=arm64_32-apple-watchos11

plant_c </dev/null
check c || {
  echo "check-apple: nothing is planted, and it fails"
  cat "$out/log"
  exit 1
}

in_c $macos "a page that a child is to find empty" \
  "undeclared identifier 'VM_INHERIT_ZERO'" <<'C'
#include <sys/mman.h>
int larder_planted(void *page);
int larder_planted(void *page) { return minherit(page, 16384, VM_INHERIT_ZERO); }
C
in_c $macos "Linux's clock that counts the time asleep" \
  "undeclared identifier 'CLOCK_BOOTTIME'" <<'C'
#include <time.h>
int larder_planted(struct timespec *now);
int larder_planted(struct timespec *now) { return clock_gettime(CLOCK_BOOTTIME, now); }
C
in_c $macos "a condition variable with a clock" \
  "undeclared function 'pthread_condattr_setclock'" <<'C'
#include <pthread.h>
int larder_planted(pthread_condattr_t *attributes);
int larder_planted(pthread_condattr_t *attributes) {
    return pthread_condattr_setclock(attributes, CLOCK_MONOTONIC);
}
C
in_c $macos "Linux's name of a file's time" "no member named 'st_ctim'" <<'C'
#include <sys/stat.h>
long larder_planted(const struct stat *facts);
long larder_planted(const struct stat *facts) { return facts->st_ctim.tv_nsec; }
C
in_c $watch "a length of 64 bits cut to 32" Wshorten-64-to-32 <<'C'
#include <stddef.h>
#include <stdint.h>
size_t larder_planted(uint64_t length);
size_t larder_planted(uint64_t length) { return length; }
C
in_c arm64-apple-tvos18 "a child of a television" "'fork' is unavailable" <<'C'
#include <unistd.h>
int larder_planted(void);
int larder_planted(void) { return fork(); }
C
in_c $macos "an LMDB that writes other files" "Larder works with LMDB 0.9" <<'C'
#include <lmdb.h>
#undef MDB_VERSION_MAJOR
#define MDB_VERSION_MAJOR 1
#include "lmdb/lmdb_supported.h"
C
in_c $macos "a sync that Darwin does not declare" "undeclared function 'fdatasync'" <<'C'
#include <unistd.h>
int larder_planted(int file);
int larder_planted(int file) { return fdatasync(file); }
C
in_c $macos "and one declared by hand" "uses fdatasync, which is not in symbols.txt" <<'C'
int fdatasync(int file);
int larder_planted(int file);
int larder_planted(int file) { return fdatasync(file); }
C
in_c $macos "a sync past the system layer" "uses fsync, which is not for it" <<'C'
#include <unistd.h>
int larder_planted(int file);
int larder_planted(int file) { return fsync(file); }
C
in_c $macos "a full sync past the system layer" "uses fcntl, which is not for it" <<'C'
#include <fcntl.h>
int larder_planted(int file);
int larder_planted(int file) { return fcntl(file, F_FULLFSYNC); }
C
in_c $macos "a mapping synced past the system layer" "uses msync, which is not for it" <<'C'
#include <sys/mman.h>
int larder_planted(void *map);
int larder_planted(void *map) { return msync(map, 16384, MS_SYNC); }
C
in_c $macos "a sync that leaves out what was stored through a mapping" \
  "uses larder_os_file_sync, which is not for it" <<'C'
#include "larder_os_file.h"
int larder_planted(int file);
int larder_planted(int file) { return larder_os_file_sync(file); }
C
in_c $macos "a question for the system outside of its layer" planted.c:1 rules <<'C'
#if defined(__APPLE__)
#endif
C

# Swift -------------------------------------------------------------------------------------------

# in_swift PLATFORM MISTAKE TEXT FILE SED-SCRIPT: a file below Sources/LarderCore is changed.
in_swift() {
  rm -rf "$tree"
  mkdir -p "$tree"
  cp -R Package.swift Sources "$tree"
  sed "$5" "Sources/LarderCore/$4" >"$tree/Sources/LarderCore/$4"
  if cmp -s "Sources/LarderCore/$4" "$tree/Sources/LarderCore/$4"; then
    echo "check-apple: $2: not to be planted in $4 any more"
    status=1
    return
  fi
  PLATFORMS=$1 LIBRARIES=LarderCore && export PLATFORMS LIBRARIES
  judge "$2" "$3" swift
}

in_swift macOS "a decoder of which Combine cannot say what from" "does not conform to protocol" \
  Coding/CBOR/Decoding/CBORDecoder.swift '/typealias Input = Data/d'
in_swift iOS "a process to start on a telephone" "'Process' is unavailable" \
  Errors/Status.swift '$ a let planted = Process()'
in_swift macOS "a sync in Swift" "'fsync' is unavailable" \
  Errors/Status.swift '$ a func planted(_ file: Int32) -> Int32 { fsync(file) }'

[ "$status" -ne 0 ] || echo "check-apple: $found planted mistakes found"
exit "$status"
