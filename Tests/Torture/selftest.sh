#!/bin/sh
# SPDX-License-Identifier: MIT
# Shows that the harness can fail: for each defect that can be planted in the library, builds a
# harness with it and runs the family that has to find it. Called by `make torture-selftest`, which
# sets TORTURE_CC, TORTURE_FLAGS, TORTURE_LINK, TORTURE_OUT, TORTURE_OBJECTS, C_SOURCES,
# STORE_SOURCES and LMDB_LIBS.
set -eu

SEED=${SEED:-1}
out=$TORTURE_OUT/planted
mkdir -p "$out"
failed=0
tried=0

# Reached only if nothing is found: far more than it takes, since the machine may have other work.
limit_seconds=300

# Runs a harness until its first failure.
hurt() { # HARNESS FAMILY
    "$1" --family "$2" --seconds "$limit_seconds" --seed "$SEED" --stop
}

planted() { # DEFECT FAMILY
    if ! grep -qr "LARDER_PLANT_$1" Sources/CLarderSystem Sources/CLarder Sources/CLarderStore; then
        printf '%-20s is not in the library: nothing to find\n' "$1"
        failed=$((failed + 1))
        return
    fi
    build "$1" '' ''
    judge "$1" "$2"
}

# The same for a defect that is a change of the source, a file below Sources/CLarderStore.
changed() { # DEFECT FILE SED-SCRIPT FAMILY
    mkdir -p "$out/$1"
    sed "$3" "Sources/CLarderStore/$2" >"$out/$1/changed.c"
    if cmp -s "$out/$1/changed.c" "Sources/CLarderStore/$2"; then
        printf '%-20s is not in %s any more: nothing to find\n' "$1" "$2"
        failed=$((failed + 1))
        return
    fi
    build "$1" "Sources/CLarderStore/$2" "$out/$1/changed.c"
    judge "$1" "$4"
}

build() { # DEFECT CHANGED-SOURCE ITS-REPLACEMENT
    objects=
    mkdir -p "$out/$1"
    for source in $C_SOURCES $STORE_SOURCES; do
        object=$out/$1/$(echo "${source%.c}" | tr / -).o
        # What does not know the defect is the same as without it.
        plain=${source#Sources/}
        plain=$TORTURE_OUT/core/${plain%.c}.o
        if [ "$source" = "$2" ]; then
            # shellcheck disable=SC2086
            $TORTURE_CC $TORTURE_FLAGS -I"$(dirname "$source")" -w -O1 -c "$3" -o "$object"
        elif grep -qr --include="*.h" --include="${source##*/}" "LARDER_PLANT_$1" \
            "$(dirname "$source")"; then
            # shellcheck disable=SC2086
            $TORTURE_CC $TORTURE_FLAGS -w -O1 "-DLARDER_PLANT_$1" -c "$source" -o "$object"
        else
            object=$plain
        fi
        objects="$objects $object"
    done
    # shellcheck disable=SC2086
    $TORTURE_CC -pthread $TORTURE_LINK $TORTURE_OBJECTS $objects $LMDB_LIBS \
        -o "$out/larder-torture-$1"
}

judge() { # DEFECT FAMILY
    tried=$((tried + 1))
    if hurt "$out/larder-torture-$1" "$2" >"$out/$1.log" 2>&1; then
        printf '%-20s NOT FOUND by %s; see %s\n' "$1" "$2" "$out/$1.log"
        failed=$((failed + 1))
    elif grep -q '^FAILED' "$out/$1.log"; then
        printf '%-20s found by %s: %s\n' "$1" "$2" \
            "$(sed -n 's/^FAILED [a-z-]*: //p' "$out/$1.log" | head -n 1)"
    else
        printf '%-20s the harness itself failed; see %s\n' "$1" "$out/$1.log"
        failed=$((failed + 1))
    fi
}

# The same for a fuzzer, which has to come upon it from the seeds in the repository.
planted_for_fuzzer() { # DEFECT FUZZER SECONDS LONGEST
    tried=$((tried + 1))
    fuzzer=$out/fuzz-$2-$1
    log=$out/fuzz-$1.log
    # shellcheck disable=SC2086
    if ! $FUZZ_CC $FUZZ_FLAGS -w "-DLARDER_PLANT_$1" "Tests/Torture/fuzz/fuzz_$2.c" \
        $C_SOURCES -o "$fuzzer" 2>"$log"; then
        printf '%-20s not tried by the fuzzer: %s cannot build one here\n' "$1" "$FUZZ_CC"
        return
    fi
    mkdir -p "$out/corpus-$2"
    if "$fuzzer" -max_total_time="$3" -timeout=10 -max_len="$4" -verbosity=0 -seed="$SEED" \
        -artifact_prefix="$out/" "$out/corpus-$2" "Tests/Torture/fuzz/corpus-$2" >"$log" 2>&1; then
        printf '%-20s NOT FOUND by the fuzzer; see %s\n' "$1" "$log"
        failed=$((failed + 1))
    else
        printf '%-20s found by the fuzzer: %s\n' "$1" \
            "$(sed -n 's/^SUMMARY: //p' "$log" | head -n 1 | cut -c 1-60)"
    fi
}

# Without a defect nothing may be found, or finding one would show nothing.
if ! "$TORTURE_OUT/larder-torture" --short --seed "$SEED" --seconds 6 >"$out/none.log" 2>&1; then
    echo "without a defect: FAILED; see $out/none.log"
    failed=$((failed + 1))
else
    echo "without a defect: $(tail -n 1 "$out/none.log")"
fi

planted SKIP_CRC damage
planted NO_BOUNDS damage
planted HEAD_FIRST concurrency
planted EVICT_LATE concurrency
planted NO_SYNC power
planted REUSE_SEQUENCE kill
planted NO_LOCK concurrency
planted NO_RESERVE exhaustion
planted FOLLOW_LINKS input
planted CBOR_LENGTH coding
planted STORE_SKIPS_CRC store-damage
planted STORE_HALF_A_BATCH store-concurrency
planted STORE_SKIPS_CLEANED_SYNC store-explore
planted STORE_FORGETS_APPLIED store-kill
changed STORE_COMMITS_EARLY checkpoint/checkpoint.c \
    '/^    if (!status && (store->pending.frozen != NULL || leaves))$/{N;d;}' \
    store-explore
changed STORE_FORGETS_REMOVALS cleaning/clean.c 's/^    return least;/    return UINT64_MAX;/' \
    store-promises
changed STORE_DELETES_EARLY cleaning/clean.c 's/if (oldest < gone->retired_by) return;//' \
    store-concurrency
# The failures that the first design had, so far as this one can have them.
changed STORE_APPLIED_EARLY checkpoint/checkpoint.c \
    '/^    if (!status && run->is_done) status = apply_last/i \
     if (run->frozen) apply->meta.applied = run->frozen->last_sequence, \
         apply->meta.end = run->frozen->end;' \
    store-explore
changed STORE_LAST_SYNCED_ONLY log/log.c \
    's/sync_chain(log, first, /sync_chain(log, last->number, /' store-explore
changed STORE_BELIEVES_SYNC log/segment.c \
    's/synced->sync_failed = status;/synced->synced = end;/' store-explore
changed STORE_KEEPS_NO_ROOM lmdb/environment_writer.c \
    's/if (!larder_environment_is_short(env) ||/return; if (/' store-exhaustion
changed STORE_NAMES_UNSYNCED handle/syncing.c \
    's/if (!store->syncing.is_settled && store->pending.log.active != NULL)/if (0)/' store-explore
changed STORE_PATH_AS_GIVEN store/store.c \
    's/= larder_os_absolute_path(path, &\(.*path\));/= (\1 = strdup(path)) == NULL;/' \
    store-promises
changed STORE_ANY_FOLDER log/log.c \
    's/^    if (!status && (facts.device != log->device.*/    if (0)/' store-promises
changed STORE_FOLLOWS_ON read/follow.c \
    's/if (is_outdated(follow, meta->applied))/if (follow->first == 0)/' store-concurrency
changed STORE_ALWAYS_COPIES checkpoint/checkpoint.c \
    's/^    if (status != ENOSPC && status != EDQUOT) return status;/    return status;/' \
    store-exhaustion
changed STORE_NEVER_LEAVES checkpoint/checkpoint.c \
    's/is_worth_leaving(store)) status/0) status/' store-exhaustion
# What a power cut left behind the end of the log.
changed STORE_WIPES_NOTHING store/replay.c \
    's/^    if (was_power_cut) return wipe_behind.*/    (void)was_power_cut;/' store-promises
changed STORE_WIPES_UNSYNCED store/replay.c \
    's/= larder_segment_sync(last, store->pending.log.folder);/= LARDER_OK;/' store-promises
planted_for_fuzzer NO_BOUNDS ring 30 8192
planted_for_fuzzer CBOR_LENGTH cbor 30 4096

if [ "$failed" -gt 0 ]; then
    echo "$failed of $tried are not as they should be"
    exit 1
fi
echo "every planted defect was found"
