// SPDX-License-Identifier: MIT
/** @file meta.h
    Private: what a store knows of itself, the value under the tree's key 01. Written with every
    transaction, so that it says which one the pages belong to.

        0   8 B  magic "LARDERST"
        8   u32  CRC-32C of everything behind it
        12  u32  version          a store keeps that under which its index was made
        16  u64  transaction      LMDB's number of the transaction that wrote this
        24  u64  applied          number of the last write that is in the tree, with all before it
        32  u64  count            entries
        40  u64  bytes            of their values
        48  u64  content format
        56  i64  created          nanoseconds since 1970
        64  i64  age              every entry older than this has a deadline in the tree; never:
                                  none needs one
        72  u64  cleared          number of the last removal of everything; 0 for none
        80  u32  segment          where the log goes on behind `applied`; 0: it has not begun
        84  u32  page bytes
        88  16 B secret           for hashes of long keys
        104 u64  store id         segments repeat it
        112 u64  offset           in that segment
        120 u32  next segment     no segment in the tree has this number or a greater one
        124 u8   has order        1: every entry has its row in the order of use
        125 u8   has strays       1: rows of indexes may lead nowhere, as what they belonged to was
                                  replaced while it was damaged
        126 u16  key form         of all keys; 0: nobody said, as in files of earlier versions
        128      end */
#ifndef LARDER_META_H
#define LARDER_META_H

#include "format/record.h"

enum {
    META_BYTES = 128,
    META_VERSION = 3,
    /** Before it, the value of a row of SPACE_INDEX is the stored key. */
    META_VERSION_OLDEST = 2
};

/** As in the file, but for `end`, of which that has both parts elsewhere. */
typedef struct store_meta {
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
    uint32_t end_segment;
    uint32_t page_bytes;
    uint8_t secret[16];
    uint64_t store_id;
    uint64_t end_offset;
    uint32_t next_segment;
    uint8_t has_order;
    uint8_t has_strays;
    uint16_t key_form;
    location end;
} store_meta;

/** Whether a row whose record cannot be read is what is damaged, and not the record: it leads
    nowhere, is of a write that was not yet, or begins with zeros. */
static inline bool meta_contradicts_row(const store_meta *meta, const entry_row *row) {
    return row->at.segment >= meta->next_segment || row->sequence > meta->applied ||
           (row->sequence & UINT16_MAX) == 0;
}

void larder_store_meta_write(uint8_t target[META_BYTES], const store_meta *meta);
/** Whether rows of SPACE_INDEX have checksums. */
static inline bool meta_seals_index_rows(const store_meta *meta) {
    return meta->version > META_VERSION_OLDEST;
}
/** The value of the row of SPACE_INDEX that leads to `stored`, as the store's version has it.
    @param target has INDEX_ROW_MAX_BYTES; what is returned may lie there. */
static inline larder_bytes meta_index_row(const store_meta *meta, const tree_key *key,
                                          larder_bytes stored, uint8_t *target) {
    if (!meta_seals_index_rows(meta)) return stored;
    return (larder_bytes){target, larder_index_row_write(bytes_of_key(key), stored, target)};
}
/** LARDER_OK; LARDER_EFOREIGN (magic), LARDER_EVERSION (and meta->version is set),
    LARDER_EDAMAGED. */
LARDER_MUST_CHECK larder_status larder_store_meta_read(larder_bytes bytes, store_meta *meta);
/** Whether they are of one state. The transaction's number alone does not tell: in the file that a
    compaction puts in the place of data.mdb, it begins again. */
bool larder_store_metas_are_same(const store_meta *one, const store_meta *other);

#endif
