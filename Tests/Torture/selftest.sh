#!/bin/sh
# SPDX-License-Identifier: MIT
# Shows that the harness can fail: for each defect that plant.sh can put into the library, builds a
# harness with it and runs the family that has to find it. Called by `make torture-selftest`, which
# sets TORTURE_CC, TORTURE_FLAGS, TORTURE_LINK, TORTURE_OUT, TORTURE_OBJECTS, C_SOURCES,
# STORE_SOURCES, LMDB_LIBS, FUZZ_CC, FUZZ_FLAGS, and those of larder-hostile, HOSTILE…. JOBS run at
# a time, 2 unless it is set. With PART=2/3 it is the second third of them.
set -eu

SEED=${SEED:-1}
out=$TORTURE_OUT/planted
mkdir -p "$out"

# Reached only if nothing is found: far more than it takes, since the machine may have other work.
limit_seconds=300

# Without a defect nothing may be found, or finding one would show nothing.
unhurt() {
    if ! "$TORTURE_OUT/larder-torture" --short --seed "$SEED" --seconds 6 >"$out/none.log" 2>&1
    then
        echo "without a defect: FAILED; see $out/none.log"
        return 1
    fi
    echo "without a defect: $(tail -n 1 "$out/none.log")"
}

# The same flags or sources below FOLDER, where plant.sh put a core with a defect.
below() { # FOLDER FLAGS-OR-SOURCES
    echo " $2" | sed "s#\([ I]\)Sources/#\1$1/Sources/#g"
}

build() { # DEFECT
    changed=$(sh Tests/Torture/plant.sh "$1" "$out/$1")
    changed=" $(echo "$changed" | tr '\n' ' ')"
    flags=$(below "$out/$1" "$TORTURE_FLAGS")
    objects=
    for source in $C_SOURCES $STORE_SOURCES; do
        # What does not know the defect is the same as without it.
        object=${source#Sources/}
        object=$TORTURE_OUT/core/${object%.c}.o
        case "$changed" in
        *" $source "*)
            object=$out/$1/$(echo "${source%.c}" | tr / -).o
            # shellcheck disable=SC2086
            $TORTURE_CC $flags -w -O1 -c "$out/$1/$source" -o "$object"
            ;;
        esac
        objects="$objects $object"
    done
    # shellcheck disable=SC2086
    $TORTURE_CC -pthread $TORTURE_LINK $TORTURE_OBJECTS $objects $LMDB_LIBS \
        -o "$out/larder-torture-$1"
}

planted() { # DEFECT FAMILY
    log=$out/$1.log
    build "$1"
    if "$out/larder-torture-$1" --family "$2" --seconds "$limit_seconds" --seed "$SEED" --stop \
        >"$log" 2>&1; then
        printf '%-20s NOT FOUND by %s; see %s\n' "$1" "$2" "$log"
        return 1
    elif grep -q '^FAILED' "$log"; then
        printf '%-20s found by %s: %s\n' "$1" "$2" \
            "$(sed -n 's/^FAILED [a-z-]*: //p' "$log" | head -n 1)"
    else
        printf '%-20s the harness itself failed; see %s\n' "$1" "$log"
        return 1
    fi
}

# The same for a fuzzer, which has to come upon it from the seeds in the repository.
planted_for_fuzzer() { # DEFECT FUZZER SECONDS LONGEST
    folder=$out/fuzz-$1
    log=$out/fuzz-$1.log
    sh Tests/Torture/plant.sh "$1" "$folder" >/dev/null
    # shellcheck disable=SC2046
    if ! $FUZZ_CC $(below "$folder" "$FUZZ_FLAGS") -w "Tests/Torture/fuzz/fuzz_$2.c" \
        $(below "$folder" "$C_SOURCES") -o "$folder/fuzzer" 2>"$log"; then
        printf '%-20s not tried by the fuzzer: %s cannot build one here\n' "$1" "$FUZZ_CC"
        return
    fi
    mkdir -p "$folder/corpus"
    if "$folder/fuzzer" -max_total_time="$3" -timeout=10 -max_len="$4" -verbosity=0 \
        -seed="$SEED" -artifact_prefix="$folder/" "$folder/corpus" "Tests/Torture/fuzz/corpus-$2" \
        >"$log" 2>&1; then
        printf '%-20s NOT FOUND by the fuzzer; see %s\n' "$1" "$log"
        return 1
    fi
    printf '%-20s found by the fuzzer: %s\n' "$1" \
        "$(sed -n 's/^SUMMARY: //p' "$log" | head -n 1 | cut -c 1-60)"
}

# The same for larder-hostile; without sanitizers it is not tried.
planted_for_hostile() { # DEFECT MUTANTS
    folder=$out/hostile-$1
    log=$folder.log
    if ! "$MAKE" -s "$HOSTILE" >"$log" 2>&1; then
        printf '%-20s not tried by larder-hostile: %s cannot build it here\n' "$1" "$HOSTILE_CC"
        return
    fi
    changed=" $(sh Tests/Torture/plant.sh "$1" "$folder" | tr '\n' ' ')"
    objects=
    for source in $HOSTILE_SOURCES $C_SOURCES $STORE_SOURCES; do
        object=$HOSTILE_OUT/${source%.c}.o
        case "$changed" in
        *" $source "*)
            object=$folder/$(echo "${source%.c}" | tr / -).o
            # shellcheck disable=SC2046
            $HOSTILE_CC $(below "$folder" "$HOSTILE_FLAGS") -w -c "$folder/$source" -o "$object"
            ;;
        esac
        objects="$objects $object"
    done
    # shellcheck disable=SC2086
    $HOSTILE_CC $HOSTILE_FLAGS $objects $LMDB_LIBS -o "$folder/larder-hostile"
    if "$folder/larder-hostile" --seed "$SEED" --count "$2" --stop >"$log" 2>&1; then
        printf '%-20s NOT FOUND by larder-hostile; see %s\n' "$1" "$log"
        return 1
    fi
    printf '%-20s found by larder-hostile: %s\n' "$1" \
        "$(sed -n 's/^  \([^ ]\)/\1/p' "$log" | head -n 1 | cut -c 1-60)"
}

of_part() {
    awk -v part="${PART:-1/1}" 'BEGIN { split(part, p, "/") } NR == 1 || NR % p[2] == p[1] % p[2]'
}

if [ $# -gt 0 ]; then
    "$@"
    exit
fi

if of_part <<'END' | xargs -L 1 -P "${JOBS:-2}" sh "$0"; then
unhurt
planted_for_fuzzer NO_BOUNDS ring 30 8192
planted_for_fuzzer CBOR_LENGTH cbor 30 4096
planted SKIP_CRC damage
planted NO_BOUNDS damage
planted HEAD_FIRST concurrency
planted EVICT_LATE concurrency
planted NO_SYNC power
planted REUSE_SEQUENCE kill
planted RING_TIME_GOES_BACK kill
planted RING_FORGETS_TIME kill
planted RING_SEEKS_TOO_FAR model
planted RING_SEEKS_ALONG model
planted RING_KEEPS_DROPPED power
planted RING_WRITES_SEALED power
planted RING_CHECKS_PADS power
planted RING_REFUSES_SHORT power
planted RING_TORN_BEFORE_SYNC wreck
planted RING_FORGETS_FIRST wreck
planted RING_GIVES_UP_EARLY wreck
planted RING_READS_HOLES wreck
planted RING_LEAVES_HOLES wreck
planted RING_COPY_IS_CUT wreck
planted RING_BELIEVES_SYNC failed-syncs
planted RING_MARKS_CLEAN failed-syncs
planted RING_NAMES_EARLY resize-cut
planted RING_BELIEVES_CLAIM others
planted RING_BELIEVES_LENGTH others
planted RING_LEAVES_FILE_HOLES others
planted RING_BELIEVES_CLAIM hostile
planted RING_BELIEVES_COUNTS hostile
planted RING_NUMBERS_GO_ON hostile
planted RING_OLDEST_STAYS hostile
planted RING_TRUSTS_ANYBODY others
planted RING_KEEPS_REPLACED rare
planted RING_MISSES_DELETION rare
planted RING_MISSES_ANOTHER rare
planted RING_SYNCS_ANYWHERE rare
planted RING_RESIZES_ANOTHER rare
planted RING_WAITS_IN_VAIN rare
planted RING_TAKES_ANY_LOG rare
planted RING_RESIZES_TO_ANOTHER rare
planted RING_WAKES_NOBODY concurrency
planted NO_LOCK concurrency
planted NO_RESERVE exhaustion
planted TAKES_WHAT_IS_THERE others
planted SWEEPS_ANYTHING others
planted LINKS_ARE_FINE others
planted READERS_ARE_WRITERS others
planted FOLLOW_LINKS input
planted LOW_DESCRIPTOR descriptors
planted LOW_FOR_A_MOMENT descriptors
planted CBOR_LENGTH coding
planted INDEX_LATE_CLOCK memory
planted INDEX_GRACE_HIDES memory
planted INDEX_READS_GRACE memory
planted INDEX_LONG_GRACE memory
planted INDEX_EARLY_END memory
planted INDEX_LIST_COST memory
planted INDEX_TOLD_TAKEN memory
planted INDEX_WEIGHS_ALIKE memory
planted INDEX_FORGETS_WEIGHT memory
planted_for_hostile STORE_LEADS_TWICE 3000
planted_for_hostile STORE_BELIEVES_SIZES 1000
planted STORE_LEADS_TWICE store-pages
planted STORE_TRUSTS_ANYBODY store-others
planted STORE_LINKED_TABLE store-others
planted STORE_READS_HOLES store-others
planted STORE_BELIEVES_SUMS store-rare-log
planted STORE_FILLS_HOLES store-rare-log
planted STORE_SKIPS_CRC store-damage
planted STORE_HALF_A_BATCH store-concurrency
planted STORE_FORGETS_UNIQUE store-model
planted STORE_UNIQUE_OF_ITSELF store-model
planted STORE_SKIPS_CLEANED_SYNC store-explore
planted STORE_KEEPS_UNLED store-readers
planted STORE_GOES_ON_IN_A_BATCH store-readers
planted FEED_KEEPS_UNLED store-readers
planted STORE_JUDGES_EARLY store-growth
planted STORE_DELETES_UNKNOWN store-remains
planted STORE_GIVEN_UP_STAYS store-power
planted STORE_OPENS_OLD_INDEX store-remains
planted STORE_ENDS_AT_A_HOLE store-remains
planted STORE_NEEDS_HEADS store-remains
planted STORE_BELIEVES_NAMES store-remains
planted STORE_LOSES_UNTOLD store-remains
planted STORE_SYNCED_IS_TORN store-remains
planted STORE_OLDER_WILL_DO store-rare-data
planted STORE_FORGETS_APPLIED store-kill
planted STORE_COMMITS_EARLY store-explore
planted STORE_FORGETS_REMOVALS store-promises
planted STORE_DELETES_EARLY store-readers
planted STORE_LOW_LMDB descriptors
planted STORE_INHERITED_LMDB descriptors
planted STORE_APPLIED_EARLY store-explore
planted STORE_LAST_SYNCED_ONLY store-explore
planted STORE_BELIEVES_SYNC store-explore
planted STORE_KEEPS_NO_ROOM store-exhaustion
planted STORE_NAMES_UNSYNCED store-explore
planted STORE_SHRINKS_TOO_FAR store-rare-log
planted STORE_PATH_AS_GIVEN store-promises
planted STORE_ANY_FOLDER store-promises
planted STORE_FOLLOWS_ON store-rare-read
planted STORE_KEEPS_OLDER_ROWS store-model
planted STORE_SHOWS_REPLACED store-model
planted STORE_DROPS_ROWS store-model
planted STORE_KEEPS_LATE_ROWS store-rare-read
planted STORE_COUNTS_LATE store-model
planted STORE_KEEPS_LATE store-model
planted STORE_MIXES_AHEAD store-model
planted STORE_LISTS_EXPIRED store-model
planted STORE_OVERLOOKS_READS store-model
planted STORE_NEVER_LEAVES store-exhaustion
planted STORE_REFUSES_REMOVALS store-full
planted STORE_CLEANS_AT_ONCE store-full
planted STORE_CLEANS_FOR_NOTHING store-full
planted STORE_GROWS_UNDER_READERS store-full
planted STORE_KEEPS_LITTLE store-full
planted STORE_KEEPS_SEGMENTS store-rare-read
planted STORE_SKIPS_CAUSE store-full
planted STORE_ENDS_HALFWAY store-explore
planted STORE_READERS_MAKE_FILES store-full
planted STORE_READS_ON store-full
planted STORE_LOOKS_PAST_GAPS store-rare-read
planted STORE_BELIEVES_REUSED store-rare-read
planted STORE_READS_REPLACED store-rare-read
planted STORE_OPENS_ONCE store-rare-read
planted STORE_MISSES_THE_CLEANED store-rare-read
planted STORE_FORGETS_READS_ABOVE store-model
planted STORE_WAITS_FOR_NOBODY store-limits
planted STORE_KEEPS_WHAT_DIED store-limits
planted STORE_KEEPS_TAILS store-limits
planted FEED_EPOCH_STAYS feed
planted FEED_HALF_A_BATCH feed
planted FEED_FORGETS_CURSOR feed
planted FEED_MISSES_LATE store-rare-read
planted FEED_UNHIDES store-rare-read
planted FEED_BELIEVES_SPARE store-rare-read
planted FEED_SETS_BACK feed
planted FEED_TELLS_UNSYNCED feed
planted FEED_LOOKS_FIRST feed
planted STORE_READS_TOO_LATE store-rare-read
planted STORE_EVICTS_THE_READ store-rare-read
planted STORE_FINDS_THE_EVICTED store-rare-read
planted STORE_LOOKS_ONCE store-rare-read
planted STORE_WIPES_NOTHING store-promises
planted STORE_WIPES_UNSYNCED store-promises
END
    echo "every planted defect was found${PART:+, of part $PART}"
else
    echo "not every planted defect was found, or something else failed: see above"
    exit 1
fi
