// SPDX-License-Identifier: MIT
// The format by the letter of RFC 8949: a function that calls itself, keys copied and sorted.
#include <stdlib.h>
#include <string.h>

#include "cbor_reference.h"

typedef struct reading {
    const uint8_t *bytes;
    size_t length;
    size_t at;
    uint32_t depth_limit;
    bool is_full;
    cbor_answer answer;
} reading;

/** A key in a form in which equal keys have equal bytes. */
typedef struct plain_key {
    uint8_t *bytes;
    size_t length;
    size_t offset;
} plain_key;

static bool stop(reading *self, larder_cbor_fault fault, size_t offset) {
    self->answer.fault = fault;
    self->answer.offset = offset;
    return false;
}

static bool take_head(reading *self, unsigned *major, unsigned *info, uint64_t *argument) {
    size_t start = self->at;
    if (start >= self->length) {
        return stop(self, LARDER_CBOR_CUT_OFF, start);
    }
    *major = self->bytes[start] >> 5;
    *info = self->bytes[start] & 31;
    *argument = *info;
    self->at++;
    if (*info < 24) {
        return true;
    }
    if (*info > 27) {
        *argument = 0;
        bool is_endless = *info == 31 && *major != 0 && *major != 1 && *major != 6;
        return is_endless || stop(self, LARDER_CBOR_RESERVED, start);
    }
    *argument = 0;
    for (unsigned i = 0; i < 1u << (*info - 24); i++) {
        if (self->at == self->length) {
            return stop(self, LARDER_CBOR_CUT_OFF, start);
        }
        *argument = *argument << 8 | self->bytes[self->at++];
    }
    return true;
}

/** Where the first bad sequence begins; `end` if there is none. */
static size_t bad_utf8(const uint8_t *bytes, size_t at, size_t end) {
    while (at < end) {
        size_t start = at;
        uint32_t lead = bytes[at++];
        unsigned more = lead < 0x80 ? 0 : lead < 0xC0 ? 9 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
        uint32_t scalar = more == 0 ? lead : lead & (0x3Fu >> (more > 3 ? 3 : more));
        if (more == 9 || lead >= 0xF8) {
            return start;
        }
        for (unsigned i = 0; i < more; i++) {
            if (at == end || bytes[at] >> 6 != 2) {
                return start;
            }
            scalar = scalar << 6 | (bytes[at++] & 0x3F);
        }
        static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
        if (scalar < least[more] || scalar > 0x10FFFF || (scalar >= 0xD800 && scalar < 0xE000)) {
            return start;
        }
    }
    return end;
}

static bool take_content(reading *self, size_t start, uint64_t length, unsigned major) {
    if (length > self->length - self->at) {
        return stop(self, LARDER_CBOR_CUT_OFF, start);
    }
    size_t end = self->at + (size_t)length;
    size_t bad = self->is_full && major == 3 ? bad_utf8(self->bytes, self->at, end) : end;
    if (bad < end) {
        return stop(self, LARDER_CBOR_BAD_UTF8, bad);
    }
    self->at = end;
    return true;
}

/** Passes a break, if there is one. */
static bool take_break(reading *self) {
    bool is_break = self->at < self->length && self->bytes[self->at] == 0xFF;
    self->at += is_break;
    return is_break;
}

static bool take_string(reading *self, size_t start, unsigned major, unsigned info,
                        uint64_t length) {
    if (info != 31) {
        return take_content(self, start, length, major);
    }
    while (!take_break(self)) {
        size_t chunk = self->at;
        if (chunk < self->length &&
            (self->bytes[chunk] >> 5 != major || (self->bytes[chunk] & 31) == 31)) {
            return stop(self, LARDER_CBOR_BAD_CHUNK, chunk);
        }
        if (!take_head(self, &major, &info, &length) || !take_content(self, chunk, length, major)) {
            return false;
        }
    }
    return true;
}

static void *memory(void *old, size_t size) {
    void *new = realloc(old, size ? size : 1);
    if (!new) {
        abort();
    }
    return new;
}

/** The key from `start` to where `self` is, which was read before. */
static plain_key make_plain(const reading *self, size_t start) {
    plain_key key = {memory(NULL, self->at - start + 9), 0, start};
    reading again = *self;
    again.at = start;
    unsigned major = 0, info = 0;
    uint64_t argument = 0;
    take_head(&again, &major, &info, &argument);
    if (major > 3) {
        key.length = self->at - start;
        memcpy(key.bytes, self->bytes + start, key.length);
        return key;
    }
    if (major < 2) {
        key.length = 9;
        key.bytes[0] = (uint8_t)major;
        memcpy(key.bytes + 1, &argument, sizeof argument);
        return key;
    }
    key.bytes[key.length++] = (uint8_t)major;
    bool is_whole = info != 31;
    while (is_whole || !take_break(&again)) {
        if (!is_whole) {
            take_head(&again, &major, &info, &argument);
        }
        memcpy(key.bytes + key.length, self->bytes + again.at, (size_t)argument);
        key.length += (size_t)argument;
        again.at += (size_t)argument;
        if (is_whole) {
            break;
        }
    }
    return key;
}

static int compare_content(const plain_key *one, const plain_key *two) {
    if (one->length != two->length) {
        return one->length < two->length ? -1 : 1;
    }
    return memcmp(one->bytes, two->bytes, one->length);
}

static int compare_keys(const void *first, const void *second) {
    const plain_key *one = first, *two = second;
    int order = compare_content(one, two);
    return order ? order : one->offset < two->offset ? -1 : 1;
}

/** Offset of the first key that repeats one, or SIZE_MAX. */
static size_t first_repeated(plain_key *keys, size_t count) {
    size_t found = SIZE_MAX;
    if (count > 1) {
        qsort(keys, count, sizeof *keys, compare_keys);
    }
    for (size_t i = 1; i < count; i++) {
        if (compare_content(&keys[i - 1], &keys[i]) == 0 && keys[i].offset < found) {
            found = keys[i].offset;
        }
    }
    return found;
}

static bool take_item(reading *self, uint32_t level);

static bool take_pairs(reading *self, uint32_t level, unsigned info, uint64_t wanted) {
    plain_key *keys = NULL;
    size_t count = 0;
    bool good = true;
    while (good && (info == 31 ? !take_break(self) : count < wanted)) {
        size_t start = self->at;
        good = take_item(self, level);
        if (good) {
            if ((count & (count + 1)) == 0) {
                keys = memory(keys, (count + 1) * 2 * sizeof *keys);
            }
            keys[count++] = make_plain(self, start);
            good = take_item(self, level);
        }
    }
    size_t repeated = good && self->is_full ? first_repeated(keys, count) : SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        free(keys[i].bytes);
    }
    free(keys);
    self->answer.pairs = count;
    return good && (repeated == SIZE_MAX || stop(self, LARDER_CBOR_DUPLICATE_KEY, repeated));
}

static bool take_item(reading *self, uint32_t level) {
    size_t start = self->at;
    unsigned major, info;
    uint64_t argument;
    if (!take_head(self, &major, &info, &argument)) {
        return false;
    }
    switch (major) {
    case 0:
    case 1: return true;
    case 2:
    case 3: return take_string(self, start, major, info, argument);
    case 7:
        if (info == 31) {
            return stop(self, LARDER_CBOR_STRAY_BREAK, start);
        }
        return info != 24 || argument >= 32 || stop(self, LARDER_CBOR_BAD_SIMPLE, start);
    default: break;
    }
    if (major != 6 && info != 31 && argument > (self->length - self->at) / (major == 5 ? 2 : 1)) {
        return stop(self, LARDER_CBOR_CUT_OFF, start);
    }
    if (level == self->depth_limit) {
        return stop(self, LARDER_CBOR_TOO_DEEP, start);
    }
    if (major == 5) {
        return take_pairs(self, level + 1, info, argument);
    }
    if (major == 6) {
        return take_item(self, level + 1);
    }
    for (uint64_t i = 0; info == 31 ? !take_break(self) : i < argument; i++) {
        if (!take_item(self, level + 1)) {
            return false;
        }
    }
    return true;
}

cbor_answer cbor_reference_read(const uint8_t *bytes, size_t length, size_t offset,
                                uint32_t depth_limit, bool is_full) {
    reading self = {bytes, length, offset, depth_limit, is_full, {LARDER_CBOR_GOOD, 0, 0}};
    if (take_item(&self, 0)) {
        self.answer.offset = self.at;
    }
    return self.answer;
}

larder_status cbor_reference_status(larder_cbor_fault fault) {
    return fault == LARDER_CBOR_GOOD       ? LARDER_OK
           : fault == LARDER_CBOR_CUT_OFF  ? LARDER_EINCOMPLETE
           : fault == LARDER_CBOR_TOO_DEEP ? LARDER_ETOOLARGE
                                           : LARDER_EDAMAGED;
}
