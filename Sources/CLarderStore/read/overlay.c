// SPDX-License-Identifier: MIT
/** @file overlay.c
    A list of what is pending, for a cursor: it goes over the tree as it was at one moment. */
#include <errno.h>
#include <stdlib.h>

#include "store/store_internal.h"

static void overlay_fill(const larder_store *store, uint64_t applied, overlay *out) {
    const memtable *tables[] = {store->active, store->frozen};
    for (int i = 0; i < 2; i++) {
        if (!tables[i]) continue;
        for (uint32_t at = 0; at < tables[i]->count; at++) {
            const memtable_entry *entry = &tables[i]->entries[at];
            uint64_t sequence = record_sequence(entry->record);
            if (sequence <= applied) continue;
            larder_bytes key = record_key(entry->record);
            // Written again since it was frozen.
            if (i == 1 && memtable_find(store->active, key)) continue;
            bool is_removal = record_kind(entry->record) != RECORD_PUT;
            out->items[out->count++] = (overlay_item){
                .sequence = sequence,
                .minor = record_minor(entry->record),
                .segment = entry->segment,
                .is_removal = is_removal,
                .key = key,
                .record = is_removal ? (larder_bytes){NULL, 0} : record_bytes(entry->record)};
        }
        if (tables[i]->cleared > applied) {
            out->cleared = tables[i]->cleared;
            return;
        }
    }
}

larder_status store_overlay(larder_store *store, overlay *out, snapshot **seen) {
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&store->lock);
    larder_status status = store_enter(store);
    if (!status) status = store_look(store, true, seen);
    if (!status) {
        size_t count = store->active->count + (size_t)(store->frozen ? store->frozen->count : 0);
        if (count) out->items = malloc(count * sizeof *out->items);
        if (count && !out->items) {
            environment_release(store->environment, *seen);
            status = ENOMEM;
        } else {
            overlay_fill(store, store_is_read_only(store) ? (*seen)->meta.applied : 0, out);
        }
    }
    pthread_mutex_unlock(&store->lock);
    return status;
}

void overlay_free(overlay *out) {
    free(out->items);
    memset(out, 0, sizeof *out);
}
