// SPDX-License-Identifier: MIT
/** @file rows.h
    Private: rows of the tree that follow from entries: order, expiry, indexes, files to delete.
    Gathered while entries are written, then applied in the order of their keys, deletions of a key
    before its insertion. */
#ifndef LARDER_ROWS_H
#define LARDER_ROWS_H

#include "lmdb/environment.h"

typedef struct tree_row {
    /** In the arena; while the rows are applied, the key there, with the value behind it. */
    union {
        size_t offset;
        const uint8_t *key;
    };
    uint16_t key_length;
    uint16_t value_length;
    bool is_deletion;
} tree_row;

typedef struct row_list {
    tree_row *rows;
    size_t count, capacity;
    uint8_t *arena;
    size_t arena_length, arena_capacity;
} row_list;

/** @param value NULL: the row is deleted. */
LARDER_MUST_CHECK larder_status larder_row_list_add(row_list *list, const tree_key *key,
                                                    const larder_bytes *value);
static inline larder_status row_list_put(row_list *list, const tree_key *key, larder_bytes value) {
    return larder_row_list_add(list, key, &value);
}
static inline larder_status row_list_delete(row_list *list, const tree_key *key) {
    return larder_row_list_add(list, key, NULL);
}
/** Does them all, and empties the list.
    @return LARDER_OK; EAGAIN if the map is too small; LARDER_EDAMAGED; ENOMEM … */
LARDER_MUST_CHECK larder_status larder_row_list_apply(row_list *list, environment *env,
                                                      MDB_txn *txn, MDB_dbi main);
void larder_row_list_free(row_list *list);

#endif
