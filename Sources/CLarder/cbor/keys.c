// SPDX-License-Identifier: MIT
#include "cbor/keys.h"

#include <errno.h>
#include <stdlib.h>

void larder_cbor_keys_destroy(cbor_keys *keys) {
    if (keys->all != keys->room) {
        free(keys->all);
    }
    while (keys->copies) {
        cbor_whole *next = keys->copies->next;
        free(keys->copies);
        keys->copies = next;
    }
}

larder_status larder_cbor_keys_grow(cbor_keys *keys) {
    // Each key was read, so this stays in proportion to the input, and far from an overflow.
    size_t capacity = keys->capacity * 2;
    bool is_first = keys->all == keys->room;
    cbor_key *all = realloc(is_first ? NULL : keys->all, capacity * sizeof *all);
    if (!all) {
        return ENOMEM;
    }
    if (is_first) {
        memcpy(all, keys->room, keys->count * sizeof *all);
    }
    keys->all = all;
    keys->capacity = capacity;
    return LARDER_OK;
}

/** Copies the chunks of the string that begins at `item` to `target`, one behind the other, unless
    that is NULL. @return how many bytes they have together. */
static size_t chunks_copy(const uint8_t *item, const uint8_t *end, uint8_t *target) {
    size_t length = 0;
    larder_cbor_head head;
    for (item++; larder_cbor_read_head(item, (size_t)(end - item), &head) &&
                 head.info != LARDER_CBOR_INFO_INDEFINITE;
         item += head.argument) {
        item += head.length;
        if (target) {
            memcpy(target + length, item, (size_t)head.argument);
        }
        length += (size_t)head.argument;
    }
    return length;
}

larder_status larder_cbor_keys_end_chunked(cbor_keys *keys, size_t end) {
    cbor_key *key = &keys->all[keys->count - 1];
    const uint8_t *behind = keys->source + end;
    unsigned major = *key->item >> 5;
    size_t length = chunks_copy(key->item, behind, NULL);
    cbor_whole *copy = malloc(sizeof *copy + LARDER_CBOR_HEAD_MAX_BYTES + length);
    if (!copy) {
        return ENOMEM;
    }
    copy->offset = (size_t)(key->item - keys->source);
    copy->next = keys->copies;
    keys->copies = copy;
    uint8_t *item = (uint8_t *)(copy + 1);
    uint8_t *content = item + larder_cbor_write_head(item, major, length);
    chunks_copy(key->item, behind, content);
    key->item = item;
    cbor_key_set(key, major, content, length, length);
    return LARDER_OK;
}

/** Where in the input the key was, in whatever form it is now. */
static size_t key_offset(const cbor_keys *keys, const cbor_key *key) {
    uintptr_t place = (uintptr_t)key->item, start = (uintptr_t)keys->source;
    if (place >= start && place - start < keys->length) {
        return place - start;
    }
    cbor_whole copy;
    memcpy(&copy, key->item - sizeof copy, sizeof copy);
    return copy.offset;
}

/** Negative, 0 or positive: an order of no meaning, but that equal keys alone have one place. */
static int key_compare(const cbor_key *a, const cbor_key *b) {
    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    if (a->word != b->word) {
        return a->word < b->word ? -1 : 1;
    }
    size_t length = (size_t)(a->kind >> 3);
    if (length <= sizeof a->word) {
        return 0;
    }
    bool is_string = (a->kind & 7) != LARDER_CBOR_SIMPLE;
    return memcmp(a->item + (is_string ? cbor_head_bytes(a->item) : 0),
                  b->item + (is_string ? cbor_head_bytes(b->item) : 0), length);
}

/** The first key of `all` that equals an earlier one, each compared with each. */
static larder_status few_find_equal(const cbor_keys *keys, const cbor_key *all, size_t count,
                                    size_t *first, size_t *second) {
    for (size_t later = 1; later < count; later++) {
        for (size_t earlier = 0; earlier < later; earlier++) {
            if (all[earlier].word == all[later].word &&
                key_compare(&all[earlier], &all[later]) == 0) {
                *first = key_offset(keys, &all[earlier]);
                *second = key_offset(keys, &all[later]);
                return LARDER_OK;
            }
        }
    }
    return LARDER_END;
}

/** One of 2^`bits` places, the same for equal keys and seldom for others. */
static size_t key_place(const cbor_key *key, unsigned bits) {
    uint64_t mixed = (key->word ^ key->kind << 32) * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ mixed >> 32) * 0xd6e8feb86659fd93u;
    return (size_t)(mixed >> (64 - bits));
}

/** Moves the keys that may have an equal to the front, in order.
    @return how many those are; all of them if there is no memory to tell. */
static size_t keys_drop_unique(cbor_key *all, size_t count) {
    unsigned bits = 6;
    while ((size_t)1 << bits < count * 16) {
        bits++;
    }
    size_t words = (size_t)1 << (bits - 6);
    uint64_t *once = calloc(words * 2, sizeof *once);
    if (!once) {
        return count;
    }
    uint64_t *twice = once + words;
    for (size_t i = 0; i < count; i++) {
        size_t place = key_place(&all[i], bits);
        uint64_t bit = (uint64_t)1 << (place & 63);
        twice[place >> 6] |= once[place >> 6] & bit;
        once[place >> 6] |= bit;
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        size_t place = key_place(&all[i], bits);
        if (twice[place >> 6] >> (place & 63) & 1) {
            all[kept++] = all[i];
        }
    }
    free(once);
    return kept;
}

/** Merges runs of growing length. Stable, and each comparison places a key that is no shorter than
    what it had to look at. @return `all` or `room`, wherever the result is. */
static cbor_key *keys_sort(cbor_key *all, cbor_key *room, size_t count) {
    for (size_t run = 1; run < count; run *= 2) {
        for (size_t start = 0; start < count; start += 2 * run) {
            size_t left = start, middle = start + run < count ? start + run : count;
            size_t right = middle, end = middle + run < count ? middle + run : count;
            for (size_t i = start; i < end; i++) {
                bool takes_left =
                    left < middle && (right == end || key_compare(&all[left], &all[right]) <= 0);
                room[i] = takes_left ? all[left++] : all[right++];
            }
        }
        cbor_key *sorted = room;
        room = all;
        all = sorted;
    }
    return all;
}

larder_status larder_cbor_keys_find_equal(cbor_keys *keys, size_t base, size_t *first,
                                          size_t *second) {
    cbor_key *all = keys->all + base;
    size_t count = keys->count - base;
    if (count > CBOR_KEYS_FEW) {
        count = keys_drop_unique(all, count);
    }
    if (count <= CBOR_KEYS_FEW) {
        return few_find_equal(keys, all, count, first, second);
    }
    cbor_key *room = malloc(count * sizeof *room);
    if (!room) {
        return ENOMEM;
    }
    cbor_key *sorted = keys_sort(all, room, count);
    larder_status status = LARDER_END;
    for (size_t i = 1; i < count; i++) {
        if (key_compare(&sorted[i - 1], &sorted[i]) != 0) {
            continue;
        }
        // The sort was stable: of equal keys the first two come first.
        size_t offset = key_offset(keys, &sorted[i]);
        if (status == LARDER_END || offset < *second) {
            *first = key_offset(keys, &sorted[i - 1]);
            *second = offset;
            status = LARDER_OK;
        }
    }
    free(room);
    return status;
}
