// SPDX-License-Identifier: MIT
/** @file ledger.h
    What a writing child did to a ring, in memory that outlives it, and what must therefore be in
    the file.

    A child notes what it is about to do (`…_intent`) and what a returned call acknowledged. What a
    message holds follows from its sequence number and the salt of the *epoch* it was written in: a
    new epoch begins with every session, so that a stale record of an earlier session under a number
    used again is seen as foreign. Where several threads append, a message begins with a tag of
    thread and count, because nobody knows a number before the call returns. */
#ifndef TORTURE_LEDGER_H
#define TORTURE_LEDGER_H

#include "torture.h"

/** LEDGER_BATCH: so many messages one call appends at most. */
enum { LEDGER_THREADS = 4, LEDGER_BATCH = 8, LEDGER_CURSORS = 3, LEDGER_EPOCHS = 256 };

typedef struct ledger_epoch {
    uint64_t first_sequence;
    uint64_t salt;
} ledger_epoch;

typedef struct ledger {
    uint64_t seed;
    message_profile profile;
    uint64_t capacity;
    uint32_t flags;
    /** More than 1: messages carry tags. */
    uint32_t threads;
    /** After a power cut a new session begins above the numbers of what was given up: then its
        first message may follow a gap, which the reader reports. After a kill there is none. */
    bool gaps_between_epochs;
    uint32_t epoch_count;
    uint64_t epochs_begun;
    ledger_epoch epochs[LEDGER_EPOCHS];

    /** The child has the ring open. */
    _Atomic uint32_t ready;
    /** The highest number that an append returned. */
    _Atomic uint64_t acknowledged;
    /** The highest oldest message that was seen after a call. */
    _Atomic uint64_t oldest;
    /** Removed through: about to be, was, and was when a sync began that returned. */
    _Atomic uint64_t removed_intent;
    _Atomic uint64_t removed;
    _Atomic uint64_t removed_synced;
    /** Messages up to here were acknowledged when a sync began that returned. */
    _Atomic uint64_t synced;
    _Atomic uint64_t cursor_intent[LEDGER_CURSORS];
    _Atomic uint64_t cursor[LEDGER_CURSORS];
    _Atomic uint64_t cursor_synced[LEDGER_CURSORS];
    /** After a power cut: numbers above the first and up to the second were passed over. */
    _Atomic uint64_t passed_from;
    _Atomic uint64_t passed_to;
    /** How often the clock of a ring that keeps times was read. */
    _Atomic uint64_t clock_reads;
    /** Messages that a thread began to append in this epoch. */
    _Atomic uint64_t started[LEDGER_THREADS];
    /** The child itself saw something wrong. */
    _Atomic uint32_t broken;
    char broken_text[256];
} ledger;

/** What a ring held when it was verified. */
typedef struct ledger_contents {
    uint64_t oldest;
    uint64_t newest;
    uint64_t count;
    uint64_t record_bytes;
    uint64_t next;
} ledger_contents;

void ledger_reset(ledger *book, uint64_t seed, uint64_t capacity, uint32_t flags);
/** From now on messages from `first_sequence` on are written with a new salt. */
void ledger_begin_epoch(ledger *book, uint64_t first_sequence);
/** The salt of the epoch that wrote `sequence`. */
uint64_t ledger_salt(const ledger *book, uint64_t sequence);
/** The key of message `sequence` of a single-threaded epoch, or of a tag of a threaded one. */
uint64_t ledger_key(const ledger *book, uint64_t sequence, uint64_t tag);

/** How to open the ring; one that keeps times goes by a clock that is set back now and then. */
larder_ring_options ledger_options(ledger *book);
/** What a message of this length takes in the ring. */
static inline uint64_t ledger_record_bytes(const ledger *book, size_t length) {
    bool keeps_times = (book->flags & LARDER_RING_KEEP_TIMES) != 0;
    return record_bytes(length + (keeps_times ? LARDER_RING_TIME_BYTES : 0));
}
/** What the clock told at most so far; it has told as much once. */
int64_t ledger_clock_most(const ledger *book);
/** Verifies that times do not decrease, that the clock told them, that each is found by a seek, and
    that this looks at few messages. */
bool ledger_verify_times(torture *run, const ledger *book, larder_ring *ring);

static inline void raise_to(_Atomic uint64_t *value, uint64_t at_least) {
    uint64_t seen = atomic_load(value);
    while (seen < at_least && !atomic_compare_exchange_weak(value, &seen, at_least)) {
    }
}

/** Reads the whole ring and verifies every message, that there is no hole, and that statistics and
    the deep check agree. @return false after a failure was told. */
bool ledger_verify(torture *run, const ledger *book, larder_ring *ring, ledger_contents *out);

/** The name of cursor `index`. */
larder_bytes ledger_cursor_name(unsigned index);

/** What was promised when the call returned: everything acknowledged is in `held`, up to what
    removals and overwriting took. */
bool ledger_verify_acknowledged(torture *run, const ledger *book, const ledger_contents *held);
/** Cursors are where they were acknowledged, `at_least` naming the ledger's column to go by. */
bool ledger_verify_cursors(torture *run, const ledger *book, larder_ring *ring,
                           const _Atomic uint64_t *at_least);

/** Appends a few messages of a new epoch and verifies the ring again. */
bool ledger_append_more(torture *run, ledger *book, larder_ring *ring, rng *random,
                        unsigned messages);

// The child's side --------------------------------------------------------------------------------

typedef struct writer_plan {
    ledger *book;
    const char *path;
    rng random;
    /** Called after each step, for captures; may be NULL. */
    void (*after_step)(void *context);
    void *context;
    /** One step in so many syncs; 0 never does. */
    unsigned sync_every;
    /** One step in so many makes a sync fail that is to come; 0 never does. The ring is closed and
        opened again then. */
    unsigned fail_every;
    /** Close and open again now and then. */
    bool reopens;
    uint64_t steps;
    /** Ends a few steps behind a message that was synced, now and then: where what a cut may take
        begins at a number that is promised. */
    bool stops_behind_sync;
    /** Ends the process after its steps with the ring still open. */
    bool dies_open;
    int64_t sync_interval_ns;
} writer_plan;

/** Opens the ring and works on it with the ledger's threads for `steps` steps each, or until it is
    killed. Whatever is not as it should be is left in `broken_text`. */
void writer_run(writer_plan *plan);

#endif
