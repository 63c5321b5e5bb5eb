#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the harness for arm64 and runs it, short, under qemu; with the argument 16k in an emulated
# machine, under a kernel whose pages have 16 KiB. Called by `make torture-arm64` and
# `make torture-arm64-16k`, which set TORTURE_OUT, TORTURE_FLAGS, TORTURE_LINK, TORTURE_SOURCES,
# TORTURE_SECONDS and SEED; ARGUMENTS, if it is set, is what the harness is given instead. LMDB for
# arm64 and the kernel come from the distribution, into the build's folder; nothing is installed.
set -eu

pages=${1:-}
target=torture-arm64${pages:+-$pages}
out=$TORTURE_OUT/arm64
compiler=aarch64-linux-gnu-gcc

skip() {
    echo "$target skipped: $*"
    exit 0
}

if [ -z "$pages" ]; then
    tools="qemu-aarch64" packages="qemu-user"
else
    tools="qemu-system-aarch64 cpio" packages="qemu-system-arm cpio"
fi
for tool in $compiler $tools; do
    command -v "$tool" >/dev/null 2>&1 ||
        skip "there is no $tool (apt: gcc-aarch64-linux-gnu $packages)"
done

mkdir -p "$out"
out=$(cd "$out" && pwd)

# Unpacks packages for arm64 of a suite, the usual one if it is empty: fetch FOLDER SUITE PACKAGE…
fetch() {
    folder=$1 suite=$2
    shift 2
    apt=$out/apt
    rm -rf "$apt"
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    options="-o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root
        -o Dir::State::Lists=$apt/lists -o Dir::State::status=/dev/null -o Dir::Cache=$apt/cache"
    if [ "$suite" ]; then
        origin=$(apt-cache policy liblmdb-dev \
            | sed -n 's,^ *[0-9]* \([a-z+]*://[^ ]*\) [^ ]*/main .*,\1,p' | head -n 1)
        echo "deb $origin $suite main" >"$apt/sources.list"
        options="$options -o Dir::Etc::SourceList=$apt/sources.list
            -o Dir::Etc::SourceParts=/dev/null"
    fi
    # A package that only names others of its version stands for the first of them.
    # shellcheck disable=SC2086
    (
        cd "$apt"
        apt-get $options update
        for package; do
            real=$(apt-cache $options depends "$package" \
                | sed -n "s/^ *Depends: \(${package%%-arm64*}-[0-9].*\)/\1/p" | head -n 1)
            apt-get $options download "${real:-$package}"
        done
    ) >"$out/apt.log" 2>&1 || skip "$* cannot be fetched; see $out/apt.log"
    for package in "$apt"/*.deb; do
        dpkg -x "$package" "$folder"
    done
    rm -rf "$apt"
}

lmdb=$out/lmdb
[ -f "$lmdb/usr/include/lmdb.h" ] || fetch "$lmdb" "" liblmdb-dev liblmdb0

# As a shared library: of a static one the calls that fail on purpose would be LMDB's, too.
libraries=$lmdb/usr/lib/aarch64-linux-gnu
# shellcheck disable=SC2086
$compiler $TORTURE_FLAGS -DTORTURE_EMULATED -I"$lmdb/usr/include" -O2 -g $TORTURE_LINK \
    $TORTURE_SOURCES -L"$libraries" -llmdb -Wl,-rpath,"$libraries" -o "$out/larder-torture"
# shellcheck disable=SC2086
set -- ${ARGUMENTS:---short --seed $SEED --seconds $TORTURE_SECONDS}
if [ -z "$pages" ]; then
    export QEMU_LD_PREFIX=/usr/aarch64-linux-gnu
    exec qemu-aarch64 "$out/larder-torture" "$@"
fi

kernel=$out/kernel-$pages
[ -d "$kernel/boot" ] ||
    fetch "$kernel" "$(. /etc/os-release && echo "$VERSION_CODENAME")-backports" \
        "linux-image-arm64-$pages"

# All that the machine has: the harness, its libraries, and a first program that runs it.
root=$out/root
rm -rf "$root"
mkdir -p "$root/lib" "$root/$libraries"
$compiler -O2 -Wall -Wextra -Werror -static Tests/Torture/arm64_init.c -o "$root/init"
cp "$out/larder-torture" "$root"
for library in ld-linux-aarch64.so.1 libc.so.6 libpthread.so.0; do
    cp "/usr/aarch64-linux-gnu/lib/$library" "$root/lib"
done
cp "$libraries"/liblmdb.so.0* "$root/$libraries"
(cd "$root" && find . | cpio --quiet -o -H newc) | gzip -1 >"$out/root.cpio.gz"
qemu-system-aarch64 -machine virt -cpu max,pauth-impdef=on -smp 2 -m 2048 -nographic \
    -nic none -no-reboot -kernel "$kernel"/boot/vmlinuz-* -initrd "$out/root.cpio.gz" \
    -append "console=ttyAMA0 quiet panic=-1 -- $*" </dev/null | tee "$out/machine.log"
grep -q '^Pages of 16 KiB' "$out/machine.log"
grep -q '^The harness ended with 0' "$out/machine.log"
