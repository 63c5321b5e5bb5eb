// SPDX-License-Identifier: MIT
/** @file touch.h
    Private: reads that were noted and not yet folded into the order of use. Each reader's place has
    a buffer of its own, so noting one needs no lock; a full buffer forgets what comes, and counts
    it. */
#ifndef LARDER_TOUCH_H
#define LARDER_TOUCH_H

#include "format/record.h"

enum { TOUCH_MAX_COUNT = 1024, TOUCH_MAX_BYTES = 32 << 10 };

/** One read. Followed in `bytes` by the stored key. */
typedef struct touch {
    stamp at;
    /** The entry's new deadline if it idles, else LARDER_STORE_NEVER. */
    int64_t deadline_ns;
    /** Of the stored key, in the buffer's bytes. */
    uint32_t offset;
    uint32_t length;
} touch;

typedef struct touch_buffer {
    uint32_t count;
    uint32_t used_bytes;
    uint64_t dropped;
    /** TOUCH_MAX_COUNT of them and TOUCH_MAX_BYTES, allocated with the first; may stay NULL. */
    touch *touches;
    uint8_t *bytes;
} touch_buffer;

#endif
