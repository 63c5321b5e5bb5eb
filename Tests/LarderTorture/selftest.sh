#!/bin/sh
# SPDX-License-Identifier: MIT
# Shows that the harness for entries, archives and suspensions can fail: each planted defect has to
# be found.
# Some are between the library and its trials, and the harness itself has them; others are those of
# the C core that Tests/Torture/plant.sh knows: its object is compiled with the defect and linked in
# place of the one without. Called by `make torture-selftest`, which sets TORTURE_CC, TORTURE_OUT,
# TORTURE_SWIFT (the folder with what was built), SWIFTC, CORE_CFLAGS and LMDB_LIBS. JOBS run at a
# time, 2 unless it is set.
set -eu

SEED=${SEED:-1}
SWIFTC=${SWIFTC:-swiftc}
harness=$TORTURE_SWIFT/LarderTorture
out=$TORTURE_OUT/planted-swift
mkdir -p "$out"

# Reached only if nothing is found: far more than it takes, since the machine may have other work.
limit_seconds=300

# Runs a harness until its first failure.
hunt() { # NAME HARNESS AREA FAMILY [OPTION]…
    name=$1 program=$2 area=$3 family=$4
    shift 4
    log=$out/$name-$area-$family.log
    if "$program" --area "$area" --family "$family" --seconds "$limit_seconds" --seed "$SEED" \
        --stop "$@" >"$log" 2>&1; then
        printf '%-22s NOT FOUND by %s %s; see %s\n' "$name" "$family" "$area" "$log"
        return 1
    elif grep -q '^FAILED' "$log"; then
        printf '%-22s found by %s %s: %s\n' "$name" "$family" "$area" \
            "$(sed -n 's/^FAILED [a-z]* [a-z]*: //p' "$log" | head -n 1 | cut -c 1-60)"
    else
        printf '%-22s the harness itself failed; see %s\n' "$name" "$log"
        return 1
    fi
}

# A defect that the harness has itself.
planted() { # DEFECT AREA FAMILY
    hunt "$1" "$harness" "$2" "$3" --plant "$1"
}

# Links a harness in which some objects of the C core are compiled anew, from a folder's sources.
relink() { # PROGRAM FOLDER SOURCE…
    program=$1 folder=$2
    shift 2
    flags=$(echo "$CORE_CFLAGS" | sed "s#-ISources/#-I$folder/Sources/#g")
    objects=$program.objects
    sed "s/^'//; s/'\$//" "$harness.product/Objects.LinkFileList" >"$objects"
    for source in "$@"; do
        object=$program-$(echo "$source" | tr / -).o
        # shellcheck disable=SC2086
        $TORTURE_CC -std=c11 -D_GNU_SOURCE $flags -fPIC -w -O1 -c "$folder/$source" -o "$object"
        # Built as MODULE.build/FOLDER/FILE.c.o.
        built=$(echo "${source#Sources/}" | sed 's|/|.build/|')
        sed "s|^.*/$built\.o\$|$object|" "$objects" >"$objects.new"
        mv "$objects.new" "$objects"
    done
    # shellcheck disable=SC2086
    "$SWIFTC" -o "$program" @"$objects" $LMDB_LIBS -Xlinker --defsym \
        -Xlinker main=LarderTorture_main
}

# A defect of the C core, that several families have to find.
planted_in_c() { # DEFECT [AREA FAMILY]…
    defect=$1
    shift
    changed=$(sh Tests/Torture/plant.sh "$defect" "$out/$defect")
    # shellcheck disable=SC2086
    relink "$out/LarderTorture-$defect" "$out/$defect" $changed
    while [ $# -gt 0 ]; do
        hunt "$defect" "$out/LarderTorture-$defect" "$1" "$2"
        shift 2
    done
}

# Without a defect nothing may be found, or finding one would show nothing.
unhurt() { # [HARNESS]
    program=${1:-$harness}
    log=$out/${program##*/}.log
    if ! "$program" --short --seed "$SEED" --seconds 6 >"$log" 2>&1; then
        echo "without a defect: FAILED; see $log"
        return 1
    fi
    echo "without a defect${1:+, relinked}: $(tail -n 1 "$log")"
}

unhurt_relinked() {
    relink "$out/LarderTorture-relinked" . Sources/CLarderStore/format/record.c \
        Sources/CLarderStore/checkpoint/checkpoint.c Sources/CLarderStore/handle/pending.c
    unhurt "$out/LarderTorture-relinked"
}

all() {
    cat <<'END'
unhurt
planted torn-commit entry kill
planted early-acknowledgement entry kill
planted abort-removes entry model
planted size-drifts entry model
planted neighbour entry damage
planted early-acknowledgement archive kill
planted stale-index archive kill
planted stale-index archive model
planted limit-ignored archive model
planted bound-included archive model
planted delete-forgets archive model
planted neighbour archive damage
planted migrates-twice migration kill
planted keeps-lock suspend kill
planted early-acknowledgement suspend kill
planted early-acknowledgement queue kill
planted buries-twice queue kill
planted destroys-by-path names each
planted destroys-by-path names mix
planted keeps-hot-keys-by-path names each
planted keeps-hot-keys-by-path names mix
planted spools-by-path names each
planted spools-by-path names mix
END
    [ "$(uname)" = Linux ] || return 0
    cat <<'END'
unhurt_relinked
planted_in_c STORE_SKIPS_CRC entry damage archive damage
planted_in_c STORE_FORGETS_APPLIED entry kill archive kill
planted_in_c STORE_HALF_A_BATCH entry kill
END
}

if [ $# -gt 0 ]; then
    "$@"
elif all | xargs -L 1 -P "${JOBS:-2}" sh "$0"; then
    echo "every planted defect of entries, archives and suspensions was found"
else
    echo "not every planted defect was found, or something else failed: see above"
    exit 1
fi
