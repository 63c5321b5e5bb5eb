// SPDX-License-Identifier: MIT
/** @file larder_crc32c.h
    CRC-32C (Castagnoli, polynomial 0x1EDC6F41, reflected), as in iSCSI (RFC 3720, appendix B.4). */
#ifndef LARDER_CRC32C_H
#define LARDER_CRC32C_H

#include "larder_base.h"

LARDER_BEGIN_DECLS
LARDER_ASSUME_NONNULL_BEGIN

/** The CRC of `length` bytes at `data`, continuing from `crc` (0 to start): for any split of a
    buffer into a and b, `larder_crc32c(larder_crc32c(0, a), b)` is the CRC of the whole.
    @param data may be NULL when `length` is 0.
    Thread-safe. O(length); uses SSE4.2 with PCLMULQDQ or ARMv8 CRC instructions where the processor
    has them, else `larder_crc32c_portable`. The same result on every machine. */
LARDER_API uint32_t larder_crc32c(uint32_t crc, const void *LARDER_NULLABLE data, size_t length);

/** The same function from a table of 8 × 256 entries; never a special instruction. */
LARDER_API uint32_t larder_crc32c_portable(uint32_t crc, const void *LARDER_NULLABLE data,
                                           size_t length);

/** The name of what `larder_crc32c` uses on this processor: "sse4.2", "armv8" or "portable". */
LARDER_API const char *larder_crc32c_implementation(void);

LARDER_ASSUME_NONNULL_END
LARDER_END_DECLS

#endif
