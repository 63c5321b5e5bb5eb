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

void store_meta_write(uint8_t target[META_BYTES], const store_meta *meta) {
    meta_layout layout = {
        .version = meta->version,
        .transaction = meta->transaction,
        .applied = meta->applied,
        .count = meta->count,
        .bytes = meta->bytes,
        .content_format = meta->content_format,
        .created_ns = meta->created_ns,
        .age_ns = meta->age_ns,
        .cleared = meta->cleared,
        .segment = meta->end.segment,
        .page_bytes = meta->page_bytes,
        .store_id = meta->store_id,
        .offset = meta->end.offset,
        .next_segment = meta->next_segment,
        .has_order = meta->has_order,
    };
    memcpy(layout.magic, magic, sizeof magic);
    memcpy(layout.secret, meta->secret, sizeof layout.secret);
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
    meta->version = layout.version;
    meta->transaction = layout.transaction;
    meta->applied = layout.applied;
    meta->count = layout.count;
    meta->bytes = layout.bytes;
    meta->content_format = layout.content_format;
    meta->created_ns = layout.created_ns;
    meta->age_ns = layout.age_ns;
    meta->cleared = layout.cleared;
    meta->end = (location){layout.segment, layout.offset};
    meta->next_segment = layout.next_segment;
    meta->has_order = layout.has_order;
    meta->page_bytes = layout.page_bytes;
    memcpy(meta->secret, layout.secret, sizeof meta->secret);
    meta->store_id = layout.store_id;
    return LARDER_OK;
}
