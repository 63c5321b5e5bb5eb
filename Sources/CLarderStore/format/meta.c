// SPDX-License-Identifier: MIT
#include "format/meta.h"

#include "larder_crc32c.h"

static const char magic[8] = {'L', 'A', 'R', 'D', 'E', 'R', 'S', 'T'};

_Static_assert(offsetof(store_meta, end) == META_BYTES, "meta record");
_Static_assert(offsetof(store_meta, version) == 12, "version");
_Static_assert(offsetof(store_meta, transaction) == 16, "transaction");
_Static_assert(offsetof(store_meta, content_format) == 48, "content format");
_Static_assert(offsetof(store_meta, age_ns) == 64, "age");
_Static_assert(offsetof(store_meta, end_segment) == 80, "segment");
_Static_assert(offsetof(store_meta, secret) == 88, "secret");
_Static_assert(offsetof(store_meta, store_id) == 104, "store id");
_Static_assert(offsetof(store_meta, next_segment) == 120, "next segment");
_Static_assert(offsetof(store_meta, key_form) == 126, "key form");

static uint32_t meta_crc(const store_meta *meta) {
    return larder_crc32c(0, (const uint8_t *)meta + 12, META_BYTES - 12);
}

void larder_store_meta_write(uint8_t target[META_BYTES], const store_meta *meta) {
    store_meta written = *meta;
    memcpy(written.magic, magic, sizeof magic);
    written.end_segment = meta->end.segment;
    written.end_offset = meta->end.offset;
    written.crc = meta_crc(&written);
    memcpy(target, &written, META_BYTES);
}

larder_status larder_store_meta_read(larder_bytes bytes, store_meta *meta) {
    *meta = (store_meta){0};
    if (bytes.length < 16) return LARDER_EDAMAGED;
    memcpy(meta, bytes.data, bytes.length < META_BYTES ? bytes.length : META_BYTES);
    if (memcmp(meta->magic, magic, sizeof magic) != 0) return LARDER_EFOREIGN;
    // Another version may have another length, and its checksum elsewhere. Where the checksum is
    // right with one of our numbers in its place, only the number was hit.
    uint32_t version = meta->version, sealed = META_VERSION;
    for (; sealed >= META_VERSION_OLDEST; sealed--) {
        meta->version = sealed;
        if (bytes.length == META_BYTES && meta->crc == meta_crc(meta)) break;
    }
    bool is_ours = sealed >= META_VERSION_OLDEST;
    meta->version = version;
    if (version < META_VERSION_OLDEST || version > META_VERSION)
        return is_ours ? LARDER_EDAMAGED : LARDER_EVERSION;
    // Sums of these and of what waits for a checkpoint are signed.
    const uint64_t most = (uint64_t)1 << 62;
    if (sealed != version || meta->applied > SEQUENCE_MAX || meta->count > most ||
        meta->bytes > most)
        return LARDER_EDAMAGED;
    meta->end = (location){meta->end_segment, meta->end_offset};
    return LARDER_OK;
}

bool larder_store_metas_are_same(const store_meta *one, const store_meta *other) {
    return memcmp(one, other, META_BYTES) == 0;
}
