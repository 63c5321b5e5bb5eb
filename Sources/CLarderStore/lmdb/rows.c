// SPDX-License-Identifier: MIT
/** @file rows.c
    Rows that follow from entries. */
#include "lmdb/rows.h"

larder_status larder_row_list_add(row_list *list, const tree_key *key, const larder_bytes *value) {
    size_t value_bytes = value ? value->length : 0;
    if (value_bytes > UINT16_MAX) return LARDER_ETOOLARGE;
    larder_status status =
        larder_os_array_reserve(&list->rows, list->count, &list->capacity, sizeof *list->rows);
    if (status) return status;
    size_t wanted = list->arena_length + key->length + value_bytes;
    if (wanted > list->arena_capacity) {
        size_t capacity = list->arena_capacity * 2 > wanted ? list->arena_capacity * 2 : wanted;
        uint8_t *arena = realloc(list->arena, capacity);
        if (!arena) return ENOMEM;
        list->arena = arena;
        list->arena_capacity = capacity;
    }
    memcpy(list->arena + list->arena_length, key->bytes, key->length);
    if (value_bytes) memcpy(list->arena + wanted - value_bytes, value->data, value_bytes);
    list->rows[list->count++] =
        (tree_row){{list->arena_length}, key->length, (uint16_t)value_bytes, !value};
    list->arena_length = wanted;
    return LARDER_OK;
}

static int compare_rows(const void *a, const void *b) {
    const tree_row *left = a, *right = b;
    int order = compare_bytes((larder_bytes){left->key, left->key_length},
                              (larder_bytes){right->key, right->key_length});
    if (order) return order;
    if (left->is_deletion != right->is_deletion) return left->is_deletion ? -1 : 1;
    // The later one has the last word.
    return (left->key > right->key) - (left->key < right->key);
}

larder_status larder_row_list_apply(row_list *list, environment *env, MDB_txn *txn, MDB_dbi main) {
    for (size_t i = 0; i < list->count; i++) list->rows[i].key = list->arena + list->rows[i].offset;
    if (list->count) qsort(list->rows, list->count, sizeof *list->rows, compare_rows);
    larder_status status = LARDER_OK;
    for (size_t i = 0; i < list->count && !status; i++) {
        const tree_row *row = &list->rows[i];
        larder_bytes key = {row->key, row->key_length};
        larder_bytes value = {row->key + row->key_length, row->value_length};
        status = larder_environment_row(env, txn, main, key, row->is_deletion ? NULL : &value);
    }
    list->count = list->arena_length = 0;
    return status;
}

void larder_row_list_free(row_list *list) {
    free(list->rows);
    free(list->arena);
    memset(list, 0, sizeof *list);
}
