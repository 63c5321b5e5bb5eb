#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the Swift tests, and programs of another package, with LMDB from a package, as
# LARDER_LMDB=bundled has it, on systems where that is not usual, and with the locks that LMDB has
# on Apple's. The package may be out of reach, so one of the same shape stands in for it, made of
# the distribution's source of LMDB.
# Called by `make test-bundled-lmdb`, which sets SWIFT_TEST. Nothing is installed, and no
# configuration of the user's changes.
#
# .build-lmdb/source     LMDB's source, fetched once
#            /CLMDB      the stand-in, a git repository with LMDB's version as its tag
#            /larder     a copy of this package, for SwiftPM notes mirrors beside Package.swift
#            /outside    a package that depends on the copy
#            /pkgconfig  hides the system's LMDB
set -eu
cd "$(dirname "$0")/../.."
mkdir -p .build-lmdb
folder=$PWD/.build-lmdb

skip() {
    echo "test-bundled-lmdb skipped: $*"
    exit 0
}

# The source is where the binary package is from.
source=$folder/source
if ! [ -d "$source" ]; then
    command -v apt-get >/dev/null 2>&1 || skip "LMDB's source is fetched by apt-get"
    origin=$(apt-cache policy liblmdb-dev \
        | sed -n 's,^ *[0-9]* \([a-z+]*://[^ ]*\) \([^ /]*\)/\([^ ]*\) .*,\1 \2 \3,p' | head -n 1)
    [ -n "$origin" ] || skip "apt does not know where liblmdb-dev is from; run apt-get update"
    apt=$folder/apt
    rm -rf "$apt"
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/unpacked"
    echo "deb-src $origin" > "$apt/sources.list"
    set -- -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::State::Lists="$apt/lists" -o Dir::Cache="$apt/cache" -o APT::Sandbox::User=root
    if ! (cd "$apt" && apt-get "$@" update && apt-get "$@" source --download-only lmdb) \
        > "$folder/apt.log" 2>&1; then
        skip "LMDB's source cannot be fetched; see $folder/apt.log"
    fi
    tar -xf "$apt"/lmdb_*.orig.tar.* -C "$apt/unpacked"
    mv "$(dirname "$(find "$apt/unpacked" -name mdb.c)")" "$source"
    rm -rf "$apt"
fi

# As in the original, the target's sources are links into a folder of LMDB's.
package=$folder/CLMDB
rm -rf "$package"
mkdir -p "$package/lmdb" "$package/Sources/LMDB/include"
for name in lmdb.h mdb.c midl.c midl.h; do
    cp "$source/$name" "$package/lmdb"
    ln -s "../../lmdb/$name" "$package/Sources/LMDB/$name"
done
echo '#include "../lmdb.h"' > "$package/Sources/LMDB/include/clmdb.h"
cat > "$package/Package.swift" <<'END'
// swift-tools-version:5.0
import PackageDescription

let package = Package(
  name: "CLMDB", products: [.library(name: "LMDB", targets: ["LMDB"])],
  targets: [.target(name: "LMDB")])
END
number() {
    sed -n "s/^#define MDB_VERSION_$1[[:space:]]*\([0-9]*\).*/\1/p" "$source/lmdb.h"
}
# The same files are the same commit: SwiftPM remembers which one a version was.
(
    cd "$package"
    git init --quiet
    git add --all
    GIT_AUTHOR_DATE='@0 +0000' GIT_COMMITTER_DATE='@0 +0000' git -c user.name=stand-in \
        -c user.email=stand-in@localhost -c commit.gpgSign=false commit --quiet --message LMDB
    git -c tag.gpgSign=false tag "$(number MAJOR).$(number MINOR).$(number PATCH)"
)

# The locks by themselves.
rm -rf "$folder/locks"
mkdir "$folder/locks"
${CC:-cc} -std=c11 -D_GNU_SOURCE -DLARDER_BUNDLED_LMDB -DLARDER_LMDB_LOCKS -O2 -pthread \
    -ISources/CLarderSystem -ISources/CLarderSystem/include -I"$package/Sources/LMDB/include" \
    Tests/Apple/lmdb_locks.c Sources/CLarderSystem/*.c -o "$folder/lmdb-locks"
"$folder/lmdb-locks" "$folder/locks"

# With the files' times, so that only what has changed is built again.
copy=$folder/larder
mkdir -p "$copy" "$folder/pkgconfig"
find "$copy" -mindepth 1 -maxdepth 1 ! -name .build -exec rm -rf {} +
git ls-files -z --cached --others --exclude-standard \
    | xargs -0 cp --preserve=timestamps --parents --target-directory "$copy"
mirror() { # PACKAGE
    swift package --package-path "$1" config set-mirror \
        --original "$(sed -n 's/.*url: "\([^"]*CLMDB\)".*/\1/p' Package.swift)" \
        --mirror "file://$package" >/dev/null
}
mirror "$copy"
printf 'Name: lmdb\nDescription: nothing\nVersion: 0\n' > "$folder/pkgconfig/lmdb.pc"

# Whoever does not ask for it does not even fetch it.
if LARDER_LMDB=system swift package --package-path "$copy" show-dependencies 2>/dev/null \
    | grep CLMDB; then
    echo "test-bundled-lmdb: it is fetched unasked" >&2
    exit 1
fi

export LARDER_LMDB=bundled
set -- --pkg-config-path "$folder/pkgconfig" --security-path "$folder/security" \
    --disable-dependency-cache -Xcc -DLARDER_LMDB_LOCKS
has_own_lmdb() { # PROGRAM
    if ldd "$1" | grep liblmdb || ! nm "$1" | grep -q ' [Tt] larder_mdb_env_open$'; then
        echo "test-bundled-lmdb: $1 ran with the system's LMDB" >&2
        exit 1
    fi
}

# As somebody else's package: every store, at the top level of a main.swift.
outside=$folder/outside
rm -rf "$outside/Sources"
mkdir -p "$outside/Sources"
cp -R Tests/LarderTopLevel/. "$outside/Sources"
cat > "$outside/Package.swift" <<'END'
// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "outside", dependencies: [.package(path: "../larder")],
  targets: ["Blocking", "Awaiting", "Both"].map {
    .executableTarget(name: $0, dependencies: [.product(name: "Larder", package: "larder")])
  })
END
mirror "$outside"
swift build --package-path "$outside" "$@"
for program in Blocking Awaiting Both; do
    rm -rf "$folder/files"
    mkdir "$folder/files"
    path=$(swift build --package-path "$outside" "$@" --show-bin-path)/$program
    "$path" "$folder/files"
    has_own_lmdb "$path"
done
echo "test-bundled-lmdb: another package's programs: ok"

# shellcheck disable=SC2086
$SWIFT_TEST --package-path "$copy" "$@"
has_own_lmdb "$(swift build --package-path "$copy" "$@" --show-bin-path)/larderPackageTests.xctest"
