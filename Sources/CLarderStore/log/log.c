// SPDX-License-Identifier: MIT
/** @file log.c
    The chain of segments: appending, changing over to the next one, syncing, releasing.

    A segment's number is greater than that of the one that leads to it: a chain cannot run in a
    circle, and whatever is made in advance and overtaken is removed. */
#include "log/log.h"

#include <stdio.h>

enum {
    /** Kept back in each segment for removals, which have to be possible on a full disk. */
    REMOVAL_RESERVE_BYTES = 4096,
    BLOCK_BYTES = 4096
};
/** The longest write: offsets are kept in eighths of 32 bits. */
static const uint64_t WRITE_MAX_BYTES = ((uint64_t)UINT32_MAX - 4096) * 8;

static uint64_t end_of(const segment *at) {
    return atomic_load_explicit(&at->end, memory_order_relaxed);
}

// Opening and closing -----------------------------------------------------------------------------

static void close_folder(store_log *log) {
    larder_os_file_close(log->folder);
    log->folder = -1;
}

/** Whether that is the folder it was at first, beside the file that was locked: where another store
    has come into the place of this one, whole or file by file, nothing is read or made. */
static larder_status check_place(store_log *log) {
    larder_os_facts facts;
    larder_status status = larder_os_file_facts_get(log->folder, &facts);
    if (status) return status;
    if (log->place.inode == 0) log->place = facts;
    if (!larder_os_is_same_file(&facts, &log->place)) return LARDER_EREPLACED;
    if (log->lock.inode == 0) return LARDER_OK;
    status = larder_os_file_facts_at(log->lock_path, &facts);
    bool is_gone = status == ENOENT || status == ENOTDIR;
    if (status && !is_gone) return status;
    return is_gone || !larder_os_is_same_file(&facts, &log->lock) ? LARDER_EREPLACED : LARDER_OK;
}

/** Opens the folder, if it is still the same. */
static larder_status open_folder(store_log *log) {
    larder_status status = larder_os_folder_open(log->path, &log->folder);
    bool is_gone = status == ENOENT || status == ENOTDIR || status == ELOOP;
    if (is_gone && log->place.inode != 0) status = LARDER_EREPLACED;
    if (!status) status = check_place(log);
    if (status) close_folder(log);
    return status;
}

larder_status larder_log_enter(store_log *log) {
    pthread_mutex_lock(&log->table_lock);
    larder_status status = log->folder_users > 0 ? LARDER_OK : open_folder(log);
    if (!status) log->folder_users++;
    pthread_mutex_unlock(&log->table_lock);
    return status;
}

void larder_log_leave(store_log *log) {
    pthread_mutex_lock(&log->table_lock);
    if (--log->folder_users == 0) close_folder(log);
    pthread_mutex_unlock(&log->table_lock);
}

larder_status larder_log_open(const char *store, uint64_t store_id, uint32_t mode,
                              bool is_read_only, store_log *out) {
    memset(out, 0, sizeof *out);
    out->store_id = store_id;
    out->mode = mode;
    out->is_read_only = is_read_only;
    out->next_number = 1;
    out->folder = -1;
    larder_status status = pthread_mutex_init(&out->table_lock, NULL);
    if (status) return status;
    if (asprintf(&out->path, "%s/log", store) < 0) out->path = NULL;
    if (asprintf(&out->lock_path, "%s/lock", store) < 0) out->lock_path = NULL;
    if (out->path == NULL || out->lock_path == NULL) status = ENOMEM;
    // Its name is synced with the store's.
    else if (!is_read_only) status = larder_os_folder_make(out->path, mode | (mode & 0444u) >> 2);
    if (!status || status == EEXIST) status = larder_log_enter(out);
    if (!status) larder_log_leave(out);
    // Who only reads makes no folder: without it, every segment is missing.
    if (status == ENOENT && is_read_only) status = LARDER_OK;
    if (status) larder_log_close(out);
    return status;
}

larder_status larder_log_hold(store_log *log, int lock_file) {
    return larder_os_file_facts_get(lock_file, &log->lock);
}

void larder_log_close(store_log *log) {
    larder_log_drop_spare(log);
    segment *next;
    for (uint32_t from = 1; (next = larder_segment_table_next(&log->table, from)) != NULL;) {
        from = next->number;
        larder_segment_table_set(&log->table, from, NULL);
        larder_segment_close(next);
    }
    larder_segment_table_free(&log->table);
    pthread_mutex_destroy(&log->table_lock);
    larder_os_file_close(log->folder);
    free(log->path);
    free(log->lock_path);
    memset(log, 0, sizeof *log);
    log->folder = -1;
}

// Segments ----------------------------------------------------------------------------------------

/** Maps it; table_lock is held. */
static larder_status map_segment(store_log *log, uint32_t number, segment **out) {
    larder_status status =
        larder_segment_open(log->folder, number, log->store_id, !log->is_read_only, out);
    if (!status) status = larder_segment_table_reserve(&log->table, number);
    if (!status) {
        larder_segment_table_set(&log->table, number, *out);
        return LARDER_OK;
    }
    larder_segment_close(*out);
    *out = NULL;
    return status;
}

larder_status larder_log_segment(store_log *log, uint32_t number, segment **out) {
    *out = larder_segment_table_find(&log->table, number);
    if (*out != NULL) return LARDER_OK;
    if (number == 0) return ENOENT;
    larder_status status = larder_log_enter(log);
    if (status) return status;
    pthread_mutex_lock(&log->table_lock);
    *out = larder_segment_table_find(&log->table, number);
    if (*out == NULL) status = map_segment(log, number, out);
    pthread_mutex_unlock(&log->table_lock);
    larder_log_leave(log);
    return status;
}

larder_status larder_log_peek(store_log *log, uint32_t number, segment **out) {
    *out = NULL;
    larder_status status = larder_log_enter(log);
    if (status) return status;
    status = larder_segment_open(log->folder, number, log->store_id, false, out);
    larder_log_leave(log);
    return status;
}

larder_status larder_log_record(store_log *log, location at, larder_bytes *out) {
    *out = (larder_bytes){NULL, 0};
    segment *from;
    larder_status status = larder_log_segment(log, at.segment, &from);
    if (!status) status = larder_segment_look(from, at.offset, out);
    return status == ENOENT || status == LARDER_END ? LARDER_EDAMAGED : status;
}

larder_status larder_log_row(store_log *log, larder_bytes row, larder_bytes *bytes,
                             uint32_t *number) {
    entry_row parts;
    larder_status status = larder_row_read(row, &parts);
    if (status) return status;
    *number = 0;
    *bytes = parts.inlined;
    if (parts.inlined.length == 0 || log->is_unprotected) {
        *number = parts.at.segment;
        status = larder_log_record(log, parts.at, bytes);
        if (status) return status;
    }
    const uint8_t *at = bytes->data;
    bool is_it = record_kind(at) == RECORD_PUT && record_sequence(at) == parts.sequence &&
                 record_minor(at) == parts.minor;
    return is_it ? LARDER_OK : LARDER_EDAMAGED;
}

void larder_log_prefetch(const store_log *log, location at) {
    enum { LINE_BYTES = 64, LINES = 3 };
    const segment *from = larder_segment_table_find(&log->table, at.segment);
    if (from == NULL || at.offset >= from->capacity) return;
    for (size_t line = 0; line < LINES; line++)
        __builtin_prefetch(from->map + at.offset + line * LINE_BYTES);
}

/** Of a segment in which the log just goes on. */
static segment_epoch epoch_of(const store_log *log) {
    return (segment_epoch){log->epoch, log->epoch};
}

/** The next number, which nobody else gets; 0 when there is none any more: somebody has named a
    file by the greatest. */
static uint32_t take_number(store_log *log) {
    return log->next_number == 0 ? 0 : log->next_number++;
}

/** Makes a segment and puts it into the table.
    @return as larder_segment_create; LARDER_EDAMAGED for the number 0. */
static larder_status make_segment(store_log *log, uint32_t number, uint32_t kind, uint64_t capacity,
                                  uint64_t first_sequence, uint64_t as_of, segment_epoch epoch,
                                  segment **out) {
    *out = NULL;
    if (number == 0) return LARDER_EDAMAGED;
    larder_status status = larder_log_enter(log);
    if (status) return status;
    pthread_mutex_lock(&log->table_lock);
    status = larder_segment_table_reserve(&log->table, number);
    if (!status)
        status = larder_segment_create(log->folder, number, kind, capacity, first_sequence, as_of,
                                       epoch, log->store_id, log->mode, out);
    if (!status) larder_segment_table_set(&log->table, number, *out);
    pthread_mutex_unlock(&log->table_lock);
    larder_log_leave(log);
    return status;
}

larder_status larder_log_create_cleaned(store_log *log, pthread_mutex_t *pending_lock,
                                        uint64_t capacity, uint64_t first_sequence, uint64_t as_of,
                                        segment **out) {
    larder_status status;
    // A file that is none of ours may have the name.
    do {
        pthread_mutex_lock(pending_lock);
        uint32_t number = take_number(log);
        pthread_mutex_unlock(pending_lock);
        status = make_segment(log, number, SEGMENT_CLEANED, capacity, first_sequence, as_of,
                              (segment_epoch){0, 0}, out);
    } while (status == EEXIST);
    return status;
}

void larder_log_let_go(store_log *log, uint32_t number) {
    pthread_mutex_lock(&log->table_lock);
    segment *gone = larder_segment_table_set(&log->table, number, NULL);
    pthread_mutex_unlock(&log->table_lock);
    if (gone == NULL) return;
    larder_segment_detach(gone);
    larder_segment_close(gone);
}

larder_status larder_log_remove(store_log *log, uint32_t number) {
    char name[SEGMENT_NAME_BYTES];
    larder_segment_name(number, name);
    larder_status status = larder_log_enter(log);
    if (!status) {
        status = larder_os_file_remove_in(log->folder, name);
        if (status == ENOENT) status = LARDER_OK;
        larder_log_leave(log);
    }
    larder_log_let_go(log, number);
    return status;
}

void larder_log_drop_missing(store_log *log) {
    segment *next;
    if (log->is_unprotected || larder_log_enter(log) != LARDER_OK) return;
    // Behind the greatest number comes 0, which no segment has.
    for (uint32_t from = 1;
         from != 0 && (next = larder_segment_table_next(&log->table, from)) != NULL;) {
        from = next->number + 1;
        int file;
        larder_status status = larder_segment_open_file(log->folder, next->number, 0, &file);
        larder_os_file_close(file);
        if (status == ENOENT) larder_log_let_go(log, next->number);
    }
    larder_log_leave(log);
}

/** The names of its files to the device. */
static larder_status log_sync_names(store_log *log) {
    larder_status status = larder_log_enter(log);
    if (status) return status;
    status = larder_os_folder_sync(log->folder);
    larder_log_leave(log);
    return status;
}

larder_status larder_log_begin_epoch(store_log *log, segment_epoch epoch, segment **out) {
    larder_status status;
    // Somebody else's file may have the name.
    do {
        status = make_segment(log, log->next_number, SEGMENT_WRITTEN, log->segment_min_bytes,
                              log->last_sequence + 1, 0, epoch, out);
        if (!status || status == EEXIST) (void)take_number(log);
    } while (status == EEXIST);
    if (!status) status = larder_log_enter(log);
    if (status) return status;
    status = larder_segment_sync_file(*out, log->folder);
    if (!status) status = larder_os_folder_sync(log->folder);
    larder_log_leave(log);
    (*out)->is_named = !status;
    return status;
}

// Appending ---------------------------------------------------------------------------------------

uint64_t larder_log_next_capacity(const store_log *log) {
    uint64_t wanted = log->active != NULL ? log->active->capacity * 2 : log->segment_min_bytes;
    if (wanted < log->segment_min_bytes) wanted = log->segment_min_bytes;
    if (wanted > log->segment_max_bytes) wanted = log->segment_max_bytes;
    uint64_t limit = log->capacity_limit_bytes;
    if (limit != 0 && wanted > limit) wanted = limit;
    return (wanted + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
}

/** What a segment of `capacity` bytes keeps back for removals. */
static uint64_t removal_reserve(uint64_t capacity) {
    return capacity / 8 < REMOVAL_RESERVE_BYTES ? capacity / 8 : REMOVAL_RESERVE_BYTES;
}

/** The last of that is for the removal of everything, which no other one shall prevent. */
static bool has_room(const segment *at, size_t length, bool uses_reserve) {
    const uint64_t last = record_padded(RECORD_HEAD_BYTES);
    uint64_t kept = length > last ? last : 0;
    if (!uses_reserve) kept = removal_reserve(at->capacity);
    return at->capacity - end_of(at) >= length + kept + SEGMENT_NEXT_BYTES;
}

void larder_log_drop_spare(store_log *log) {
    segment *spare = log->spare;
    // Where the folder cannot be opened it stays, to be used or dropped later.
    if (spare == NULL || larder_log_enter(log) != LARDER_OK) return;
    log->spare = NULL;
    // What cannot be removed is found when the store is opened again.
    (void)larder_log_remove(log, spare->number);
    larder_log_leave(log);
}

/** A spare that `length` bytes fit into; the folder is open. */
static larder_status replace_spare(store_log *log, size_t length) {
    segment *made;
    uint64_t capacity = larder_log_next_capacity(log);
    uint64_t needed = (uint64_t)SEGMENT_HEAD_BYTES + length + SEGMENT_NEXT_BYTES;
    // Where room is short, for whole writes of this length: what is left behind them is lost.
    bool is_limited = log->capacity_limit_bytes != 0 && log->capacity_limit_bytes <= capacity;
    if (is_limited && length > REMOVAL_RESERVE_BYTES && capacity > needed)
        capacity = needed - length + capacity / length * length + REMOVAL_RESERVE_BYTES;
    if (needed + removal_reserve(capacity) > capacity) capacity = needed + REMOVAL_RESERVE_BYTES;
    larder_status status;
    // Where there is little room, a smaller one will do.
    for (;;) {
        status = make_segment(log, log->next_number, SEGMENT_WRITTEN, capacity,
                              log->last_sequence + 1, 0, epoch_of(log), &made);
        bool is_short = status == ENOSPC || status == EDQUOT || status == EFBIG;
        // Somebody else's file has the name.
        if (status == EEXIST) (void)take_number(log);
        else if (!is_short || capacity / 2 < needed + BLOCK_BYTES) break;
        else capacity /= 2;
    }
    if (status) return status;
    (void)take_number(log);
    larder_log_drop_spare(log);
    log->spare = made;
    return LARDER_OK;
}

/** The segment that `length` bytes fit into becomes the active one. */
static larder_status turn_over(store_log *log, size_t length) {
    segment *full = log->active;
    // Only in a file that no log wrote.
    if (full != NULL && full->capacity - end_of(full) < SEGMENT_NEXT_BYTES) return LARDER_EDAMAGED;
    if (log->spare == NULL || !has_room(log->spare, length, false)) {
        // By one descriptor, so that what is made can be removed again.
        larder_status status = larder_log_enter(log);
        if (status) return status;
        status = replace_spare(log, length);
        larder_log_leave(log);
        if (status) return status;
    }
    segment *next = log->spare;
    // Its name comes first, for whoever has to tell a segment that was cleaned from one that was
    // lost. The first of all needs none.
    if (log->active != NULL && !next->is_named) {
        larder_status status = log_sync_names(log);
        if (status) return status;
        next->is_named = true;
    }
    log->spare = NULL;
    if (full == NULL) log->first_unsynced = next->number;
    else larder_segment_seal(full, next->number, log->last_sequence);
    log->active = next;
    if (full != NULL && larder_log_enter(log) == LARDER_OK) {
        larder_segment_release_rest(full, log->folder);
        larder_log_leave(log);
    }
    return LARDER_OK;
}

bool larder_log_turns_over(const store_log *log, size_t length) {
    return log->active == NULL || !has_room(log->active, length, false);
}

larder_status larder_log_turn_over(store_log *log) {
    if (log->active == NULL || end_of(log->active) == SEGMENT_HEAD_BYTES) return LARDER_OK;
    larder_log_drop_spare(log);
    log->capacity_limit_bytes = 1;
    larder_status status = turn_over(log, 0);
    log->capacity_limit_bytes = 0;
    return status;
}

larder_status larder_log_reserve_kept(store_log *log, size_t length, uint8_t **target) {
    if (log->active == NULL || !has_room(log->active, length, true)) return ENOSPC;
    *target = log->active->map + end_of(log->active);
    return LARDER_OK;
}

larder_status larder_log_reserve(store_log *log, size_t length, bool uses_reserve, uint8_t **out) {
    if (length > WRITE_MAX_BYTES) return LARDER_ETOOLARGE;
    if (larder_log_turns_over(log, length)) {
        larder_status status = turn_over(log, length);
        // What is kept back for removals is for when there is no other room.
        bool is_kept =
            status && uses_reserve && larder_log_reserve_kept(log, length, out) == LARDER_OK;
        if (status) return is_kept ? LARDER_OK : status;
    }
    *out = log->active->map + end_of(log->active);
    return LARDER_OK;
}

void larder_log_publish(store_log *log, size_t length, uint32_t count, uint64_t first_word) {
    segment *active = log->active;
    const uint8_t *at = active->map + end_of(active);
    larder_segment_publish(active, length, first_word);
    active->record_count += count;
    for (uint32_t n = 0; n < count; n++) {
        if (record_kind(at) != RECORD_PUT) active->bare_count++;
        if (n + 1 < count) at += record_padded(record_length(at));
    }
    active->last_sequence = ++log->last_sequence;
    log->unapplied_bytes += length;
}

void larder_log_prepare(store_log *log, pthread_mutex_t *pending_lock) {
    pthread_mutex_lock(pending_lock);
    bool is_wanted = log->active != NULL && log->spare == NULL && !log->is_read_only &&
                     end_of(log->active) > log->active->capacity / 2;
    uint32_t number = is_wanted ? take_number(log) : 0;
    if (is_wanted) log->prepared = number;
    uint64_t capacity = larder_log_next_capacity(log);
    uint64_t first_sequence = log->last_sequence + 1, room;
    pthread_mutex_unlock(pending_lock);
    segment *made;
    // Where there is little room it is for writes and checkpoints. And what is made can be removed
    // again by the same descriptor.
    if (!is_wanted ||
        (larder_os_file_system_room(log->path, &room) == LARDER_OK && room / 16 < capacity) ||
        larder_log_enter(log) != LARDER_OK)
        return;
    if (make_segment(log, number, SEGMENT_WRITTEN, capacity, first_sequence, 0, epoch_of(log),
                     &made) == LARDER_OK) {
        // Its name comes before the record that leads there, here without a wait.
        made->is_named = log_sync_names(log) == LARDER_OK;
        pthread_mutex_lock(pending_lock);
        // Meanwhile the log may have turned over.
        bool is_overtaken = log->active->number > number;
        if (!is_overtaken) log->spare = made;
        pthread_mutex_unlock(pending_lock);
        if (is_overtaken) (void)larder_log_remove(log, number);
    }
    larder_log_leave(log);
}

// Syncing -----------------------------------------------------------------------------------------

/** Syncs the chain from `number` to `last`, of which `end` bytes are to be there. The names came
    first: that of a segment that is not there yet would end the log. */
static larder_status sync_chain(store_log *log, uint32_t number, segment *last, uint64_t end) {
    for (;;) {
        segment *at;
        larder_status status = larder_log_segment(log, number, &at);
        if (!status)
            status =
                larder_segment_sync_to(at, log->folder, at == last ? end : atomic_load(&at->end));
        if (status || at == last) return status;
        at->is_named = true;
        number = at->next;
    }
}

larder_status larder_log_sync(store_log *log, pthread_mutex_t *pending_lock) {
    pthread_mutex_lock(pending_lock);
    segment *last = log->active;
    uint64_t end = last != NULL ? end_of(last) : 0;
    uint64_t sequence = log->last_sequence;
    uint32_t first = log->first_unsynced;
    pthread_mutex_unlock(pending_lock);
    if (last == NULL) return LARDER_OK;
    larder_status status = larder_log_enter(log);
    if (status) return status;
    if (!last->is_named) status = larder_os_folder_sync(log->folder);
    if (!status) {
        last->is_named = true;
        status = sync_chain(log, first, last, end);
    }
    larder_log_leave(log);
    if (status) return status;
    pthread_mutex_lock(pending_lock);
    log->first_unsynced = last->number;
    log->synced_end = (location){last->number, end};
    pthread_mutex_unlock(pending_lock);
    __atomic_store_n(&log->synced_sequence, sequence, __ATOMIC_RELAXED);
    return LARDER_OK;
}

void larder_log_trust(store_log *log) {
    segment *last = log->active;
    if (last == NULL) return;
    last->synced = end_of(last);
    last->sync_failed = false;
    last->is_named = true;
    log->first_unsynced = last->number;
    log->synced_sequence = log->last_sequence;
}
