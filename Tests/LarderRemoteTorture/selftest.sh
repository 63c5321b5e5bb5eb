#!/bin/sh
# SPDX-License-Identifier: MIT
# Shows that the harness for caches over a server can fail: each planted defect has to be found, and
# without one nothing may be. Called by `make torture-selftest-remote`, which sets TORTURE_REMOTE
# (the program) and TORTURE_OUT (where logs go). JOBS run at a time, 2 unless it is set.
set -eu

SEED=${SEED:-1}
mkdir -p "$TORTURE_OUT"

# Reached only if nothing is found: far more than it takes, since the machine may have other work.
limit_seconds=200
# How long the family takes in which a server is gone for a quarter of the time.
outage_seconds=24

# Runs a family until its first failure.
planted() { # DEFECT FAMILY
    log=$TORTURE_OUT/remote-$1-$2.log
    [ "$2" != outage ] || limit_seconds=$outage_seconds
    # One in some thousand seeds shows it.
    [ "$1" != slot-there-and-back ] || limit_seconds=900
    if "$TORTURE_REMOTE" --family "$2" --seconds "$limit_seconds" --seed "$SEED" --stop \
        --jobs 1 --plant "$1" --operations 60000 >"$log" 2>&1; then
        printf '%-14s NOT FOUND by %s; see %s\n' "$1" "$2" "$log"
        return 1
    elif grep -Eq "^FAILED $2: (key|a read)" "$log"; then
        printf '%-14s found by %s: %s\n' "$1" "$2" \
            "$(sed -n "s/^FAILED $2: //p" "$log" | head -n 1 | cut -c 1-90)"
    else
        printf '%-14s the harness itself failed; see %s\n' "$1" "$log"
        return 1
    fi
}

# Without a defect nothing may be found, or finding one would show nothing.
unhurt() {
    log=$TORTURE_OUT/remote-unhurt.log
    if ! "$TORTURE_REMOTE" --seconds 60 --jobs 1 --operations 60000 --seed "$SEED" \
        >"$log" 2>&1; then
        echo "without a defect: FAILED; see $log"
        return 1
    fi
    echo "without a defect: $(tail -n 1 "$log")"
}

all() {
    echo unhurt
    for defect in noloop noloop-always no-flush lost-half stale-load stale-absence ask-kept \
        moved-absence no-stand-in immortal; do
        echo "planted $defect simulation"
        echo "planted $defect processes"
    done
    # Redis 7 announces each key that comes back with its slot: only a server that moves slots
    # without MIGRATE has copies live on, and only simulated ones do.
    echo "planted slot-there-and-back simulation"
    echo "planted no-timeout outage"
}

if [ $# -gt 0 ]; then
    "$@"
elif all | xargs -L 1 -P "${JOBS:-2}" sh "$0"; then
    echo "every planted defect of caches over a server was found"
else
    echo "not every planted defect was found, or something else failed: see above"
    exit 1
fi
