// SPDX-License-Identifier: MIT
/** @file entry.c
    From a row to its record, and from a record to an entry. */
#include "handle/entry.h"

larder_status larder_store_record_of_row(larder_store *store, larder_bytes row, larder_bytes *bytes,
                                         uint32_t *number) {
    entry_row parts;
    larder_status status = larder_row_read(row, &parts);
    if (status) return status;
    *number = 0;
    *bytes = parts.inlined;
    if (parts.inlined.length == 0) {
        *number = parts.at.segment;
        status = larder_log_record(&store->log, parts.at, bytes);
        if (status) return status;
    }
    const uint8_t *at = bytes->data;
    bool is_it = record_kind(at) == RECORD_PUT && record_sequence(at) == parts.sequence &&
                 record_minor(at) == parts.minor;
    return is_it ? LARDER_OK : LARDER_EDAMAGED;
}

void larder_store_entry_of_record(larder_store *store, const record *found, int64_t deadline,
                                  uint32_t flags, uint32_t number, larder_store_entry *entry) {
    // Every member: to clear it all first would cost as much again.
    *entry = (larder_store_entry){
        .key = found->key,
        .value = {found->value.data,
                  (flags & LARDER_STORE_WITHOUT_VALUE) != 0 ? 0 : found->value.length},
        .extended = found->extended,
        .value_bytes = found->value.length,
        .sequence = found->sequence,
        .written_ns = found->written_ns,
        .expires_ns = deadline,
        .idle_ns = found->idle_ns,
        .cost = found->cost,
        .index_value = {NULL, 0},
        .flags = ((found->flags & RECORD_OWN_TIMES) != 0 ? LARDER_STORE_ENTRY_OWN_TIMES : 0u) |
                 (number != 0 ? LARDER_STORE_ENTRY_IN_LOG : 0u),
        .reserved = 0,
        .lease = NULL,
        .store = store,
        .segment = number,
        .reserved2 = 0};
}
