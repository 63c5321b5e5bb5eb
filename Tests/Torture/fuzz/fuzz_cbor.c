// SPDX-License-Identifier: MIT
// libFuzzer target: arbitrary bytes as CBOR, by every function that reads it. What one of them says
// has to agree with what the others say.
#include <stdio.h>
#include <stdlib.h>

#include "larder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void violated(const char *condition, int line) {
    fprintf(stderr, "line %d: does not hold: %s\n", line, condition);
    abort();
}

#define HOLD(condition) ((condition) ? (void)0 : violated(#condition, __LINE__))

/** Places to begin at, in an input that is not good as a whole. */
enum { FUZZ_OFFSETS = 24, FUZZ_PAIRS = 16 };

static bool is_failure(larder_status status) {
    return status == LARDER_EINCOMPLETE || status == LARDER_EDAMAGED || status == LARDER_ETOOLARGE;
}

/** The pairs of the map at `offset`. @return whether two of its keys are equal. */
static bool use_map(const uint8_t *data, size_t size, size_t offset, size_t end, size_t head) {
    larder_cbor_pair pairs[FUZZ_PAIRS], first, second;
    size_t count, map_end, item_end;
    HOLD(larder_cbor_map_pairs(data, size, offset, pairs, FUZZ_PAIRS, &count, &map_end) ==
         LARDER_OK);
    HOLD(map_end == end && count <= (end - offset) / 2);
    for (size_t i = 0; i < count && i < FUZZ_PAIRS; i++) {
        HOLD(pairs[i].key < pairs[i].value && pairs[i].value < end);
        HOLD(larder_cbor_skip(data, size, pairs[i].key, &item_end) == LARDER_OK);
        HOLD(item_end == pairs[i].value);
        HOLD(larder_cbor_skip(data, size, pairs[i].value, &item_end) == LARDER_OK);
        if (i + 1 < count && i + 1 < FUZZ_PAIRS) {
            HOLD(item_end == pairs[i + 1].key);
        }
    }
    larder_status status =
        larder_cbor_find_duplicate(data, size, offset + head, count, &first, &second);
    if (status == LARDER_END) {
        HOLD(first.value == 0 && second.value == 0);
        return false;
    }
    HOLD(status == LARDER_OK && first.key >= offset + head && first.key < first.value);
    HOLD(first.value < second.key && second.key < second.value && second.value < end);
    // Nothing up to the second one was equal, and the two alone are.
    if (count <= FUZZ_PAIRS) {
        size_t before = 0;
        while (before < count && pairs[before].key < second.key) {
            before++;
        }
        HOLD(larder_cbor_find_duplicate(data, size, offset + head, before, &first, &second) ==
             LARDER_END);
    }
    return true;
}

/** The item at `offset`, whatever is around it. */
static void use_item(const uint8_t *data, size_t size, size_t offset, bool is_checked) {
    larder_cbor_head head;
    size_t end = 1, count = 1, map_end = 1;
    bool has_head = larder_cbor_read_head(data + offset, size - offset, &head);
    larder_status status = larder_cbor_skip(data, size, offset, &end);
    if (status != LARDER_OK) {
        HOLD(!is_checked && is_failure(status) && end == 0);
        status = larder_cbor_map_pairs(data, size, offset, NULL, 0, &count, &map_end);
        HOLD(is_failure(status) && count == 0 && map_end == 0);
        return;
    }
    HOLD(has_head && end > offset && end <= size && head.length <= end - offset);
    // A byte less, and it is cut off.
    HOLD(larder_cbor_skip(data, end - 1, offset, &count) == LARDER_EINCOMPLETE);
    if (head.major == LARDER_CBOR_MAP) {
        bool has_equal = use_map(data, size, offset, end, head.length);
        HOLD(!is_checked || !has_equal);
    }
    if (head.major != LARDER_CBOR_SIMPLE && head.info != LARDER_CBOR_INFO_INDEFINITE) {
        uint8_t bytes[LARDER_CBOR_HEAD_MAX_BYTES];
        HOLD(larder_cbor_write_head(bytes, head.major, head.argument) <= head.length);
    }
}

/** The check that lists containers says what the other one said, and they end where they do. */
static void use_index(const uint8_t *data, size_t size, larder_status status,
                      const larder_cbor_detail *detail) {
    static larder_cbor_index index;
    larder_cbor_detail found;
    HOLD(larder_cbor_check_and_index(data, size, LARDER_CBOR_MAX_DEPTH, &index, &found) == status);
    HOLD(found.fault == detail->fault && found.offset == detail->offset);
    HOLD(status == LARDER_OK || index.count == 0);
    HOLD(index.count <= size);
    for (size_t i = 0; i < index.count; i++) {
        size_t end;
        HOLD(i == 0 || index.containers[i - 1].start < index.containers[i].start);
        HOLD(larder_cbor_skip(data, size, index.containers[i].start, &end) == LARDER_OK);
        HOLD(end == index.containers[i].end);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    larder_cbor_detail detail, deeper;
    uint32_t limit = size ? data[size - 1] % 24u : 0;
    larder_status status = larder_cbor_check(data, size, LARDER_CBOR_MAX_DEPTH, &detail);
    bool is_good = status == LARDER_OK;
    HOLD(is_good == (detail.fault == LARDER_CBOR_GOOD) && detail.offset <= size);
    if (is_good) {
        size_t end;
        HOLD(larder_cbor_skip(data, size, 0, &end) == LARDER_OK && end == size);
        HOLD(larder_cbor_check(data, size - 1, LARDER_CBOR_MAX_DEPTH, NULL) == LARDER_EINCOMPLETE);
    } else {
        HOLD(is_failure(status));
    }
    use_index(data, size, status, &detail);
    // Less depth gives the same answer or is too little.
    larder_status shallow = larder_cbor_check(data, size, limit, &deeper);
    HOLD(deeper.fault == LARDER_CBOR_TOO_DEEP ||
         (shallow == status && deeper.fault == detail.fault && deeper.offset == detail.offset));
    for (size_t offset = 0; offset < size && offset < FUZZ_OFFSETS; offset++) {
        use_item(data, size, offset, is_good && offset == 0);
    }
    if (size > 1) {
        larder_cbor_pair first = {1, 1}, second = {1, 1};
        status = larder_cbor_find_duplicate(data, size, 1, data[0], &first, &second);
        HOLD(status == LARDER_OK || status == LARDER_END || is_failure(status));
        HOLD(status == LARDER_OK || (first.value == 0 && second.value == 0));
    }
    return 0;
}
