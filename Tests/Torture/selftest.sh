#!/bin/sh
# SPDX-License-Identifier: MIT
# selftest.sh LIST…: shows that the harnesses can fail, with a line for each planted defect that
# says after how many seconds it was found, and how.
#
# A line of a list is a function below and its arguments, which say what has to find a defect, and
# after a colon the defects. `make torture-selftest` calls it, with what the Makefile knows in
# variables of the same names. JOBS run at a time, 2 unless it is set. With PART=2/3 it is the
# second third of them.
set -eu

SEED=${SEED:-1}
out=$TORTURE_OUT/planted
mkdir -p "$out"

# Reached only if nothing is found: far more than it takes, since the machine may have other work.
until_found="--seconds 300 --seed $SEED --stop"

one() { # FUNCTION DEFECT FINDER…
    way=$1 defect=$2
    shift 2
    finder="$way $*"
    folder=$out/$defect-$(echo "$finder" | tr ' ' -)
    log=$folder.log
    begun=$(date +%s)
    "$way" "$@"
}

say() { # RESULT
    printf '%-25s %-29s %4d s  %s\n' "$defect" "$finder" $(($(date +%s) - begun)) "$1"
}

# Has a command find the defect, and say so in a line that is the pattern: in parentheses what.
hunt() { # PATTERN COMMAND…
    pattern=$1
    shift
    if "$@" >"$log" 2>&1; then
        say "NOT FOUND; see $log"
        return 1
    fi
    found=$(sed -nE "s/$pattern/\1/p" "$log" | head -n 1 | cut -c 1-90)
    say "${found:-the harness itself failed; see $log}"
    [ "$found" ] && rm -rf "$folder"
}

# Without a defect nothing may be found, or finding one would show nothing.
unhurt() { # HARNESS
    case $1 in
    core) set -- "$TORTURE_OUT/larder-torture" --short --seconds 6 ;;
    swift) set -- "$TORTURE_SWIFT/LarderTorture" --short --seconds 6 ;;
    relinked)
        store=Sources/CLarderStore
        changed="$store/format/record.c $store/checkpoint/checkpoint.c $store/handle/pending.c"
        mkdir -p "$folder/Sources"
        cp -R Sources/CLarder* "$folder/Sources"
        relink
        set -- "$folder/harness" --short --seconds 6
        ;;
    # shellcheck disable=SC2086
    remote) set -- $TORTURE_REMOTE --seconds 60 --jobs 1 --operations 60000 ;;
    esac
    if ! "$@" --seed "$SEED" >"$log" 2>&1; then
        say "FAILED without a defect; see $log"
        return 1
    fi
    say "$(tail -n 1 "$log")"
    rm -rf "$folder"
}

# A core with the defect in $folder, and in $changed the sources to compile anew.
plant() {
    changed=$(sh Tests/Torture/plant.sh "$defect" "$folder")
    # shellcheck disable=SC2086,SC2116
    changed=" $(echo $changed) "
}

# The same flags or sources, but of that core.
planted() { # FLAGS-OR-SOURCES
    echo " $1" | sed "s#\([ I]\)Sources/#\1$folder/Sources/#g"
}

compile() { # SOURCE COMPILER-AND-FLAGS…
    object=$folder/${1%.c}.o
    source=$folder/$1
    shift
    "$@" -w -O1 -c "$source" -o "$object"
}

# Sets $objects: those of the changed sources, and else, from BUILT, those without the defect.
compile_changed() { # BUILT COMPILER-AND-FLAGS
    objects=
    for unhurt in $C_SOURCES $STORE_SOURCES; do
        case $changed in
        # shellcheck disable=SC2086
        *" $unhurt "*) compile "$unhurt" $2 ;;
        *) object=$1/core/${unhurt#Sources/} object=${object%.c}.o ;;
        esac
        objects="$objects $object"
    done
}

# A defect of the core, for a family in C.
core() { # FAMILY
    plant
    compile_changed "$TORTURE_OUT" "$TORTURE_CC $(planted "$TORTURE_FLAGS")"
    # shellcheck disable=SC2086
    $TORTURE_CC -pthread $TORTURE_LINK $TORTURE_OBJECTS $objects $LMDB_LIBS -o "$folder/harness"
    # shellcheck disable=SC2086
    hunt '^FAILED [a-z-]*: (.*)' "$folder/harness" --family "$1" $until_found
}

# The same for a fuzzer, which has to come upon it from the seeds in the repository.
fuzzer() { # FUZZER SECONDS LONGEST
    plant
    # shellcheck disable=SC2046
    if ! $FUZZ_CC $(planted "$FUZZ_FLAGS") -w "Tests/Torture/fuzz/fuzz_$1.c" \
        $(planted "$C_SOURCES") -o "$folder/fuzzer" 2>"$log"; then
        say "not tried: $FUZZ_CC cannot build a fuzzer here"
        return
    fi
    mkdir -p "$folder/corpus"
    hunt '^SUMMARY: (.*)' "$folder/fuzzer" -max_total_time="$2" -timeout=10 -max_len="$3" \
        -verbosity=0 -seed="$SEED" -artifact_prefix="$folder/" "$folder/corpus" \
        "Tests/Torture/fuzz/corpus-$1"
}

# And for larder-hostile.
hostile() { # MUTANTS
    if [ ! -x "$HOSTILE" ]; then
        say "not tried: $TORTURE_TSAN_CC has no sanitizers here"
        return
    fi
    plant
    compile_changed "$TORTURE_OUT/asan" "$TORTURE_TSAN_CC $(planted "$TORTURE_FLAGS") $ASAN_FLAGS"
    # shellcheck disable=SC2086
    $TORTURE_TSAN_CC -pthread $ASAN_FLAGS $HOSTILE_OBJECTS $objects $LMDB_LIBS -o "$folder/harness"
    hunt '^  ([^ ].*)' "$folder/harness" --seed "$SEED" --count "$1" --stop
}

in_swift='^FAILED [a-z]+ [a-z]+: (.*)'

# A defect that the harness in Swift has itself.
swift() { # AREA FAMILY
    # shellcheck disable=SC2086
    hunt "$in_swift" "$TORTURE_SWIFT/LarderTorture" --area "$1" --family "$2" --plant "$defect" \
        $until_found
}

# Links the harness in Swift with the changed sources of the core; both are named as on Linux.
relink() {
    harness=$TORTURE_SWIFT/LarderTorture
    sed "s/^'//; s/'\$//" "$harness.product/Objects.LinkFileList" >"$folder/objects"
    for unhurt in $changed; do
        # shellcheck disable=SC2046,SC2086
        compile "$unhurt" $FUZZ_CC -std=c11 -D_GNU_SOURCE $(planted "$TORTURE_INCLUDES") -fPIC
        # Built as MODULE.build/FOLDER/FILE.c.o.
        built=$(echo "${unhurt#Sources/}" | sed 's|/|.build/|')
        sed "s|^.*/$built\.o\$|$object|" "$folder/objects" >"$folder/objects.new"
        mv "$folder/objects.new" "$folder/objects"
    done
    # shellcheck disable=SC2086
    "$FUZZ_SWIFTC" -o "$folder/harness" @"$folder/objects" $LMDB_LIBS -Xlinker --defsym \
        -Xlinker main=LarderTorture_main
}

# A defect of the core, for a family in Swift.
core_in_swift() { # AREA FAMILY
    plant
    relink
    # shellcheck disable=SC2086
    hunt "$in_swift" "$folder/harness" --area "$1" --family "$2" $until_found
}

# A defect that the harness of caches over a server has itself.
remote() { # FAMILY SECONDS
    # shellcheck disable=SC2086
    hunt "^FAILED $1: ((key|a read).*)" $TORTURE_REMOTE --family "$1" --seconds "$2" \
        --seed "$SEED" --stop --jobs 1 --plant "$defect" --operations 60000
}

if [ "$1" = one ]; then
    "$@"
    exit
fi

jobs=$(cat "$@" | awk -v part="${PART:-1/1}" -v kernel="$(uname)" '
    BEGIN { split(part, p, "/") }
    /^#/ || kernel != "Linux" && /^core_in_swift|^unhurt relinked/ { next }
    {
        split($0, sides, ": ")
        finder = sides[1]
        way = finder
        sub(/ .*/, "", way)
        sub(/^[^ ]+/, "", finder)
        count = split(sides[2], defects, " ")
        for (i = 1; i <= count; i++)
            if (number++ % p[2] == p[1] % p[2]) print "one", way, defects[i] finder
    }')
case "$jobs" in
*"one hostile "*) "$MAKE" -s "$HOSTILE" >"$out/hostile.log" 2>&1 || : ;;
esac
if echo "$jobs" | xargs -L 1 -P "${JOBS:-2}" sh "$0"; then
    echo "all $(echo "$jobs" | grep -c .) were as they have to be${PART:+, of part $PART}"
else
    echo "not every planted defect was found, or something else failed: see above"
    exit 1
fi
