// SPDX-License-Identifier: MIT
/** @file store.h
    What the families of the store share: a book of what a writer did, in memory that outlives it.

    A writer works in lanes, one a thread. What operation number n of a lane does follows from the
    lane's seed and n, and it concerns keys of that lane alone, so that the state after any number
    of operations can be worked out from the book: a store that was hurt must hold one of these
    states, and none that is older than what was promised. */
#ifndef TORTURE_STORE_H
#define TORTURE_STORE_H

#include "larder_store.h"
#include "torture.h"

enum { BOOK_KEYS = 128, BOOK_LANES = 3, BOOK_PARTS = 12, BOOK_GROUPS = 8 };
/** The longest of everything, and the one index that entries have a value in. */
enum { BOOK_KEY_MAX = 2100, BOOK_EXTENDED_MAX = 70, BOOK_INDEX_MAX = 290, BOOK_INDEX = 3 };

typedef enum operation_kind {
    OPERATION_PUT,
    OPERATION_REMOVE,
    OPERATION_BATCH,
    OPERATION_REMOVE_PREFIX,
    OPERATION_FLUSH,
    OPERATION_SYNC,
    OPERATION_MAINTAIN,
    /** These two concern all keys, and so come only where there is a single lane. */
    OPERATION_REMOVE_ALL,
    OPERATION_TRIM
} operation_kind;

typedef struct operation_part {
    uint32_t key;
    /** What is written: value, extended data and index follow from it. 0 removes. */
    uint64_t salt;
} operation_part;

typedef struct operation {
    operation_kind kind;
    uint32_t part_count;
    operation_part parts[BOOK_PARTS];
    /** The first letter behind the lane's, of a removal by prefix; how many a trim leaves. */
    uint32_t argument;
    /** Asks to survive a power cut when it returns. */
    bool is_synced;
} operation;

/** What is under a key: 0 for nothing. `order` grows with each write. */
typedef struct held {
    uint64_t salt;
    uint64_t order;
} held;

typedef struct lane {
    uint64_t seed;
    /** What was there before the first operation of this session, and that operation's number. */
    held base[BOOK_KEYS];
    uint64_t first;
    /** Number behind the last operation that was begun, that returned, that was made safe. */
    _Atomic uint64_t begun;
    _Atomic uint64_t done;
    _Atomic uint64_t synced;
} lane;

typedef struct book {
    uint32_t lanes;
    lane lane[BOOK_LANES];
    uint64_t journal_bytes;
    /** Values up to this lie in the tree too. */
    uint64_t threshold_bytes;
    larder_store_tuning tuning;
    /** Most values are no longer than `usual`, some up to `longest`. */
    uint32_t usual;
    uint32_t longest;
    /** Weights of what is rare, of 1000. */
    uint32_t flushes, syncs, clears;
    uint32_t flags;
    /** Reads are noted, so that the order of use is not that of writes; then nothing is trimmed. */
    bool tracks;
    _Atomic uint32_t ready;
    /** A checkpoint was under way when the writer was looked at last: at each system call that
        could be made to fail, and behind each operation. */
    _Atomic uint32_t is_inside;
    /** 1 while the text is written, then 2. */
    _Atomic uint32_t broken;
    char broken_text[256];
} book;

/** Draws every threshold, most of them so small that each is crossed many times a second. */
void tuning_draw(larder_store_tuning *out, rng *random);
void book_reset(book *self, rng *random);
/** Notes what the writer found wrong; the first one counts. */
void book_break(book *self, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Writes the key's bytes. @return its length. */
size_t book_key(uint32_t which, uint32_t key, uint8_t target[BOOK_KEY_MAX]);
size_t book_value_length(const book *self, uint64_t salt);
size_t book_extended_length(uint64_t salt);
/** The value in the index. @return its length, SIZE_MAX for none. */
size_t book_index_value(uint64_t salt, uint8_t target[BOOK_INDEX_MAX]);
/** Fills an item for `salt`; the key's bytes are the caller's, and `room` has place for the longest
    value, extended data and index value. */
void book_item(const book *self, uint64_t salt, larder_bytes key, uint8_t *room,
               larder_store_index_entry *index, larder_store_item *item);
/** Whether an entry is what was written with `salt`, byte for byte. */
bool book_matches(const book *self, uint64_t salt, const larder_store_entry *entry);

operation book_operation(const book *self, uint32_t which, uint64_t number);
/** Changes a state of a lane as its operation does. */
void book_apply(uint32_t which, const operation *what, uint64_t number, held state[BOOK_KEYS]);
/** Leaves the `limit` entries that were written last. */
void book_trim(uint32_t limit, held state[BOOK_KEYS]);
/** The options borrow the book's thresholds. */
larder_store_options book_options(const book *self, uint32_t flags);

/** Which states a store may be in. */
typedef enum promise {
    /** Everything that returned is there: a killed process. */
    PROMISE_DONE,
    /** Everything that was synced is there: a machine without power. */
    PROMISE_SYNCED
} promise;

/** Reads the whole store and holds it to the book: one of the states that may be, and versions that
    grow as the writes did. Then the lanes' states are that one, in `found` if it is not NULL. */
bool book_verify(torture *run, book *self, larder_store *store, promise promised,
                 held (*found)[BOOK_KEYS]);
/** What must hold for any store: totals, orders and index as a full pass finds them, and its own
    check. With `settles` it is flushed first, and no segment may be left that is there for no
    reason. */
bool book_verify_sound(torture *run, const book *self, larder_store *store, const char *path,
                       bool settles);
/** Makes the state that was found the base of a new session. */
void book_go_on(book *self, held (*found)[BOOK_KEYS]);
/** Segments in the folder of a store. */
unsigned count_segments(const char *path);

// The writer --------------------------------------------------------------------------------------

typedef struct store_plan {
    book *book;
    const char *path;
    rng random;
    /** Operations of each lane; UINT64_MAX to go on until killed. */
    uint64_t steps;
    /** Called after each operation, by any lane. */
    void (*after_step)(void *context);
    void *context;
    /** Ends the process without closing the store. */
    bool dies_open;
    /** Closes and opens the store now and then. */
    bool reopens;
} store_plan;

void store_writer_run(store_plan *plan);

/** Runs `body` in a child and kills it: after a time that is short more often than long, or before
    some system call of its on a file of the store at `path`.
    @return false, and a failed trial, if it ended by itself or found something wrong. */
bool store_kill(torture *run, book *self, rng *random, const char *path, bool from_the_start,
                void (*body)(void *context), void *context);

void family_store_explore(torture *run);
void family_store_kill(torture *run);
void family_store_many(torture *run);
void family_store_growth(torture *run);
void family_store_limits(torture *run);
void family_store_remains(torture *run);
void family_store_kill_large(torture *run);
void family_store_blocks(torture *run);
void family_store_power(torture *run);
void family_store_promises(torture *run);
void family_store_damage(torture *run);
void family_store_pages(torture *run);
void family_store_rows(torture *run);
void family_store_bits(torture *run);
void family_store_records(torture *run);
void family_store_model(torture *run);
void family_store_concurrency(torture *run);
void family_store_readers(torture *run);
void family_store_exhaustion(torture *run);
void family_store_full(torture *run);
void family_store_input(torture *run);
void family_store_others(torture *run);
void family_store_rare(torture *run);
void family_store_rare_tree(torture *run);
void family_store_rare_data(torture *run);
void family_store_rare_repair(torture *run);
void family_store_rare_read(torture *run);
void family_store_rare_log(torture *run);

#endif
