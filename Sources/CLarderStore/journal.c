// SPDX-License-Identifier: MIT
/** @file journal.c
    The journal's messages, and the ring that holds them. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "journal.h"

#include <errno.h>
#include <stdio.h>

#include "file_io.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files are little-endian");

/** 'LJ' in the upper 16 bits of the ring's content format; the base in the others. */
#define JOURNAL_FORMAT ((uint64_t)0x4A4C << 48)
#define JOURNAL_BASE_MASK (((uint64_t)1 << 48) - 1)

// Messages ----------------------------------------------------------------------------------------

void journal_head_write(uint8_t *target, uint8_t kind, uint32_t count, uint64_t store_id) {
    put_le32(target, kind);
    put_le32(target + 4, count);
    put_le64(target + 8, store_id);
}

void op_head_write(uint8_t *target, uint8_t kind, size_t payload_bytes) {
    put_le32(target, (uint32_t)payload_bytes);
    put_le32(target + 4, kind);
}

larder_bytes op_key(const uint8_t *op) {
    journal_op read = op_read(op);
    if (read.kind == OP_REMOVE) return read.payload;
    const uint8_t *bytes = read.payload.data;
    size_t offset = RECORD_HEAD_BYTES + record_optional_bytes(bytes[20]);
    larder_bytes key = {bytes + offset, get_le32(bytes + 32)};
    return key;
}

bool journal_next_op(const journal_message *message, size_t *offset, const uint8_t **op) {
    if (*offset >= message->ops.length) return false;
    *op = (const uint8_t *)message->ops.data + *offset;
    *offset += op_size(get_le32(*op));
    return true;
}

/** Whether the ops are so many, lie inside the message, and each record's parts inside the op. */
static bool ops_are_whole(larder_bytes ops, uint32_t count) {
    const uint8_t *bytes = ops.data;
    size_t offset = 0;
    while (offset < ops.length) {
        if (count-- == 0 || ops.length - offset < OP_HEAD_BYTES) return false;
        size_t length = get_le32(bytes + offset);
        size_t padded = (length + 7) & ~(size_t)7;
        if (padded > ops.length - offset - OP_HEAD_BYTES) return false;
        journal_op op = op_read(bytes + offset);
        if (op.kind == OP_PUT) {
            record unused;
            if (record_read(op.payload, false, &unused) != LARDER_OK) return false;
        } else if (op.kind != OP_REMOVE || length > LARDER_STORE_KEY_MAX_BYTES) {
            return false;
        }
        offset += OP_HEAD_BYTES + padded;
    }
    return count == 0;
}

larder_status journal_message_read(larder_bytes bytes, uint64_t store_id, journal_message *out) {
    const uint8_t *head = bytes.data;
    memset(out, 0, sizeof *out);
    if (bytes.length < JOURNAL_HEAD_BYTES) return LARDER_EDAMAGED;
    if (store_id != 0 && get_le64(head + 8) != store_id) return LARDER_EDAMAGED;
    out->kind = head[0];
    out->count = get_le32(head + 4);
    switch (out->kind) {
    case JOURNAL_BATCH:
        out->ops.data = head + JOURNAL_HEAD_BYTES;
        out->ops.length = bytes.length - JOURNAL_HEAD_BYTES;
        return ops_are_whole(out->ops, out->count) ? LARDER_OK : LARDER_EDAMAGED;
    case JOURNAL_CLEAR:
        if (bytes.length < JOURNAL_CLEAR_BYTES) return LARDER_EDAMAGED;
        out->epoch = get_le32(head + JOURNAL_HEAD_BYTES);
        return LARDER_OK;
    case JOURNAL_INTENT:
        if (bytes.length < JOURNAL_INTENT_BYTES) return LARDER_EDAMAGED;
        out->number = get_le64(head + JOURNAL_HEAD_BYTES);
        out->epoch = get_le32(head + JOURNAL_HEAD_BYTES + 8);
        return LARDER_OK;
    default: return LARDER_EDAMAGED;
    }
}

// The ring ----------------------------------------------------------------------------------------

static larder_status journal_path(const char *folder, const char *suffix, char *path,
                                  size_t capacity) {
    int length = snprintf(path, capacity, "%s/journal%s", folder, suffix);
    return length < 0 || (size_t)length >= capacity ? ENAMETOOLONG : LARDER_OK;
}

void journal_measure(store_journal *journal) {
    larder_ring_statistics figures;
    if (larder_ring_statistics_get(journal->ring, &figures) != LARDER_OK) return;
    journal->used_bytes = figures.used_bytes;
}

static larder_status journal_take(store_journal *journal, const char *path,
                                  const larder_ring_options *options, larder_store_detail *detail) {
    larder_ring_detail found;
    larder_status status = larder_ring_open(path, options, &found, &journal->ring);
    if (status != LARDER_OK) {
        detail->part = LARDER_STORE_PART_JOURNAL;
        detail->holder_pid = found.holder_pid;
        detail->version = found.version;
        detail->offset = found.offset;
        return status;
    }
    larder_ring_statistics figures;
    larder_ring_report report;
    status = larder_ring_statistics_get(journal->ring, &figures);
    if (status == LARDER_OK) status = larder_ring_recovery(journal->ring, &report);
    if (status == LARDER_OK && (figures.content_format & ~JOURNAL_BASE_MASK) != JOURNAL_FORMAT)
        status = LARDER_EFOREIGN;
    if (status != LARDER_OK) {
        detail->part = LARDER_STORE_PART_JOURNAL;
        larder_ring_close(journal->ring);
        journal->ring = NULL;
        return status;
    }
    journal->base = figures.content_format & JOURNAL_BASE_MASK;
    journal->last_sequence = journal->base + figures.next_sequence - 1;
    journal->capacity_bytes = figures.capacity_bytes;
    journal->data_bytes = figures.data_bytes;
    // This ring refuses when it is full: nothing in it is ever overwritten.
    journal->lost = figures.lost + figures.overwritten;
    journal->was_closed = report.was_closed != 0;
    journal_measure(journal);
    return LARDER_OK;
}

static void journal_options(larder_ring_options *options, uint64_t base, uint64_t capacity_bytes,
                            uint32_t mode, int64_t sync_interval_ns) {
    larder_ring_options_init(options);
    options->capacity_bytes = capacity_bytes;
    options->cursor_slots = 1;
    options->content_format = JOURNAL_FORMAT | base;
    options->sync_interval_ns = sync_interval_ns;
    options->mode = mode;
}

/** Whether a crash came while it was being made: nothing but zeros, if anything, where its head
    would be. */
static bool journal_is_blank(const char *path) {
    uint8_t head[256];
    size_t got = 0;
    int file;
    if (file_open(path, 0, 0, &file) != LARDER_OK) return false;
    larder_status status = file_read_at(file, head, sizeof head, 0, &got);
    file_close(file);
    for (size_t at = 0; at < got; at++)
        if (head[at] != 0) return false;
    return status == LARDER_OK;
}

larder_status journal_open(const char *folder, uint64_t base, uint64_t capacity_bytes,
                           uint64_t store_id, uint32_t flags, uint32_t mode,
                           int64_t sync_interval_ns, larder_store_detail *detail,
                           store_journal *out) {
    memset(out, 0, sizeof *out);
    out->store_id = store_id;
    char path[4096];
    larder_status status = journal_path(folder, "", path, sizeof path);
    if (status != LARDER_OK) return status;
    larder_ring_options options;
    journal_options(&options, 0, 0, mode, sync_interval_ns);
    options.content_format = 0;
    options.flags =
        (flags & LARDER_STORE_READ_ONLY) != 0 ? LARDER_RING_READ_ONLY : LARDER_RING_EXISTING;
    status = journal_take(out, path, &options, detail);
    if (status == LARDER_EINVALID || status == LARDER_EFOREIGN)
        if (journal_is_blank(path)) status = ENOENT;
    if (status == ENOENT && (flags & LARDER_STORE_READ_ONLY) == 0) {
        journal_options(&options, base, capacity_bytes, mode, sync_interval_ns);
        return journal_take(out, path, &options, detail);
    }
    return status;
}

larder_status journal_identify(const char *folder, uint64_t *device, uint64_t *inode) {
    char path[4096];
    file_facts facts;
    larder_status status = journal_path(folder, "", path, sizeof path);
    if (status == LARDER_OK) status = file_facts_at(path, &facts);
    if (status != LARDER_OK) return status;
    *device = facts.device;
    *inode = facts.inode;
    return LARDER_OK;
}

larder_status journal_close(store_journal *journal) {
    if (journal->ring == NULL) return LARDER_OK;
    larder_status status = larder_ring_shutdown(journal->ring);
    larder_ring_close(journal->ring);
    journal->ring = NULL;
    return status;
}

larder_status journal_renew(const char *folder, uint64_t base, uint64_t capacity_bytes, bool keeps,
                            uint32_t mode, int64_t sync_interval_ns, larder_store_detail *detail,
                            store_journal *journal) {
    char path[4096];
    char fresh[4096];
    char damaged[4096];
    larder_status status = journal_path(folder, "", path, sizeof path);
    if (status == LARDER_OK) status = journal_path(folder, ".new", fresh, sizeof fresh);
    if (status == LARDER_OK) status = journal_path(folder, ".damaged", damaged, sizeof damaged);
    if (status == LARDER_OK) status = file_remove(fresh);
    if (status == ENOENT) status = LARDER_OK;
    if (status != LARDER_OK) return status;
    uint64_t store_id = journal->store_id;
    larder_ring_options options;
    journal_options(&options, base, capacity_bytes, mode, 0);
    larder_ring *ring;
    status = larder_ring_open(fresh, &options, NULL, &ring);
    if (status != LARDER_OK) return status;
    status = larder_ring_shutdown(ring);
    larder_ring_close(ring);
    if (status != LARDER_OK) return status;
    // What an old journal holds that is whole is in the tree by now, on the device.
    larder_status closed = journal_close(journal);
    (void)closed;
    if (keeps) status = file_rename(path, damaged);
    // If we crash here, there is no journal, and open makes one that counts on from the tree.
    if (status == LARDER_OK) status = file_rename(fresh, path);
    if (status == LARDER_OK) status = file_sync_parent(path);
    if (status != LARDER_OK) return status;
    return journal_open(folder, base, 0, store_id, 0, mode, sync_interval_ns, detail, journal);
}

larder_status journal_reserve(store_journal *journal, size_t length, larder_reservation *out) {
    return larder_ring_reserve(journal->ring, length, out);
}

/** What a message takes in the ring, with its head. */
static uint64_t ring_bytes(size_t length) { return 16 + (((uint64_t)length + 7) & ~(uint64_t)7); }

larder_status journal_commit(store_journal *journal, larder_reservation *reservation,
                             size_t length) {
    uint64_t number;
    larder_status status = larder_ring_commit(journal->ring, reservation, length, 0, &number);
    if (status != LARDER_OK) return status;
    journal->last_sequence = journal->base + number;
    journal->used_bytes += ring_bytes(length);
    return LARDER_OK;
}

larder_status journal_free(store_journal *journal, uint64_t sequence) {
    if (sequence <= journal->base) return LARDER_OK;
    larder_status status =
        larder_ring_remove_through(journal->ring, sequence - journal->base, NULL);
    journal_measure(journal);
    return status;
}

larder_status journal_sync(store_journal *journal, uint64_t sequence) {
    if (sequence <= journal->base) return LARDER_OK;
    return larder_ring_sync_through(journal->ring, sequence - journal->base);
}
