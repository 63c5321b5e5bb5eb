// SPDX-License-Identifier: MIT
/** @file salvage_choose.c
    What counts of all that was found: of each key the newest write. */
#include <stdlib.h>

#include "repair/salvage.h"

static larder_bytes key_of(const found_write *write) {
    if (write->is_removal) return write->bytes;
    record entry;
    // It was read before.
    if (record_read(write->bytes, false, &entry) != LARDER_OK) return (larder_bytes){NULL, 0};
    return entry.key;
}

static int compare_numbers(const found_write *a, const found_write *b) {
    if (a->sequence != b->sequence) return a->sequence < b->sequence ? -1 : 1;
    return (a->minor > b->minor) - (a->minor < b->minor);
}

/** By key, and the newest first. */
static int compare_writes(const void *a, const void *b) {
    const found_write *left = a, *right = b;
    if (left->hash != right->hash) return left->hash < right->hash ? -1 : 1;
    int order = compare_bytes(key_of(left), key_of(right));
    return order ? order : compare_numbers(right, left);
}

static int compare_sequences(const void *a, const void *b) { return compare_numbers(a, b); }

static int compare_damages(const void *a, const void *b) {
    const found_damage *left = a, *right = b;
    if (left->hash != right->hash) return left->hash < right->hash ? -1 : 1;
    return (left->sequence > right->sequence) - (left->sequence < right->sequence);
}

/** Takes out writes that are older than a damaged record of their key, and counts the damaged
    records that nothing stands for. Both lists are sorted by hash; a long key's hash is not that of
    its stored form, and so it is never taken out. */
static size_t drop_older(salvage *search, size_t count) {
    size_t kept = 0, at = 0;
    found_write *writes = search->writes;
    found_damage *damages = search->damages;
    for (size_t i = 0; i < count; i++) {
        for (; at < search->damage_count && damages[at].hash < writes[i].hash; at++)
            search->report->damaged++;
        bool is_older = false, is_named = false;
        for (; at < search->damage_count && damages[at].hash == writes[i].hash; at++) {
            is_named = true;
            is_older = is_older || damages[at].sequence > writes[i].sequence;
        }
        if (is_named && is_older) search->report->damaged++;
        else writes[kept++] = writes[i];
    }
    search->report->damaged += search->damage_count - at;
    return kept;
}

void salvage_choose(salvage *search) {
    found_write *writes = search->writes;
    size_t newest = 0, kept = 0;
    if (search->write_count) qsort(writes, search->write_count, sizeof *writes, compare_writes);
    for (size_t i = 0; i < search->write_count; i++) {
        bool is_first = i == 0 || writes[newest - 1].hash != writes[i].hash ||
                        compare_bytes(key_of(&writes[newest - 1]), key_of(&writes[i])) != 0;
        if (is_first) writes[newest++] = writes[i];
    }
    if (search->damage_count)
        qsort(search->damages, search->damage_count, sizeof *search->damages, compare_damages);
    newest = drop_older(search, newest);
    for (size_t i = 0; i < newest; i++)
        if (!writes[i].is_removal && writes[i].sequence >= search->cleared)
            writes[kept++] = writes[i];
    search->write_count = kept;
    if (kept) qsort(writes, kept, sizeof *writes, compare_sequences);
}
