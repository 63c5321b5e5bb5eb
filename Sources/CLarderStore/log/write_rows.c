// SPDX-License-Identifier: MIT
#include "log/write_rows.h"

enum { CHUNK_WRITES = 1020 };

typedef struct noted_write {
    const uint8_t *record;
    uint32_t segment;
} noted_write;

/** Never moved, so that it is read without the pending lock. */
typedef struct write_chunk {
    struct write_chunk *next;
    noted_write writes[CHUNK_WRITES];
} write_chunk;

/** Stored forms of long keys, which rows lead to. */
typedef struct key_block {
    struct key_block *next;
    uint8_t bytes[];
} key_block;

typedef struct sorted_order {
    row_order order;
    /** So many writes are in the runs. */
    uint32_t folded;
    /** Where the next one lies: the chunk it is in, or the one before that if it has not begun. */
    const write_chunk *chunk;
    row_run *runs[ROW_RUNS_MAX];
    size_t run_count;
} sorted_order;

struct write_rows {
    _Atomic uint32_t holders;
    uint8_t secret[16];
    uint32_t count;
    write_chunk *first, *last;
    key_block *keys;
    sorted_order *orders;
    size_t order_count, order_capacity;
};

// Holding -----------------------------------------------------------------------------------------

write_rows *larder_write_rows_create(const uint8_t secret[16]) {
    write_rows *made = calloc(1, sizeof *made);
    if (made == NULL) return NULL;
    atomic_init(&made->holders, 1);
    memcpy(made->secret, secret, sizeof made->secret);
    return made;
}

bool larder_write_rows_has_secret(const write_rows *rows, const uint8_t secret[16]) {
    return memcmp(rows->secret, secret, sizeof rows->secret) == 0;
}

void larder_write_rows_hold(write_rows *rows) {
    atomic_fetch_add_explicit(&rows->holders, 1, memory_order_relaxed);
}

static void row_run_hold(row_run *run) {
    atomic_fetch_add_explicit(&run->holders, 1, memory_order_relaxed);
}

void larder_row_run_release(row_run *run) {
    if (atomic_fetch_sub_explicit(&run->holders, 1, memory_order_acq_rel) == 1) free(run);
}

void larder_write_rows_release(write_rows *rows) {
    if (rows == NULL || atomic_fetch_sub_explicit(&rows->holders, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t at = 0; at < rows->order_count; at++)
        for (size_t run = 0; run < rows->orders[at].run_count; run++)
            larder_row_run_release(rows->orders[at].runs[run]);
    while (rows->first != NULL) {
        write_chunk *next = rows->first->next;
        free(rows->first);
        rows->first = next;
    }
    while (rows->keys != NULL) {
        key_block *next = rows->keys->next;
        free(rows->keys);
        rows->keys = next;
    }
    free(rows->orders);
    free(rows);
}

// Noting ------------------------------------------------------------------------------------------

larder_status larder_write_rows_add(write_rows *rows, const uint8_t *at, uint32_t segment) {
    uint32_t place = rows->count % CHUNK_WRITES;
    if (place == 0) {
        write_chunk *chunk = malloc(sizeof *chunk);
        if (chunk == NULL) return ENOMEM;
        chunk->next = NULL;
        if (rows->last != NULL) rows->last->next = chunk;
        else rows->first = chunk;
        rows->last = chunk;
    }
    rows->last->writes[place] = (noted_write){at, segment};
    rows->count++;
    return LARDER_OK;
}

uint32_t larder_write_rows_count(const write_rows *rows) { return rows->count; }

// Making rows -------------------------------------------------------------------------------------

typedef struct row_list {
    write_row *items;
    size_t count, capacity;
} row_list;

static larder_status list_add(row_list *list, write_row row) {
    larder_status status =
        larder_os_array_reserve(&list->items, list->count, &list->capacity, sizeof *list->items);
    if (!status) list->items[list->count++] = row;
    return status;
}

static larder_status stored_key(write_rows *rows, larder_bytes key, larder_bytes *out) {
    *out = key;
    if (key.length <= KEY_WHOLE_MAX_BYTES) return LARDER_OK;
    key_block *block = malloc(sizeof *block + KEY_STORED_MAX_BYTES);
    if (block == NULL) return ENOMEM;
    tree_key scratch;
    larder_bytes stored = larder_stored_key(key, rows->secret, &scratch);
    out->data = memcpy(block->bytes, stored.data, stored.length);
    out->length = stored.length;
    block->next = rows->keys;
    rows->keys = block;
    return LARDER_OK;
}

/** Adds a row for each different value by which the write's entry is found in an index. */
static larder_status add_values(uint16_t index, const write_row *row, row_list *list) {
    record entry;
    // Said when it is read by key; there is no telling which value it would be found by.
    if (larder_record_read(record_bytes(row->record), false, &entry)) return LARDER_OK;
    size_t offset = 0;
    larder_store_index_entry found;
    larder_status status = LARDER_OK;
    while (!status && larder_record_next_index(&entry, &offset, &found)) {
        if (found.index != index) continue;
        write_row expanded = *row;
        expanded.value = found.value;
        status = list_add(list, expanded);
    }
    return status;
}

static larder_status add_write(write_rows *rows, row_order order, noted_write from,
                               row_list *list) {
    bool is_put = record_kind(from.record) == RECORD_PUT;
    if (order.by != ROWS_BY_KEY && !is_put) return LARDER_OK;
    if (order.by == ROWS_BY_INDEX && record_index_count(from.record) == 0) return LARDER_OK;
    write_row row = {.record = from.record, .segment = from.segment};
    larder_status status = stored_key(rows, larder_record_key(from.record), &row.stored);
    if (status) return status;
    return order.by == ROWS_BY_INDEX ? add_values(order.index, &row, list) : list_add(list, row);
}

// Order -------------------------------------------------------------------------------------------

int larder_write_row_compare(row_order order, const write_row *a, const write_row *b) {
    if (order.by == ROWS_BY_WRITE)
        return compare_stamps(record_stamp(a->record), record_stamp(b->record));
    int result = order.by == ROWS_BY_INDEX ? compare_bytes(a->value, b->value) : 0;
    return result != 0 ? result : compare_bytes(a->stored, b->stored);
}

static int compare_digits(const void *a, const void *b, row_order order) {
    const write_row *left = a, *right = b;
    if (left->digits != right->digits) return left->digits < right->digits ? -1 : 1;
    int result = larder_write_row_compare(order, left, right);
    return result != 0 ? result
                       : compare_stamps(record_stamp(left->record), record_stamp(right->record));
}

static int compare_by_key(const void *a, const void *b) {
    return compare_digits(a, b, (row_order){ROWS_BY_KEY, 0});
}

static int compare_by_write(const void *a, const void *b) {
    return compare_digits(a, b, (row_order){ROWS_BY_WRITE, 0});
}

static int compare_by_value(const void *a, const void *b) {
    return compare_digits(a, b, (row_order){ROWS_BY_INDEX, 0});
}

/** Writes are noted in their order, but for those of which a memtable knew when the first cursor
    came. */
static void sort_by_write(row_list *list) {
    for (size_t at = 0; at < list->count; at++)
        list->items[at].digits = record_sequence(list->items[at].record);
    qsort(list->items, list->count, sizeof *list->items, compare_by_write);
}

/** Of rows that are alike but for the write the last stays. */
static void sort(row_order order, row_list *list) {
    if (list->count < 2) return;
    if (order.by == ROWS_BY_WRITE) {
        sort_by_write(list);
        return;
    }
    bool is_by_key = order.by == ROWS_BY_KEY;
    larder_bytes first = is_by_key ? list->items[0].stored : list->items[0].value;
    size_t shared = first.length;
    for (size_t at = 1; at < list->count; at++) {
        larder_bytes other = is_by_key ? list->items[at].stored : list->items[at].value;
        shared = bytes_shared_prefix(first.data, shared, other);
    }
    for (size_t at = 0; at < list->count; at++)
        list->items[at].digits =
            bytes_digits(is_by_key ? list->items[at].stored : list->items[at].value, shared);
    qsort(list->items, list->count, sizeof *list->items,
          is_by_key ? compare_by_key : compare_by_value);
    size_t kept = 1;
    for (size_t at = 1; at < list->count; at++) {
        write_row *row = &list->items[at];
        bool is_alike = larder_write_row_compare(order, &list->items[kept - 1], row) == 0;
        if (!is_alike) kept++;
        list->items[kept - 1] = *row;
    }
    list->count = kept;
}

static row_run *run_create(size_t count) {
    row_run *made = malloc(sizeof *made + count * sizeof *made->rows);
    if (made == NULL) return NULL;
    atomic_init(&made->holders, 1);
    made->count = 0;
    return made;
}

/** Of rows that both have the newer one's stays. NULL without memory. */
static row_run *merge(row_order order, const row_run *older, const row_run *newer) {
    row_run *made = run_create((size_t)older->count + newer->count);
    if (made == NULL) return NULL;
    const write_row *left = older->rows, *left_end = left + older->count;
    const write_row *right = newer->rows, *right_end = right + newer->count;
    while (left < left_end || right < right_end) {
        int result = 0;
        if (left == left_end) result = 1;
        else if (right == right_end) result = -1;
        else result = larder_write_row_compare(order, left, right);
        made->rows[made->count++] = result < 0 ? *left : *right;
        left += result <= 0;
        right += result >= 0;
    }
    return made;
}

/** Makes a run of the rows, and merges it with those before it that are not much larger. The runs
    that there are stay as they are without memory. */
static larder_status add_run(sorted_order *sorted, const row_list *list) {
    if (list->count == 0) return LARDER_OK;
    row_run *added = run_create(list->count);
    if (added == NULL) return ENOMEM;
    memcpy(added->rows, list->items, list->count * sizeof *list->items);
    added->count = (uint32_t)list->count;
    size_t count = sorted->run_count;
    for (; count > 0 && (sorted->runs[count - 1]->count < (uint64_t)ROW_RUN_RATIO * added->count ||
                         count == ROW_RUNS_MAX);
         count--) {
        row_run *merged = merge(sorted->order, sorted->runs[count - 1], added);
        larder_row_run_release(added);
        if (merged == NULL) return ENOMEM;
        added = merged;
    }
    for (size_t at = count; at < sorted->run_count; at++) larder_row_run_release(sorted->runs[at]);
    sorted->runs[count] = added;
    sorted->run_count = count + 1;
    return LARDER_OK;
}

/** Takes over the writes up to `until`. ENOMEM: nothing has changed. */
static larder_status fold(write_rows *rows, sorted_order *sorted, uint32_t until) {
    row_list list = {0};
    const write_chunk *chunk = sorted->chunk;
    larder_status status = LARDER_OK;
    for (uint32_t at = sorted->folded; at < until && !status; at++) {
        if (at % CHUNK_WRITES == 0) chunk = chunk == NULL ? rows->first : chunk->next;
        status = add_write(rows, sorted->order, chunk->writes[at % CHUNK_WRITES], &list);
    }
    if (!status) {
        sort(sorted->order, &list);
        status = add_run(sorted, &list);
    }
    if (!status) {
        sorted->folded = until;
        sorted->chunk = chunk;
    }
    free(list.items);
    return status;
}

static larder_status order_find(write_rows *rows, row_order order, sorted_order **out) {
    for (size_t at = 0; at < rows->order_count; at++) {
        *out = &rows->orders[at];
        if ((*out)->order.by == order.by && (*out)->order.index == order.index) return LARDER_OK;
    }
    larder_status status = larder_os_array_reserve(&rows->orders, rows->order_count,
                                                   &rows->order_capacity, sizeof *rows->orders);
    if (status) return status;
    *out = &rows->orders[rows->order_count++];
    **out = (sorted_order){.order = order};
    return LARDER_OK;
}

larder_status larder_write_rows_sorted(write_rows *rows, row_order order, uint32_t until,
                                       row_run **runs, size_t *count) {
    sorted_order *sorted;
    *count = 0;
    larder_status status = order_find(rows, order, &sorted);
    if (!status && sorted->folded < until) status = fold(rows, sorted, until);
    if (status) return status;
    if (sorted->folded > until) {
        // Later writes are in these runs, perhaps in place of some that the caller has to see.
        sorted_order earlier = {.order = order};
        status = fold(rows, &earlier, until);
        *count = earlier.run_count;
        if (*count > 0) runs[0] = earlier.runs[0];
        return status;
    }
    for (size_t at = sorted->run_count; at > 0; at--) {
        row_run_hold(sorted->runs[at - 1]);
        runs[(*count)++] = sorted->runs[at - 1];
    }
    return LARDER_OK;
}
