// SPDX-License-Identifier: MIT
/** @file overlay.c
    A copy of what is pending, for a cursor: it goes over the tree as it was at one moment. */
#include <errno.h>
#include <stdlib.h>

#include "store/store_internal.h"

static size_t item_bytes(const pending_entry *entry) { return op_read(entry->op).payload.length; }

static size_t overlay_measure(const larder_store *store, uint64_t applied, size_t *count) {
    size_t bytes = 0;
    *count = 0;
    for (int round = 0; round < 2; round++) {
        const pending_writes *writes = round == 0 ? store->active : store->frozen;
        if (writes == NULL) continue;
        for (uint32_t at = 0; at < writes->count; at++) {
            if (writes->entries[at].sequence <= applied) continue;
            bytes += item_bytes(&writes->entries[at]);
            *count += 1;
        }
        if (round == 0 && writes->cleared > applied) break;
    }
    return bytes;
}

static void overlay_copy(const larder_store *store, uint64_t applied, overlay *out) {
    uint8_t *target = out->bytes;
    for (int round = 0; round < 2; round++) {
        const pending_writes *writes = round == 0 ? store->active : store->frozen;
        if (writes == NULL) continue;
        for (uint32_t at = 0; at < writes->count; at++) {
            const pending_entry *entry = &writes->entries[at];
            if (entry->sequence <= applied) continue;
            // Written again since it was frozen.
            if (round == 1 && pending_find(store->active, op_key(entry->op)) != NULL) continue;
            overlay_item *item = &out->items[out->count++];
            larder_bytes payload = op_read(entry->op).payload;
            if (payload.length > 0) memcpy(target, payload.data, payload.length);
            memset(item, 0, sizeof *item);
            item->sequence = entry->sequence;
            item->minor = entry->minor;
            item->is_removal = op_read(entry->op).kind == OP_REMOVE;
            item->key = op_key(entry->op);
            // The same key, in the copy.
            size_t offset =
                payload.length == 0
                    ? 0
                    : (size_t)((const uint8_t *)item->key.data - (const uint8_t *)payload.data);
            item->key.data = target + offset;
            if (!item->is_removal) {
                item->record.data = target;
                item->record.length = payload.length;
            }
            target += payload.length;
        }
        if (writes->cleared > applied) {
            if (writes->cleared > out->cleared) out->cleared = writes->cleared;
            if (round == 0) break;
        }
    }
}

static larder_status overlay_fill(const larder_store *store, uint64_t applied, overlay *out) {
    size_t count;
    size_t bytes = overlay_measure(store, applied, &count);
    if (count == 0) {
        overlay_copy(store, applied, out);
        return LARDER_OK;
    }
    out->items = malloc(count * sizeof *out->items);
    out->bytes = malloc(bytes + 1);
    if (out->items == NULL || out->bytes == NULL) {
        overlay_free(out);
        return ENOMEM;
    }
    overlay_copy(store, applied, out);
    return LARDER_OK;
}

larder_status store_overlay(larder_store *store, overlay *out, snapshot **place) {
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&store->lock);
    larder_status status = store_enter(store);
    if (status == LARDER_OK) status = store_look(store, true, place);
    if (status == LARDER_OK) {
        uint64_t applied = store_is_read_only(store) ? (*place)->meta.applied : 0;
        status = overlay_fill(store, applied, out);
        if (status != LARDER_OK) environment_release(store->environment, *place);
    }
    pthread_mutex_unlock(&store->lock);
    return status;
}

void overlay_free(overlay *out) {
    free(out->items);
    free(out->bytes);
    memset(out, 0, sizeof *out);
}
