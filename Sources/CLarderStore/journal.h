// SPDX-License-Identifier: MIT
/** @file journal.h
    Private: what was written and is not in LMDB yet: a ring that refuses when full. Its content
    format is 'LJ' << 48 | base; message n of the ring is number base + n of the store.

    A message, little-endian:

        0   u8   kind       JOURNAL_…
        1   u8 0, u16 0
        4   u32  count      of ops, in a batch
        8   u64  store id   so that a journal is never applied to another store
        16       by kind:
            BATCH   ops, each at a multiple of 8 from here:
                    u32 length, u8 kind (OP_…), 3 B 0, then so many bytes: of a put the record, of a
                    removal the key
            CLEAR   u32 epoch of files from now on, u32 0
            INTENT  u64 number, u32 epoch, u32 0: this file is about to be made

    A batch is one message, so it is there whole or not at all. */
#ifndef LARDER_JOURNAL_H
#define LARDER_JOURNAL_H

#include "record.h"

enum {
    JOURNAL_BATCH = 1,
    JOURNAL_CLEAR = 2,
    JOURNAL_INTENT = 3,
    JOURNAL_HEAD_BYTES = 16,
    JOURNAL_INTENT_BYTES = 32,
    JOURNAL_CLEAR_BYTES = 24,

    OP_PUT = 1,
    OP_REMOVE = 2,
    OP_HEAD_BYTES = 8
};

/** One op, where it lies. */
typedef struct journal_op {
    uint8_t kind;
    /** The record of a put, the key of a removal. */
    larder_bytes payload;
} journal_op;

/** One message, taken apart. */
typedef struct journal_message {
    uint8_t kind;
    uint32_t count;
    uint64_t sequence;
    /** Of a batch. */
    larder_bytes ops;
    /** Of a removal of everything, and of an intent. */
    uint32_t epoch;
    uint64_t number;
} journal_message;

static inline void put_le32(uint8_t *target, uint32_t value) { memcpy(target, &value, 4); }
static inline void put_le64(uint8_t *target, uint64_t value) { memcpy(target, &value, 8); }
static inline uint32_t get_le32(const uint8_t *source) {
    uint32_t value;
    memcpy(&value, source, 4);
    return value;
}
static inline uint64_t get_le64(const uint8_t *source) {
    uint64_t value;
    memcpy(&value, source, 8);
    return value;
}

/** Bytes of an op with its head, up to the next one. */
static inline size_t op_size(size_t payload_bytes) {
    return OP_HEAD_BYTES + ((payload_bytes + 7) & ~(size_t)7);
}
void op_head_write(uint8_t *target, uint8_t kind, size_t payload_bytes);
static inline journal_op op_read(const uint8_t *op) {
    journal_op out = {op[4], {op + OP_HEAD_BYTES, get_le32(op)}};
    return out;
}
/** The whole key of an op that journal_message_read accepted. */
larder_bytes op_key(const uint8_t *op);

/** Checks a message's head and every op's bounds; records are looked at by whoever needs them.
    LARDER_EDAMAGED. `store_id` 0 accepts any. */
LARDER_MUST_CHECK larder_status journal_message_read(larder_bytes bytes, uint64_t store_id,
                                                     journal_message *out);
/** The next op of a batch; false at its end. `offset` is 0 at first. */
bool journal_next_op(const journal_message *message, size_t *offset, const uint8_t **op);

typedef struct store_journal {
    larder_ring *ring;
    uint64_t base;
    uint64_t store_id;
    uint64_t capacity_bytes;
    /** Room for messages. */
    uint64_t data_bytes;
    /** How much of it is taken; the store's lock guards this and what follows. */
    uint64_t used_bytes;
    uint64_t last_sequence;
    /** Messages that nobody freed, and that are not there when it is opened. */
    uint64_t lost;
    bool was_closed;
} store_journal;

/** Opens `<folder>/journal`, or makes it with `base` if it is missing.
    @param capacity_bytes 0 takes it as it is. */
LARDER_MUST_CHECK larder_status journal_open(const char *folder, uint64_t base,
                                             uint64_t capacity_bytes, uint64_t store_id,
                                             uint32_t flags, uint32_t mode,
                                             int64_t sync_interval_ns, larder_store_detail *detail,
                                             store_journal *out);
larder_status journal_close(store_journal *journal);
/** Which file `<folder>/journal` is at the moment. ENOENT. */
LARDER_MUST_CHECK larder_status journal_identify(const char *folder, uint64_t *device,
                                                 uint64_t *inode);

/** Puts another, empty journal in the place of the one that is open, which counts on from `base`.
    @param keeps the old one as `journal.damaged`. */
LARDER_MUST_CHECK larder_status journal_renew(const char *folder, uint64_t base,
                                              uint64_t capacity_bytes, bool keeps, uint32_t mode,
                                              int64_t sync_interval_ns, larder_store_detail *detail,
                                              store_journal *journal);

/** Room for a message of `length` bytes; LARDER_EFULL. */
LARDER_MUST_CHECK larder_status journal_reserve(store_journal *journal, size_t length,
                                                larder_reservation *out);
/** Publishes it, with the number journal->last_sequence + 1. */
LARDER_MUST_CHECK larder_status journal_commit(store_journal *journal,
                                               larder_reservation *reservation, size_t length);
void journal_head_write(uint8_t *target, uint8_t kind, uint32_t count, uint64_t store_id);

/** Frees everything up to `sequence`. */
LARDER_MUST_CHECK larder_status journal_free(store_journal *journal, uint64_t sequence);
LARDER_MUST_CHECK larder_status journal_sync(store_journal *journal, uint64_t sequence);
/** Looks how much is taken. */
void journal_measure(store_journal *journal);

#endif
