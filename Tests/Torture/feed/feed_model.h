// SPDX-License-Identifier: MIT
/** @file feed_model.h
    What a writer wrote under which sequence, in memory that outlives it, and what consumers of its
    feed made of that.

    What write number n does follows from the seed and n, and no number is used twice: where a power
    cut took writes back, others come under their sequences. Each time that happens a *generation*
    begins, with a copy of what was left. A consumer's mirror has to be what the writes of its
    generation up to its token leave. */
#ifndef TORTURE_FEED_MODEL_H
#define TORTURE_FEED_MODEL_H

#include "larder_store_feed.h"
#include "torture.h"

enum {
    FEED_KEYS = 24,
    FEED_PARTS = 5,
    FEED_WRITES = 12000,
    FEED_GENERATIONS = 8,
    FEED_CONSUMERS = 3,
    FEED_STATES = 16,
    FEED_VALUE_MAX = 3000
};

typedef struct feed_part {
    uint32_t key;
    /** What is written; 0 removes. */
    uint32_t salt;
} feed_part;

typedef struct feed_write {
    bool clears;
    uint32_t count;
    feed_part parts[FEED_PARTS];
} feed_write;

/** What a consumer has kept: all of it at once, as in a file that is renamed. */
typedef struct feed_state {
    uint32_t mirror[FEED_KEYS];
    larder_store_token token;
    uint64_t sequence;
    uint32_t generation;
    bool has_token;
    /** It was read from a snapshot, and nothing was told since. */
    bool is_snapshot;
    /** Entries that a limit evicted before the snapshot are not in it. */
    bool may_lack;
} feed_state;

typedef enum feed_kind { FEED_AT_ONCE, FEED_ONLY_SYNCED, FEED_NAMED } feed_consumer_kind;

typedef struct feed_consumer {
    feed_consumer_kind kind;
    feed_state states[FEED_STATES];
    /** How many states there were. */
    _Atomic uint32_t kept;
    /** Its named cursor is where it said. */
    _Atomic uint32_t has_acknowledged;
    _Atomic uint64_t told, events, gaps, rewounds, snapshots;
} feed_consumer;

typedef struct feed_truth {
    uint64_t seed;
    /** The number of a write by sequence, 0 for none. */
    uint32_t writes[FEED_GENERATIONS][FEED_WRITES];
    _Atomic uint32_t generation;
    /** The last sequence that was noted, and the number of a write that was begun behind it. */
    _Atomic uint64_t last;
    _Atomic uint32_t begun, next_number;
    feed_consumer consumers[FEED_CONSUMERS];
    /** Limits evict; the writer waits until each write was told. */
    bool evicts, pings;
    /** Nothing may be told as missing to a named cursor. */
    bool keeps_all;
    /** Most of what a power cut finds was not synced, also of the last recovery. */
    bool syncs_seldom;
    /** The writer rests when it is 1. A power cut has not been recovered from. */
    _Atomic uint32_t stop, was_cut;
    /** The writer has made the named cursor. */
    _Atomic uint32_t has_cursor;
    _Atomic uint32_t broken;
    char broken_text[256];
} feed_truth;

feed_write feed_write_of(const feed_truth *truth, uint32_t number);
size_t feed_key(uint32_t key, uint8_t target[16]);
size_t feed_value(uint32_t salt, uint8_t target[FEED_VALUE_MAX]);
/** 0 if it is none. */
uint32_t feed_salt_of(larder_bytes value);
void feed_apply(const feed_truth *truth, uint32_t number, uint32_t mirror[FEED_KEYS]);
void feed_break(feed_truth *truth, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Holds each consumer's last state to the writes. */
bool feed_verify(torture *run, feed_truth *truth);

void feed_write_on(feed_truth *truth, const char *path, rng random);
void feed_consume(feed_truth *truth, unsigned which, const char *path, rng random);

void family_feed(torture *run);

#endif
