// SPDX-License-Identifier: MIT
/** @file store_rare.h
    What the families of the store share that try what is rare: places, keys, a clock, and rows of
    the tree changed through LMDB itself. */
#ifndef TORTURE_STORE_RARE_H
#define TORTURE_STORE_RARE_H

#include <lmdb.h>

#include "store.h"

/** Two paths where there is nothing before each body, and one that is left alone. */
typedef struct rare {
    const char *path, *other, *kept;
} rare;

/** Has a `rare` as its context. */
typedef void (*rare_body)(torture *run, void *context);

/** A case: does `prepare` with the path that is kept, unless it is NULL, and then each body in a
    child process, up to a NULL.
    @param what for the report of a crash, behind "what is rare". */
void rare_each(torture *run, const char *what, bool (*prepare)(torture *run, const char *kept),
               const rare_body *bodies);
/** The same with a list of bodies. */
#define RARE_EACH(run, what, prepare, ...)                                                         \
    rare_each((run), (what), (prepare), (const rare_body[]){__VA_ARGS__, NULL})

/** The time that `own_clock` gives; 1000 when the first body begins. */
extern _Atomic int64_t the_time;
int64_t own_clock(void *context);

/** `folder/name`, in one of a few static buffers. */
const char *inside(const char *folder, const char *name);
/** The key of that number, in a static buffer. */
larder_bytes rare_key(unsigned number);
larder_status rare_put(larder_store *store, unsigned number, const char *value);
/** Opens a store without threads whose segments are as small as they can be, so that a few writes
    are worth cleaning.
    @param space_percent as in the tuning. */
larder_status opened_small(const char *path, uint32_t flags, uint64_t space_percent,
                           larder_store **out);
/** How many entries the store says there are. */
uint64_t rare_count(torture *run, larder_store *store);

/** A transaction that changes rows of the tree. */
typedef struct tree_edit {
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi tree;
} tree_edit;

/** Of files of their own: readers that no writer sees, or that a table misleads, cursors that are
    made beside a checkpoint, numbers that are given again, and a log with nothing in it. */
void slotless_readers(torture *run, void *context);
void replaced_below(torture *run, void *context);
void untold_state(torture *run, void *context);
void late_cursors(torture *run, void *context);
void passing_cursors(torture *run, void *context);
void number_of_copies(torture *run, void *context);
void empty_log(torture *run, void *context);
void hidden_end(torture *run, void *context);

bool edit_begin(const char *folder, tree_edit *out);
/** Has the meta row name this transaction, and `count` entries unless that is NULL, with a checksum
    that fits. @return false if there is no such row. */
bool edit_seal(tree_edit *edit, const uint64_t *count);
bool edit_end(tree_edit *edit);

#endif
