#!/bin/sh
# SPDX-License-Identifier: MIT
# Compiles for Apple's systems what a machine without their SDK can compile. Nothing is linked, and
# nothing is run.
# usage: check.sh OUT [c|rules|swift]…        All of them by default; `make check-apple` calls it.
#
# c: every C source for seven targets, with SwiftPM's warnings and the headers of include/; and what
# the objects leave to the system must be in symbols.txt.
# rules: only the system layer may ask which system it is.
# swift: the libraries as each of Apple's systems has them built, type-checked against Linux's
# Foundation and the modules of modules/.
#
# TREE is the folder of Package.swift and Sources; TARGETS, PLATFORMS and LIBRARIES narrow what is
# checked.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
cd "${TREE:-$here/../..}"
jobs=$(getconf _NPROCESSORS_ONLN)
status=0

# The parts of the C core that talk to the system.
system_layer='^Sources/CLarderSystem/'

say() { echo "check-apple: $*"; }
fail() {
  say "$*" >&2
  status=1
}

# Arguments of calls in Package.swift: told NAME.
told() { sed -n "s/.*\.$1(\.*v*\"*\([A-Za-z0-9-]*\).*/\1/p" Package.swift; }

# C -----------------------------------------------------------------------------------------------

targets() {
  echo "arm64-apple-macos$(told macOS) x86_64-apple-macos$(told macOS)" \
    "arm64-apple-ios$(told iOS) arm64-apple-tvos$(told tvOS) arm64-apple-xros$(told visionOS)" \
    "arm64-apple-watchos$(told watchOS) arm64_32-apple-watchos$(told watchOS)"
}

# Called by xargs as: sh -c … TARGET SOURCE
compile='module=${1#Sources/}
clang --target=$0 $FLAGS -fmodule-name=${module%%/*} -c "$1" -o "$OUT/$0/$1.o" || {
  echo "check-apple: $1 does not compile for $0" >&2
  exit 1
}'

check_c() {
  if ! command -v clang >/dev/null; then
    say "no clang, the C core skipped"
    return 0
  fi
  mkdir -p "$out/lmdb"
  cp "$(pkg-config --variable=includedir lmdb 2>/dev/null || echo /usr/include)/lmdb.h" "$out/lmdb"
  # SwiftPM compiles C by way of modules there, too, which can hide what a header includes.
  FLAGS="-std=c11 -fmodules -fmodules-cache-path=$out/cache -nostdlibinc -isystem $here/include \
    -isystem $out/lmdb -Werror $(told enableWarning | sed 's/^/-W/') \
    $(told disableWarning | sed 's/^/-Wno-/')"
  for folder in Sources/CLarder*; do FLAGS="$FLAGS -I$folder/include -I$folder"; done
  FLAGS=$(echo $FLAGS)
  OUT=$out
  export FLAGS OUT

  known=
  for target in ${TARGETS:-$(targets)}; do
    if clang --target="$target" -x c -c /dev/null -o /dev/null 2>/dev/null; then
      known="$known $target"
      rm -rf "${out:?}/$target"
      find Sources/CLarder* -type d | sed "s,^,$out/$target/," | xargs mkdir -p
    else
      say "no $target in this clang, skipped"
    fi
  done
  [ -n "$known" ] || return 0
  for target in $known; do
    find Sources/CLarder* -name '*.c' | sed "s,^,$target ,"
  done | xargs -n 2 -P "$jobs" sh -c "$compile" || status=1
  # Run in the folder of the objects, so that their names are as symbols.awk reads them.
  left=$(cd "$out" && find $known -name '*.o' |
    xargs "$(clang -print-prog-name=llvm-nm)" --quiet -A --format=posix |
    awk -v layer="$system_layer" -f "$here/symbols.awk" "$here/symbols.txt" - | sort)
  [ -z "$left" ] || fail "the C core leaves to the system what it should not:
$left"
  say "$(find Sources/CLarder* -name '*.c' | wc -l) C sources, $(echo $known | wc -w) targets"
}

# Rules -------------------------------------------------------------------------------------------

check_rules() {
  asking=$(find Sources/C* -name '*.[ch]' | grep -vE "$system_layer" |
    xargs grep -nE '^ *#.*\b(__APPLE__|__MACH__|__DARWIN|TARGET_OS_|TARGET_CPU_)' || true)
  [ -z "$asking" ] || fail "only the system layer may ask which system it is:
$asking"
  # symbols.txt and include/ say the same: what a header lets through, it declares.
  while read -r users header names; do
    case $users,$header in \#* | ,* | *,- | *,lmdb.h | *,larder_*) continue ;; esac
    for name in $names; do
      grep -qw "$name" "$here/include/$header" || fail "$header does not declare $name"
    done
  done <"$here/symbols.txt"
}

# Swift -------------------------------------------------------------------------------------------

# The features, and the warnings as errors, that Package.swift asks for.
swift_flags() {
  echo "-swift-version 6 -warnings-as-errors -parse-as-library -package-name larder"
  told enableUpcomingFeature | sed 's/^/-enable-upcoming-feature /'
}

# What can be imported there, but for Foundation and the like, which can be everywhere.
frameworks() {
  echo Darwin Combine CoreGraphics
  if [ "$1" = macOS ]; then echo AppKit; else echo UIKit; fi
}

# A condition names the system that it is compiled on. So the sources are copied, and ask for names
# that a compiler on Linux can be given.
copy_for() {
  rm -rf "${out:?}/$1"
  find Sources -name '*.swift' | while read -r file; do
    mkdir -p "$out/$1/${file%/*}"
    sed -E '/^ *#(if|elseif) / {
      s/canImport\((Foundation|Dispatch|Synchronization)\)/true/g
      s/os\(([A-Za-z]+)\)/APPLE_OS_\1/g
      s/canImport\(([A-Za-z]+)[^)]*\)/APPLE_HAS_\1/g
    }' "$file" >"$out/$1/$file"
  done
}

# What other systems have of their own is seen by asking for them, if anything does.
distinguished() {
  find Sources -name '*.swift' -exec grep -hoE '\bos\((tvOS|visionOS|watchOS)\)' {} + |
    sed 's/os(\(.*\))/\1/' | sort -u
}

# In a shell of its own, for it has a folder of its own.
check_platform() (
  copy_for "$1"
  includes=$(find Sources -name module.modulemap | sed "s,^,-I $PWD/,; s,/[^/]*$,,")
  libraries=$(cd Sources && ls -d Larder?* | grep -vx 'LarderCore\|LarderTool')
  libraries=${LIBRARIES:-LarderCore Larder $libraries}
  flags="$(swift_flags) -wmo -D APPLE_OS_$1 $includes -I $out/modules -I ."
  for framework in $(frameworks "$1"); do flags="$flags -D APPLE_HAS_$framework"; done
  cd "$out/$1"
  for library in $libraries; do
    set -- -module-name "$library" "$here"/additions/*.swift \
      $(find "Sources/$library" -name '*.swift')
    swiftc $flags -typecheck "$@"
    # What those behind it see of it. Its bodies were right a moment ago.
    swiftc $flags -emit-module -emit-module-path "$library.swiftmodule" \
      -Xfrontend -experimental-skip-non-inlinable-function-bodies "$@"
  done
)

check_swift() {
  if ! command -v swiftc >/dev/null; then
    say "no swiftc, the Swift libraries skipped"
    return 0
  fi
  mkdir -p "$out/modules"
  for module in Darwin Combine CoreGraphics AppKit UIKit; do
    swiftc $(swift_flags) -emit-module -module-name "$module" -I "$out/modules" \
      -emit-module-path "$out/modules/$module.swiftmodule" "$here/modules/$module.swift"
  done
  running=
  for platform in ${PLATFORMS:-macOS iOS $(distinguished)}; do
    check_platform "$platform" &
    running="$running $platform:$!"
  done
  for platform in $running; do
    if wait "${platform#*:}"; then say "the Swift libraries for ${platform%:*}"
    else fail "the Swift libraries do not compile for ${platform%:*}"; fi
  done
}

for part in ${*:-c rules swift}; do "check_$part"; done
[ "$status" -ne 0 ] || say "ok"
exit "$status"
