// SPDX-License-Identifier: MIT
// What a store reads without believing it: records, rows, and LMDB's pages.
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#pragma clang diagnostic ignored "-Wnullability-completeness"
#endif
#include "format/meta.h"
#include "format/record.h"
#include "pages/tree.h"

#define HOLD(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) __builtin_trap();                                                        \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t capacity);

/** Keeps what is read from being left out. */
static volatile uint8_t sink;

static void read_bytes(larder_bytes bytes, larder_bytes whole) {
    const uint8_t *from = bytes.data, *start = whole.data;
    HOLD(bytes.length == 0 || (from >= start && from + bytes.length <= start + whole.length));
    for (size_t i = 0; i < bytes.length; i++) sink ^= from[i];
}

static void read_record(larder_bytes bytes) {
    record entry;
    if (larder_record_read(bytes, false, &entry) != LARDER_OK) return;
    read_bytes(entry.key, bytes);
    read_bytes(entry.extended, bytes);
    read_bytes(entry.value, bytes);
    size_t offset = 0, count = 0;
    larder_store_index_entry index;
    while (larder_record_next_index(&entry, &offset, &index)) {
        read_bytes(index.value, bytes);
        HOLD(++count <= LARDER_STORE_INDEX_MAX_COUNT);
    }
    HOLD(count == entry.index_count);
}

static void read_row(larder_bytes bytes) {
    entry_row row;
    if (larder_row_read(bytes, &row) != LARDER_OK) return;
    read_bytes(row.inlined, bytes);
    read_record(row.inlined);
}

static void read_tree(larder_bytes bytes) {
    tree states[2];
    size_t count = 0;
    tree_report report;
    for (int which = 0; which < 2; which++) {
        tree *state = &states[count];
        if (larder_tree_of_meta_page(bytes.data, bytes.length, which, state) != LARDER_OK ||
            larder_tree_attach(state, bytes.data, bytes.length) != LARDER_OK)
            continue;
        state->damage_offset = NULL;
        count++;
        larder_bytes key = {"\x10"
                            "a",
                            2},
                     value;
        if (larder_tree_get(state, key, &value) == LARDER_OK) read_bytes(value, bytes);
        for (int back = 0; back < 2; back++) {
            tree_cursor cursor;
            larder_status status =
                back ? larder_tree_cursor_seek_back(&cursor, state, (larder_bytes){"\xFF", 1})
                     : larder_tree_cursor_seek(&cursor, state, (larder_bytes){"", 1});
            for (unsigned steps = 0; status != LARDER_END; steps++) {
                HOLD(steps < 1000000);
                larder_bytes name;
                if (status == LARDER_OK &&
                    larder_tree_cursor_get(&cursor, &name, &value) == LARDER_OK) {
                    read_bytes(name, bytes);
                    read_bytes(value, bytes);
                }
                status =
                    back ? larder_tree_cursor_previous(&cursor) : larder_tree_cursor_next(&cursor);
            }
        }
        (void)!larder_tree_audit(state, &report);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0;
    // Of its own, so that a byte behind the end is noticed; aligned as a mapping is.
    size_t length = size - 1;
    uint8_t *copy = aligned_alloc(4096, (length + 4096) & ~(size_t)4095);
    HOLD(copy != NULL);
    uint8_t *exact = malloc(length ? length : 1);
    HOLD(exact != NULL);
    memcpy(copy, data + 1, length);
    memcpy(exact, data + 1, length);
    larder_bytes bytes = {exact, length};
    store_meta meta;
    switch (data[0] % 4) {
    case 0: read_record(bytes); break;
    case 1: read_row(bytes); break;
    case 2: (void)!larder_store_meta_read(bytes, &meta); break;
    default: read_tree((larder_bytes){copy, length}); break;
    }
    free(exact);
    free(copy);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
    size = LLVMFuzzerMutate(data, size, capacity);
    if (size > 37 && data[0] % 4 == 0 && seed % 4) {
        uint32_t length = (uint32_t)(size - 1);
        memcpy(data + 1, &length, 4);
    }
    return size;
}
