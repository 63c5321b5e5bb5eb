#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks the model of the store's protocol exhaustively, and that each planted defect is found.
# usage: run.sh OUTPUT-FOLDER [JOBS]        `make model` calls it.
#        run.sh --one OUTPUT-FOLDER NAME EXPECTED DEFINES…
#
# The good model runs with several small bounds; what one of them leaves out is in another. A line
# each: what was expected and came, distinct states, seconds.
set -eu

here=$(cd "$(dirname "$0")" && pwd)

if [ "${1:-}" = --one ]; then
  shift
  out=$1/$2
  name=$2
  expected=$3
  shift 3
  rm -rf "$out"
  mkdir -p "$out"
  cd "$out"
  if ! spin -a "$@" "$here/store.pml" >spin.log 2>&1 ||
    ! ${CC:-cc} -O2 -w -DSAFETY -DNOFAIR -DNOREDUCE -DMEMLIM=4000 -o pan pan.c >cc.log 2>&1; then
    echo "model: $name: FAILED: it does not compile, see $out"
    exit 0
  fi
  status=0
  ./pan -E -m100000 -w24 >pan.log 2>&1 || status=$?
  states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.log)
  seconds=$(sed -n 's/^pan: elapsed time \([0-9.e+-]*\) seconds.*/\1/p' pan.log)
  case $(sed -n 's/.*errors: \([0-9]*\).*/\1/p' pan.log) in
    0) got=holds ;;
    '') got="nothing, status $status" ;;
    *) got="assertion violated" ;;
  esac
  # Cut short by memory, time or depth it has shown nothing.
  if grep -q -e 'Search not completed' -e 'max search depth too small' -e 'out of memory' pan.log &&
    [ "$got" = holds ]; then
    got="incomplete search"
  fi
  verdict=FAILED
  case $expected:$got in
    holds:holds | found:"assertion violated") verdict=ok ;;
  esac
  echo "model: $name: $verdict: $got, ${states:-0} states, ${seconds:-0} s"
  [ "$verdict" = FAILED ] || rm -rf "$out"
  exit 0
fi

out=$1
jobs=${2:-2}
if ! command -v spin >/dev/null 2>&1; then
  echo "model: no spin (apt install spin), skipped"
  exit 0
fi
rm -rf "$out"
mkdir -p "$out"

# Name, what is expected, bounds and plants; the longest first.
small="-DSEQS=2 -DSEGMENTS=5"
few="-DSEQS=2 -DSEGMENTS=3 -DCHECKPOINTS=0"
cat >"$out/list" <<LIST
three-writes holds -DSEQS=3 -DSEGMENTS=4 -DCRASHES=1
three-crashes holds -DSEQS=2 -DSEGMENTS=4 -DCRASHES=3 -DCHECKPOINTS=1
reader holds -DREADER -DSEQS=2 -DSEGMENTS=4 -DCRASHES=1 -DCHECKPOINTS=2
two-crashes holds $small -DCRASHES=2 -DCHECKPOINTS=2
evictions-clears-failures holds $small -DCRASHES=1 -DCHECKPOINTS=2 -DEVICTIONS=1 \
-DCLEARS -DFAILURES=1
clean-close holds -DSEQS=2 -DSEGMENTS=4 -DCRASHES=2 -DCHECKPOINTS=0 -DCLOSES=1
clean-close-checkpoint holds -DSEQS=2 -DSEGMENTS=4 -DCRASHES=1 -DCHECKPOINTS=1 -DCLOSES=1
four-checkpoints holds -DSEQS=2 -DSEGMENTS=6 -DCRASHES=1 -DCHECKPOINTS=4
OLD_FLUSH found $small -DCRASHES=2 -DOLD_FLUSH
COMMIT_EARLY found $small -DCRASHES=1 -DCOMMIT_EARLY
CLEAN_UNAPPLIED found $small -DCRASHES=1 -DCLEAN_UNAPPLIED
DROP_TOMBSTONE found $small -DCRASHES=1 -DDROP_TOMBSTONE
DELETE_EARLY found $small -DCRASHES=1 -DREADER -DDELETE_EARLY
OPEN_DELETES found $small -DCRASHES=1 -DREADER -DOPEN_DELETES
END_CLEANED found $small -DCRASHES=1 -DEND_CLEANED
COPY_UNSYNCED found $small -DCRASHES=1 -DCOPY_UNSYNCED
COPY_ROW_LATE found $small -DCRASHES=2 -DCOPY_ROW_LATE
EVICTED_DROPPED found $small -DCRASHES=1 -DEVICTIONS=1 -DEVICTED_DROPPED
COVICTIMS_GONE found $small -DCRASHES=1 -DCOVICTIMS_GONE
RETIRED_GONE found $small -DCRASHES=1 -DRETIRED_GONE
UNLINK_UNSYNCED found $small -DCRASHES=1 -DUNLINK_UNSYNCED
ORPHANS_KEPT found -DSEQS=2 -DSEGMENTS=6 -DCRASHES=1 -DCHECKPOINTS=4 -DORPHANS_KEPT
NAME_UNSYNCED found -DSEQS=3 -DSEGMENTS=4 -DCRASHES=1 -DNAME_UNSYNCED
SEAL_UNSYNCED found $small -DCRASHES=1 -DSEAL_UNSYNCED
TRUST_REPLAYED found $small -DCRASHES=2 -DTRUST_REPLAYED
GIVEN_UP_KEPT found $small -DCRASHES=2 -DGIVEN_UP_KEPT
BOOT_EARLY found $small -DCRASHES=2 -DBOOT_EARLY
TREE_UNSYNCED found $few -DCRASHES=1 -DTREE_UNSYNCED
SETTLED_BY_OPENING found $few -DCRASHES=2 -DSETTLED_BY_OPENING
SAID_EARLY found $few -DCRASHES=1 -DSAID_EARLY
CLOSED_EARLY found $few -DCRASHES=2 -DCLOSES=1 -DCLOSED_EARLY
LOCK_KEPT found $few -DCRASHES=2 -DCLOSES=1 -DLOCK_KEPT
LIST

xargs -P "$jobs" -L 1 sh "$here/run.sh" --one "$out" <"$out/list" | tee "$out/results"
passed=$(grep -c ': ok: ' "$out/results" || true)
failed=$(($(wc -l <"$out/list") - passed))
echo "model: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
