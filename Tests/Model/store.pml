// SPDX-License-Identifier: MIT
/* The protocol of the store as a state machine: what the log, the checkpoint, cleaning, recovery and
   a reader in another process do, in the order in which they do it. The article "The store's
   protocol" has the same steps and invariants in words; its names are in brackets here: [C3] is a
   step, [I4] an invariant.

   One process, one loop. Each branch of the loop is one step that looks atomic from outside: a store
   that publishes a record, an LMDB commit, a system call. So every point between two steps is a
   point at which the process can be killed or the power can fail, and at which any other thread can
   run. The threads are program counters: `wpc` of the writer, `cpc` of the checkpoint, `rpc` of
   recovery, `epc` of the reader elsewhere.

   Files. `ex` are the names that the running system sees, `nd` those on the device. A record, a seal
   and a name may be lost by a power cut until they were synced, each by itself; a name whose removal
   was not synced may come back. A kill loses nothing of this, only the memory of the process.

   A store begins with nothing on the device: not its tree, not its names. `settled` is whether they
   are, `said` whether the head of a segment says that it was synced. A close without a crash leaves
   the process's number in the lock's file as 0: `clean`.

   Bounds: two keys, SEQS sequences, segments of two records, segment numbers 1 to SEGMENTS, two
   transactions a checkpoint, CRASHES crashes, at any step, recovery's too, CLOSES closes. A segment
   may be sealed as soon as it has one record.

   What holds is asserted. Each macro that run.sh lists as "found" breaks one rule, and the check has
   to find that. */

#ifndef SEQS
#define SEQS 3
#endif
#ifndef SEGMENTS
#define SEGMENTS 6
#endif
#ifndef CRASHES
#define CRASHES 2
#endif
#ifndef CHECKPOINTS
#define CHECKPOINTS 3
#endif
#ifndef FAILURES
#define FAILURES 0
#endif
#ifndef EVICTIONS
#define EVICTIONS 0
#endif
#ifndef CLOSES
#define CLOSES 0
#endif
#define SLOTS 2

/* A record: sequence, key (2: every key, a clear), removal, generation (how many power cuts came
   before it, modulo 2: sequences that were given up are given again), and whether it is synced. */
#define SEQ(r) ((r) & 7)
#define KEY(r) (((r) >> 3) & 3)
#define REMOVES(r) (((r) >> 5) & 1)
#define SYNCED 128
#define BARE(r) ((r) & 127)
#define HITS(r, k) (KEY(r) == (k) || KEY(r) == 2)

#define BIT(s) (1 << ((s) - 1))
#define AT(s, j) (((s) - 1) * SLOTS + (j))
/* A location: AT + 1, 0 for none. */
#define SEGMENT_OF(l) (((l) - 1) / SLOTS + 1)
#define IS_THERE(s) (ex & BIT(s))
/* Until the folder is synced, the name may come back: also one that was never synced itself. */
#define UNLINK(s) ex = ex & ~BIT(s); nd = nd | BIT(s)

/* The log's folder. */
byte rec[SEGMENTS * SLOTS];
byte ex = 1;
byte nd;
byte cleaned;            /* kind: SEGMENT_CLEANED */
byte first[SEGMENTS];    /* of the head */
byte as_of[SEGMENTS];    /* likewise */
byte seal_to[SEGMENTS];  /* RECORD_NEXT */
byte seal_at[SEGMENTS];
byte seal_synced;

/* The tree, as of the last commit, which is always synced. */
byte row[2];
byte row_at[2];
byte applied;
byte end_segment = 1;
byte end_at;
byte known;              /* segments that have a row 03; 0 until the first commit */
byte meta_next = 2;

/* data.mdb and the names that lead to it and to the log are on the device; [I14] */
bool settled;
/* a segment's head says that it was synced; */
bool said;
/* data.mdb is not there, and is still to be made. */
bool unmade;

/* The lock's file names another start of the machine. */
bool other_boot;
/* It says that everything is on the device. */
bool clean;

/* Memory of the process that writes. */
byte tail = 1;
byte tail_at;
byte next_number = 2;
byte retired;
byte wpc;
byte made;
byte cpc;
byte frozen, frozen_segment, frozen_at;
byte victims, copy;
byte rpc;
byte larder_log_segment, log_at;
bool log_missing;
bool after_power;         /* as the lock's file said when this process began */
bool was_clean;          /* likewise */
/* What counts as synced because it was there at opening: sequences up to this one, and names and
   seals of these segments; the last one of them had no seal. */
byte trusted, trusted_chain, trusted_tail;

/* The reader elsewhere. `older`: segments that were retired by a transaction behind the one it read;
   `stale`: there was one. */
#ifdef READER
byte epc;
bool stale;
byte older;
byte seen[2], seen_at[2];
byte seen_applied, seen_segment, seen_at_slot;
#endif

/* What was promised. */
byte history[SEQS + 1];
byte acknowledged;
byte durable;
byte evicted;            /* sequences, a bit each */
byte evictions;
byte crashes;
byte checkpoints;
byte failures;
byte closes;
byte generation;

#define IS_TRUSTED(r) (SEQ(r) <= trusted)
#ifdef OLD_FLUSH
byte files;              /* of values, by sequence */
byte scheduled;          /* rows 02: files to delete */
#endif

/* Between two choices of one step; 0 else. */
byte cs, cj, cmask, cr;

/* Within one step. */
hidden byte i, j, k, s, r, n, at, to, others, orphans, walked;
hidden byte v[2];
hidden byte v_at[2];
hidden byte ws, wp;
hidden byte stop, missing, ended, needed, dead;

/* Looking ---------------------------------------------------------------------------------------- */

/* Along the chain from (from_s, from_p) to its end, or to (to_s, to_p): v[k], v_at[k] receive the
   newest put of each key, 0 for none; n the last sequence; ws, wp the end; walked the segments;
   missing whether the chain leads to a segment that is not there. After a power cut the log ends at
   the first record that is not whole or not the next one; else what is not whole is skipped. */
inline walk(from_s, from_p, from_n, r0, r1, l0, l1, to_s, to_p) {
    ws = from_s; wp = from_p; n = from_n;
    v[0] = r0; v[1] = r1; v_at[0] = l0; v_at[1] = l1;
    walked = 0; stop = false; missing = false;
    do
    :: stop -> break
    :: else ->
        if
        :: ws == to_s && wp == to_p -> walked = walked | BIT(ws); stop = true
        :: else ->
            if
            :: !IS_THERE(ws) -> missing = true; stop = true
            :: else ->
                walked = walked | BIT(ws);
                if
                :: seal_to[ws - 1] != 0 && seal_at[ws - 1] == wp -> ws = seal_to[ws - 1]; wp = 0
                :: else ->
                    if
                    :: wp == SLOTS -> stop = true
                    :: else ->
                        r = rec[AT(ws, wp)];
                        if
                        :: other_boot && (r == 0 || SEQ(r) != n + 1) -> stop = true
                        :: !other_boot && r == 0 ->
                            if
                            :: wp == 0 && rec[AT(ws, 1)] != 0 -> wp = 1
                            :: else -> stop = true
                            fi
#ifdef OLD_FLUSH
                        :: r != 0 && (!other_boot || SEQ(r) == n + 1) && !REMOVES(r) &&
                           !(files & (1 << SEQ(r))) -> stop = true
#endif
                        :: else ->
                            n = SEQ(r);
                            for (k : 0 .. 1) {
                                if
                                :: HITS(r, k) ->
                                    v[k] = (REMOVES(r) -> 0 : BARE(r));
                                    v_at[k] = (REMOVES(r) -> 0 : AT(ws, wp) + 1)
                                :: else
                                fi
                            }
                            wp++
                        fi
                    fi
                fi
            fi
        fi
    od
}

inline walk_all() {
    walk(end_segment, end_at, applied, row[0], row[1], row_at[0], row_at[1], 0, 0)
}

/* v is what was written up to `upto`: of each key the newest put, which may be gone if it was
   evicted. [P1] [P2] */
inline check_state(upto) {
    for (k : 0 .. 1) {
        r = 0;
        for (i : 1 .. SEQS) {
            if
            :: i <= upto && HITS(history[i], k) -> r = history[i]
            :: else
            fi
        }
        if
        :: r == 0 || REMOVES(r) -> assert(v[k] == 0)
        :: else -> assert(v[k] == r || (v[k] == 0 && (evicted & (1 << SEQ(r)))))
        fi
    }
}

/* Every row leads to a record that is there. [P3] */
inline check_rows() {
    for (k : 0 .. 1) {
        if
        :: row[k] != 0 ->
            assert(IS_THERE(SEGMENT_OF(row_at[k])));
            assert(BARE(rec[row_at[k] - 1]) == row[k])
        :: else
        fi
    }
}

/* The index from the segments alone: of each key the greatest sequence counts, a put before a
   removal of the same one. In written segments a record that is not whole is, after a power cut, the
   end of the log. [P4] */
inline rebuild() {
    v[0] = 0; v[1] = 0; v_at[0] = 0; v_at[1] = 0; ended = false;
    for (s : 1 .. SEGMENTS) {
        if
        :: IS_THERE(s) && !(ended && !(cleaned & BIT(s))) ->
            stop = false;
            for (j : 0 .. 1) {
                r = rec[AT(s, j)];
                if
                :: stop
                :: !stop && seal_to[s - 1] != 0 && seal_at[s - 1] == j -> stop = true
                :: !stop && !(seal_to[s - 1] != 0 && seal_at[s - 1] == j) && r == 0 ->
                    if
                    :: other_boot && !(cleaned & BIT(s)) -> stop = true; ended = true
                    :: else
                    fi
                :: else ->
                    for (k : 0 .. 1) {
                        if
                        :: HITS(r, k) && (SEQ(r) > v_at[k] ||
                           (SEQ(r) == v_at[k] && !REMOVES(r))) ->
                            v_at[k] = SEQ(r);
                            v[k] = (REMOVES(r) -> 0 : BARE(r))
                        :: else
                        fi
                    }
                fi
            }
            if
            :: !stop && seal_to[s - 1] == 0 && !(cleaned & BIT(s)) && other_boot -> ended = true
            :: else
            fi
        :: else
        fi
    }
}

/* Steps ------------------------------------------------------------------------------------------ */

inline wipe(which) {
    for (j : 0 .. 1) { rec[AT(which, j)] = 0 }
    first[which - 1] = 0; as_of[which - 1] = 0;
    seal_to[which - 1] = 0; seal_at[which - 1] = 0;
    seal_synced = seal_synced & ~BIT(which);
    cleaned = cleaned & ~BIT(which)
}

inline sync_folder() {
    for (s : 1 .. SEGMENTS) {
        if
        :: !IS_THERE(s) && (nd & BIT(s)) -> wipe(s)
        :: else
        fi
    }
    nd = ex
}

/* The records of the chain up to (to_s, to_p), the seals that lead there, and the names. */
inline sync_log(to_s, to_p) {
    walk(end_segment, end_at, applied, 0, 0, 0, 0, to_s, to_p);
    for (s : 1 .. SEGMENTS) {
        if
        :: walked & BIT(s) ->
            for (j : 0 .. 1) {
                if
                :: rec[AT(s, j)] != 0 && (s != to_s || j < to_p) && !IS_TRUSTED(rec[AT(s, j)]) ->
                    rec[AT(s, j)] = rec[AT(s, j)] | SYNCED
                :: else
                fi
            }
            nd = (trusted_chain & BIT(s) -> nd : nd | BIT(s));
#ifndef SEAL_UNSYNCED
            if
            :: s != to_s && seal_to[s - 1] != 0 &&
               (s == trusted_tail || !(trusted_chain & BIT(s))) ->
                seal_synced = seal_synced | BIT(s)
            :: else
            fi
#endif
        :: else
        fi
    }
}

inline make_segment(number, kind, sequence, upto) {
    ex = ex | BIT(number);
    first[number - 1] = sequence;
    as_of[number - 1] = upto;
    cleaned = (kind == 2 -> cleaned | BIT(number) : cleaned)
}

/* Whether a removal with the sequence `removal`, found in `victim`, has to be kept. [I8] */
inline removal_is_needed(removal, victim) {
    needed = false;
    for (s : 1 .. SEGMENTS) {
#ifdef UNLINK_UNSYNCED
        others = ex;
#else
        others = ex | nd;
#endif
#ifdef RETIRED_GONE
        others = others & known;
#endif
#ifdef ORPHANS_KEPT
        others = others & ~(cleaned & ~known);
#endif
#ifdef COVICTIMS_GONE
        others = others & ~victims;
#endif
        if
        :: s != victim && (others & BIT(s)) && first[s - 1] < removal && as_of[s - 1] < removal ->
            dead = !(known & BIT(s));
            for (to : 0 .. 1) {
                if
                :: !(seal_to[s - 1] != 0 && seal_at[s - 1] <= to) && rec[AT(s, to)] != 0 &&
                   SEQ(rec[AT(s, to)]) <= applied &&
                   !REMOVES(rec[AT(s, to)]) && row_at[0] != AT(s, to) + 1 &&
                   row_at[1] != AT(s, to) + 1 -> dead = true
                :: else
                fi
            }
            needed = needed || dead
        :: else
        fi
    }
#ifdef DROP_TOMBSTONE
    needed = false
#endif
}

/* What is in `victims` and still counts goes to the segment `copy`; at is how many records, one more
   than fit for too many. */
inline copy_victims() {
    at = 0; n = 7;
    for (i : 1 .. SEGMENTS) {
        if
        :: victims & BIT(i) ->
            for (j : 0 .. 1) {
                r = BARE(rec[AT(i, j)]);
                if
                :: r != 0 && !(seal_to[i - 1] != 0 && seal_at[i - 1] <= j) ->
                    if
                    :: !REMOVES(r) && row_at[KEY(r)] == AT(i, j) + 1 -> needed = true
                    :: !REMOVES(r) && row_at[KEY(r)] != AT(i, j) + 1 && row[KEY(r)] != 0 ->
                        needed = false
                    :: !REMOVES(r) && row[KEY(r)] == 0 ->
#ifdef EVICTED_DROPPED
                        needed = false
#else
                        removal_is_needed(SEQ(r), i);
                        r = r | 32
#endif
                    :: REMOVES(r) -> removal_is_needed(SEQ(r), i)
                    fi;
                    if
                    :: needed && at < SLOTS ->
                        rec[AT(copy, at)] = r; at++;
                        n = (SEQ(r) < n -> SEQ(r) : n)
                    :: needed && at >= SLOTS -> at = SLOTS + 1
                    :: else
                    fi
                :: else
                fi
            }
        :: else
        fi
    }
}

/* The rows of one key, in a checkpoint's transaction. */
inline apply_key(key) {
    walk(end_segment, end_at, applied, row[0], row[1], row_at[0], row_at[1], frozen_segment,
         frozen_at);
    if
    :: v_at[key] != row_at[key] || v[key] != row[key] ->
#ifdef OLD_FLUSH
        /* Every older file of the key is scheduled for deletion by this transaction. */
        for (s : 1 .. SEQS) {
            if
            :: s <= frozen && HITS(history[s], key) && s != SEQ(v[key]) ->
                scheduled = scheduled | (1 << s)
            :: else
            fi
        }
#endif
        row[key] = v[key];
        row_at[key] = v_at[key]
    :: else
    fi;
    if
    :: row[key] != 0 && (victims & BIT(SEGMENT_OF(row_at[key]))) && copy != 0 ->
        for (j : 0 .. 1) {
            if
            :: BARE(rec[AT(copy, j)]) == row[key] -> row_at[key] = AT(copy, j) + 1
            :: else
            fi
        }
    :: else
    fi
}

/* Rows lead to what is on the device. [P5] */
inline check_durable() {
    for (k : 0 .. 1) {
        if
        :: row[k] != 0 ->
            assert(rec[row_at[k] - 1] & SYNCED);
            assert(nd & BIT(SEGMENT_OF(row_at[k])))
        :: else
        fi
    }
}

inline evict(key) {
    if
    :: evictions < EVICTIONS && row[key] != 0 ->
        evictions++; evicted = evicted | (1 << SEQ(row[key])); row[key] = 0; row_at[key] = 0
    :: true
    fi
}

inline reader_sees_commit(gone) {
#ifdef READER
    if
    :: epc != 0 -> stale = true; older = older | (gone)
    :: else
    fi
#else
    skip
#endif
}

#if defined(READER) && !defined(DELETE_EARLY)
#define IS_HELD(s) (epc >= 2 && (older & BIT(s)))
#else
#define IS_HELD(s) false
#endif
#if defined(READER) && !defined(OPEN_DELETES)
#define IS_HELD_AT_OPEN(s) IS_HELD(s)
#else
#define IS_HELD_AT_OPEN(s) false
#endif

#define RUNS (rpc == 0)
/* What the writer does while a checkpoint is syncing or copying is the same to it as what it does
   between the two transactions: it lies behind what was frozen. */
#define WRITES (rpc == 0 && (cpc == 0 || cpc == 5))

/* A log that no commit knows may begin with a segment that is not there: nothing was synced. */
#define MAY_MISS (other_boot && (ws != end_segment || known == 0))

#ifdef SETTLED_BY_OPENING
#define MAY_SAY (settled || crashes > 0)
#elif defined(SAID_EARLY) || defined(TREE_UNSYNCED)
#define MAY_SAY true
#else
#define MAY_SAY settled
#endif
#ifdef SAID_EARLY
#define MAY_SYNC (said && settled)
#else
#define MAY_SYNC said
#endif

/* The next crash's image: what recovery will find, and that it is right. */
inline check_image() {
    check_rows();
    walk_all();
    assert(!missing || MAY_MISS);
    check_state(acknowledged);
    assert(n == acknowledged);
#ifndef OLD_FLUSH
    rebuild();
    check_state(acknowledged)
#endif
}

inline forget_memory() {
    tail = 0; tail_at = 0; next_number = 0; retired = 0; wpc = 0; made = 0; cpc = 0;
    frozen = 0; frozen_segment = 0; frozen_at = 0; victims = 0; copy = 0;
    larder_log_segment = 0; log_at = 0; log_missing = false; after_power = false; was_clean = false;
    trusted = 0; trusted_chain = 0; trusted_tail = 0;
    rpc = (unmade -> 7 : 1)
}

active proctype store() {
    do

    /* The writer ------------------------------------------------------------------------------- */

    /* [W1] A record is published, and acknowledged. */
    :: atomic { WRITES && wpc == 0 && tail_at < SLOTS && acknowledged < SEQS ->
        d_step { walk_all(); cr = (v[0] != 0 -> 1 : 0) | (v[1] != 0 -> 2 : 0) };
        if
        :: cr = 0
        :: cr = 1 << 3
        :: cr & 1 -> cr = 32
        :: cr & 2 -> cr = (1 << 3) | 32
#ifdef CLEARS
        :: cr != 0 -> cr = (2 << 3) | 32
#endif
        fi;
        d_step {
            acknowledged++;
            cr = cr | acknowledged | (generation << 6);
            history[acknowledged] = cr;
            rec[AT(tail, tail_at)] = cr;
            tail_at++;
#ifdef OLD_FLUSH
            files = files | (1 << acknowledged);
            scheduled = scheduled & ~(1 << acknowledged);
#endif
            cr = 0
        } }
    /* [W2] A new segment is made, */
    :: d_step { WRITES && wpc == 0 && tail_at > 0 &&
                next_number <= SEGMENTS ->
        made = next_number; next_number++;
        make_segment(made, 1, acknowledged + 1, 0);
        wpc = 1 }
    /* [W3] the folder is synced, so that no segment can be missing before this one, */
    :: d_step { WRITES && wpc == 1 ->
#ifndef NAME_UNSYNCED
        nd = nd | BIT(made) | BIT(tail);
#endif
        wpc = 2 }
    /* [W4] and the full one is sealed. */
    :: d_step { WRITES && wpc == 2 ->
        seal_to[tail - 1] = made; seal_at[tail - 1] = tail_at;
        tail = made; tail_at = 0; made = 0; wpc = 0 }
    /* [W5] A sync; what it covers is acknowledged as durable. */
    :: d_step { WRITES && wpc == 0 && durable < acknowledged && MAY_SYNC ->
        sync_log(tail, tail_at);
        durable = acknowledged }
    /* [I14] Before the first one the tree and its names are synced, */
    :: d_step { RUNS && !settled -> settled = true }
    /* and then the head says that a sync began. */
    :: d_step { RUNS && !said && MAY_SAY -> said = true }

    /* Closing. The log is synced, also where few writes were left to it, */
    :: d_step { RUNS && cpc == 0 && wpc == 0 && closes < CLOSES && MAY_SYNC ->
        closes++;
#ifdef CLOSED_EARLY
        clean = true;
#else
        sync_log(tail, tail_at);
#endif
        wpc = 3 }
    /* and only then the lock's file says so. */
    :: d_step { RUNS && wpc == 3 ->
#ifdef CLOSED_EARLY
        sync_log(tail, tail_at);
#endif
        clean = true; durable = acknowledged;
        check_image();
        forget_memory() }

    /* The checkpoint --------------------------------------------------------------------------- */

    /* [C1] The memtable is frozen, victims are chosen: sealed, everything in them applied. */
    :: atomic { RUNS && cpc == 0 && wpc == 0 && checkpoints < CHECKPOINTS ->
        d_step {
            checkpoints++;
            frozen = acknowledged; frozen_segment = tail; frozen_at = tail_at;
            walk_all();
            cmask = ex & known & ~walked;
#ifdef CLEAN_UNAPPLIED
            cmask = ex & ~BIT(tail);
#endif
#ifdef END_CLEANED
            cmask = cmask | (end_at > 0 && acknowledged == applied -> BIT(end_segment) : 0);
            cmask = cmask & ~BIT(tail);
#endif
            victims = 0 };
        for (cs : 1 .. SEGMENTS) {
            if
            :: cmask & BIT(cs) -> victims = victims | BIT(cs)
            :: true
            fi
        };
        cs = 0; cmask = 0;
        (frozen > applied || victims != 0 || end_segment != tail) -> cpc = 1 }
    /* [C2] The log is synced up to there. */
    :: d_step { cpc == 1 && MAY_SYNC ->
#ifndef COMMIT_EARLY
        sync_log(frozen_segment, frozen_at);
#endif
        cpc = (victims != 0 -> 2 : 4) }
    /* [C3] What counts in the victims is copied, if there is any. */
    :: d_step { cpc == 2 ->
        copy = next_number;
        if
        :: copy <= SEGMENTS -> copy_victims()
        :: else -> at = SLOTS + 1
        fi;
        if
        :: at == 0 -> copy = 0; cpc = 4
        :: at > SLOTS ->
            if
            :: copy <= SEGMENTS -> wipe(copy)
            :: else
            fi;
            copy = 0; victims = 0; cpc = 4
        :: else ->
            next_number++;
            make_segment(copy, 2, n, applied);
            cpc = 3
        fi }
    /* [C4] The copies are synced, and the name. */
    :: d_step { cpc == 3 ->
#ifndef COPY_UNSYNCED
        for (j : 0 .. 1) {
            if
            :: rec[AT(copy, j)] != 0 -> rec[AT(copy, j)] = rec[AT(copy, j)] | SYNCED
            :: else
            fi
        }
        nd = nd | BIT(copy);
#endif
        cpc = 4 }
    /* [C5] The first transaction: half of the rows, and the rows 03 of all segments that they lead
       to; applied stays. */
    :: atomic { cpc == 4 ->
        d_step {
            apply_key(0);
            known = known | walked;
#ifndef COPY_ROW_LATE
            known = (copy != 0 -> known | BIT(copy) : known);
#endif
            meta_next = next_number;
            reader_sees_commit(0);
            cpc = 5
        };
        evict(0);
        check_durable() }
    /* [C6] The last one: the other half, applied and end; the victims' rows 03 go. */
    :: atomic { cpc == 5 ->
        d_step {
            apply_key(1);
            known = (copy != 0 -> known | BIT(copy) : known) & ~victims;
#ifdef END_CLEANED
            if
            :: frozen > applied -> end_segment = frozen_segment; end_at = frozen_at
            :: else
            fi;
            applied = frozen;
#else
            applied = frozen; end_segment = frozen_segment; end_at = frozen_at;
#endif
            meta_next = next_number;
            retired = retired | victims;
            reader_sees_commit(victims);
            frozen = 0; frozen_segment = 0; frozen_at = 0; victims = 0; copy = 0;
#ifdef OLD_FLUSH
            files = files & ~scheduled; scheduled = 0;
#endif
            cpc = 0
        };
        evict(1);
        check_durable() }
    /* A transaction that fails: what was copied for it is not referred to yet, or it is. */
    :: d_step { cpc >= 4 && failures < FAILURES ->
        failures++;
        retired = (copy != 0 && !(known & BIT(copy)) -> retired | BIT(copy) : retired);
        frozen = 0; frozen_segment = 0; frozen_at = 0; victims = 0; copy = 0; cpc = 0 }
    /* [C7] A retired segment that nobody can look at is deleted, */
    :: atomic { RUNS && cpc == 0 && wpc == 0 && (retired & ex) ->
        for (cs : 1 .. SEGMENTS) {
            if
            :: (retired & BIT(cs)) && IS_THERE(cs) && !IS_HELD(cs) -> break
            :: true
            fi
        };
        cs <= SEGMENTS -> UNLINK(cs); retired = retired & ~BIT(cs); cs = 0 }
    /* [C8] and is gone when the folder is synced. */
    :: d_step { RUNS && cpc == 0 && wpc == 0 && (nd & ~ex) -> sync_folder() }

    /* Recovery --------------------------------------------------------------------------------- */

    /* [R1] The log's end is found, and which segments nothing leads to. */
    :: d_step { rpc == 1 ->
        walk_all();
        larder_log_segment = ws; log_at = wp; log_missing = missing;
        next_number = meta_next;
        was_clean = clean && !other_boot;
#ifndef LOCK_KEPT
        clean = false;
#endif
        for (s : 1 .. SEGMENTS) {
            if
            :: (IS_THERE(s) || (walked & BIT(s)) || (missing && s == ws)) && s >= next_number ->
                next_number = s + 1
            :: else
            fi
        }
        orphans = ex & ~known & ~walked;
#ifdef ORPHANS_KEPT
        orphans = orphans & ~cleaned;
#endif
#ifdef GIVEN_UP_KEPT
        orphans = orphans & cleaned;
#endif
        retired = orphans;
#ifdef READER
        if
        :: epc != 0 && stale -> older = older | orphans
        :: else
        fi;
#endif
        after_power = other_boot;
#ifdef BOOT_EARLY
        other_boot = false;
#endif
        rpc = 2;
#ifdef OLD_FLUSH
        files = files & ~scheduled;
#endif
        v[0] = 0 }
    /* [R2] They are deleted, unless a reader may look at them, */
    :: atomic { rpc == 2 ->
        for (cs : 1 .. SEGMENTS) {
            if
            :: (retired & BIT(cs)) && !IS_HELD_AT_OPEN(cs) -> break
            :: else
            fi
        };
        if
        :: cs <= SEGMENTS -> UNLINK(cs); retired = retired & ~BIT(cs)
        :: else -> rpc = 3
        fi;
        cs = 0 }
    /* [R3] durably, before the log goes on. */
    :: d_step { rpc == 3 -> sync_folder(); rpc = 4 }
    /* [R4] After a power cut the log goes on in a new segment: the one that the chain names and that
       is missing, or the next one. */
    :: d_step { rpc == 4 && log_missing ->
        make_segment(larder_log_segment, 1, acknowledged + 1, 0);
        tail = larder_log_segment; tail_at = 0; rpc = 6 }
    :: d_step { rpc == 4 && !log_missing && after_power &&
                next_number <= SEGMENTS ->
        made = next_number; next_number++;
        make_segment(made, 1, acknowledged + 1, 0);
        rpc = 5 }
    :: d_step { rpc == 4 && !log_missing && !after_power ->
        tail = larder_log_segment; tail_at = log_at; rpc = 6 }
    /* [R5] A seal where the log ended hides what lies behind. */
    :: d_step { rpc == 5 ->
        seal_to[larder_log_segment - 1] = made; seal_at[larder_log_segment - 1] = log_at;
        seal_synced = seal_synced & ~BIT(larder_log_segment);
        tail = made; tail_at = 0; made = 0; rpc = 6 }
    /* [R6] Only now does the lock's file name this start of the machine. */
    :: d_step { rpc == 6 ->
        other_boot = false; after_power = false;
        larder_log_segment = 0; log_at = 0; log_missing = false; rpc = 0;
        check_image();
#ifdef TRUST_REPLAYED
        trusted = acknowledged;
#endif
        /* The one exception to [I3]. */
        if
        :: was_clean -> trusted = acknowledged; trusted_chain = walked; trusted_tail = tail
        :: else
        fi;
        was_clean = false;
        v[0] = 0 }

    /* A tree that the power took before anything was synced: all segments are deleted, */
    :: d_step { rpc == 7 ->
        at = 0;
        for (s : 1 .. SEGMENTS) {
            if
            :: at == 0 && IS_THERE(s) -> UNLINK(s); at = s
            :: else
            fi
        }
        rpc = (at == 0 -> 8 : 7);
        at = 0 }
    /* durably, */
    :: d_step { rpc == 8 -> sync_folder(); rpc = 9 }
    /* and a new one is made. */
    :: d_step { rpc == 9 -> unmade = false; rpc = 1 }

    /* The reader elsewhere ----------------------------------------------------------------------- */
#ifdef READER
    /* [E1] It reads which transaction is the last, */
    :: d_step { epc == 0 && !other_boot -> older = 0; stale = false; epc = 1 }
    /* [E2] writes that into its slot, */
    :: d_step { epc == 1 -> epc = 2 }
    /* [E3] and looks again: this one is its snapshot, or it begins anew. */
    :: d_step { epc == 2 && stale -> older = 0; stale = false; epc = 1 }
    :: d_step { epc == 2 && !stale ->
        seen[0] = row[0]; seen[1] = row[1]; seen_at[0] = row_at[0]; seen_at[1] = row_at[1];
        seen_applied = applied; seen_segment = end_segment; seen_at_slot = end_at; epc = 3 }
    /* [E4] It follows the log to its tail: that is a state, and the newest. */
    :: d_step { epc == 3 ->
        walk(seen_segment, seen_at_slot, seen_applied, seen[0], seen[1], seen_at[0], seen_at[1], 0,
             0);
        assert(!missing);
        assert(n == acknowledged);
        check_state(acknowledged);
        seen[0] = v[0]; seen[1] = v[1]; seen_at[0] = v_at[0]; seen_at[1] = v_at[1];
        seen_applied = 0; seen_segment = 0; seen_at_slot = 0; epc = 4 }
    /* [E5] It reads through a location, and releases its slot. */
    :: d_step { epc == 4 ->
        for (k : 0 .. 1) {
            if
            :: seen[k] != 0 ->
                assert(IS_THERE(SEGMENT_OF(seen_at[k])));
                assert(BARE(rec[seen_at[k] - 1]) == seen[k])
            :: else
            fi
        }
        seen[0] = 0; seen[1] = 0; seen_at[0] = 0; seen_at[1] = 0;
        older = 0; stale = false; epc = 0 }
#endif

    /* Crashes ------------------------------------------------------------------------------------ */

    /* A kill: the page cache survives, and so does the reader. */
    :: d_step { crashes < CRASHES ->
        crashes++;
        if
        :: unmade
        :: else -> check_image()
        fi;
        forget_memory() }
    /* A power cut. */
    :: atomic { crashes < CRASHES ->
        crashes++;
        /* The tree, and the folder of the log. */
        if
        :: !settled -> unmade = true
        :: true
        fi;
        if
        :: !settled ->
            d_step {
                for (s : 1 .. SEGMENTS) {
                    if
                    :: IS_THERE(s) || (nd & BIT(s)) -> ex = ex & ~BIT(s); wipe(s)
                    :: else
                    fi
                }
                nd = 0; said = false
            }
        :: true
        fi;
        for (cs : 1 .. SEGMENTS) {
            if
            :: IS_THERE(cs) != (nd & BIT(cs)) ->
                if
                :: ex = ex | BIT(cs)
                :: ex = ex & ~BIT(cs); wipe(cs)
                fi
            :: else
            fi;
            for (cj : 0 .. 1) {
                if
                :: rec[AT(cs, cj)] != 0 && !(rec[AT(cs, cj)] & SYNCED) ->
                    if
                    :: rec[AT(cs, cj)] = 0
                    :: rec[AT(cs, cj)] = rec[AT(cs, cj)] | SYNCED
                    fi
                :: else
                fi
            };
            if
            :: seal_to[cs - 1] != 0 && !(seal_synced & BIT(cs)) ->
                if
                :: seal_to[cs - 1] = 0; seal_at[cs - 1] = 0
                :: seal_synced = seal_synced | BIT(cs)
                fi
            :: else
            fi
        };
        d_step {
            cs = 0; cj = 0;
            nd = ex;
            other_boot = true; clean = false;
#ifdef READER
            epc = 0; stale = false; older = 0; seen_applied = 0; seen_segment = 0;
            seen_at_slot = 0;
            for (k : 0 .. 1) { seen[k] = 0; seen_at[k] = 0 }
#endif
            if
            :: unmade ->
                /* Whoever opens it would take it for damaged; there is nothing to lose. */
                assert(!said && known == 0);
                settled = false; n = 0
            :: else -> settled = true; said = true; walk_all()
            fi;
            assert(n <= acknowledged && n >= durable);
            acknowledged = n; durable = n;
            for (i : 1 .. SEQS) {
                if
                :: i > n -> history[i] = 0; evicted = evicted & ~(1 << i)
                :: else
                fi
            }
            if
            :: unmade
            :: else -> check_image()
            fi;
            generation = 1 - generation;
            forget_memory()
        } }
    od
}
