// SPDX-License-Identifier: MIT
// libFuzzer target: varints and frames of arbitrary bytes, and back.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "larder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void violated(const char *condition, int line) {
    fprintf(stderr, "line %d: does not hold: %s\n", line, condition);
    abort();
}

#define HOLD(condition) ((condition) ? (void)0 : violated(#condition, __LINE__))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint64_t value = 1;
    size_t consumed = 1;
    larder_status status = larder_varint_read(data, size, &value, &consumed);
    if (status == LARDER_OK) {
        // Only the shortest form is read, so writing gives the same bytes.
        uint8_t bytes[LARDER_VARINT_MAX_BYTES];
        HOLD(consumed >= 1 && consumed <= size && consumed == larder_varint_size(value));
        HOLD(larder_varint_write(value, bytes) == consumed && memcmp(bytes, data, consumed) == 0);
    } else {
        HOLD(status == LARDER_EINCOMPLETE || status == LARDER_EDAMAGED);
        HOLD(value == 0 && consumed == 0);
    }

    larder_bytes payload = {data, 1};
    status = larder_frame_read(data, size, &payload, &consumed);
    if (status == LARDER_OK) {
        uint8_t *frame = malloc(consumed);
        size_t written = 0;
        HOLD(consumed <= size && consumed == larder_frame_size(payload.length));
        HOLD(payload.length == 0 ||
             ((const uint8_t *)payload.data >= data &&
              (const uint8_t *)payload.data + payload.length <= data + size));
        HOLD(frame && larder_frame_write(payload, frame, consumed, &written) == LARDER_OK);
        HOLD(written == consumed && memcmp(frame, data, consumed) == 0);
        HOLD(larder_frame_write(payload, frame, consumed - 1, &written) == LARDER_ETOOLARGE);
        HOLD(written == 0);
        free(frame);
    } else {
        HOLD(status == LARDER_EINCOMPLETE || status == LARDER_EDAMAGED);
        HOLD(consumed == 0 && payload.length == 0);
    }

    // The two ways to a checksum agree, wherever the bytes are split.
    size_t split = size ? data[0] % (size + 1) : 0;
    uint32_t whole = larder_crc32c(0, data, size);
    HOLD(whole == larder_crc32c_portable(0, data, size));
    HOLD(whole == larder_crc32c(larder_crc32c(0, data, split), data + split, size - split));
    return 0;
}
