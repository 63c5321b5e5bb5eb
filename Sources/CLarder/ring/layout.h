// SPDX-License-Identifier: MIT
/** @file layout.h
    Private: the bytes of a ring file, versions 2 and 3. The normative text is "File formats" in the
    documentation; the static asserts below and the fixtures in the tests hold both to it.

        0       64      128      192     256       320             data_offset      capacity-64
        +-------+-------+--------+-------+---------+---------------+----------------+---------+
        | fixed | state | opened | floor | session | cursors       | records        | backup  |
        | header|       |        |       |         | 64 bytes each | 8-byte aligned | of fixed|
        +-------+-------+--------+-------+---------+---------------+----------------+---------+

        record:  | word u32 | crc u32 | tag u64 | payload | 0 to 7 bytes of padding |
                   |                    |
                   |                    bits 0-54 sequence number, bit 55 AFTER GAP,
                   |                    bits 56-63 sync generation
                   bits 0-30 payload length, bit 31 PARTIAL; all ones: a pad, see invariant 3

    In version 3 a payload is the message and its time, 8 bytes that follow it directly; times never
    decrease along the sequence numbers. Nothing else differs, and nothing else knows times.

    All integers are little-endian. Places in the ring are counted in two ways. An *offset* is
    logical: it only grows, and `oldest <= end` always. A *position* is `offset % data_bytes`, the
    distance from the first data byte.

    Invariants:
    1. The live bytes are the offsets [oldest, end); `end - oldest <= data_bytes`, so a full ring is
       not an empty one and a ring of N equal messages holds N.
    2. A record never crosses the end of the data: its bytes are contiguous.
    3. Where a record does not fit before the end of the data, a pad (a head without a payload,
       whose word is all ones and whose sequence number is that of the record after it) fills the
       rest; a rest of 8 bytes, too short for a head, is skipped without one.
    4. Sequence numbers grow along the offsets, by one except for a record whose AFTER GAP bit is
       set. They start at 1. None is reused.
    5. `crc` covers the payload, the word, the position and the tag, and is seeded with the file's
       salt: neither a record of an earlier lap, nor one that was moved, nor a record's image inside
       another record's payload is taken for a live one.
    6. `oldest` is stored before a byte that it protected is overwritten, and `end` after all bytes
       before it: at each instruction the file in memory is consistent.
    7. `oldest_copy` follows `oldest`: where the two differ, the smaller one is right or a step
       late. Of the two publications the one with the larger `end` holds, and its `newest` was
       stored before it: so a kill at any instruction leaves a state that is believed as it stands.
    8. `synced` and `syncing` are tags. `synced` names a number up to which everything is on the
       device, and the generation that the sync which said so began; `syncing` names what the latest
       sync set out to reach. A record's tag names the last generation completed before it. So after
       a power cut a surviving record tells whether the sync under way had been completed.
    9. No record up to `promised` is dropped before a header whose `synced` says so is on the
       device: what the header on the device calls synced was overwritten only if it was meant to
       be.
    10. No number from `next_floor` of the header on the device on is given.
    11. While the header on the device may be *sealed*, closed with everything synced, no byte from
       `sealed_limit` on is written, nor one of what it calls live.
    12. `unsynced` says so before a sync begins, and until it has succeeded: a failed one may have
       left pages that the kernel takes for written, and that are not. Whoever syncs next, in this
       process or another of the same boot, first makes them dirty again.
    13. The backup's RING_NEVER_SYNCED is cleared only when the folder was synced, too: until then
       the next sync that succeeds syncs the folder, also where a new file took the old one's
       name. */
#ifndef LARDER_LAYOUT_H
#define LARDER_LAYOUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "checksum/crc32c_inline.h"
#include "larder_ring.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "The ring maps little-endian integers; a big-endian port has to convert them in this file."
#endif

#define ALWAYS_INLINE __attribute__((always_inline))

#define RING_MAGIC "LARDRING"
#define RING_VERSION ((uint32_t)2)
/** Of a ring whose records have times. */
#define RING_VERSION_TIMES ((uint32_t)3)
#define RING_HEADER_BYTES ((uint64_t)320)
#define RING_FIXED_BYTES ((size_t)64)
#define RING_CURSOR_BYTES ((uint64_t)64)
#define RING_HEAD_BYTES ((uint64_t)16)

#define RECORD_PARTIAL ((uint32_t)1 << 31)
#define RECORD_LENGTH_MASK (~RECORD_PARTIAL)
#define RECORD_PAD (~(uint32_t)0)
#define RECORD_GENERATION_SHIFT 56
#define RECORD_AFTER_GAP ((uint64_t)1 << 55)
#define RECORD_SEQUENCE_MASK (RECORD_AFTER_GAP - 1)
/** No message of ours has so large a number: at ten million messages a second it takes 57 years. */
#define RING_SEQUENCE_MAX ((uint64_t)1 << 54)
/** Nor a larger offset; more laps can be added to it without an overflow. An open believes half of
    that, and readers all: nobody appends so much. */
#define RING_OFFSET_MAX ((uint64_t)1 << 62)
/** In the flags of a backup: nothing of this file was synced yet, or its name was not. */
#define RING_NEVER_SYNCED ((uint32_t)1 << 31)

/** How many numbers are reserved ahead of those given (invariant 10), and how far a ring may be
    written behind a sealed end (invariant 11). */
#ifdef LARDER_FAULTS
extern uint64_t larder_ring_numbers_ahead;
extern uint64_t larder_ring_window_bytes;
/** Changes both for all rings that are opened from now on: a test that is smaller than every
    threshold shows nothing. */
LARDER_API void larder_fault_ring_limits(uint64_t numbers_ahead, uint64_t window_bytes);
/** Raised by each record that a seek compares with what it looks for; not for several threads. */
LARDER_API extern uint64_t larder_ring_seek_probes;
#else
#define larder_ring_numbers_ahead ((uint64_t)1 << 22)
#define larder_ring_window_bytes ((uint64_t)256 * 1024)
#endif

/** Never changes after creation. Its CRC covers all bytes before it. */
typedef struct ring_fixed {
    char magic[8];
    uint32_t version;
    uint32_t flags;
    uint64_t capacity_bytes;
    uint64_t data_offset;
    uint64_t data_bytes;
    uint64_t content_format;
    int64_t created_ns;
    uint32_t salt;
    uint32_t crc;
} ring_fixed;

/** What one append, or one batch, made visible. */
typedef struct ring_publication {
    /** The number given last. */
    _Atomic uint64_t newest;
    /** Stored after it. */
    _Atomic uint64_t end;
} ring_publication;

/** One cache line that every append writes. */
typedef struct ring_state {
    _Atomic uint64_t oldest;
    _Atomic uint64_t oldest_copy;
    /** Written in turns (invariant 7). */
    ring_publication published[2];
    _Atomic uint64_t count;
    /** How often the ring was opened for writing; a reader of another process finds its
        position again when it changes. */
    _Atomic uint32_t epoch;
    /** CRC of all that follows the fixed header but the bell, while the ring is closed; 0 while it
        is open. */
    _Atomic uint32_t closed_crc;
} ring_state;

/** Who wrote last, and what rarely changes. */
typedef struct ring_opened {
    _Atomic uint64_t removed;
    _Atomic uint64_t lost;
    /** Numbers skipped because messages lost in a power cut may have had them. */
    _Atomic uint64_t skipped;
    _Atomic int64_t writer_pid;
    uint64_t device;
    uint64_t inode;
    uint8_t boot_id[16];
} ring_opened;

/** What followers in other processes sleep on; see ring/wait.c. No checksum covers it. */
typedef struct ring_bell {
    /** Changes when they are to look. */
    _Atomic uint32_t word;
    /** Not 0 if somebody waits for that. */
    _Atomic uint16_t armed;
    /** The low half of the epoch, if the writer looks at `armed`; 0 while nobody writes. */
    _Atomic uint16_t epoch;
} ring_bell;

/** Numbers that hold after a power cut, too. */
typedef struct ring_floor {
    /** After a power cut the next message's number is at least this (invariant 10). */
    _Atomic uint64_t next_floor;
    /** No message up to this number is live: the caller removed it or a recovery gave it up. It
        holds even where the record that `oldest` leads to is lost. */
    _Atomic uint64_t removed_through;
    /** `~removed_through`, stored after it; the smaller reading counts, as in a cursor's slot. */
    _Atomic uint64_t removed_complement;
    _Atomic uint64_t synced;
    _Atomic uint64_t syncing;
    /** Every number up to this was given, or given up. */
    _Atomic uint64_t given;
    /** `~next_floor`, stored after it. */
    _Atomic uint64_t next_complement;
    ring_bell bell;
} ring_floor;

/** What holds during one boot: what is known of the device, and of the state. */
typedef struct ring_session {
    /** Of the header on the device: at least this is its `synced`, and its `next_floor`. */
    _Atomic uint64_t marked;
    _Atomic uint64_t floor_synced;
    /** No byte from this offset on is written yet, as the header on the device may be sealed; 0 if
        it cannot be. */
    _Atomic uint64_t sealed_limit;
    /** Up to here callers were told that messages survive a power cut. */
    _Atomic uint64_t promised;
    /** Numbers between the oldest and the newest that no record stands for, and its complement. */
    _Atomic uint64_t missing;
    _Atomic uint64_t missing_complement;
    /** Not 0 while `missing` does not agree with the state, or the state cannot be believed. */
    _Atomic uint64_t unsettled;
    /** One of ring_unsynced. */
    _Atomic uint64_t unsynced;
} ring_session;

/** What the last writer left undone, larger where more has to be done. */
typedef enum ring_unsynced {
    /** Nothing was changed since everything was synced last. */
    UNSYNCED_NOTHING = 0,
    UNSYNCED_CHANGES = 1,
    /** A sync was begun, and is not known to have succeeded (invariant 12): of the header and of
        what lies behind the message that `synced` names. */
    UNSYNCED_UNKNOWN = 2,
    /** The same of any page of the file: a recovery may change each. */
    UNSYNCED_UNKNOWN_ALL = 3
} ring_unsynced;

typedef struct ring_header {
    ring_fixed fixed;
    ring_state state;
    ring_opened opened;
    ring_floor floor;
    ring_session session;
} ring_header;

typedef struct ring_cursor_slot {
    char name[32];
    uint32_t name_length;
    /** CRC of name and length; a slot whose CRC does not agree is free. */
    uint32_t name_crc;
    _Atomic uint64_t acknowledged;
    /** `~acknowledged`, stored after it: where they disagree, a kill came between or a bit flipped,
        and the smaller of the two readings counts, so that a message is rather seen twice. */
    _Atomic uint64_t complement;
    uint64_t reserved;
} ring_cursor_slot;

typedef struct record_head {
    uint32_t word;
    uint32_t crc;
    uint64_t tag;
} record_head;

_Static_assert(sizeof(ring_fixed) == 64, "fixed header");
_Static_assert(offsetof(ring_fixed, version) == 8, "version");
_Static_assert(offsetof(ring_fixed, flags) == 12, "flags");
_Static_assert(offsetof(ring_fixed, capacity_bytes) == 16, "capacity_bytes");
_Static_assert(offsetof(ring_fixed, data_offset) == 24, "data_offset");
_Static_assert(offsetof(ring_fixed, data_bytes) == 32, "data_bytes");
_Static_assert(offsetof(ring_fixed, content_format) == 40, "content_format");
_Static_assert(offsetof(ring_fixed, created_ns) == 48, "created_ns");
_Static_assert(offsetof(ring_fixed, salt) == 56, "salt");
_Static_assert(offsetof(ring_fixed, crc) == 60, "crc");
_Static_assert(sizeof(ring_state) == 64, "state");
_Static_assert(offsetof(ring_state, published) == 16, "published");
_Static_assert(offsetof(ring_publication, end) == 8, "end");
_Static_assert(offsetof(ring_state, count) == 48, "count");
_Static_assert(offsetof(ring_state, epoch) == 56, "epoch");
_Static_assert(sizeof(ring_opened) == 64, "opened");
_Static_assert(offsetof(ring_opened, writer_pid) == 24, "writer_pid");
_Static_assert(offsetof(ring_opened, boot_id) == 48, "boot_id");
_Static_assert(sizeof(ring_floor) == 64, "floor");
_Static_assert(offsetof(ring_floor, synced) == 24, "synced");
_Static_assert(offsetof(ring_floor, given) == 40, "given");
_Static_assert(offsetof(ring_floor, bell) == 56, "bell");
_Static_assert(sizeof(ring_session) == 64, "session");
_Static_assert(offsetof(ring_session, missing) == 32, "missing");
_Static_assert(sizeof(ring_header) == RING_HEADER_BYTES, "header");
_Static_assert(sizeof(ring_cursor_slot) == 64, "cursor slot");
_Static_assert(sizeof(record_head) == 16, "record head");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "64-bit atomics in a mapping must be lock-free");

#define LOAD(field) atomic_load_explicit(&(field), memory_order_relaxed)
#define LOAD_ACQUIRE(field) atomic_load_explicit(&(field), memory_order_acquire)
#define STORE(field, value) atomic_store_explicit(&(field), (value), memory_order_relaxed)
#define STORE_RELEASE(field, value) atomic_store_explicit(&(field), (value), memory_order_release)

/** A file, and where in it the records begin. */
typedef struct ring_source {
    int file;
    uint64_t offset;
} ring_source;

/** The records of one file, as far as reading them goes. */
typedef struct ring_records {
    const uint8_t *data;
    uint64_t data_bytes;
    uint32_t salt;
    /** For a walk to pass large holes of the file without reading them; NULL if it need not. */
    const ring_source *source;
    /** What of each payload is its time: no shorter one is intact. */
    size_t time_bytes;
} ring_records;

static inline uint64_t record_bytes(size_t length) {
    return (RING_HEAD_BYTES + length + 7) & ~(uint64_t)7;
}

static inline size_t record_length(uint32_t word) { return word & RECORD_LENGTH_MASK; }

/** LARDER_MESSAGE_… flags of a record. */
static inline uint32_t record_flags(uint32_t word) {
    return word & RECORD_PARTIAL ? (uint32_t)LARDER_MESSAGE_PARTIAL : 0;
}

static inline uint64_t record_sequence(uint64_t tag) { return tag & RECORD_SEQUENCE_MASK; }

static inline uint64_t record_tag(uint64_t sequence, uint8_t generation) {
    return sequence | (uint64_t)generation << RECORD_GENERATION_SHIFT;
}

static inline bool record_is_after_gap(uint64_t tag) { return (tag & RECORD_AFTER_GAP) != 0; }

static inline uint8_t record_generation(uint64_t tag) {
    return (uint8_t)(tag >> RECORD_GENERATION_SHIFT);
}

static inline record_head record_head_at(const uint8_t *data, uint64_t position) {
    record_head head;
    memcpy(&head, data + position, sizeof head);
    return head;
}

/** The CRC of a record at `position`, from that of its payload (invariant 5). */
static inline uint32_t record_crc(uint32_t payload_crc, uint32_t word, uint64_t position,
                                  uint64_t tag) {
    uint64_t place = (uint64_t)(uint32_t)(position >> 3) << 32;
    return crc32c_two_words(payload_crc, word | place, tag);
}

/** Writes the pad of `position` (invariant 3). */
static inline void record_write_pad(uint8_t *data, uint64_t position, uint32_t salt, uint64_t tag) {
    record_head head = {RECORD_PAD, 0, tag};
    head.crc = record_crc(larder_crc32c(salt, NULL, 0), RECORD_PAD, position, tag);
    memcpy(data + position, &head, sizeof head);
}

/** Whether a head could stand at `position`: says nothing about the payload yet. */
static inline bool record_is_plausible(record_head head, uint64_t position, uint64_t data_bytes) {
    uint64_t sequence = record_sequence(head.tag);
    if (sequence == 0 || sequence >= RING_SEQUENCE_MAX) return false;
    if (head.word == RECORD_PAD) return true;
    return record_bytes(record_length(head.word)) <= data_bytes - position;
}

/** Whether `bytes` (head and payload, complete) are the record of `position`, whose payload has
    `length` bytes. */
static inline ALWAYS_INLINE bool record_agrees(uint32_t salt, const uint8_t *bytes,
                                               record_head head, size_t length, uint64_t position) {
    uint32_t crc = larder_crc32c(salt, bytes + RING_HEAD_BYTES, length);
    return record_crc(crc, head.word, position, head.tag) == head.crc;
}

/** The same for any record, a pad too. */
static inline bool record_is_intact(const ring_records *records, const uint8_t *bytes,
                                    record_head head, uint64_t position) {
    bool is_pad = head.word == RECORD_PAD;
    size_t length = is_pad ? 0 : record_length(head.word);
    return (is_pad || length >= records->time_bytes) &&
           record_agrees(records->salt, bytes, head, length, position);
}

/** The time that ends a payload of `length` bytes, of which it is part. */
static inline int64_t payload_time(const uint8_t *payload, size_t length) {
    uint64_t time;
    memcpy(&time, payload + length - sizeof time, sizeof time);
    return time < INT64_MAX ? (int64_t)time : INT64_MAX;
}

/** Whether a pad leads to the record that it names, unless that one is damaged. A pad of another
    moment, as in a torn copy, leads to another one, and records may stand behind it. */
static inline bool record_pad_leads(const ring_records *records, record_head pad) {
    record_head first = record_head_at(records->data, 0);
    return record_sequence(first.tag) == record_sequence(pad.tag) ||
           !record_is_plausible(first, 0, records->data_bytes) ||
           !record_is_intact(records, records->data, first, 0);
}

/** Whether an intact record, or a pad that leads on, stands at `position`, which leaves room for a
    head, and its number is larger than `previous`. */
static inline bool record_goes_on(const ring_records *records, uint64_t position, uint64_t previous,
                                  record_head *head) {
    *head = record_head_at(records->data, position);
    return record_sequence(head->tag) > previous &&
           record_is_plausible(*head, position, records->data_bytes) &&
           record_is_intact(records, records->data + position, *head, position) &&
           (head->word != RECORD_PAD || record_pad_leads(records, *head));
}

/** What larder_record_find looks for: a number in [minimum, maximum]. */
typedef struct record_bounds {
    uint64_t minimum;
    uint64_t maximum;
    /** Numbers up to this one are likely. What looks like others, as much of a long random payload
        does, takes nothing from the budget of these. */
    uint64_t likely;
} record_bounds;

/** Any number, where `known` was given. Few heads that chance makes have one that is likely. */
static inline record_bounds record_bounds_any(uint64_t known) {
    uint64_t from = known <= RING_SEQUENCE_MAX ? known : 0;
    return (record_bounds){1, RING_SEQUENCE_MAX, from + ((uint64_t)1 << 32)};
}

/** The first intact record (not a pad) at or after `position` that starts before `limit`.
    @return false if there is none. Work is bounded by a small multiple of the bytes looked at,
    whatever they contain. */
bool larder_record_find(const ring_records *records, uint64_t position, uint64_t limit,
                        record_bounds bounds, uint64_t *found, record_head *head);

/** What a number says that is followed by its complement: where they disagree, the smaller reading
    counts. */
static inline uint64_t ring_smaller_reading(const _Atomic uint64_t *number,
                                            const _Atomic uint64_t *complement) {
    uint64_t read = LOAD(*number);
    uint64_t copy = ~LOAD(*complement);
    return read < copy ? read : copy;
}

/** The number that `removed_through` speaks of. */
static inline uint64_t ring_removed_through(const ring_header *header) {
    return ring_smaller_reading(&header->floor.removed_through, &header->floor.removed_complement);
}

static inline void ring_store_removed_through(ring_header *header, uint64_t through) {
    STORE(header->floor.removed_through, through);
    atomic_thread_fence(memory_order_release);
    // If we crash here, the number before this one counts.
    STORE(header->floor.removed_complement, ~through);
}

/** The number that `next_floor` speaks of. A power cut may leave its halves of two headers; no
    number is given that the smaller one does not reserve. */
static inline uint64_t ring_next_floor(const ring_header *header) {
    return ring_smaller_reading(&header->floor.next_floor, &header->floor.next_complement);
}

/** What is reserved from `next` on (invariant 10). Where numbers end, as they do in a file that was
    made to hurt, so does what may be given. */
static inline uint64_t ring_floor_from(uint64_t next) {
    uint64_t floor = next + larder_ring_numbers_ahead;
    return floor < RING_SEQUENCE_MAX ? floor : RING_SEQUENCE_MAX;
}

static inline void ring_store_next_floor(ring_header *header, uint64_t floor) {
    STORE(header->floor.next_floor, floor);
    STORE(header->floor.next_complement, ~floor);
}

/** Which of the two publications holds (invariant 7). */
static inline unsigned ring_published_slot(const ring_header *header) {
    const ring_publication *published = header->state.published;
    return LOAD_ACQUIRE(published[1].end) > LOAD_ACQUIRE(published[0].end);
}

static inline uint64_t ring_published_end(const ring_header *header) {
    return LOAD_ACQUIRE(header->state.published[ring_published_slot(header)].end);
}

static inline uint64_t ring_published_newest(const ring_header *header) {
    return LOAD(header->state.published[ring_published_slot(header)].newest);
}

/** Whether a file of these options is to keep times. */
static inline bool ring_options_keep_times(const larder_ring_options *options) {
    return (options->flags & LARDER_RING_KEEP_TIMES) || options->maximum_age_ns > 0;
}
/** The fixed header that belongs to the options, but for what makes each file its own.
    @return LARDER_OK, or LARDER_EINVALID if there is no such file. */
larder_status larder_ring_fixed_make(const larder_ring_options *options, ring_fixed *out);
void larder_ring_fixed_seal(ring_fixed *fixed, int64_t created_ns, uint32_t salt);
/** How many cursor slots lie between the header and the data. */
static inline uint32_t ring_fixed_slots(const ring_fixed *fixed) {
    return (uint32_t)((fixed->data_offset - RING_HEADER_BYTES) / RING_CURSOR_BYTES);
}
/** Whether the bytes are a fixed header of some version: magic and CRC agree. */
bool larder_ring_fixed_is_intact(const ring_fixed *fixed);
/** What of each payload is its time. */
static inline size_t ring_fixed_time_bytes(const ring_fixed *fixed) {
    return fixed->version == RING_VERSION_TIMES ? LARDER_RING_TIME_BYTES : 0;
}
/** As LARDER_RING_… flags. */
static inline uint32_t ring_fixed_flags(const ring_fixed *fixed) {
    return (fixed->flags & LARDER_RING_OVERWRITE) |
           (ring_fixed_time_bytes(fixed) ? (uint32_t)LARDER_RING_KEEP_TIMES : 0);
}
/** Whether this library can use it: its version, and places that agree with each other. */
larder_status larder_ring_fixed_validate(const ring_fixed *fixed);

uint32_t larder_ring_closed_crc(const ring_header *header);

#endif
