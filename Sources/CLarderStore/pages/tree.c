// SPDX-License-Identifier: MIT
#include "pages/tree.h"

#include "pages/tree_page.h"

_Static_assert(META_TREE_OFFSET == META_FREE_OFFSET + 48, "two trees");
_Static_assert(META_LAST_PAGE_OFFSET == META_TREE_OFFSET + 48, "and what follows");

// What LMDB keeps of flags. Ours are always these: the free list is ordered by its numbers, the
// tree by its bytes, without duplicates. With others LMDB would read the same pages differently.
enum { FREE_FLAGS = 0x08, TREE_FLAGS = 0 };

/** One of the trees in a meta page, whose root must be a page in use. */
static bool meta_tree(const uint8_t *bytes, uint16_t flags, uint64_t next_page, uint64_t *root,
                      uint32_t *depth, tree_counts *counts) {
    *depth = load16(bytes + 6);
    *counts = (tree_counts){load64(bytes + 8), load64(bytes + 16), load64(bytes + 24),
                            load64(bytes + 32)};
    *root = load64(bytes + 40);
    if (load16(bytes + 4) != flags) return false;
    if (*root == TREE_NO_PAGE) return *depth == 0 && counts->entries == 0;
    return *root >= TREE_META_PAGES && *root<next_page && * depth> 0 && *depth <= TREE_DEPTH_MAX;
}

static bool is_page_size(uint32_t bytes) {
    return bytes >= PAGE_MIN_BYTES && bytes <= PAGE_MAX_BYTES && (bytes & (bytes - 1)) == 0;
}

larder_status tree_meta_head(const uint8_t *map, uint64_t map_bytes, int which, tree *out) {
    *out = (tree){.map = map, .root = TREE_NO_PAGE, .free_root = TREE_NO_PAGE};
    if (map_bytes < META_END_OFFSET) return LARDER_EDAMAGED;
    const uint8_t *page = map;
    uint32_t page_bytes = load32(map + META_FREE_OFFSET);
    if (which == 1) {
        // The second page is where the first one says, or, if that is unreadable, where it is seen.
        if (load32(map + META_MAGIC_OFFSET) != LMDB_MAGIC || !is_page_size(page_bytes)) {
            for (page_bytes = PAGE_MIN_BYTES; page_bytes <= PAGE_MAX_BYTES; page_bytes *= 2) {
                if (map_bytes < page_bytes + META_END_OFFSET) return LARDER_EDAMAGED;
                page = map + page_bytes;
                if (load32(page + META_MAGIC_OFFSET) == LMDB_MAGIC &&
                    load32(page + META_FREE_OFFSET) == page_bytes)
                    break;
            }
            if (page_bytes > PAGE_MAX_BYTES) return LARDER_EDAMAGED;
        }
        page = map + page_bytes;
        if (map_bytes < page_bytes + META_END_OFFSET) return LARDER_EDAMAGED;
    }
    if (load32(page + META_MAGIC_OFFSET) != LMDB_MAGIC) return LARDER_EFOREIGN;
    if (load64(page) != (uint64_t)which || load16(page + 10) != PAGE_META) return LARDER_EDAMAGED;
    if (load32(page + META_VERSION_OFFSET) != LMDB_DATA_VERSION) return LARDER_EVERSION;
    if (load32(page + META_FREE_OFFSET) != page_bytes || !is_page_size(page_bytes))
        return LARDER_EDAMAGED;
    out->page_bytes = page_bytes;
    out->transaction = load64(page + META_TRANSACTION_OFFSET);
    // Transactions write the two pages in turn; before the first one both say 0.
    if (out->transaction != 0 && (out->transaction & 1) != (uint64_t)which) return LARDER_EDAMAGED;
    return LARDER_OK;
}

larder_status tree_of_meta_page(const uint8_t *map, uint64_t map_bytes, int which, tree *out) {
    larder_status status = tree_meta_head(map, map_bytes, which, out);
    if (status) return status;
    const uint8_t *page = which == 0 ? map : map + out->page_bytes;
    uint64_t last = load64(page + META_LAST_PAGE_OFFSET);
    // Beyond what 64 bits of file size hold there is no page.
    if (last < TREE_META_PAGES - 1 || last >= UINT64_MAX / 2 / out->page_bytes)
        return LARDER_EDAMAGED;
    out->next_page = last + 1;
    out->page_count = map_bytes / out->page_bytes;
    if (out->page_count > out->next_page) out->page_count = out->next_page;
    // A page that the file is too short for can only be free, and the free list has 8 bytes of the
    // file for each of those.
    if (out->next_page - out->page_count > out->page_count * (out->page_bytes / 8))
        return LARDER_EDAMAGED;
    if (!meta_tree(page + META_FREE_OFFSET, FREE_FLAGS, out->next_page, &out->free_root,
                   &out->free_depth, &out->free_counts) ||
        !meta_tree(page + META_TREE_OFFSET, TREE_FLAGS, out->next_page, &out->root, &out->depth,
                   &out->counts))
        return LARDER_EDAMAGED;
    return LARDER_OK;
}
