// SPDX-License-Identifier: MIT
/** @file salvage.h
    Private: what is found in the remains of a store. */
#ifndef LARDER_SALVAGE_H
#define LARDER_SALVAGE_H

#include "repair/copy_target.h"

/** A write that is whole, wherever it was found. */
typedef struct found_write {
    /** Of the key. */
    uint64_t hash;
    uint64_t sequence;
    uint32_t minor;
    bool is_removal;
    /** The record; of a removal the key. Borrowed from the mapping or the journal. */
    larder_bytes bytes;
} found_write;

/** A row of an entry whose record is damaged. */
typedef struct found_damage {
    /** Of the stored key. */
    uint64_t hash;
    /** As the damaged record says, but no more than can be. */
    uint64_t sequence;
} found_damage;

typedef struct salvage {
    const char *source;
    larder_store_report *report;
    larder_progress progress;
    void *context;

    // data.mdb
    int file;
    uint8_t *map;
    size_t map_bytes;
    uint32_t page_bytes;
    tree trees[TREE_META_PAGES];
    size_t tree_count;
    store_meta meta;
    bool has_meta;
    uint64_t visited;

    // The journal: a copy without its damage.
    char *journal_path;
    larder_ring *ring;
    larder_ring_reader *reader;
    /** Number of the last removal of everything in it. */
    uint64_t cleared;
    bool has_journal;

    found_write *writes;
    size_t write_count;
    size_t write_capacity;
    found_damage *damages;
    size_t damage_count;
    size_t damage_capacity;
} salvage;

/** Maps data.mdb, and finds its states and what the store knew of itself, as far as that can be
    read. A missing file is fine. */
LARDER_MUST_CHECK larder_status salvage_open_data(salvage *search);
/** Finds writes in the journal, around its damage. `folder` is one to work in.
    A missing journal is fine. */
LARDER_MUST_CHECK larder_status salvage_read_journal(salvage *search, const char *folder);
/** Finds writes in every page. */
LARDER_MUST_CHECK larder_status salvage_scan_data(salvage *search);
/** Leaves the newest write of each key, if it is a put, in the order of their numbers. */
void salvage_choose(salvage *search);
/** Lets go of everything, and removes the journal's copy. */
void salvage_close(salvage *search);

#endif
