// SPDX-License-Identifier: MIT
/** @file copy.c
    Salvage and resize: both write a new file from what an old one holds. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <stdlib.h>

#include "ring/ring_internal.h"

/** Progress is told this often. */
#define PROGRESS_BYTES ((uint64_t)1 << 20)

/** Appends a message under the number, and at the time, that it had. The ring is this call's
    alone. */
static larder_status ring_append_as(larder_ring *ring, uint64_t sequence, larder_bytes payload,
                                    uint32_t flags, int64_t time_ns) {
    if (sequence > ring->next_sequence) {
        ring->next_sequence = sequence;
        if (ring->oldest == ring->end) ring->oldest_sequence = sequence;
        larder_ring_limit(ring);
    }
    larder_message message = {payload, flags};
    return larder_ring_append_batch_at(ring, &message, 1, time_ns, NULL, NULL);
}

/** Takes over cursors and the numbers given so far. */
static void ring_inherit(larder_ring *ring, const ring_cursor_slot *slots, size_t count,
                         uint64_t next_sequence) {
    if (next_sequence > ring->next_sequence) {
        ring->next_sequence = next_sequence;
        STORE(ring->header->floor.given, next_sequence - 1);
        if (ring->oldest == ring->end) ring->oldest_sequence = next_sequence;
        larder_ring_limit(ring);
    }
    for (size_t i = 0; i < count; i++) {
        if (!larder_cursor_slot_is_taken(&slots[i])) continue;
        larder_bytes name = {slots[i].name, slots[i].name_length};
        uint64_t acknowledged = larder_cursor_slot_acknowledged(&slots[i], ring->next_sequence);
        // A file with fewer slots than cursors keeps the first ones.
        if (larder_ring_acknowledge(ring, name, acknowledged) != LARDER_OK) break;
    }
}

// Salvage -----------------------------------------------------------------------------------------

/** What is left of a file, mapped for reading; larger than it is where it was truncated. */
typedef struct wreck_file {
    int file;
    uint8_t *map;
    size_t map_bytes;
    larder_os_facts facts;
    ring_fixed fixed;
    ring_source source;
    ring_records records;
    fixed_state state;
} wreck_file;

static void wreck_close(wreck_file *wreck) {
    larder_os_file_unmap(wreck->map, wreck->map_bytes);
    larder_os_file_close(wreck->file);
}

static larder_status wreck_open(const char *path, wreck_file *wreck) {
    memset(wreck, 0, sizeof *wreck);
    larder_status status = larder_os_file_open(path, 0, 0, &wreck->file);
    const larder_os_facts *facts = &wreck->facts;
    if (!status) status = larder_os_file_facts_get(wreck->file, &wreck->facts);
    if (!status && !facts->is_regular) status = LARDER_EFOREIGN;
    if (!status)
        status = larder_ring_fixed_read(wreck->file, facts->bytes, &wreck->fixed, &wreck->state);
    if (!status && facts->bytes <= wreck->fixed.data_offset) status = LARDER_EDAMAGED;
    if (status) return status;
    uint64_t bytes =
        facts->bytes < wreck->fixed.capacity_bytes ? facts->bytes : wreck->fixed.capacity_bytes;
    wreck->map_bytes = (size_t)bytes;
    status = larder_os_file_map(wreck->file, wreck->map_bytes, false, &wreck->map);
    if (status) return status;
    // Of a truncated file, the part that is there; records know their own length.
    uint64_t data_bytes = (bytes - wreck->fixed.data_offset) & ~(uint64_t)7;
    if (data_bytes > wreck->fixed.data_bytes) data_bytes = wreck->fixed.data_bytes;
    wreck->source = (ring_source){wreck->file, wreck->fixed.data_offset};
    wreck->records =
        (ring_records){wreck->map + wreck->fixed.data_offset, data_bytes, wreck->fixed.salt,
                       &wreck->source, ring_fixed_time_bytes(&wreck->fixed)};
    return LARDER_OK;
}

static const ring_header *wreck_header(const wreck_file *wreck) {
    return (const ring_header *)(const void *)wreck->map;
}

static const ring_cursor_slot *wreck_slots(const wreck_file *wreck) {
    return (const ring_cursor_slot *)(const void *)(wreck->map + RING_HEADER_BYTES);
}

static larder_status wreck_remains(const wreck_file *wreck, ring_remains *out) {
    const ring_header *header = wreck_header(wreck);
    bool is_damaged = wreck->state.is_backup;
    recovery_case known = {
        .trust = larder_ring_trust(header, &wreck->facts),
        .overwrites = (wreck->fixed.flags & LARDER_RING_OVERWRITE) != 0,
        .is_established =
            wreck->state.is_established || (!is_damaged && LOAD(header->floor.synced) != 0),
        .is_damaged = is_damaged,
        .cursors_maximum =
            larder_ring_cursors_maximum(wreck_slots(wreck), ring_fixed_slots(&wreck->fixed)),
        .lap_bytes = wreck->fixed.data_bytes,
    };
    return larder_ring_remains_find(&wreck->records, header, &known, out);
}

typedef struct wreck_copy {
    larder_ring *target;
    larder_progress progress;
    void *context;
    uint64_t done_bytes;
    uint64_t told_bytes;
    uint64_t last_sequence;
    const record_run *last_run;
} wreck_copy;

static larder_status wreck_copy_run(const wreck_file *wreck, const record_run *run,
                                    wreck_copy *copy, larder_ring_report *report) {
    uint64_t position = run->start;
    if (copy->last_run && !larder_record_run_joins(copy->last_run, run))
        larder_ring_report_hole(report, copy->last_run, run, &wreck->records,
                                wreck->fixed.data_offset);
    while (position < run->end) {
        record_head head = record_head_at(wreck->records.data, position);
        size_t length = record_length(head.word), time_bytes = wreck->records.time_bytes;
        const uint8_t *bytes = wreck->records.data + position + RING_HEAD_BYTES;
        larder_bytes payload = {bytes, length - time_bytes};
        int64_t time = time_bytes ? payload_time(bytes, length) : 0;
        uint64_t sequence = record_sequence(head.tag);
        position += record_bytes(length);
        copy->done_bytes += record_bytes(length);
        larder_status status =
            ring_append_as(copy->target, sequence, payload, record_flags(head.word), time);
        if (status) return status;
        if (!report->intact) report->oldest_sequence = sequence;
        report->newest_sequence = copy->last_sequence = sequence;
        report->intact++;
        if (copy->progress && copy->done_bytes - copy->told_bytes >= PROGRESS_BYTES) {
            copy->told_bytes = copy->done_bytes;
            if (copy->progress(copy->context, copy->done_bytes, wreck->records.data_bytes))
                return ECANCELED;
        }
    }
    copy->last_run = run;
    return LARDER_OK;
}

static larder_status wreck_copy_all(const wreck_file *wreck, const ring_remains *remains,
                                    wreck_copy *copy, larder_ring_report *report) {
    const record_runs *runs = &remains->runs;
    uint64_t oldest = remains->oldest;
    larder_status status = LARDER_OK;
    for (size_t i = 0; i < runs->count && !status; i++)
        status = wreck_copy_run(wreck, &runs->items[i], copy, report);
    if (status) return status;
    // What the file still counted is gone, in front of the first record found and behind the last.
    if (oldest && runs->count && runs->items[0].first > oldest)
        report->lost += larder_ring_hole(&wreck->records, runs->items[0].start,
                                         runs->items[0].first - oldest, wreck->fixed.data_bytes);
    uint64_t behind = runs->count ? copy->last_sequence + 1 : oldest;
    if (behind && remains->given >= behind) report->lost += remains->given - behind + 1;
    ring_inherit(copy->target, wreck_slots(wreck), ring_fixed_slots(&wreck->fixed), remains->next);
    ring_store_removed_through(copy->target->header, copy->target->oldest_sequence - 1);
    ring_counters counters = larder_ring_counters_of(
        &wreck_header(wreck)->opened, remains->next - 1, copy->target->count, 0, report->lost);
    ring_store_counters(copy->target, counters);
    return larder_ring_sync(copy->target);
}

/** As the file says, where it is that long. What a header claims that is gone, or that was never
    there, reserves nothing: all messages fit without it. */
static uint64_t wreck_capacity(const wreck_file *wreck, const record_runs *runs) {
    const ring_fixed *fixed = &wreck->fixed;
    bool is_there = wreck->map_bytes <= wreck->facts.stored_bytes + RING_UNASKED_BYTES;
    if (is_there && wreck->map_bytes == fixed->capacity_bytes) return fixed->capacity_bytes;
    uint64_t data_bytes = is_there ? wreck->records.data_bytes : 0;
    for (size_t i = 0; !is_there && i < runs->count; i++)
        data_bytes += runs->items[i].end - runs->items[i].start;
    uint64_t least = larder_ring_minimum_capacity(ring_fixed_slots(fixed));
    least += ring_fixed_time_bytes(fixed);
    uint64_t there = fixed->data_offset + data_bytes + RING_FIXED_BYTES;
    return there > least ? there : least;
}

/** The options of a new file, from those asked for and those of an old file. */
static larder_ring_options options_after(const larder_ring_options *asked, const ring_fixed *fixed,
                                         uint64_t capacity_bytes) {
    larder_ring_options options;
    larder_ring_options_init(&options);
    if (asked) options = *asked;
    if (ring_options_keep_times(&options)) options.flags |= (uint32_t)LARDER_RING_KEEP_TIMES;
    if (options.capacity_bytes == 0) {
        options.capacity_bytes = capacity_bytes;
        options.flags &= (uint32_t)LARDER_RING_KEEP_TIMES;
        options.flags |= fixed->flags & LARDER_RING_OVERWRITE;
        options.cursor_slots = ring_fixed_slots(fixed);
    }
    if (options.content_format == 0) options.content_format = fixed->content_format;
    options.flags &= (uint32_t)(LARDER_RING_OVERWRITE | LARDER_RING_KEEP_TIMES);
    // What is known of messages stays; and none of them is too old meanwhile.
    options.flags |= ring_fixed_flags(fixed) & (uint32_t)LARDER_RING_KEEP_TIMES;
    options.maximum_age_ns = 0;
    options.created_ns = 0;
    options.sync_interval_ns = 0;
    if (options.mode == 0) options.mode = 0600;
    return options;
}

/** Removes a file that was made here, if it is the one that has the name.
    @param made NULL if that could not be asked right after it was made. */
static void ring_file_remove(int folder, const char *name, const larder_os_facts *made) {
    larder_os_facts found;
    if (!made ||
        (!larder_os_file_facts_in(folder, name, &found) && larder_os_is_same_file(&found, made)))
        (void)larder_os_file_remove_in(folder, name);
}

larder_status larder_ring_salvage(const char *source, const char *target,
                                  const larder_ring_options *options, larder_progress progress,
                                  void *context, larder_ring_report *report) {
    memset(report, 0, sizeof *report);
    wreck_file wreck;
    larder_status status = wreck_open(source, &wreck);
    report->header_damaged = wreck.state.is_backup;
    larder_ring_options wanted = {.mode = 0600};
    ring_remains remains = {.oldest = 0};
    if (!status) status = wreck_remains(&wreck, &remains);
    if (!status)
        wanted = options_after(options, &wreck.fixed, wreck_capacity(&wreck, &remains.runs));
    // A name that is taken stays as it is: making the file is what claims it.
    int folder = -1, made = -1;
    const char *name = "";
    if (!status) status = larder_os_parent_open(target, &folder, &name);
    if (!status)
        status = larder_os_file_open_in(folder, name,
                                        LARDER_OS_WRITE | LARDER_OS_CREATE | LARDER_OS_EXCLUSIVE,
                                        wanted.mode, &made);
    wreck_copy copy = {.progress = progress, .context = context};
    if (!status) {
        larder_os_facts facts;
        bool is_known = larder_os_file_facts_get(made, &facts) == LARDER_OK;
        status = larder_ring_open_made(made, target, &wanted, NULL, &copy.target);
        if (!status) {
            status = wreck_copy_all(&wreck, &remains, &copy, report);
            larder_status closed = larder_ring_shutdown(copy.target);
            if (!status) status = closed;
            larder_ring_close(copy.target);
        }
        if (status) ring_file_remove(folder, name, is_known ? &facts : NULL);
    }
    larder_os_file_close(folder);
    larder_record_runs_free(&remains.runs);
    wreck_close(&wreck);
    return status;
}

// Resize ------------------------------------------------------------------------------------------

/** Copies all messages; of a ring that refuses, LARDER_EFULL at the first that does not fit. */
static larder_status ring_copy_into(larder_ring *source, larder_ring *target) {
    larder_ring_reader *reader;
    larder_status status = larder_ring_reader_open(source, 0, &reader);
    if (status) return status;
    larder_ring_record record;
    while ((status = larder_ring_reader_next(reader, &record)) == LARDER_OK) {
        status =
            ring_append_as(target, record.sequence, record.payload, record.flags, record.time_ns);
        // Too long for the new file ever to hold: it does not fit, as old ones do not.
        if (status == LARDER_ETOOLARGE && target->overwrite) continue;
        if (status == LARDER_ETOOLARGE) status = LARDER_EFULL;
        if (status) break;
    }
    larder_ring_reader_close(reader);
    if (status != LARDER_END) return status;
    size_t slots = ring_fixed_slots(&source->fixed);
    ring_inherit(target, larder_ring_cursor_slots(source), slots, source->next_sequence);
    // It is the same log: what files beside it know it by stays.
    larder_ring_fixed_seal(&target->fixed, source->fixed.created_ns, target->fixed.salt);
    target->header->fixed = target->fixed;
    larder_ring_store_backup(target);
    // What does not come along is gone, and none of it is damage.
    ring_store_removed_through(target->header, target->oldest_sequence - 1);
    const ring_opened *before = &source->header->opened;
    ring_store_counters(target, (ring_counters){.removed = LOAD(before->removed),
                                                .skipped = LOAD(before->skipped),
                                                .lost = LOAD(before->lost)});
    return larder_ring_sync(target);
}

/** Where a log is, and what takes its place. */
typedef struct ring_place {
    int folder;
    const char *name;
    char *temporary;
    /** The log's file. */
    const larder_os_facts *facts;
} ring_place;

/** Gives the new file the old one's name, which is not on the device before its folder is
    (invariant 13). If we crash before, the old file is whole and the new one is swept up next
    time. */
static larder_status ring_replace(larder_ring *target, const ring_place *place) {
    larder_os_facts found;
    larder_status status = larder_os_file_facts_in(place->folder, place->name, &found);
    if (status == ENOENT || (!status && !larder_os_is_same_file(&found, place->facts)))
        status = LARDER_EREPLACED;
    if (!status) status = larder_os_file_rename_in(place->folder, place->temporary, place->name);
    if (status) {
        (void)larder_os_file_remove_in(place->folder, place->temporary);
        return status;
    }
    target->is_temporary = false;
    // If we crash here, or the sync fails, the next opener's first sync syncs the folder.
    status = larder_os_file_sync_name(target->file, place->folder);
    if (status) return status;
    target->is_named = true;
    larder_ring_store_backup(target);
    return LARDER_OK;
}

/** Copies into the file `made` beside the old one, which takes its place in the end. */
static larder_status ring_resize_into(larder_ring *source, int made, const ring_place *place,
                                      const larder_ring_options *wanted,
                                      larder_ring_detail *detail) {
    larder_ring *target;
    larder_status status = larder_ring_open_made(made, source->path, wanted, detail, &target);
    if (status) {
        (void)larder_os_file_remove_in(place->folder, place->temporary);
        return status;
    }
    target->is_temporary = true;
    status = larder_os_file_change_mode(target->file, wanted->mode);
    if (!status) status = ring_copy_into(source, target);
    if (status) {
        (void)larder_ring_shutdown(target);
        (void)larder_os_file_remove_in(place->folder, place->temporary);
    } else {
        status = ring_replace(target, place);
        larder_status closed = larder_ring_shutdown(target);
        if (!status) status = closed;
    }
    larder_ring_close(target);
    return status;
}

larder_status larder_ring_resize(const char *path, const larder_ring_options *options,
                                 larder_ring_detail *detail) {
    larder_ring_detail unused;
    if (!detail) detail = &unused;
    memset(detail, 0, sizeof *detail);
    larder_ring *source = NULL;
    larder_ring_options existing;
    larder_ring_options_init(&existing);
    existing.flags = LARDER_RING_EXISTING | (options->flags & LARDER_RING_TRUST_OTHERS);
    existing.created_ns = options->created_ns;
    larder_status status = larder_ring_open(path, &existing, detail, &source);
    if (status) return status;

    larder_ring_options wanted =
        options_after(options, &source->fixed, source->fixed.capacity_bytes);
    ring_place place = {.facts = &source->facts};
    int made = -1;
    status = larder_ring_folder_open(source, &place.folder, &place.name);
    if (!status) {
        wanted.mode = place.facts->mode;
        // Those that earlier ones left when they were killed: this one has the log.
        larder_os_file_sweep_beside(place.folder, place.name, "resize");
        status = larder_os_file_make_beside(place.folder, place.name, "resize", wanted.mode, &made,
                                            &place.temporary);
    }
    if (!status) status = ring_resize_into(source, made, &place, &wanted, detail);
    free(place.temporary);
    larder_os_file_close(place.folder);
    larder_ring_close(source);
    return status;
}
