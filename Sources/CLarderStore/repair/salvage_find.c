// SPDX-License-Identifier: MIT
/** @file salvage_find.c
    Finding writes in the remains of a store.

    Records say themselves what they are, so the pages need not hang together. What is found twice
    counts once, by its number. Two things must not come back:
    - what was removed: pages that the newest readable free list names are not looked at, and what
      the journal removed is taken out. Where the free list is lost, there is no telling, and some
      of what was removed or replaced lately does come back;
    - an older version of an entry whose newest one is damaged: where the row of an entry is there,
      and its record is not whole, only a write counts that is at least as new as it says it was. */
#include <errno.h>
#include <stdlib.h>

#include "repair/salvage.h"

enum { TELL_EVERY = 4096 };

static uint64_t hash_of(larder_bytes key) {
    static const uint8_t no_secret[16];
    uint8_t hash[16];
    siphash128(no_secret, key, hash);
    uint64_t word;
    memcpy(&word, hash, sizeof word);
    return word;
}

static void *grown(void *items, size_t count, size_t *capacity, size_t item_bytes) {
    if (count < *capacity) return items;
    size_t wanted = *capacity ? 2 * *capacity : 256;
    void *more = realloc(items, wanted * item_bytes);
    if (more) *capacity = wanted;
    return more;
}

static larder_status found_add(salvage *search, found_write write, larder_bytes key) {
    found_write *writes =
        grown(search->writes, search->write_count, &search->write_capacity, sizeof *search->writes);
    if (!writes) return ENOMEM;
    search->writes = writes;
    write.hash = hash_of(key);
    writes[search->write_count++] = write;
    return LARDER_OK;
}

static larder_status damage_add(salvage *search, larder_bytes stored, larder_bytes bytes) {
    found_damage *damages = grown(search->damages, search->damage_count, &search->damage_capacity,
                                  sizeof *search->damages);
    if (!damages) return ENOMEM;
    search->damages = damages;
    found_damage damage = {.hash = hash_of(stored)};
    if (bytes.length >= 16) memcpy(&damage.sequence, (const uint8_t *)bytes.data + 8, 8);
    // It may be the number that is damaged; what the journal has beyond the tree is newer anyway.
    bool has_newest = search->has_meta && search->tree_count == TREE_META_PAGES;
    if (has_newest && damage.sequence > search->meta.applied)
        damage.sequence = search->meta.applied;
    damages[search->damage_count++] = damage;
    uint64_t offset = (uint64_t)((const uint8_t *)stored.data - search->map);
    larder_store_report *report = search->report;
    if (report->first_damage_offset == 0 || offset < report->first_damage_offset)
        report->first_damage_offset = offset;
    return LARDER_OK;
}

// data.mdb ----------------------------------------------------------------------------------------

static void take_meta(salvage *search, larder_bytes bytes) {
    store_meta meta;
    if (store_meta_read(bytes, &meta) != LARDER_OK) return;
    if (search->has_meta && meta.transaction <= search->meta.transaction) return;
    search->meta = meta;
    search->has_meta = true;
}

/** Without a readable tree: the newest of what the store knew of itself that is still there. */
static void find_meta(salvage *search) {
    static const char magic[] = "LARDERST";
    const uint8_t *at = search->map, *end = search->map + search->map_bytes;
    while ((size_t)(end - at) >= META_BYTES) {
        at = memchr(at, magic[0], (size_t)(end - at) - META_BYTES + 1);
        if (!at) return;
        if (memcmp(at, magic, sizeof magic - 1) == 0)
            take_meta(search, (larder_bytes){at, META_BYTES});
        at++;
    }
}

larder_status salvage_open_data(salvage *search) {
    char *path = path_joined(search->source, "/data.mdb");
    if (!path) return ENOMEM;
    larder_status status = file_open(path, 0, 0, &search->file);
    free(path);
    if (status == ENOENT) return LARDER_OK;
    file_facts facts = {0};
    if (!status) status = file_facts_get(search->file, &facts);
    if (!status && !facts.is_regular) status = LARDER_EFOREIGN;
    if (status || facts.bytes == 0 || facts.bytes > SIZE_MAX / 2) return status;
    status = file_map(search->file, (size_t)facts.bytes, false, &search->map);
    if (status) return status;
    search->map_bytes = (size_t)facts.bytes;
    for (int which = 0; which < TREE_META_PAGES; which++) {
        tree *found = &search->trees[search->tree_count];
        if (tree_of_meta_page(search->map, search->map_bytes, which, found) != LARDER_OK) continue;
        found->damage_offset = NULL;
        search->page_bytes = found->page_bytes;
        search->tree_count++;
        uint8_t space = SPACE_META;
        larder_bytes bytes;
        if (tree_get(found, (larder_bytes){&space, 1}, &bytes) == LARDER_OK)
            take_meta(search, bytes);
    }
    if (search->tree_count == 2 && search->trees[1].transaction > search->trees[0].transaction) {
        tree newer = search->trees[1];
        search->trees[1] = search->trees[0];
        search->trees[0] = newer;
    }
    if (!search->has_meta) find_meta(search);
    return LARDER_OK;
}

/** A node, or, without a key, a record that lies where no node is whole. */
static larder_status take_node(salvage *search, larder_bytes key, larder_bytes value) {
    const uint8_t *bytes = key.data;
    if (key.length && bytes[0] != SPACE_ENTRY) return LARDER_OK;
    record entry;
    if (record_read(value, true, &entry) != LARDER_OK) {
        if (key.length == 0) return LARDER_OK;
        return damage_add(search, (larder_bytes){bytes + 1, key.length - 1}, value);
    }
    found_write write = {.sequence = entry.sequence, .minor = entry.minor, .bytes = value};
    return found_add(search, write, entry.key);
}

typedef struct node_visit {
    salvage *search;
    larder_status status;
} node_visit;

static int visit_node(void *context, larder_bytes key, larder_bytes value) {
    node_visit *visit = context;
    salvage *search = visit->search;
    visit->status = take_node(search, key, value);
    if (!visit->status && ++search->visited % TELL_EVERY == 0 && search->progress &&
        search->progress(search->context, 0, search->visited))
        visit->status = ECANCELED;
    return visit->status != LARDER_OK;
}

static larder_status scan_pages(salvage *search, uint32_t page_bytes, tree_report *report) {
    node_visit visit = {.search = search};
    larder_status status = tree_scan(search->map, search->map_bytes, page_bytes, search->trees,
                                     search->tree_count, visit_node, &visit, report);
    return visit.status ? visit.status : status;
}

larder_status salvage_scan_data(salvage *search) {
    if (!search->map) {
        // Not one page is left.
        search->report->damaged_pages = 1;
        return LARDER_OK;
    }
    tree_report pages = {0};
    larder_status status = LARDER_OK;
    if (search->page_bytes) {
        status = scan_pages(search, search->page_bytes, &pages);
    } else {
        // Both meta pages are lost, and with them the pages' size: it was that of a machine's.
        static const uint32_t sizes[] = {4096, 16384, 65536, 8192, 32768};
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !status; i++) {
            tree_report found = {0};
            status = scan_pages(search, sizes[i], &found);
            if (i == 0 || search->write_count) pages = found;
            if (search->write_count) break;
        }
    }
    search->report->damaged_pages = pages.damaged_pages;
    // Whatever was found: this much at least is known to be wrong.
    tree_report audit;
    bool is_whole = search->tree_count == TREE_META_PAGES && search->has_meta &&
                    tree_audit(&search->trees[0], &audit) == LARDER_OK;
    if (!status && !is_whole && search->report->damaged_pages == 0)
        search->report->damaged_pages = 1;
    uint64_t offset = pages.first_damage_offset;
    if (offset &&
        (!search->report->first_damage_offset || offset < search->report->first_damage_offset))
        search->report->first_damage_offset = offset;
    return status;
}

// The journal -------------------------------------------------------------------------------------

/** One message. What is not whole is passed over. */
static larder_status take_message(salvage *search, larder_bytes bytes, uint64_t sequence) {
    journal_message message;
    if (journal_message_read(bytes, search->has_meta ? search->meta.store_id : 0, &message))
        return LARDER_OK;
    search->report->journal_intact++;
    if (message.kind == JOURNAL_CLEAR) search->cleared = sequence;
    if (message.kind != JOURNAL_BATCH) return LARDER_OK;
    size_t offset = 0;
    const uint8_t *at;
    larder_status status = LARDER_OK;
    for (uint32_t minor = 0; journal_next_op(&message, &offset, &at) && !status; minor++) {
        journal_op op = op_read(at);
        found_write write = {.sequence = sequence,
                             .minor = minor,
                             .is_removal = op.kind == OP_REMOVE,
                             .bytes = op.payload};
        record entry;
        if (write.is_removal) status = found_add(search, write, op.payload);
        else if (record_read(op.payload, true, &entry) != LARDER_OK) search->report->damaged++;
        else status = found_add(search, write, entry.key);
    }
    return status;
}

static larder_status read_messages(salvage *search) {
    larder_ring_statistics facts;
    larder_status status = larder_ring_statistics_get(search->ring, &facts);
    if (status) return status;
    // Some other ring.
    if (facts.content_format >> 48 != ('J' << 8 | 'L')) return LARDER_OK;
    search->has_journal = true;
    uint64_t base = facts.content_format & (((uint64_t)1 << 48) - 1);
    status = larder_ring_reader_open(search->ring, LARDER_RING_BORROW, &search->reader);
    while (!status) {
        larder_ring_record message;
        status = larder_ring_reader_next(search->reader, &message);
        if (status) break;
        uint64_t sequence = base + message.sequence;
        // What the tree has had is in the tree, or was removed from it.
        if (search->has_meta && sequence <= search->meta.applied) continue;
        status = take_message(search, message.payload, sequence);
    }
    return status == LARDER_END ? LARDER_OK : status;
}

larder_status salvage_read_journal(salvage *search, const char *folder) {
    char *source = path_joined(search->source, "/journal");
    search->journal_path = path_joined(folder, "/journal.salvaged");
    larder_ring_report report = {0};
    larder_status status = ENOMEM;
    if (source && search->journal_path)
        status = larder_ring_salvage(source, search->journal_path, NULL, NULL, NULL, &report);
    free(source);
    // There is none, or nothing is left of it.
    if (status == ENOENT || status == LARDER_EFOREIGN || status == LARDER_EDAMAGED ||
        status == LARDER_EVERSION || status == EISDIR || status == ELOOP)
        return LARDER_OK;
    if (status) return status;
    search->report->journal_lost = report.lost;
    larder_ring_options options;
    larder_ring_options_init(&options);
    options.flags = LARDER_RING_EXISTING;
    status = larder_ring_open(search->journal_path, &options, NULL, &search->ring);
    return status ? status : read_messages(search);
}

// The end -----------------------------------------------------------------------------------------

void salvage_close(salvage *search) {
    larder_ring_reader_close(search->reader);
    larder_ring_close(search->ring);
    if (search->ring) {
        larder_status status = file_remove(search->journal_path);
        (void)status;
    }
    free(search->journal_path);
    file_unmap(search->map, search->map_bytes);
    file_close(search->file);
    free(search->writes);
    free(search->damages);
}
