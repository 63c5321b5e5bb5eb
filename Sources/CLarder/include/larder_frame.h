// SPDX-License-Identifier: MIT
/** @file larder_frame.h
    Varints and length-prefix frames: how Larder puts a length in front of bytes.

    A varint is the unsigned LEB128 of Protocol Buffers and of DWARF: seven bits a byte, least
    significant group first, the top bit set on every byte but the last. Only the shortest form is
    written and only the shortest form is read, so equal values have equal bytes.

    A frame is a varint length and then that many bytes. Nothing here allocates. */
#ifndef LARDER_FRAME_H
#define LARDER_FRAME_H

#include "larder_status.h"

LARDER_BEGIN_DECLS
LARDER_ASSUME_NONNULL_BEGIN

/** The longest varint: 64 bits in groups of 7. */
#define LARDER_VARINT_MAX_BYTES ((size_t)10)

/** How many bytes `larder_varint_write` writes for `value`: 1 to 10. */
LARDER_API size_t larder_varint_size(uint64_t value);

/** Writes `value` at `target`, which must have room for `larder_varint_size(value)` bytes (10 is
    always enough).
    @return the number of bytes written. */
LARDER_API size_t larder_varint_write(uint64_t value, uint8_t *target);

/** Reads one varint from the `length` bytes at `source`.
    @param value receives the value; 0 on failure.
    @param consumed receives the number of bytes read; 0 on failure.
    @return LARDER_OK; LARDER_EINCOMPLETE if the input ends inside the varint;
            LARDER_EDAMAGED if it is longer than needed or does not fit 64 bits. */
LARDER_API LARDER_MUST_CHECK larder_status larder_varint_read(const uint8_t *LARDER_NULLABLE source,
                                                              size_t length, uint64_t *value,
                                                              size_t *consumed);

/** Bytes that a frame around `length` payload bytes takes. SIZE_MAX if that does not fit size_t. */
LARDER_API size_t larder_frame_size(size_t length);

/** Writes a frame around `payload` at `target`.
    @param capacity room at `target`, in bytes.
    @param written receives the frame's size; 0 on failure, and then nothing was written.
    @return LARDER_OK; LARDER_ETOOLARGE if `capacity` is too small. */
LARDER_API LARDER_MUST_CHECK larder_status larder_frame_write(larder_bytes payload,
                                                              uint8_t *LARDER_NULLABLE target,
                                                              size_t capacity, size_t *written);

/** Reads the frame at the start of the `length` bytes at `source`.
    @param payload receives a range inside `source`, valid as long as `source` is; empty on failure.
    @param consumed receives the frame's size; 0 on failure.
    @return LARDER_OK; LARDER_EINCOMPLETE if the input ends inside the frame; LARDER_EDAMAGED. */
LARDER_API LARDER_MUST_CHECK larder_status larder_frame_read(const uint8_t *LARDER_NULLABLE source,
                                                             size_t length, larder_bytes *payload,
                                                             size_t *consumed);

LARDER_ASSUME_NONNULL_END
LARDER_END_DECLS

#endif
