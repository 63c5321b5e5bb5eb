// SPDX-License-Identifier: MIT
#include "format/meta.h"

#include "larder_crc32c.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "The meta record is little-endian; a big-endian port has to convert it in this file."
#endif

static const char magic[8] = {'L', 'A', 'R', 'D', 'E', 'R', 'S', 'T'};

/** As in the file; the offsets are those of the drawing in meta.h. */
typedef struct meta_layout {
    char magic[8];
    uint32_t crc;
    uint32_t version;
    uint64_t transaction;
    uint64_t applied;
    uint64_t count;
    uint64_t bytes;
    uint64_t content_format;
    int64_t created_ns;
    int64_t age_ns;
    uint64_t cleared;
    uint32_t segment;
    uint32_t page_bytes;
    uint8_t secret[16];
    uint64_t store_id;
    uint64_t offset;
    uint32_t next_segment;
    uint32_t has_order;
} meta_layout;

_Static_assert(sizeof(meta_layout) == META_BYTES, "meta record");
_Static_assert(offsetof(meta_layout, version) == 12, "version");
_Static_assert(offsetof(meta_layout, transaction) == 16, "transaction");
_Static_assert(offsetof(meta_layout, content_format) == 48, "content format");
_Static_assert(offsetof(meta_layout, age_ns) == 64, "age");
_Static_assert(offsetof(meta_layout, segment) == 80, "segment");
_Static_assert(offsetof(meta_layout, secret) == 88, "secret");
_Static_assert(offsetof(meta_layout, store_id) == 104, "store id");
_Static_assert(offsetof(meta_layout, next_segment) == 120, "next segment");

static uint32_t meta_crc(const meta_layout *layout) {
    return larder_crc32c(0, (const uint8_t *)layout + 12, META_BYTES - 12);
}

/** Gives one of the two what the other one has. */
#define META_COPY(to, from)                                                                        \
    do {                                                                                           \
        (to).version = (from).version;                                                             \
        (to).transaction = (from).transaction;                                                     \
        (to).applied = (from).applied;                                                             \
        (to).count = (from).count;                                                                 \
        (to).bytes = (from).bytes;                                                                 \
        (to).content_format = (from).content_format;                                               \
        (to).created_ns = (from).created_ns;                                                       \
        (to).age_ns = (from).age_ns;                                                               \
        (to).cleared = (from).cleared;                                                             \
        (to).page_bytes = (from).page_bytes;                                                       \
        memcpy((to).secret, (from).secret, sizeof(to).secret);                                     \
        (to).store_id = (from).store_id;                                                           \
        (to).next_segment = (from).next_segment;                                                   \
        (to).has_order = (from).has_order;                                                         \
    } while (0)

void store_meta_write(uint8_t target[META_BYTES], const store_meta *meta) {
    meta_layout layout = {.segment = meta->end.segment, .offset = meta->end.offset};
    META_COPY(layout, *meta);
    memcpy(layout.magic, magic, sizeof magic);
    layout.crc = meta_crc(&layout);
    memcpy(target, &layout, META_BYTES);
}

larder_status store_meta_read(larder_bytes bytes, store_meta *meta) {
    *meta = (store_meta){0};
    meta_layout layout;
    if (bytes.length < 16) return LARDER_EDAMAGED;
    size_t length = bytes.length < META_BYTES ? bytes.length : META_BYTES;
    memset(&layout, 0, sizeof layout);
    memcpy(&layout, bytes.data, length);
    if (memcmp(layout.magic, magic, sizeof magic) != 0) return LARDER_EFOREIGN;
    // Another version may have another length, and its checksum elsewhere.
    if (layout.version != META_VERSION) {
        meta->version = layout.version;
        return LARDER_EVERSION;
    }
    if (bytes.length != META_BYTES) return LARDER_EDAMAGED;
    if (layout.crc != meta_crc(&layout)) return LARDER_EDAMAGED;
    META_COPY(*meta, layout);
    meta->end = (location){layout.segment, layout.offset};
    return LARDER_OK;
}
