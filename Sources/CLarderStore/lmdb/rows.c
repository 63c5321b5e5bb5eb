// SPDX-License-Identifier: MIT
/** @file rows.c
    Rows that follow from entries. */
#include "lmdb/rows.h"

#include <errno.h>
#include <stdlib.h>

#include "format/array.h"

static larder_status row_list_add(row_list *list, const tree_key *key, larder_bytes value,
                                  bool is_deletion) {
    larder_status status =
        array_reserve(&list->rows, list->count, &list->capacity, sizeof *list->rows);
    if (status != LARDER_OK) return status;
    size_t wanted = list->arena_length + key->length + value.length;
    if (wanted > list->arena_capacity) {
        size_t capacity = list->arena_capacity * 2 > wanted ? list->arena_capacity * 2 : wanted;
        uint8_t *arena = realloc(list->arena, capacity);
        if (arena == NULL) return ENOMEM;
        list->arena = arena;
        list->arena_capacity = capacity;
    }
    tree_row fresh = {list->arena_length, key->length, (uint16_t)value.length, is_deletion};
    memcpy(list->arena + list->arena_length, key->bytes, key->length);
    if (value.length > 0)
        memcpy(list->arena + list->arena_length + key->length, value.data, value.length);
    list->arena_length = wanted;
    list->rows[list->count++] = fresh;
    return LARDER_OK;
}

larder_status row_list_delete(row_list *list, const tree_key *key) {
    larder_bytes none = {NULL, 0};
    return row_list_add(list, key, none, true);
}

larder_status row_list_put(row_list *list, const tree_key *key, larder_bytes value) {
    if (value.length > UINT16_MAX) return LARDER_ETOOLARGE;
    return row_list_add(list, key, value, false);
}

typedef struct row_place {
    const uint8_t *key;
    tree_row row;
} row_place;

static int compare_rows(const void *a, const void *b) {
    const row_place *left = a;
    const row_place *right = b;
    size_t shorter =
        left->row.key_length < right->row.key_length ? left->row.key_length : right->row.key_length;
    int order = memcmp(left->key, right->key, shorter);
    if (order != 0) return order;
    if (left->row.key_length != right->row.key_length)
        return left->row.key_length < right->row.key_length ? -1 : 1;
    if (left->row.is_deletion != right->row.is_deletion) return left->row.is_deletion ? -1 : 1;
    // The later one has the last word.
    return (left->row.offset > right->row.offset) - (left->row.offset < right->row.offset);
}

larder_status row_list_apply(row_list *list, environment *env, MDB_txn *txn, MDB_dbi main) {
    if (list->count == 0) return LARDER_OK;
    row_place *places = malloc(list->count * sizeof *places);
    if (places == NULL) return ENOMEM;
    for (size_t at = 0; at < list->count; at++) {
        places[at].row = list->rows[at];
        places[at].key = list->arena + list->rows[at].offset;
    }
    qsort(places, list->count, sizeof *places, compare_rows);
    larder_status status = LARDER_OK;
    for (size_t at = 0; at < list->count && status == LARDER_OK; at++) {
        const row_place *place = &places[at];
        status = environment_guard(env, place->key, place->row.key_length);
        if (status != LARDER_OK) break;
        MDB_val key = {place->row.key_length, (void *)(uintptr_t)place->key};
        MDB_val value = {place->row.value_length,
                         (void *)(uintptr_t)(place->key + place->row.key_length)};
        int code = place->row.is_deletion ? mdb_del(txn, main, &key, NULL)
                                          : mdb_put(txn, main, &key, &value, 0);
        if (code == MDB_NOTFOUND && place->row.is_deletion) code = 0;
        status = code == MDB_MAP_FULL ? EAGAIN : environment_status(code);
    }
    free(places);
    row_list_empty(list);
    return status;
}

void row_list_empty(row_list *list) {
    list->count = 0;
    list->arena_length = 0;
}

void row_list_free(row_list *list) {
    free(list->rows);
    free(list->arena);
    memset(list, 0, sizeof *list);
}
