// SPDX-License-Identifier: MIT
#include "larder_cbor.h"

#include <errno.h>
#include <stdlib.h>

#include "cbor/walk.h"

extern inline void larder_cbor_write_big_endian(uint8_t *target, uint64_t value, size_t bytes);
extern inline uint64_t larder_cbor_read_big_endian(const uint8_t *source, size_t bytes);
extern inline size_t larder_cbor_write_head(uint8_t *target, unsigned major, uint64_t argument);
extern inline bool larder_cbor_read_head(const uint8_t *source, size_t length,
                                         larder_cbor_head *head);
extern inline uint64_t larder_cbor_text_bit(const uint8_t *text, size_t length);
extern inline uint64_t larder_cbor_integer_bit(unsigned major, uint64_t argument);

/** The check, with an index or without. */
ALWAYS_INLINE larder_status check(const uint8_t *source, size_t length, uint32_t depth_limit,
                                  larder_cbor_index *index, larder_cbor_detail *detail) {
    static const uint8_t nothing;
    input in = {source ? source : &nothing, source ? length : 0, 0, LARDER_CBOR_GOOD};
    larder_status status = LARDER_EINVALID;
    if (depth_limit <= LARDER_CBOR_MAX_DEPTH) {
        cbor_keys keys;
        cbor_keys_init(&keys, in.bytes, in.length);
        status = walk(&in, depth_limit, &keys, index);
        larder_cbor_keys_destroy(&keys);
        if (!status && in.at < in.length) {
            status = fail(&in, LARDER_CBOR_TRAILING, in.at);
        }
    }
    if (detail) {
        detail->fault = in.fault;
        detail->offset = in.fault == LARDER_CBOR_GOOD ? 0 : in.at;
    }
    return status;
}

larder_status larder_cbor_check(const uint8_t *source, size_t length, uint32_t depth_limit,
                                larder_cbor_detail *detail) {
    return check(source, length, depth_limit, NULL, detail);
}

larder_status larder_cbor_check_and_index(const uint8_t *source, size_t length,
                                          uint32_t depth_limit, larder_cbor_index *index,
                                          larder_cbor_detail *detail) {
    index->count = 0;
    larder_status status = check(source, length, depth_limit, index, detail);
    if (status) {
        index->count = 0;
    }
    return status;
}

larder_status larder_cbor_index_grow(larder_cbor_index *index) {
    // Each container was read, so this stays in proportion to the input, and far from an overflow.
    size_t capacity = index->capacity ? index->capacity * 2 : 64;
    larder_cbor_container *containers = realloc(index->containers, capacity * sizeof *containers);
    if (!containers) {
        return ENOMEM;
    }
    index->containers = containers;
    index->capacity = capacity;
    return LARDER_OK;
}

void larder_cbor_index_destroy(larder_cbor_index *index) {
    free(index->containers);
    *index = (larder_cbor_index){NULL, 0, 0};
}

/** Apart, because of the stack that it takes. */
static __attribute__((noinline)) larder_status skip_nested(input *in, uint32_t depth_limit) {
    return walk(in, depth_limit, NULL, NULL);
}

ALWAYS_INLINE larder_status skip(input *in, uint32_t depth_limit) {
    size_t start = in->at;
    larder_cbor_head head;
    larder_status status = read_head(in, &head);
    if (status || head_is_leaf(&head)) {
        return status ? status : read_leaf(in, start, &head, false);
    }
    in->at = start;
    return skip_nested(in, depth_limit);
}

larder_status larder_cbor_skip(const uint8_t *source, size_t length, size_t offset, size_t *end) {
    *end = 0;
    if (!source || offset >= length) {
        return LARDER_EINCOMPLETE;
    }
    input in = {source, length, offset, LARDER_CBOR_GOOD};
    larder_status status = skip(&in, LARDER_CBOR_MAX_DEPTH);
    if (!status) {
        *end = in.at;
    }
    return status;
}

larder_status larder_cbor_map_pairs(const uint8_t *source, size_t length, size_t offset,
                                    larder_cbor_pair *pairs, size_t capacity, size_t *count,
                                    size_t *end) {
    *count = *end = 0;
    if (!source || offset >= length) {
        return LARDER_EINCOMPLETE;
    }
    input in = {source, length, offset, LARDER_CBOR_GOOD};
    larder_cbor_head head;
    uint64_t left = 0;
    larder_status status = read_head(&in, &head);
    if (!status) {
        status =
            head.major == LARDER_CBOR_MAP ? read_count(&in, offset, &head, &left) : LARDER_EDAMAGED;
    }
    size_t found = 0;
    for (; !status && (left & left_count); left -= 2) {
        if ((left & left_indefinite) && in.at < length && in.bytes[in.at] == LARDER_CBOR_BREAK) {
            in.at++;
            break;
        }
        larder_cbor_pair pair = {in.at, 0};
        status = skip(&in, LARDER_CBOR_MAX_DEPTH - 1);
        if (!status) {
            pair.value = in.at;
            status = skip(&in, LARDER_CBOR_MAX_DEPTH - 1);
        }
        if (found < capacity) {
            pairs[found] = pair;
        }
        found++;
    }
    if (!status) {
        *count = found;
        *end = in.at;
    }
    return status;
}

/** The pair whose key is at `offset`, which was read before. */
static larder_cbor_pair pair_at(input in, size_t offset) {
    in.at = offset;
    (void)skip(&in, LARDER_CBOR_MAX_DEPTH - 1);
    return (larder_cbor_pair){offset, in.at};
}

larder_status larder_cbor_find_duplicate(const uint8_t *source, size_t length, size_t offset,
                                         size_t pair_count, larder_cbor_pair *first,
                                         larder_cbor_pair *second) {
    *first = *second = (larder_cbor_pair){0, 0};
    if (pair_count == 0) {
        return LARDER_END;
    }
    if (!source || offset > length || pair_count > (length - offset) / 2) {
        return LARDER_EINCOMPLETE;
    }
    input in = {source, length, offset, LARDER_CBOR_GOOD};
    cbor_keys keys;
    cbor_keys_init(&keys, source, length);
    larder_status status = LARDER_OK;
    for (size_t i = 0; i < pair_count && !status; i++) {
        status = cbor_keys_begin(&keys, in.at);
        if (!status) {
            status = skip(&in, LARDER_CBOR_MAX_DEPTH - 1);
        }
        if (!status) {
            status = cbor_keys_end(&keys, in.at);
        }
        if (!status) {
            status = skip(&in, LARDER_CBOR_MAX_DEPTH - 1);
        }
    }
    if (!status) {
        size_t first_key, second_key;
        status = larder_cbor_keys_find_equal(&keys, 0, &first_key, &second_key);
        if (!status) {
            *first = pair_at(in, first_key);
            *second = pair_at(in, second_key);
        }
    }
    larder_cbor_keys_destroy(&keys);
    return status;
}

const char *larder_cbor_fault_text(larder_cbor_fault fault) {
    switch (fault) {
    case LARDER_CBOR_GOOD: return "well-formed";
    case LARDER_CBOR_CUT_OFF: return "truncated item";
    case LARDER_CBOR_RESERVED: return "reserved additional information";
    case LARDER_CBOR_STRAY_BREAK: return "unexpected break";
    case LARDER_CBOR_BAD_CHUNK: return "chunk of another type in a string";
    case LARDER_CBOR_BAD_SIMPLE: return "simple value below 32 in two bytes";
    case LARDER_CBOR_BAD_UTF8: return "text is not valid UTF-8";
    case LARDER_CBOR_DUPLICATE_KEY: return "duplicate map key";
    case LARDER_CBOR_TOO_DEEP: return "items nested too deeply";
    case LARDER_CBOR_TRAILING: return "bytes after the item";
    }
    return "unknown fault";
}
