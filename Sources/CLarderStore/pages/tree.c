// SPDX-License-Identifier: MIT
#include "pages/tree_page.h"

/** One of the trees in a meta page, whose root must be a page in use, and which a transaction may
    make one level deeper. */
static bool head_is_sound(const tree_head *head, uint16_t flags, uint64_t next_page) {
    if (head->flags != flags) return false;
    if (head->root == TREE_NO_PAGE) return head->depth == 0 && head->counts.entries == 0;
    return head->root >= TREE_META_PAGES && head->root < next_page && head->depth > 0 &&
           head->depth < TREE_DEPTH_MAX;
}

static bool is_page_size(uint32_t bytes) {
    return bytes >= PAGE_MIN_BYTES && bytes <= PAGE_MAX_BYTES && (bytes & (bytes - 1)) == 0;
}

/** Reads what may be a meta page; false if the map ends before it does. */
static bool meta_at(const uint8_t *map, uint64_t map_bytes, uint32_t offset, meta_page *out) {
    if (map_bytes < offset + sizeof *out) return false;
    memcpy(out, map + offset, sizeof *out);
    return true;
}

larder_status larder_tree_meta_head(const uint8_t *map, uint64_t map_bytes, int which,
                                    meta_page *out) {
    *out = (meta_page){0};
    if (!meta_at(map, map_bytes, 0, out)) return LARDER_EDAMAGED;
    // Since LMDB 1.0 pages have longer heads, so its mark lies eight bytes further on.
    if (out->magic != LMDB_MAGIC && (uint32_t)out->address == LMDB_MAGIC) {
        out->version = (uint32_t)(out->address >> 32);
        return LARDER_EVERSION;
    }
    uint32_t page_bytes = out->free_list.pad;
    // The second page is where the first one says, or, if that is unreadable, where it is seen.
    if (which == 1 && (out->magic != LMDB_MAGIC || !is_page_size(page_bytes)))
        for (page_bytes = PAGE_MIN_BYTES; page_bytes <= PAGE_MAX_BYTES; page_bytes *= 2)
            if (!meta_at(map, map_bytes, page_bytes, out) ||
                (out->magic == LMDB_MAGIC && out->free_list.pad == page_bytes))
                break;
    if (which == 1 && (page_bytes > PAGE_MAX_BYTES || !meta_at(map, map_bytes, page_bytes, out)))
        return LARDER_EDAMAGED;
    if (out->magic != LMDB_MAGIC) return LARDER_EFOREIGN;
    if (out->number != (uint64_t)which || out->kind != PAGE_META) return LARDER_EDAMAGED;
    if (out->version != LMDB_DATA_VERSION) return LARDER_EVERSION;
    if (out->free_list.pad != page_bytes || !is_page_size(page_bytes)) return LARDER_EDAMAGED;
    // So many cannot have been; LMDB's own number would come round to 0.
    if (out->transaction > UINT64_MAX / 2) return LARDER_EDAMAGED;
    // Transactions write the two pages in turn; before the first one both say 0.
    bool is_in_turn = out->transaction == 0 || (out->transaction & 1) == (uint64_t)which;
    return is_in_turn ? LARDER_OK : LARDER_EDAMAGED;
}

larder_status larder_tree_of_meta_page(const uint8_t *map, uint64_t map_bytes, int which,
                                       tree *out) {
    meta_page meta;
    larder_status status = larder_tree_meta_head(map, map_bytes, which, &meta);
    *out = (tree){.page_bytes = meta.free_list.pad,
                  .main = meta.main,
                  .free_list = meta.free_list,
                  .transaction = meta.transaction};
    if (status) return status;
    uint64_t last = meta.last_page;
    // Beyond what 64 bits of file size hold there is no page.
    if (last < TREE_META_PAGES - 1 || last >= UINT64_MAX / 2 / out->page_bytes)
        return LARDER_EDAMAGED;
    out->next_page = last + 1;
    bool is_sound = head_is_sound(&out->free_list, FREE_LIST_FLAGS, out->next_page) &&
                    head_is_sound(&out->main, MAIN_FLAGS, out->next_page);
    return is_sound ? LARDER_OK : LARDER_EDAMAGED;
}

larder_status larder_tree_attach(tree *state, const uint8_t *map, uint64_t file_bytes) {
    state->map = map;
    state->page_count = file_bytes / state->page_bytes;
    if (state->page_count > state->next_page) state->page_count = state->next_page;
    // A page that the file is too short for can only be free, and the free list has 8 bytes of the
    // file for each of those.
    uint64_t missing = state->next_page - state->page_count;
    return missing > state->page_count * (state->page_bytes / 8) ? LARDER_EDAMAGED : LARDER_OK;
}
