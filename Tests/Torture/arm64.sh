#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the harness for arm64 and runs it, short, under qemu. Called by `make torture-arm64`, which
# sets TORTURE_OUT, TORTURE_FLAGS, TORTURE_LINK, TORTURE_SOURCES and SEED. LMDB for arm64 comes from
# the distribution, into the build's folder; nothing is installed.
set -eu

out=$TORTURE_OUT/arm64
compiler=aarch64-linux-gnu-gcc
for tool in $compiler qemu-aarch64; do
    if ! command -v $tool >/dev/null 2>&1; then
        echo "torture-arm64     skipped: there is no $tool (apt: gcc-aarch64-linux-gnu qemu-user)"
        exit 0
    fi
done

mkdir -p "$out"
lmdb=$(cd "$out" && pwd)/lmdb
if ! [ -f "$lmdb/usr/include/lmdb.h" ]; then
    apt=$(cd "$out" && pwd)/apt
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    set -- -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root \
        -o Dir::State::Lists="$apt/lists" -o Dir::State::status=/dev/null -o Dir::Cache="$apt/cache"
    if ! (cd "$apt" && apt-get "$@" update && apt-get "$@" download liblmdb-dev \
        liblmdb0) >"$out/apt.log" 2>&1; then
        echo "torture-arm64     skipped: LMDB for arm64 cannot be fetched; see $out/apt.log"
        exit 0
    fi
    for package in "$apt"/*.deb; do
        dpkg -x "$package" "$lmdb"
    done
    rm -rf "$apt"
fi

# As a shared library: of a static one the calls that fail on purpose would be LMDB's, too.
libraries=$lmdb/usr/lib/aarch64-linux-gnu
# shellcheck disable=SC2086
$compiler $TORTURE_FLAGS -DTORTURE_EMULATED -I"$lmdb/usr/include" -O2 -g $TORTURE_LINK \
    $TORTURE_SOURCES -L"$libraries" -llmdb -Wl,-rpath,"$libraries" -o "$out/larder-torture"
export QEMU_LD_PREFIX=/usr/aarch64-linux-gnu
qemu-aarch64 "$out/larder-torture" --short --seed "$SEED" --seconds "$TORTURE_SECONDS"
