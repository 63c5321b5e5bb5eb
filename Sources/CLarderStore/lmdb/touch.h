// SPDX-License-Identifier: MIT
/** @file touch.h
    Private: reads that were noted and not yet folded into the order of use. Each reader's slot has
    a buffer of its own, so noting one needs no lock. It has each key once: what is read again and
    again takes no more room. A full one is handed on to a buffer of the store.

    Whoever owns the slot appends, and whoever empties it owns it too. Anybody may search meanwhile:
    a read is counted only when it is whole, all that a search looks at is atomic, and a buffer
    that was emptied during the search is searched again. The keys' bytes are the owner's, so a
    search compares hashes of them. */
#ifndef LARDER_TOUCH_H
#define LARDER_TOUCH_H

#include "format/record.h"
#include "larder_index.h"

enum {
    TOUCH_MAX_COUNT = 4096,
    /** Places of a table that leads to them, at most half full. */
    TOUCH_SLOTS = 2 * TOUCH_MAX_COUNT,
    /** In the store's buffer: what comes beyond it while a checkpoint lasts is forgotten, and
        counted. */
    TOUCH_WAITING_MAX_COUNT = 16 * TOUCH_MAX_COUNT
};

/** Earlier than any, and later than INT64_MIN, which stands for no read at all. */
#define TOUCH_NO_DEADLINE (INT64_MIN + 1)

/** The last read of a key. */
typedef struct touch {
    stamp at;
    /** The entry's new deadline if it idles or was renewed, else TOUCH_NO_DEADLINE. */
    int64_t deadline_ns;
    /** The write that was renewed, if the deadline is of that; it is nothing to one that replaced
        it, although that was read. Else 0. */
    uint64_t renewed;
    /** Of the stored key; where that is in the buffer's bytes. */
    uint64_t hash;
    uint32_t offset;
    uint32_t length;
} touch;

typedef struct touch_buffer {
    uint32_t count;
    uint32_t used_bytes, room_bytes;
    /** How often it was emptied. */
    uint64_t emptied;
    uint64_t dropped;
    /** A slot's has TOUCH_MAX_COUNT of them, and the numbers of those in a table by hash, from 1
        on: allocated with the first, and never moved. */
    touch *touches;
    uint16_t *slots;
    uint8_t *bytes;
    /** Of a buffer that grows: the same for its first `found_count`, as the last search needed it;
        `found_room` is a power of two. */
    uint32_t *found;
    uint32_t found_count, found_room;
} touch_buffer;

/** The place of the key in the table, or the empty one that it would get. */
uint16_t *larder_touch_buffer_slot(const touch_buffer *touches, uint64_t hash, larder_bytes stored);

/** Raises `deadline_ns` to the latest one that a read of the key gave its entry since the write
    `sequence`; `hash` is of the stored key. The buffer may be of a place in use. O(1). */
void larder_touch_buffer_search(const touch_buffer *touches, uint64_t hash, uint64_t sequence,
                                int64_t *deadline_ns);
/** The same in a buffer that grows, which nobody else uses meanwhile. O(1), but for what was added
    since the last search. */
void larder_touch_buffer_find(touch_buffer *touches, uint64_t hash, uint64_t sequence,
                              int64_t *deadline_ns);
/** Frees what it has; the caller owns it. */
void larder_touch_buffer_free(touch_buffer *touches);
/** Copies what is in `from` behind what is in `to`, which grows. What finds no memory is
    dropped. */
void larder_touch_buffer_append(const touch_buffer *from, touch_buffer *to);
/** Moves what is in `from` behind what is in `to`, which grows; the caller owns both. What finds
    no memory is dropped. */
void larder_touch_buffer_move(touch_buffer *from, touch_buffer *to);

#endif
