// SPDX-License-Identifier: MIT
#include "handle/handle.h"

void larder_store_publish(larder_store *store, const uint8_t *records, uint32_t count,
                          uint32_t number) {
    memtable *active = store->pending.active;
    uint64_t sequence = 0;
    const uint64_t before = memtable_pending(active);
    const uint8_t *at = records;
    if (count > 1) larder_memtable_prefetch(active, records, count);
    for (uint32_t n = 0; n < count; n++) {
        sequence = record_sequence(at);
        if (record_kind(at) == RECORD_CLEAR) {
            larder_memtable_clear(active, sequence);
        } else {
            larder_memtable_put(active, at, number);
            if ((at[21] & (RECORD_EXPIRES | RECORD_IDLES)) != 0) store->expiry.may_expire = true;
        }
        at += record_padded(record_length(at));
    }
    active->bytes += (uint64_t)(at - records);
    if (active->first_segment == 0) active->first_segment = number;
    atomic_fetch_add_explicit(&store->pending.count, memtable_pending(active) - before,
                              memory_order_release);
    atomic_store_explicit(&store->pending.newest_sequence, sequence, memory_order_release);
}
