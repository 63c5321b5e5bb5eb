// SPDX-License-Identifier: MIT
/** @file prove.c
    What becomes of segments that lie in the log and that nothing leads to: where a process was
    killed between a commit and the deletion of what it had cleaned, or before the commit. */
#include "cleaning/clean.h"

/** Whether nobody needs `found` where it lies, in `here`. A removal hides only what is deleted
    before it. LARDER_OK or an errno. */
static larder_status look_elsewhere(store_log *log, const snapshot *seen, const record *found,
                                    uint32_t here, bool *is_elsewhere) {
    tree_key scratch, key;
    larder_bytes row, bytes;
    entry_row parts;
    record other;
    *is_elsewhere = true;
    if (found->kind != RECORD_PUT || found->sequence <= seen->meta.cleared) return LARDER_OK;
    larder_bytes stored = larder_stored_key(found->key, seen->meta.secret, &scratch);
    larder_tree_key_of_stored(SPACE_ENTRY, stored, &key);
    larder_status status = larder_tree_get(&seen->tree, bytes_of_key(&key), &row);
    // What the tree has not was evicted, or has expired.
    if (status == LARDER_ENOTFOUND) return LARDER_OK;
    if (!status) status = larder_row_read(row, &parts);
    if (!status && (parts.sequence != found->sequence || parts.minor != found->minor))
        return LARDER_OK;
    if (!status && parts.at.segment == here) status = LARDER_EDAMAGED;
    // In the log, whatever the tree has of it.
    if (!status) status = larder_log_record(log, parts.at, &bytes);
    if (!status) status = larder_record_read(bytes, true, &other);
    *is_elsewhere = !status && other.sequence == found->sequence && other.minor == found->minor;
    return status == LARDER_EDAMAGED ? LARDER_OK : status;
}

larder_status larder_segment_prove(store_index *index, store_log *log, uint32_t number,
                                   bool *is_superfluous) {
    segment *from;
    snapshot *seen;
    *is_superfluous = true;
    larder_status status = larder_log_segment(log, number, &from);
    if (status == ENOENT) return LARDER_OK;
    if (!status) status = larder_environment_read(index->environment, &seen);
    if (status) return status;
    uint64_t at = SEGMENT_HEAD_BYTES;
    while (!status && *is_superfluous && at < from->capacity) {
        record found;
        if (larder_segment_read(from, &at, true, &found) == LARDER_OK)
            status = look_elsewhere(log, seen, &found, number, is_superfluous);
        // What is damaged is of no use to anybody, but behind it there may be more.
        else at = larder_segment_first_used(from, at + 8);
    }
    larder_environment_release(index->environment, seen);
    return status;
}

larder_status larder_segment_keep(store_index *index, store_log *log, uint32_t number) {
    live_segment *kept;
    segment *found;
    larder_status status = larder_live_add(&index->live, number, &kept);
    if (status) return status;
    // It may hold anything, which removals elsewhere may have to hide.
    kept->is_damaged = true;
    kept->record_count = 1;
    if (larder_log_segment(log, number, &found) == LARDER_OK)
        kept->used_bytes = found->capacity - SEGMENT_HEAD_BYTES;
    return LARDER_OK;
}
