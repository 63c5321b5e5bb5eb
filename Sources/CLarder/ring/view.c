// SPDX-License-Identifier: MIT
/** @file view.c
    The ring at one moment: what readers go by, and the figures. */
#include <errno.h>

#include "ring/ring_internal.h"

ring_view larder_ring_view_get(const larder_ring *ring) {
    if (!ring->read_only)
        return (ring_view){.oldest = ring->oldest,
                           .end = ring->end,
                           .newest = ring->newest,
                           .next_sequence = ring->next_sequence,
                           .count = ring->count,
                           .epoch = LOAD(ring->header->state.epoch)};
    const ring_state *state = &ring->header->state;
    ring_view view = {0};
    // A writer that is recovering shows an odd epoch for a moment; one that was killed meanwhile
    // shows it for ever, and then the last reading has to do.
    for (int attempt = 0; attempt < 1000; attempt++) {
        view.epoch = LOAD_ACQUIRE(state->epoch);
        if (ring->has_private_view && view.epoch == ring->private_view.epoch)
            return ring->private_view;
        // `end` first: it only grows, so `oldest` read later may at most exceed it, which is empty.
        const ring_publication *published = &state->published[ring_published_slot(ring->header)];
        view.end = LOAD_ACQUIRE(published->end);
        view.oldest = LOAD_ACQUIRE(state->oldest);
        view.newest = LOAD(published->newest);
        uint64_t given = LOAD(ring->header->floor.given);
        view.next_sequence = (given > view.newest ? given : view.newest) + 1;
        view.count = LOAD(state->count);
        atomic_thread_fence(memory_order_acquire);
        if (view.epoch % 2 == 0 && LOAD(state->epoch) == view.epoch) break;
    }
    if (view.oldest > view.end) view.oldest = view.end;
    // Of a damaged state there is nothing to read.
    if (view.end > RING_OFFSET_MAX) view.oldest = view.end = 0;
    if (view.newest > RING_SEQUENCE_MAX) view.newest = 0;
    if (view.next_sequence - 1 > RING_SEQUENCE_MAX) view.next_sequence = view.newest + 1;
    if (view.end - view.oldest > ring->data_bytes || view.end % 8 || view.oldest % 8)
        view.oldest = view.end;
    return view;
}

uint64_t larder_ring_view_from(const larder_ring *ring, const ring_view *view, uint64_t offset,
                               uint64_t *until) {
    const record_runs *kept = &view->kept;
    *until = view->end;
    if (!kept->count || offset < view->oldest || offset >= view->end) return offset;
    // In order, counted from the oldest on.
    uint64_t start = kept->items[0].start, place = offset - view->oldest;
    size_t low = 0, high = kept->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t end = kept->items[middle].end - start;
        if (kept->items[middle].end <= start) end += ring->data_bytes;
        if (end <= place) low = middle + 1;
        else high = middle;
    }
    if (low == kept->count) return view->end;
    const record_run *run = &kept->items[low];
    uint64_t first = view->oldest + (run->start - start);
    if (run->start < start) first += ring->data_bytes;
    *until = first + (run->end - run->start);
    return offset > first ? offset : first;
}

uint64_t larder_ring_oldest_now(const larder_ring *ring) {
    if (!ring->read_only) return ring->oldest;
    atomic_thread_fence(memory_order_acquire);
    uint32_t epoch = LOAD(ring->header->state.epoch);
    if (ring->has_private_view && epoch == ring->private_view.epoch)
        return ring->private_view.oldest;
    return LOAD_ACQUIRE(ring->header->state.oldest);
}

larder_status larder_ring_check_place(larder_ring *ring) {
    uint32_t lock = atomic_load_explicit(ring->lock, memory_order_relaxed);
    if (lock == LOCK_SHUT || lock == LOCK_FORKED)
        return lock == LOCK_SHUT ? LARDER_ECLOSED : LARDER_EFORKED;
    larder_status status = LARDER_ENOTFOUND;
    if (ring->path && !ring->is_temporary) status = larder_os_file_find(&ring->facts, ring->path);
    if (status != LARDER_ENOTFOUND) return status;
    // The lock, so that nobody closes the file meanwhile.
    larder_os_facts now = {0};
    status = ring_lock(ring);
    if (status) return status;
    status = larder_os_file_facts_get(ring->file, &now);
    ring_unlock(ring);
    return !status && now.links == 0 ? LARDER_EREPLACED : status;
}

larder_status larder_ring_folder_open(larder_ring *ring, int *folder, const char **name) {
    *folder = -1;
    *name = "";
    larder_status status = larder_ring_check_place(ring);
    if (status) return status;
    if (!ring->path) return ENAMETOOLONG;
    return larder_os_file_folder_open(&ring->facts, ring->path, folder, name);
}

larder_status larder_ring_recovery(larder_ring *ring, larder_ring_report *report) {
    larder_status status = ring_lock(ring);
    memset(report, 0, sizeof *report);
    if (status) return status;
    *report = ring->recovery;
    ring_unlock(ring);
    return LARDER_OK;
}

ring_counters larder_ring_counters_of(const ring_opened *opened, uint64_t given, uint64_t count,
                                      uint64_t skipped, uint64_t lost) {
    uint64_t gone = given > count ? given - count : 0;
    uint64_t counters[] = {LOAD(opened->removed), LOAD(opened->skipped), LOAD(opened->lost)};
    const uint64_t added[] = {0, skipped, lost};
    for (size_t i = 0; i < 3; i++) {
        // More than there are numbers is damage; more than there was room for came meanwhile.
        if (counters[i] > gone) counters[i] = counters[i] > given ? 0 : gone;
        gone -= counters[i];
        counters[i] += added[i] > gone ? gone : added[i];
        gone -= added[i] > gone ? gone : added[i];
    }
    return (ring_counters){counters[0], counters[1], counters[2]};
}

larder_status larder_ring_statistics_get(larder_ring *ring, larder_ring_statistics *statistics) {
    memset(statistics, 0, sizeof *statistics);
    // Outside the lock: a reader asks for the oldest number, which may have to be read.
    larder_status status = ring_lock(ring);
    if (status) return status;
    ring_view view = larder_ring_view_get(ring);
    const ring_header *header = ring->header;
    const ring_fixed *fixed = &ring->fixed;
    statistics->capacity_bytes = fixed->capacity_bytes;
    statistics->data_bytes = fixed->data_bytes;
    statistics->used_bytes = view.end - view.oldest;
    // What a damaged state says that could not be true, a check tells of.
    uint64_t most = statistics->used_bytes / RING_HEAD_BYTES;
    if (most > view.newest) most = view.newest;
    if (view.count > most) view.count = most;
    statistics->count = view.count;
    statistics->next_sequence = view.next_sequence;
    statistics->synced_sequence = LOAD(header->session.promised);
    bool is_private = ring->has_private_view && view.epoch == ring->private_view.epoch;
    // What open found damaged at the oldest end is in the file's counter with the first change.
    uint64_t lost = ring->damaged_oldest + (is_private ? ring->recovery.lost : 0);
    ring_counters counters =
        larder_ring_counters_of(&header->opened, view.next_sequence - 1, view.count,
                                is_private ? ring->private_skipped : 0, lost);
    statistics->removed = counters.removed;
    statistics->skipped = counters.skipped;
    statistics->lost = counters.lost;
    uint64_t accounted = view.count + statistics->removed + statistics->lost + statistics->skipped;
    if (statistics->next_sequence > accounted + 1)
        statistics->overwritten = statistics->next_sequence - 1 - accounted;
    statistics->wraps = view.end ? (view.end - 1) / fixed->data_bytes : 0;
    statistics->content_format = fixed->content_format;
    statistics->created_ns = fixed->created_ns;
    statistics->version = fixed->version;
    statistics->flags = ring_fixed_flags(fixed);
    statistics->cursor_slots = ring_fixed_slots(fixed);
    statistics->read_only = ring->read_only;
    statistics->opened_sequence = ring->opened_sequence;
    statistics->opened_skipped = ring->opened_skipped;
    if (!ring->read_only || larder_os_file_is_locked(ring->file))
        statistics->writer_pid = LOAD(header->opened.writer_pid);
    if (ring->time_bytes) {
        statistics->oldest_time_ns = larder_ring_oldest_time(ring, &view);
        statistics->newest_time_ns = larder_ring_newest_time(ring, &view);
    }
    if (view.end > view.oldest) {
        statistics->newest_sequence = view.newest;
        if (!ring->read_only) {
            statistics->oldest_sequence = ring->oldest_sequence;
        } else {
            uint64_t position = view.oldest % ring->data_bytes;
            record_head head = record_head_at(ring->data, position);
            bool is_head = record_is_plausible(head, position, ring->data_bytes) &&
                           record_sequence(head.tag) <= view.newest;
            // Where it is damaged, the first that can be read, as for a writer.
            uint64_t offset = is_head ? 0 : larder_ring_offset_of(ring, &view, 1);
            if (!is_head) head = record_head_at(ring->data, offset % ring->data_bytes);
            if (offset < view.end) statistics->oldest_sequence = record_sequence(head.tag);
        }
    }
    ring_unlock(ring);
    return LARDER_OK;
}

larder_status larder_ring_next_sequence(larder_ring *ring, uint64_t *sequence) {
    *sequence = 0;
    // Of the handle's own process, and there only against the end of the mapping.
    larder_status status = ring_lock(ring);
    if (status) return status;
    *sequence = larder_ring_view_get(ring).next_sequence;
    ring_unlock(ring);
    return LARDER_OK;
}
