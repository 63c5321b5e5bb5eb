// SPDX-License-Identifier: MIT
#include "larder_frame.h"

#include <string.h>

size_t larder_varint_size(uint64_t value) {
    size_t size = 1;
    for (; value >= 0x80; value >>= 7) {
        size++;
    }
    return size;
}

size_t larder_varint_write(uint64_t value, uint8_t *target) {
    size_t size = 0;
    for (; value >= 0x80; value >>= 7) {
        target[size++] = (uint8_t)(value | 0x80);
    }
    target[size++] = (uint8_t)value;
    return size;
}

larder_status larder_varint_read(const uint8_t *source, size_t length, uint64_t *value,
                                 size_t *consumed) {
    *value = 0;
    *consumed = 0;
    uint64_t result = 0;
    for (size_t i = 0;; i++) {
        if (i == length) {
            return LARDER_EINCOMPLETE;
        }
        uint8_t byte = source[i];
        // Nine groups are 63 bits: the tenth byte has room for one, and is never followed.
        if (i == LARDER_VARINT_MAX_BYTES - 1 && byte > 1) {
            return LARDER_EDAMAGED;
        }
        result |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            if (byte == 0 && i > 0) {
                return LARDER_EDAMAGED; // A leading zero group: a shorter form exists.
            }
            *value = result;
            *consumed = i + 1;
            return LARDER_OK;
        }
    }
}

size_t larder_frame_size(size_t length) {
    size_t prefix = larder_varint_size(length);
    return length > SIZE_MAX - prefix ? SIZE_MAX : prefix + length;
}

larder_status larder_frame_write(larder_bytes payload, uint8_t *target, size_t capacity,
                                 size_t *written) {
    *written = 0;
    size_t prefix = larder_varint_size(payload.length);
    if (capacity < prefix || capacity - prefix < payload.length) {
        return LARDER_ETOOLARGE;
    }
    (void)larder_varint_write(payload.length, target);
    if (payload.length > 0) {
        memcpy(target + prefix, payload.data, payload.length);
    }
    *written = prefix + payload.length;
    return LARDER_OK;
}

larder_status larder_frame_read(const uint8_t *source, size_t length, larder_bytes *payload,
                                size_t *consumed) {
    *payload = (larder_bytes){NULL, 0};
    *consumed = 0;
    uint64_t payload_length;
    size_t prefix;
    larder_status status = larder_varint_read(source, length, &payload_length, &prefix);
    if (status) {
        return status;
    }
    if (payload_length > length - prefix) {
        return LARDER_EINCOMPLETE;
    }
    *payload = (larder_bytes){source + prefix, (size_t)payload_length};
    *consumed = prefix + (size_t)payload_length;
    return LARDER_OK;
}
