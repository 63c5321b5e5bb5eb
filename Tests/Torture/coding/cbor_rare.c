// SPDX-License-Identifier: MIT
// Of coded items what chance does not come to: nothing at all, offsets behind the end, every fault
// by name, heads of every length, and maps of many keys of which several are equal.
#include <errno.h>
#include <string.h>

#include "coding.h"
#include "failing_calls.h"
#include "faults.h"

static void nothing_at_all(torture *run) {
    static const uint8_t one[] = {0xA1, 0x01, 0x02};
    size_t end = 9, count = 9;
    larder_cbor_pair pair, other;
    larder_cbor_detail detail;
    larder_cbor_head head;
    GIVES(larder_cbor_check(NULL, 7, 4, &detail), LARDER_EINCOMPLETE);
    EXPECT(run, detail.fault == LARDER_CBOR_CUT_OFF && detail.offset == 0, "another fault");
    GIVES(larder_cbor_check(one, 0, 4, NULL), LARDER_EINCOMPLETE);
    GIVES(larder_cbor_check(one, 3, LARDER_CBOR_MAX_DEPTH + 1, &detail), LARDER_EINVALID);
    EXPECT(run, detail.fault == LARDER_CBOR_GOOD && detail.offset == 0, "a fault of the limit");
    GIVES(larder_cbor_check(one, 3, LARDER_CBOR_MAX_DEPTH, NULL), LARDER_OK);
    GIVES(larder_cbor_skip(NULL, 3, 0, &end), LARDER_EINCOMPLETE);
    EXPECT(run, end == 0, "an end of nothing");
    GIVES(larder_cbor_skip(one, 3, 3, &end), LARDER_EINCOMPLETE);
    GIVES(larder_cbor_map_pairs(NULL, 3, 0, NULL, 0, &count, &end), LARDER_EINCOMPLETE);
    EXPECT(run, count == 0 && end == 0, "pairs of nothing");
    GIVES(larder_cbor_map_pairs(one, 3, 3, NULL, 0, &count, &end), LARDER_EINCOMPLETE);
    GIVES(larder_cbor_map_pairs(one, 3, 1, NULL, 0, &count, &end), LARDER_EDAMAGED);
    GIVES(larder_cbor_map_pairs(one, 3, 0, NULL, 0, &count, &end), LARDER_OK);
    EXPECT(run, count == 1 && end == 3, "%zu pairs", count);
    GIVES(larder_cbor_find_duplicate(NULL, 3, 1, 1, &pair, &other), LARDER_EINCOMPLETE);
    GIVES(larder_cbor_find_duplicate(one, 3, 4, 1, &pair, &other), LARDER_EINCOMPLETE);
    GIVES(larder_cbor_find_duplicate(one, 3, 1, 2, &pair, &other), LARDER_EINCOMPLETE);
    GIVES(larder_cbor_find_duplicate(one, 3, 1, 0, &pair, &other), LARDER_END);
    GIVES(larder_cbor_find_duplicate(one, 3, 1, 1, &pair, &other), LARDER_END);
    EXPECT(run, !larder_cbor_read_head(NULL, 5, &head) && head.length == 0, "a head of nothing");
    EXPECT(run, !larder_cbor_read_head(one, 0, &head), "a head of no bytes");
    EXPECT(run, larder_cbor_text_bit(NULL, 0) == larder_cbor_text_bit(one, 0), "two bits");
    EXPECT(run, larder_cbor_text_bit(NULL, 3) != 0, "no bit");
}

/** A map without an end, of which the bytes end behind a value. */
static void open_maps(torture *run) {
    static const uint8_t map[] = {0xBF, 0x01, 0x02, 0x03, 0x04, 0xFF};
    size_t end, count;
    larder_cbor_pair pairs[1];
    GIVES(larder_cbor_map_pairs(map, 6, 0, pairs, 1, &count, &end), LARDER_OK);
    EXPECT(run, count == 2 && end == 6 && pairs[0].key == 1 && pairs[0].value == 2,
           "%zu pairs to %zu", count, end);
    for (size_t length = 1; length < sizeof map; length++) {
        GIVES(larder_cbor_map_pairs(map, length, 0, pairs, 1, &count, &end), LARDER_EINCOMPLETE);
        EXPECT(run, count == 0 && end == 0, "pairs of a map that is cut off");
    }
}

static void fault_texts(torture *run) {
    const char *unknown = larder_cbor_fault_text((larder_cbor_fault)99);
    for (unsigned fault = LARDER_CBOR_GOOD; fault <= LARDER_CBOR_TRAILING; fault++) {
        const char *text = larder_cbor_fault_text((larder_cbor_fault)fault);
        torture_trial(run);
        EXPECT(run, text && text[0] && strcmp(text, unknown) != 0, "fault %u has no text", fault);
        for (unsigned other = 0; other < fault; other++) {
            EXPECT(run, strcmp(text, larder_cbor_fault_text((larder_cbor_fault)other)) != 0,
                   "faults %u and %u have one text", fault, other);
        }
    }
}

/** Every head is as short as can be, and reads as it was written. */
static void heads(torture *run) {
    static const struct {
        uint64_t argument;
        size_t bytes;
    } cases[] = {{0, 1},          {23, 1},         {24, 2},         {255, 2},
                 {256, 3},        {65535, 3},      {65536, 5},      {UINT32_MAX, 5},
                 {1ull << 32, 9}, {UINT64_MAX, 9}, {1ull << 40, 9}, {77, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (unsigned major = 0; major < 8; major++) {
            uint8_t bytes[LARDER_CBOR_HEAD_MAX_BYTES];
            larder_cbor_head head;
            torture_trial(run);
            size_t length = larder_cbor_write_head(bytes, major, cases[i].argument);
            EXPECT(run, length == cases[i].bytes, "case %zu takes %zu bytes", i, length);
            EXPECT(run,
                   larder_cbor_read_head(bytes, length, &head) && head.major == major &&
                       head.argument == cases[i].argument && head.length == length,
                   "case %zu of %u reads as another", i, major);
            EXPECT(run, length == 1 || !larder_cbor_read_head(bytes, length - 1, &head),
                   "case %zu reads without its end", i);
        }
    }
}

enum { MAP_BYTES = 40000 };

/** A map of so many keys of a kind, in which number `again` is there once more, twice. */
static size_t make_map(uint8_t *bytes, unsigned kind, unsigned count, unsigned again) {
    size_t length = larder_cbor_write_head(bytes, LARDER_CBOR_MAP, count + (again ? 2 : 0));
    for (unsigned i = 0; i < count + (again ? 2 : 0); i++) {
        unsigned key = i < count ? i : i == count ? again + 3 : again;
        uint8_t *at = bytes + length;
        size_t text = 20 + key % 3;
        switch (kind) {
        case 0: at += larder_cbor_write_head(at, LARDER_CBOR_UNSIGNED, key * 1000ull); break;
        case 1:
            at += larder_cbor_write_head(at, LARDER_CBOR_TEXT, text);
            memset(at, 'k', text);
            at[text - 1] = (uint8_t)('0' + key % 10);
            at[text - 2] = (uint8_t)('0' + key / 10 % 10);
            at[text - 3] = (uint8_t)('0' + key / 100);
            at += text;
            break;
        case 2: // In chunks, the first time; the second, whole.
            *at++ = i < count ? 0x5F : 0x44;
            if (i < count) *at++ = 0x42;
            *at++ = (uint8_t)key;
            *at++ = (uint8_t)(key >> 8);
            if (i < count) *at++ = 0x42;
            *at++ = 7;
            *at++ = 9;
            if (i < count) *at++ = 0xFF;
            break;
        default: // An array of floats and simple values.
            *at++ = 0x83;
            at += larder_cbor_write_float(at, key * 1.1);
            at += larder_cbor_write_float(at, 1e300);
            *at++ = (uint8_t)(0xE0 | key % 20);
        }
        *at++ = 0x01;
        length = (size_t)(at - bytes);
    }
    return length;
}

static void equal_keys(torture *run) {
    static uint8_t bytes[MAP_BYTES];
    for (unsigned kind = 0; kind < 4; kind++) {
        for (unsigned count = 5; count < 600; count = count * 2 + 3) {
            larder_cbor_detail detail;
            larder_cbor_pair first, second;
            size_t end, pairs, length = make_map(bytes, kind, count, 0);
            GIVES(larder_cbor_check(bytes, length, 8, &detail), LARDER_OK);
            length = make_map(bytes, kind, count, 1);
            GIVES(larder_cbor_check(bytes, length, 8, &detail), LARDER_EDAMAGED);
            EXPECT(run, detail.fault == LARDER_CBOR_DUPLICATE_KEY, "fault %d", (int)detail.fault);
            larder_cbor_head head;
            EXPECT(run, larder_cbor_read_head(bytes, length, &head), "no head");
            GIVES(larder_cbor_map_pairs(bytes, length, 0, NULL, 0, &pairs, &end), LARDER_OK);
            EXPECT(run, pairs == count + 2 && end == length, "%zu pairs", pairs);
            GIVES(larder_cbor_find_duplicate(bytes, length, head.length, pairs, &first, &second),
                  LARDER_OK);
            // The first that repeats another is the one behind all others.
            EXPECT(run,
                   second.key == detail.offset && first.key < second.key &&
                       first.value > first.key && second.value > second.key,
                   "keys at %zu and %zu, not %zu", first.key, second.key, detail.offset);
            // Cut off anywhere, it is no map.
            for (size_t cut = 1; cut < length; cut += 1 + length / 40) {
                EXPECT_STATUS(run, larder_cbor_check(bytes, cut, 8, NULL), LARDER_EINCOMPLETE);
                larder_status status =
                    larder_cbor_find_duplicate(bytes, cut, head.length, pairs, &first, &second);
                EXPECT(run, status == LARDER_EINCOMPLETE, "of a part, status %d", status);
            }
        }
    }
}

/** As deep as may be, and one deeper. */
static void depths(torture *run) {
    static uint8_t bytes[LARDER_CBOR_MAX_DEPTH + 2];
    static const uint8_t opens[] = {0x81, 0x9F, 0xC1, 0xA1, 0xBF};
    for (size_t kind = 0; kind < 3; kind++) {
        for (uint32_t limit = 1; limit <= LARDER_CBOR_MAX_DEPTH; limit *= 4) {
            larder_cbor_detail detail;
            size_t end;
            torture_trial(run);
            memset(bytes, opens[kind], limit + 1);
            bytes[limit + 1] = 0x01;
            EXPECT_STATUS(run, larder_cbor_check(bytes, limit + 2, limit, &detail),
                          LARDER_ETOOLARGE);
            EXPECT(run, detail.fault == LARDER_CBOR_TOO_DEEP, "fault %d", (int)detail.fault);
            larder_status wanted = limit == LARDER_CBOR_MAX_DEPTH ? LARDER_ETOOLARGE
                                   : kind == 1                    ? LARDER_EINCOMPLETE
                                                                  : LARDER_OK;
            EXPECT_STATUS(run, larder_cbor_skip(bytes, limit + 2, 0, &end), wanted);
        }
    }
}

/** A length in ten bytes is the longest, and none is written longer than it has to be. */
static void varints(torture *run) {
    uint8_t bytes[12];
    uint64_t value;
    size_t used;
    for (unsigned bits = 0; bits < 65; bits++) {
        uint64_t wanted = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
        torture_trial(run);
        size_t length = larder_varint_write(wanted, bytes);
        EXPECT(run, length == larder_varint_size(wanted), "a size of its own");
        EXPECT_STATUS(run, larder_varint_read(bytes, length, &value, &used), LARDER_OK);
        EXPECT(run, value == wanted && used == length, "another number of %u bits", bits);
        EXPECT_STATUS(run, larder_varint_read(bytes, length - 1, &value, &used),
                      LARDER_EINCOMPLETE);
    }
    memset(bytes, 0xFF, sizeof bytes);
    GIVES(larder_varint_read(bytes, sizeof bytes, &value, &used), LARDER_EDAMAGED);
    bytes[9] = 2;
    GIVES(larder_varint_read(bytes, sizeof bytes, &value, &used), LARDER_EDAMAGED);
    bytes[9] = 1;
    GIVES(larder_varint_read(bytes, sizeof bytes, &value, &used), LARDER_OK);
    bytes[9] = 0;
    GIVES(larder_varint_read(bytes, sizeof bytes, &value, &used), LARDER_EDAMAGED);
    EXPECT(run, larder_frame_size(SIZE_MAX) == SIZE_MAX, "a frame of more than there is");
}

/** Keys in chunks, for which memory is needed, and which of it is missing. */
static void chunked_keys(torture *run) {
    static uint8_t bytes[MAP_BYTES];
    size_t length = make_map(bytes, 2, 40, 0);
    bool is_reached = failing_call_count > 0;
    for (int nth = 1; is_reached; nth++) {
        torture_trial(run);
        larder_fault_set("memory", nth, ENOMEM);
        larder_status status = larder_cbor_check(bytes, length, 8, NULL);
        is_reached = larder_fault_passes() >= nth;
        larder_fault_set(NULL, 0, 0);
        // Where it only serves to be faster, it does without.
        EXPECT(run, status == LARDER_OK || (is_reached && status == ENOMEM),
               "without memory number %d it gave %d", nth, status);
        EXPECT(run, status == ENOMEM || !is_reached || nth > 40, "number %d was not needed", nth);
    }
}

/** Keys of every kind in an index. */
static void indexed_keys(torture *run) {
    static const uint8_t map[] = {0xA4, 0x01, 0x02, 0x41, 0x61, 0x02, 0x61, 0x61, 0x02, 0x20, 0x02};
    larder_cbor_index index = {0};
    GIVES(larder_cbor_check_and_index(map, sizeof map, 4, &index, NULL), LARDER_OK);
    EXPECT(run,
           index.count == 1 && (index.containers[0].keys & larder_cbor_text_bit(map + 7, 1)) != 0,
           "another index");
    larder_cbor_index_destroy(&index);
    uint8_t number[8];
    for (size_t bytes = 1; bytes <= 8; bytes *= 2) {
        uint64_t value = 0x8877665544332211u >> (64 - 8 * bytes);
        torture_trial(run);
        larder_cbor_write_big_endian(number, value, bytes);
        EXPECT(run, larder_cbor_read_big_endian(number, bytes) == value, "of %zu bytes", bytes);
    }
}

void coding_rare(torture *run, void *context) {
    (void)context;
    nothing_at_all(run);
    open_maps(run);
    fault_texts(run);
    heads(run);
    equal_keys(run);
    depths(run);
    varints(run);
    chunked_keys(run);
    indexed_keys(run);
}
