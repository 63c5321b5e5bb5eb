// SPDX-License-Identifier: MIT
// CBOR, good and damaged, beside a reference that is too simple to be wrong in the same way. The
// bytes end where the memory ends: reading one behind them is a crash.
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cbor_reference.h"
#include "coding.h"
#include "torture.h"

enum { CODING_BYTES = 1 << 20, CODING_DEPTH = 48 };

typedef struct trial {
    rng random;
    /** What is damaged, and a copy to damage. */
    uint8_t *item;
    uint8_t *copy;
    size_t length;
    /** The end of the memory that may be read. */
    uint8_t *wall;
    uint32_t depth_limit;
} trial;

/** The start of what is at fault, for a person. */
static const char *in_hex(const uint8_t *bytes, size_t length) {
    static char text[200];
    size_t shown = length < 64 ? length : 64;
    for (size_t i = 0; i < shown; i++) {
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    }
    snprintf(text + 2 * shown, 4, "%s", shown < length ? "..." : "");
    return text;
}

static bool compare_pairs(torture *run, const uint8_t *bytes, size_t length, cbor_answer wanted) {
    // Often less room than there are pairs.
    larder_cbor_pair pairs[8];
    size_t count = 77, end = 77, first, second;
    larder_status status = larder_cbor_map_pairs(bytes, length, 0, pairs, 8, &count, &end);
    if (bytes[0] >> 5 != 5) {
        return EXPECT(run, status != LARDER_OK && count == 0 && end == 0,
                      "pairs of no map: %d, of %s", status, in_hex(bytes, length));
    }
    larder_status right = cbor_reference_status(wanted.fault);
    bool is_good = wanted.fault == LARDER_CBOR_GOOD;
    if (!EXPECT(run,
                status == right && end == (is_good ? wanted.offset : 0) &&
                    count == (is_good ? wanted.pairs : 0),
                "pairs: %d, %zu to %zu; right is %d, %zu to %zu, of %s", status, count, end, right,
                wanted.pairs, wanted.offset, in_hex(bytes, length))) {
        return false;
    }
    for (size_t i = 0; i < count && i < 8; i++) {
        first =
            cbor_reference_read(bytes, length, pairs[i].key, LARDER_CBOR_MAX_DEPTH, false).offset;
        second =
            cbor_reference_read(bytes, length, pairs[i].value, LARDER_CBOR_MAX_DEPTH, false).offset;
        if (!EXPECT(run,
                    first == pairs[i].value &&
                        (i + 1 == count || i + 1 == 8 || second == pairs[i + 1].key),
                    "pair %zu is at %zu and %zu, of %s", i, pairs[i].key, pairs[i].value,
                    in_hex(bytes, length))) {
            return false;
        }
    }
    return true;
}

/** Equal keys of a map that is otherwise good. */
static bool compare_duplicate(torture *run, const uint8_t *bytes, size_t length,
                              const larder_cbor_detail *detail, size_t pair_count) {
    larder_cbor_head head;
    larder_cbor_pair first, second;
    if (!larder_cbor_read_head(bytes, length, &head) || head.major != LARDER_CBOR_MAP) {
        return true;
    }
    larder_status status =
        larder_cbor_find_duplicate(bytes, length, head.length, pair_count, &first, &second);
    if (detail->fault == LARDER_CBOR_GOOD) {
        return EXPECT(run, status == LARDER_END, "equal keys (%d) in %s", status,
                      in_hex(bytes, length));
    }
    // Another map inside may be the one with equal keys.
    return EXPECT(run,
                  detail->fault != LARDER_CBOR_DUPLICATE_KEY || status == LARDER_END ||
                      (status == LARDER_OK && first.key < first.value && first.value < second.key &&
                       second.key < second.value),
                  "equal keys at %zu and %zu (%d), the check said %zu, of %s", first.key,
                  second.key, status, detail->offset, in_hex(bytes, length));
}

/** Everything there is to ask about the first `length` bytes of `source`. */
static bool compare(torture *run, trial *self, const uint8_t *source, size_t length) {
    const uint8_t *bytes = memcpy(self->wall - length, source, length);
    larder_cbor_detail detail;
    larder_status status = larder_cbor_check(bytes, length, self->depth_limit, &detail);
    cbor_answer full = cbor_reference_read(bytes, length, 0, self->depth_limit, true);
    if (full.fault == LARDER_CBOR_GOOD && full.offset < length) {
        full.fault = LARDER_CBOR_TRAILING;
    }
    bool is_good = full.fault == LARDER_CBOR_GOOD;
    if (!EXPECT(run,
                detail.fault == full.fault && status == cbor_reference_status(full.fault) &&
                    detail.offset == (is_good ? 0 : full.offset),
                "check: %s at %zu (%d); right is: %s at %zu, of %s",
                larder_cbor_fault_text(detail.fault), detail.offset, status,
                larder_cbor_fault_text(full.fault), full.offset, in_hex(bytes, length))) {
        return false;
    }
    cbor_answer plain = cbor_reference_read(bytes, length, 0, LARDER_CBOR_MAX_DEPTH, false);
    size_t end = 77;
    status = larder_cbor_skip(bytes, length, 0, &end);
    size_t right = plain.fault == LARDER_CBOR_GOOD ? plain.offset : 0;
    if (!EXPECT(run, status == cbor_reference_status(plain.fault) && end == right,
                "skip: %d to %zu; right is %d to %zu, of %s", status, end,
                cbor_reference_status(plain.fault), right, in_hex(bytes, length)) ||
        !EXPECT(run, !is_good || end == length, "good, and ends at %zu of %zu", end, length)) {
        return false;
    }
    return length == 0 || (compare_pairs(run, bytes, length, plain) &&
                           (plain.fault != LARDER_CBOR_GOOD ||
                            compare_duplicate(run, bytes, length, &detail, plain.pairs)));
}

/** Every length, every bit, and at every place each of the bytes that mean most. */
static void damage_everywhere(torture *run, trial *self) {
    static const uint8_t known[] = {0x00, 0x18, 0x1B, 0x1F, 0x5F, 0x7B, 0x7F, 0x80,
                                    0x9F, 0xA1, 0xBB, 0xBF, 0xC1, 0xF8, 0xFC, 0xFF};
    for (size_t length = 0; length < self->length; length++) {
        if (!compare(run, self, self->item, length)) {
            return;
        }
    }
    memcpy(self->copy, self->item, self->length);
    for (size_t place = 0; place < self->length; place++) {
        for (unsigned i = 0; i < 8 + sizeof known; i++) {
            uint8_t was = self->item[place];
            self->copy[place] = i < 8 ? (uint8_t)(was ^ 1u << i) : known[i - 8];
            if (!compare(run, self, self->copy, self->length)) {
                return;
            }
        }
        self->copy[place] = self->item[place];
    }
}

static void damage_somewhere(torture *run, trial *self, unsigned times) {
    for (unsigned i = 0; i < times && torture_goes_on(run); i++) {
        memcpy(self->copy, self->item, self->length);
        size_t length = self->length;
        for (uint64_t edits = rng_between(&self->random, 1, 4); edits > 0; edits--) {
            length = cbor_item_damage(&self->random, self->copy, length, CODING_BYTES);
        }
        if (!compare(run, self, self->copy, length)) {
            return;
        }
    }
}

/** Heads and floats, out and in again. */
static void write_and_read(torture *run, trial *self) {
    for (unsigned i = 0; i < 2000; i++) {
        uint8_t bytes[LARDER_CBOR_HEAD_MAX_BYTES];
        uint64_t pattern = rng_next(&self->random) >> rng_below(&self->random, 64);
        larder_cbor_head head;
        size_t length = larder_cbor_write_head(bytes, i & 7, pattern);
        if (!EXPECT(run,
                    larder_cbor_read_head(bytes, length, &head) && head.argument == pattern &&
                        head.major == (i & 7) && head.length == length,
                    "%" PRIu64 " is read as %" PRIu64, pattern, head.argument)) {
            return;
        }
        // Random doubles have all their bits; those of narrower formats are wanted, too.
        pattern = rng_next(&self->random) & UINT64_MAX << rng_below(&self->random, 64);
        double value, back;
        memcpy(&value, &pattern, sizeof value);
        length = larder_cbor_write_float(bytes, value);
        bool is_read = larder_cbor_read_head(bytes, length, &head) && head.length == length;
        uint32_t single_bits = (uint32_t)head.argument;
        float single;
        memcpy(&single, &single_bits, sizeof single);
        memcpy(&back, &head.argument, sizeof back);
        back = length == 3   ? larder_cbor_half_value((uint16_t)head.argument)
               : length == 5 ? (double)single
                             : back;
        bool is_same = value != value ? back != back : memcmp(&value, &back, sizeof back) == 0;
        if (!EXPECT(run, is_read && is_same, "%a is read as %a", value, back)) {
            return;
        }
    }
}

static void one_case(torture *run, void *context) {
    trial *self = context;
    torture_note(run, "case %" PRIu64, run->case_index);
    switch (run->case_index % 8) {
    case 5:
        self->length = cbor_map_make(&self->random, self->item, rng_below(&self->random, 4000));
        break;
    case 6:
        self->depth_limit = (uint32_t)rng_between(&self->random, 1, LARDER_CBOR_MAX_DEPTH);
        self->length = cbor_nest_make(&self->random, self->item,
                                      self->depth_limit + rng_below(&self->random, 3) - 1);
        break;
    case 7:
        self->length =
            cbor_item_make(&self->random, self->item, rng_between(&self->random, 1000, 40000));
        break;
    default:
        self->length = cbor_item_make(&self->random, self->item, rng_below(&self->random, 120));
        write_and_read(run, self);
    }
    if (!compare(run, self, self->item, self->length)) {
        return;
    }
    if (self->length < 400) {
        damage_everywhere(run, self);
    }
    damage_somewhere(run, self, self->length < 400 ? 400 : 40);
}

void family_coding(torture *run) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    trial self = {.item = shared_memory(CODING_BYTES), .copy = shared_memory(CODING_BYTES)};
    uint8_t *readable = shared_memory(CODING_BYTES + page);
    self.wall = readable + CODING_BYTES;
    if (!EXPECT(run, mprotect(self.wall, page, PROT_NONE) == 0, "mprotect failed")) {
        return;
    }
    torture_trial(run);
    torture_guard(run, 60, coding_rare, NULL);
    while (torture_next_case(run, &self.random)) {
        self.depth_limit = CODING_DEPTH;
        torture_trial(run);
        torture_guard(run, 30, one_case, &self);
    }
}
