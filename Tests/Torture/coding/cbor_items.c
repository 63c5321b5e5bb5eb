// SPDX-License-Identifier: MIT
// Random CBOR in every form that may be read, and damage to it.
#include <stdio.h>
#include <string.h>

#include "cbor_reference.h"

typedef struct maker {
    rng *random;
    uint8_t *bytes;
    size_t used;
    /** From here on only small items follow. */
    size_t enough;
} maker;

static void put_byte(maker *self, unsigned byte) { self->bytes[self->used++] = (uint8_t)byte; }

/** A head, mostly in the shortest form. */
static void put_head(maker *self, unsigned major, uint64_t argument) {
    unsigned least = argument < 24 ? 0 : argument < 256 ? 1 : argument < 65536 ? 2 : 3;
    least = argument > UINT32_MAX ? 4 : least;
    unsigned form =
        rng_one_in(self->random, 6) ? (unsigned)rng_between(self->random, least, 4) : least;
    if (form == 0) {
        put_byte(self, major << 5 | (unsigned)argument);
        return;
    }
    put_byte(self, major << 5 | (23 + form));
    for (unsigned i = 1u << (form - 1); i-- > 0;) {
        put_byte(self, (unsigned)(argument >> (8 * i)) & 0xFF);
    }
}

static uint64_t some_number(rng *random) {
    static const unsigned shifts[] = {63, 60, 58, 56, 48, 47, 32, 31, 1, 0};
    return rng_next(random) >> shifts[rng_below(random, sizeof shifts / sizeof *shifts)];
}

static void put_piece(maker *self, unsigned major, const char *text, size_t length) {
    put_head(self, major, length);
    memcpy(self->bytes + self->used, text, length);
    self->used += length;
}

/** A string, whole or in chunks that are good text each. */
static void put_string(maker *self, unsigned major) {
    static const char *const texts[] = {
        "",  "a",  "id", "name",     "0123456789abcdef", "a text with more than eight bytes",
        "ü", "水", "𐅑",  "naïve, no"};
    const char *text = texts[rng_below(self->random, sizeof texts / sizeof *texts)];
    size_t length = strlen(text);
    if (!rng_one_in(self->random, 6)) {
        put_piece(self, major, text, length);
        return;
    }
    put_byte(self, major << 5 | 31);
    for (uint64_t i = rng_below(self->random, 4); i > 0; i--) {
        put_piece(self, major, text, length);
    }
    put_byte(self, 0xFF);
}

static void put_item(maker *self, unsigned depth);

/** Few and short, so that equal ones meet. */
static void put_key(maker *self, unsigned depth) {
    static const char *const texts[] = {"", "a", "b", "ab", "key", "a key of 16 byte"};
    uint64_t choice = rng_below(self->random, 10);
    if (choice < 4) {
        put_head(self, choice & 1, rng_below(self->random, 12));
        return;
    }
    if (choice == 9) {
        put_item(self, depth);
        return;
    }
    const char *text = texts[rng_below(self->random, sizeof texts / sizeof *texts)];
    unsigned major = choice == 8 ? 2 : 3;
    if (rng_one_in(self->random, 4)) {
        size_t half = rng_below(self->random, strlen(text) + 1);
        put_byte(self, major << 5 | 31);
        put_piece(self, major, text, half);
        put_piece(self, major, text + half, strlen(text) - half);
        put_byte(self, 0xFF);
    } else {
        put_piece(self, major, text, strlen(text));
    }
}

static void put_sequence(maker *self, unsigned major, uint64_t count, unsigned depth) {
    bool is_endless = rng_one_in(self->random, 4);
    if (is_endless) {
        put_byte(self, major << 5 | 31);
    } else {
        put_head(self, major, count);
    }
    for (; count > 0; count--) {
        if (major == 5) {
            put_key(self, depth);
        }
        put_item(self, depth);
    }
    if (is_endless) {
        put_byte(self, 0xFF);
    }
}

static void put_item(maker *self, unsigned depth) {
    bool is_small = depth == 0 || self->used >= self->enough;
    switch (rng_below(self->random, is_small ? 6 : 10)) {
    case 0: put_head(self, 0, some_number(self->random)); break;
    case 1: put_head(self, 1, some_number(self->random)); break;
    case 2: put_string(self, 2); break;
    case 3: put_string(self, 3); break;
    case 4: put_byte(self, 0xE0 | (unsigned)rng_below(self->random, 24)); break;
    case 5: {
        static const unsigned initials[] = {0xF8, 0xF9, 0xFA, 0xFB};
        unsigned initial = initials[rng_below(self->random, 4)];
        put_byte(self, initial);
        for (unsigned i = 1u << (initial - 0xF8); i > 0; i--) {
            put_byte(self, (unsigned)rng_between(self->random, 32, 255));
        }
        break;
    }
    case 6:
        put_head(self, 6, some_number(self->random));
        put_item(self, depth - 1);
        break;
    case 7: put_sequence(self, 4, rng_below(self->random, 6), depth - 1); break;
    default: put_sequence(self, 5, rng_below(self->random, 6), depth - 1); break;
    }
}

size_t cbor_item_make(rng *random, uint8_t *target, size_t size) {
    maker self = {random, target, 0, size};
    put_byte(&self, 0x9F);
    do {
        put_item(&self, 5);
    } while (self.used < size);
    put_byte(&self, 0xFF);
    return self.used;
}

size_t cbor_map_make(rng *random, uint8_t *target, size_t count) {
    maker self = {random, target, 0, 0};
    uint64_t kind = rng_below(random, 3), repeats = rng_below(random, 2) * rng_below(random, 4);
    put_head(&self, 5, count);
    for (size_t i = 0; i < count; i++) {
        uint64_t number =
            repeats && rng_one_in(random, count / repeats + 1) ? rng_below(random, count) : i;
        char text[64];
        int length =
            snprintf(text, sizeof text, kind == 1 ? "%llu" : "the same before %llu and behind",
                     (unsigned long long)number * 2654435761u);
        if (kind == 0) {
            put_head(&self, 0, number);
        } else {
            put_piece(&self, 3, text, (size_t)length);
        }
        put_byte(&self, 0xF6);
    }
    return self.used;
}

size_t cbor_nest_make(rng *random, uint8_t *target, size_t depth) {
    maker self = {random, target, 0, 0};
    // What closes a level, and 0 for what needs nothing.
    uint8_t close[2048];
    for (size_t i = 0; i < depth; i++) {
        close[i] = 0;
        switch (rng_below(random, 6)) {
        case 0: put_head(&self, 6, some_number(random)); break;
        case 1: put_head(&self, 4, 1); break;
        case 2:
            put_byte(&self, 0x9F);
            close[i] = 0xFF;
            break;
        case 3:
            put_head(&self, 5, 1);
            put_byte(&self, 0x01);
            break;
        case 4: // In the place of a key.
            put_head(&self, 5, 1);
            close[i] = 0xF6;
            break;
        default:
            put_byte(&self, 0xBF);
            put_byte(&self, 0x01);
            close[i] = 0xFF;
        }
    }
    put_byte(&self, 0x80);
    while (depth-- > 0) {
        if (close[depth]) {
            put_byte(&self, close[depth]);
        }
    }
    return self.used;
}

size_t cbor_item_damage(rng *random, uint8_t *bytes, size_t length, size_t capacity) {
    static const uint8_t known[] = {0x00, 0x17, 0x18, 0x1B, 0x1C, 0x1F, 0x3F, 0x41, 0x5B,
                                    0x5F, 0x61, 0x7B, 0x7F, 0x80, 0x81, 0x9B, 0x9F, 0xA0,
                                    0xA1, 0xBB, 0xBF, 0xC0, 0xC2, 0xDB, 0xDF, 0xE0, 0xED,
                                    0xF0, 0xF4, 0xF8, 0xF9, 0xFB, 0xFC, 0xFF};
    size_t place = rng_below(random, length + 1);
    uint8_t byte =
        rng_one_in(random, 3) ? (uint8_t)rng_next(random) : known[rng_below(random, sizeof known)];
    switch (rng_below(random, 6)) {
    case 0: return place;
    case 1:
        if (length < capacity) {
            memmove(bytes + place + 1, bytes + place, length - place);
            bytes[place] = byte;
            return length + 1;
        }
        return length;
    case 2:
        if (place < length) {
            memmove(bytes + place, bytes + place + 1, length - place - 1);
            return length - 1;
        }
        return length;
    case 3: {
        size_t source = rng_below(random, length + 1);
        size_t longer = place > source ? place : source;
        memmove(bytes + place, bytes + source, rng_below(random, length - longer + 1));
        return length;
    }
    case 4:
        if (place < length) {
            bytes[place] = byte;
        }
        return length;
    default:
        if (place < length) {
            bytes[place] ^= (uint8_t)(1u << rng_below(random, 8));
        }
        return length;
    }
}
