// SPDX-License-Identifier: MIT
/** @file salvage_log.c
    Reading damaged segments.

    Records follow each other without gaps. Where something lies that is none, the next one is
    looked for at each multiple of 8; what is between is a gap. In a segment of writes the numbers
    rise by one with each write, so only a record that continues them is believed: not what lies in
    a damaged value, nor what a process left behind the log's end that was killed while it wrote.

    A gap that is one record, by its length or by the numbers around it, names its key: then nothing
    else is in doubt. Otherwise any key may have had a record there, with a number less than that
    of the next one: that is the horizon. */
#include "larder_crc32c.h"
#include "repair/salvage.h"

/** A record's head and what may come between it and the key, and the longest key. */
enum { KEY_ROOM_BYTES = RECORD_HEAD_BYTES + 32 + 65536 };
_Static_assert(KEY_ROOM_BYTES - RECORD_HEAD_BYTES - 32 == LARDER_STORE_KEY_MAX_BYTES, "room");

typedef struct segment_walk {
    salvage *search;
    segment *from;
    /** Records behind it have at least this number. */
    uint64_t limit;
    /** The last record that was believed, and the first; NULL before. */
    const uint8_t *previous;
    const uint8_t *first;
    /** There is damage in it, before the first, and behind the last. */
    bool has_gap, begins_with_gap, ends_with_gap;
    /** The damage was counted as lost. */
    bool has_told;
    /** The batch that is not whole, and is not taken. */
    uint64_t lost_batch;
} segment_walk;

static stamp number_of(const uint8_t *at) { return (stamp){record_sequence(at), record_minor(at)}; }

static bool continues(const uint8_t *at) { return (at[21] & RECORD_CONTINUES) != 0; }

static bool is_blank(const uint8_t *at) { return load64(at) == 0; }

/** Whether `next` has the number right behind that of `at`; true where `at` is not known. */
static bool follows(const uint8_t *at, const uint8_t *next) {
    if (!at) return true;
    uint64_t sequence = record_sequence(at), other = record_sequence(next);
    if (continues(at)) return other == sequence && record_minor(next) == record_minor(at) + 1;
    if (record_kind(next) == RECORD_NEXT) return other == sequence;
    return other == sequence + 1 && record_minor(next) == 0;
}

/** Whether a whole record may lie here, by its number. */
static bool is_in_turn(const segment_walk *walk, const uint8_t *at) {
    if (record_sequence(at) >= walk->limit && record_kind(at) != RECORD_NEXT) return false;
    if (walk->from->kind != SEGMENT_WRITTEN || !walk->previous) return true;
    if (record_sequence(at) != record_sequence(walk->previous))
        return record_sequence(at) > record_sequence(walk->previous);
    return record_kind(at) == RECORD_NEXT ||
           (continues(walk->previous) && record_minor(at) > record_minor(walk->previous));
}

/** The whole record at `offset` that may lie there; NULL if there is none. */
static const uint8_t *record_at(const segment_walk *walk, uint64_t offset, record *out) {
    larder_bytes bytes;
    if (larder_segment_look(walk->from, offset, &bytes) || !is_in_turn(walk, bytes.data) ||
        larder_record_read(bytes, true, out))
        return NULL;
    return bytes.data;
}

/** The offset of the next record from `offset` on; the segment's length if there is none. */
static uint64_t next_record(const segment_walk *walk, uint64_t offset) {
    record ignored;
    for (; offset < walk->from->capacity; offset += 8) {
        if (is_blank(walk->from->map + offset))
            offset = larder_segment_first_used(walk->from, offset);
        if (record_at(walk, offset, &ignored)) return offset;
    }
    return walk->from->capacity;
}

/** Whether the records from `offset` on, of which the first is whole, are the rest of a batch whose
    first record was never published, at the end of the log. */
static bool is_unpublished(const segment_walk *walk, uint64_t offset) {
    record entry;
    const uint8_t *at = walk->from->map + offset;
    uint64_t sequence = record_sequence(at);
    if (walk->limit != UINT64_MAX || record_minor(at) == 0 ||
        (walk->previous && continues(walk->previous)))
        return false;
    do {
        offset += record_padded(record_length(at));
        at = record_at(walk, offset, &entry);
    } while (at && entry.sequence == sequence);
    return !at;
}

/** Where the damaged record ends that lies at `from` in a gap up to `to`, behind `previous`; 0 if
    it cannot be told from others. */
static uint64_t damaged_end(const segment_walk *walk, const uint8_t *previous, uint64_t from,
                            uint64_t to, const uint8_t *next) {
    const uint8_t *at = walk->from->map + from;
    uint64_t end = from + record_padded(record_length(at));
    bool is_written = walk->from->kind == SEGMENT_WRITTEN;
    // A value may end with zeros.
    if (end == to || (!next && end > to && end <= walk->from->capacity)) return to;
    if (is_written && end > from && end + RECORD_HEAD_BYTES <= to &&
        follows(at, walk->from->map + end))
        return end;
    bool is_in_line = follows(previous, at) && (next ? follows(at, next) : !continues(at));
    return is_written && is_in_line ? to : 0;
}

/** Where one damaged byte would explain a checksum that does not agree, and what has to be flipped
    there: the checksum's register is run back over the bytes, until it holds what a single byte
    leaves in it. 0 if there is no such place. */
static uint64_t damaged_byte(const uint8_t *at, uint64_t length, uint8_t *flipped) {
    uint32_t table[256];
    uint8_t byte_of_top[256];
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++) value = value >> 1 ^ (value & 1 ? 0x82F63B78 : 0);
        table[i] = value;
        byte_of_top[value >> 24] = (uint8_t)i;
    }
    uint32_t sum = larder_crc32c(0, at + RECORD_CRC_START, (size_t)(length - RECORD_CRC_START));
    uint32_t wrong = load32(at + 4) ^ sum;
    for (uint64_t place = length; place > RECORD_CRC_START; place--) {
        *flipped = byte_of_top[wrong >> 24];
        if (wrong == table[*flipped]) return place - 1;
        wrong = (wrong ^ table[*flipped]) << 8 | *flipped;
    }
    return 0;
}

/** The key that a damaged record of so many bytes names. Its head and key are copied to `room`,
    where one damaged byte among them is put right: a wrong key would have an older version of the
    right one come back. */
static bool damaged_key(const uint8_t *at, uint64_t bytes, uint8_t *room, larder_bytes *key) {
    size_t copied = bytes < KEY_ROOM_BYTES ? (size_t)bytes : KEY_ROOM_BYTES;
    memcpy(room, at, copied);
    if (record_length(at) >= RECORD_HEAD_BYTES && record_length(at) <= bytes) {
        uint8_t flipped;
        uint64_t place = damaged_byte(at, record_length(at), &flipped);
        if (place && place < copied) room[place] ^= flipped;
    }
    uint8_t kind = record_kind(room);
    if (kind != RECORD_PUT && kind != RECORD_REMOVE) return false;
    uint32_t length = load32(room + 32);
    size_t start = RECORD_HEAD_BYTES + record_optional_bytes(room[21]);
    if (length > LARDER_STORE_KEY_MAX_BYTES || start + length > bytes) return false;
    *key = (larder_bytes){room + start, length};
    return true;
}

/** Behind the last byte that is not zero, rounded up, from `offset` on. */
static uint64_t used_end(const segment *in, uint64_t offset) {
    uint64_t end = in->capacity;
    for (size_t holes = in->hole_count; end > offset;) {
        if (holes > 0 && in->holes[holes - 1].until >= end) end = in->holes[--holes].from;
        else if (is_blank(in->map + end - 8)) end -= 8;
        else break;
    }
    return end > offset ? end : offset;
}

/** Whether the log, from where the tree ends, comes to the segment; or to damage, behind which it
    may. */
static bool log_reaches(const salvage *search, uint32_t number) {
    location at = search->meta.end;
    if (at.segment == 0) at = (location){1, SEGMENT_HEAD_BYTES};
    while (at.segment != number) {
        const segment *in = larder_salvage_segment(search, at.segment);
        record next = {.kind = 0};
        if (!in) return true;
        while (next.kind != RECORD_NEXT) {
            larder_status status = larder_segment_read(in, &at.offset, true, &next);
            if (status == LARDER_END) return used_end(in, at.offset) > at.offset;
            if (status) return true;
        }
        if (next.minor <= at.segment) return true;
        at = (location){next.minor, SEGMENT_HEAD_BYTES};
    }
    return true;
}

/** Whether all that lay before `to` is in the tree, whose rows tell what became of it. Cleaning
    copies only that; and a segment's number is greater than that of the one that leads to it. */
static bool is_applied(const segment_walk *walk, uint64_t to) {
    const location *end = &walk->search->meta.end;
    uint32_t number = walk->from->number;
    if (!walk->search->has_tree) return false;
    if (number == end->segment) return to <= end->offset;
    return walk->from->kind == SEGMENT_CLEANED || number < end->segment ||
           !log_reaches(walk->search, number);
}

/** What was lost lay before `to`, had a number less than `before`, and was what `key` names, if
    there is one.
    @param to UINT64_MAX: it lay in segments that are missing behind this one. */
static larder_status note_loss(segment_walk *walk, uint64_t to, stamp before, const uint8_t *at,
                               const larder_bytes *key) {
    salvage *search = walk->search;
    stamp limit = {walk->limit, 0}, settled = {search->meta.applied + 1, 0};
    if (compare_stamps(before, limit) > 0) before = limit;
    if ((to != UINT64_MAX && is_applied(walk, to)) ||
        (search->has_tree && compare_stamps(before, settled) <= 0))
        return LARDER_OK;
    search->report->journal_lost++;
    if (key) {
        finding found = {.kind = FOUND_DAMAGE, .number = number_of(at), .before = before};
        return larder_salvage_add(search, &found, *key, false);
    }
    search->report->damaged++;
    // What the end of the log had was newer than all that there is: the rest is as it was before.
    bool is_end = walk->limit == UINT64_MAX && before.sequence == UINT64_MAX &&
                  walk->from->kind == SEGMENT_WRITTEN;
    if (!is_end && compare_stamps(before, search->horizon) > 0) search->horizon = before;
    return LARDER_OK;
}

/** What lies between `from` and `to` is no record. */
static larder_status note_gap(segment_walk *walk, uint64_t from, uint64_t to, const uint8_t *next) {
    segment *in = walk->from;
    walk->has_gap = true;
    walk->ends_with_gap = !next;
    atomic_store(&in->end, to);
    // It may have held writes whose numbers are not to be given again.
    uint64_t last = in->last_sequence + (to - from) / RECORD_HEAD_BYTES + 1;
    if (!next && walk->limit == UINT64_MAX && last > walk->search->last_sequence)
        walk->search->last_sequence = last;
    const uint8_t *previous = walk->previous;
    stamp before = {UINT64_MAX, 0};
    if (walk->from->kind == SEGMENT_WRITTEN) {
        // No number is missing: what is damaged is no record, or only names the next segment.
        if (previous &&
            (next ? follows(previous, next)
                  : !continues(previous) && record_sequence(previous) + 1 == walk->limit))
            return LARDER_OK;
        if (next) before = number_of(next);
        if (next && record_kind(next) == RECORD_NEXT) before = (stamp){before.sequence + 1, 0};
    }
    larder_status status = LARDER_OK;
    uint8_t *room = malloc(KEY_ROOM_BYTES);
    if (!room) return ENOMEM;
    while (!status && from < to) {
        const uint8_t *at = walk->from->map + from;
        larder_bytes key;
        uint64_t end =
            to - from < RECORD_HEAD_BYTES ? 0 : damaged_end(walk, previous, from, to, next);
        bool is_named = end != 0 && damaged_key(at, end - from, room, &key);
        status = note_loss(walk, is_named ? end : to, before, room, is_named ? &key : NULL);
        previous = at;
        from = is_named ? end : to;
    }
    free(room);
    return status;
}

/** Whether the record at `offset` is of a batch of which others are lost, and no row leads to it:
    then the batch never was. */
static bool is_of_lost_batch(segment_walk *walk, uint64_t offset, const record *entry) {
    const salvage *search = walk->search;
    if (walk->from->kind == SEGMENT_CLEANED || !search->has_tree ||
        entry->sequence <= search->meta.applied)
        return false;
    const uint8_t *before = walk->previous;
    if (entry->minor != 0 && (!before || record_sequence(before) != entry->sequence ||
                              record_minor(before) + 1 != entry->minor))
        walk->lost_batch = entry->sequence;
    record other = *entry;
    // Once for each batch.
    while (entry->minor == 0 && (other.flags & RECORD_CONTINUES) != 0) {
        uint32_t next = other.minor + 1;
        offset += record_padded(record_length(walk->from->map + offset));
        larder_bytes bytes;
        if (larder_segment_look(walk->from, offset, &bytes) ||
            larder_record_read(bytes, true, &other) || other.sequence != entry->sequence ||
            other.minor != next) {
            walk->lost_batch = entry->sequence;
            break;
        }
    }
    return walk->lost_batch == entry->sequence;
}

static larder_status take_record(segment_walk *walk, const uint8_t *at, const record *entry) {
    salvage *search = walk->search;
    segment *from = walk->from;
    bool is_lost = is_of_lost_batch(walk, (uint64_t)(at - from->map), entry);
    walk->previous = at;
    from->record_count++;
    from->bare_count += entry->kind != RECORD_PUT;
    if (entry->sequence > from->last_sequence) from->last_sequence = entry->sequence;
    if (from->kind == 0 && entry->sequence < from->first_sequence)
        from->first_sequence = entry->sequence;
    if (entry->sequence > search->last_sequence) search->last_sequence = entry->sequence;
    if (entry->sequence > search->newest_found) search->newest_found = entry->sequence;
    if (entry->kind == RECORD_NEXT) return LARDER_OK;
    if (!walk->first) walk->begins_with_gap = walk->has_gap;
    if (!walk->first) walk->first = at;
    if (is_lost) return LARDER_OK;
    search->report->journal_intact += !search->has_tree || entry->sequence > search->meta.applied;
    if (entry->kind == RECORD_CLEAR) {
        if (entry->sequence > search->cleared) search->cleared = entry->sequence;
        return LARDER_OK;
    }
    finding found = {.kind = entry->kind == RECORD_PUT ? FOUND_PUT : FOUND_REMOVAL,
                     .number = {entry->sequence, entry->minor},
                     .segment = from->file_number,
                     .offset = (uint64_t)(at - from->map),
                     .bytes = at};
    return larder_salvage_add(search, &found, entry->key, false);
}

/** What lies at `offset` is no record. `offset` moves on to the next one, or to the end. */
static larder_status pass_gap(segment_walk *walk, uint64_t *offset) {
    const segment *in = walk->from;
    const uint8_t *at = in->map + *offset;
    uint64_t from = *offset, next = next_record(walk, from + 8);
    *offset = next;
    if (next < in->capacity && !(is_blank(at) && is_unpublished(walk, next)))
        return note_gap(walk, from, next, in->map + next);
    *offset = in->capacity;
    uint64_t end = used_end(in, from);
    if (is_blank(at)) return LARDER_OK;
    if (end >= from + 24) return note_gap(walk, from, end, NULL);
    // The shortest record would reach farther; unless little is left of it.
    walk->search->report->journal_lost += walk->limit == UINT64_MAX && !is_applied(walk, end);
    return LARDER_OK;
}

static larder_status walk_segment(segment_walk *walk) {
    segment *from = walk->from;
    uint64_t offset = SEGMENT_HEAD_BYTES, told = 0;
    larder_status status = LARDER_OK;
    while (!status && offset < from->capacity) {
        record entry;
        const uint8_t *at = record_at(walk, offset, &entry);
        if (!at) {
            status = pass_gap(walk, &offset);
            continue;
        }
        status = take_record(walk, at, &entry);
        offset += record_padded(record_length(at));
        atomic_store(&from->end, offset);
        // What follows was given up after a power cut.
        if (entry.kind == RECORD_NEXT) break;
        if (!status && ++told % 4096 == 0)
            status = larder_salvage_told(walk->search, 0, walk->search->count);
    }
    return status;
}

/** Whether the writes between a segment's last record and `limit` are lost, and not only cleaned
    away: it ends without naming the next one, or the tree has not had them. */
static bool tail_is_lost(const segment_walk *walk) {
    return record_sequence(walk->previous) + 1 < walk->limit &&
           (walk->search->has_tree || record_kind(walk->previous) != RECORD_NEXT);
}

/** Whether the log went on in a segment that is missing, for all that can be told from the last one
    that has anything. */
static bool next_is_missing(const segment_walk *walk) {
    const salvage *search = walk->search;
    uint32_t next = record_minor(walk->previous), end = search->meta.end.segment;
    return walk->limit == UINT64_MAX && record_kind(walk->previous) == RECORD_NEXT &&
           !larder_salvage_segment(search, next) &&
           (!search->has_tree || end <= walk->from->number || end == next);
}

/** Notes what the file of a segment of writes had behind the place where it was cut short. */
static larder_status note_cut(segment_walk *walk) {
    const segment *from = walk->from;
    uint64_t end = atomic_load(&from->end);
    bool is_cut = segment_is_cut_at(from, end) ||
                  (from->cut_at > 0 && (walk->ends_with_gap || !is_blank(from->map + end)));
    bool is_sealed = walk->previous && record_kind(walk->previous) == RECORD_NEXT;
    if (!is_cut || is_sealed || from->kind == SEGMENT_CLEANED) return LARDER_OK;
    if (walk->limit != UINT64_MAX) {
        bool is_missing = !walk->previous || record_sequence(walk->previous) + 1 < walk->limit;
        stamp before = {walk->limit, 0};
        return is_missing ? note_loss(walk, UINT64_MAX, before, NULL, NULL) : LARDER_OK;
    }
    walk->search->report->journal_lost += !walk->has_told && !is_applied(walk, UINT64_MAX);
    return LARDER_OK;
}

/** Whether writes are missing that were in the tree when a segment was cleaned. The newest of them
    need not be there: a removal goes with what it removed, and the log then goes on behind it. */
static bool misses_cleaned(const salvage *search) {
    if (search->has_tree && search->meta.applied >= search->newest_cleaned) return false;
    for (size_t i = 0; i < search->segment_count; i++) {
        const segment *from = search->segments[i];
        if (from->kind == SEGMENT_WRITTEN && from->first_sequence == search->newest_cleaned + 1)
            return false;
    }
    return search->newest_found < search->newest_cleaned;
}

larder_status larder_salvage_read_log(salvage *search) {
    // From the last one: its first number is the limit of those before it.
    uint64_t limit = UINT64_MAX;
    bool is_exact = false, is_sure = false, is_first_lost = false;
    segment_walk first = {.search = search};
    larder_status status = LARDER_OK;
    for (size_t i = search->segment_count; i > 0 && !status; i--) {
        segment *from = search->segments[i - 1];
        // One with a damaged head may lie under any name: a sound one is believed against it.
        if (!is_sure && from->kind == SEGMENT_WRITTEN && from->first_sequence >= limit) {
            limit = UINT64_MAX;
            is_exact = false;
        }
        segment_walk walk = {.search = search, .from = from, .limit = limit};
        uint64_t told = search->report->journal_lost;
        status = walk_segment(&walk);
        walk.from->is_measured = walk.from->kind != 0 && !walk.has_gap;
        if (walk.from->first_sequence == UINT64_MAX) walk.from->first_sequence = 1;
        // Cleaning has not been there yet, so it is one of writes, whatever its head says.
        bool is_written = walk.from->kind == SEGMENT_WRITTEN ||
                          (walk.from->kind == 0 && walk.first && search->has_tree &&
                           record_sequence(walk.previous) > search->meta.applied);
        walk.has_told = search->report->journal_lost > told;
        // All that it held may be lost, and has been noted; unless what is damaged is in the tree:
        // what came behind that may not be.
        if (!walk.first && walk.has_told && walk.from->kind != SEGMENT_CLEANED) is_exact = false;
        if (!status) status = note_cut(&walk);
        if (!walk.first || !is_written) continue;
        search->report->journal_lost += next_is_missing(&walk);
        if (!status && is_exact && !(walk.ends_with_gap && walk.has_told) && tail_is_lost(&walk))
            status = note_loss(&walk, UINT64_MAX, (stamp){limit, 0}, NULL, NULL);
        is_exact = !walk.begins_with_gap;
        is_sure = from->kind == SEGMENT_WRITTEN;
        limit = record_sequence(walk.first);
        is_first_lost = search->has_tree && limit > search->meta.applied + 1 && is_exact;
        first = walk;
    }
    search->report->journal_lost += misses_cleaned(search);
    // Behind the tree, the log begins with the next number.
    if (!status && is_first_lost)
        status = note_loss(&first, UINT64_MAX, (stamp){limit, 0}, NULL, NULL);
    return status;
}
