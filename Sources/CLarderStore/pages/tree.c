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

static uint32_t node_bytes(const tree_node *node, bool is_leaf) {
    uint64_t bytes = NODE_HEAD_BYTES + (uint64_t)node->key_bytes;
    if (is_leaf) bytes += load16(node->bytes + 4) ? sizeof(uint64_t) : load32(node->bytes);
    return bytes > PAGE_MAX_BYTES ? PAGE_MAX_BYTES : (uint32_t)(bytes + 1) & ~1u;
}

bool page_tiles(const tree_page *page, bool is_leaf) {
    uint8_t starts[PAGE_MAX_BYTES / 2 / 8];
    memset(starts, 0, page->size / 16);
    tree_node node;
    for (uint32_t i = 0; i < page->count; i++) {
        if (!page_node(page, i, &node) || (node.offset & 1)) return false;
        uint8_t bit = (uint8_t)(1u << (node.offset / 2 & 7));
        if (starts[node.offset / 16] & bit) return false;
        starts[node.offset / 16] |= bit;
    }
    uint32_t count = 0;
    for (uint32_t offset = page->upper; offset < page->size; count++) {
        if ((offset & 1) || (starts[offset / 16] & 1u << (offset / 2 & 7)) == 0) return false;
        node.bytes = page->bytes + offset;
        node.key_bytes = load16(node.bytes + 6);
        offset += node_bytes(&node, is_leaf);
        if (offset > page->size) return false;
    }
    return count == page->count;
}

/** Whether a page that was reached through `path` can be the right one, as far as a key that is not
    in it tells. Its keys all lie between the separators on the way to it; a page from elsewhere in
    the tree has all its keys on one side of them. So a key that falls between two of its keys
    proves the page, and one that falls before or behind all of them is compared to the separators.
    @param index where in the last page of the path the key would be. */
static larder_status tree_prove_miss(const tree *state, const tree_page *path,
                                     const uint32_t *indexes, uint32_t depth, uint32_t index) {
    const tree_page *leaf = &path[depth - 1];
    if (index > 0 && index < leaf->count) return LARDER_OK;
    bool is_below = index == 0;
    tree_node edge, separator;
    if (!page_node(leaf, is_below ? 0 : leaf->count - 1, &edge))
        return tree_damaged(state, leaf->number);
    for (uint32_t level = depth - 1; level-- > 0;) {
        uint32_t at = is_below ? indexes[level] + 1 : indexes[level];
        if (is_below ? at == path[level].count : at == 0) continue;
        if (!page_node(&path[level], at, &separator))
            return tree_damaged(state, path[level].number);
        int order = key_order(edge.key, edge.key_bytes, separator.key, separator.key_bytes);
        if (is_below ? order >= 0 : order < 0) return tree_damaged(state, leaf->number);
        return LARDER_OK;
    }
    return LARDER_OK;
}

larder_status tree_get(const tree *state, larder_bytes key, larder_bytes *value) {
    *value = (larder_bytes){NULL, 0};
    if (state->depth == 0) return LARDER_ENOTFOUND;
    if (state->depth > TREE_DEPTH_MAX) return tree_damaged(state, 0);
    tree_page path[TREE_DEPTH_MAX];
    uint32_t indexes[TREE_DEPTH_MAX];
    uint64_t number = state->root;
    uint32_t level = 0;
    bool equal;
    tree_node node;
    for (; level + 1 < state->depth; level++) {
        tree_page *page = &path[level];
        uint32_t index;
        if (!page_open(state, number, PAGE_BRANCH, page) ||
            !page_search(page, 1, key, &index, &equal))
            return tree_damaged(state, number);
        if (!equal) index--;
        if (!page_node(page, index, &node)) return tree_damaged(state, number);
        indexes[level] = index;
        number = node_child(&node);
    }
    uint32_t index;
    if (!page_open(state, number, PAGE_LEAF, &path[level]) ||
        !page_search(&path[level], 0, key, &index, &equal))
        return tree_damaged(state, number);
    if (!equal) {
        larder_status status = tree_prove_miss(state, path, indexes, state->depth, index);
        return status ? status : LARDER_ENOTFOUND;
    }
    uint64_t overflow;
    if (!page_node(&path[level], index, &node)) return tree_damaged(state, number);
    return node_value(state, &path[level], &node, value, &overflow);
}
