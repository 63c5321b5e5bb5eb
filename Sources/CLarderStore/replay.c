// SPDX-License-Identifier: MIT
/** @file replay.c
    What a journal holds that is not in the tree, taken up when a store is opened. */
#include <errno.h>
#include <stdlib.h>

#include "store_internal.h"

// Opening -----------------------------------------------------------------------------------------

/** Replaced files, too, are there until what replaces them is in the tree. */
larder_status store_find_files(larder_store *store, const journal_message *message, bool verifies) {
    if (message->kind != JOURNAL_BATCH) return LARDER_OK;
    size_t offset = 0;
    const uint8_t *op;
    while (journal_next_op(message, &offset, &op)) {
        spill_reference file;
        if (!op_spill(op, &file)) continue;
        larder_bytes mapped;
        larder_status status = spill_map(store->spill, &file, verifies, &mapped);
        if (status == ENOENT || status == ENOTDIR) return LARDER_EDAMAGED;
        if (status != LARDER_OK) return status;
        spill_unmap(mapped);
    }
    return LARDER_OK;
}

/** Files of later messages replace or remove what earlier ones refer to, and so they may be gone.
    */
typedef struct replay_work {
    larder_store *store;
    uint64_t applied;
    bool was_power_cut;
    /** Announced, and not yet referred to. */
    spill_files announced;
} replay_work;

static larder_status replay_message(replay_work *replay, larder_bytes bytes, uint64_t sequence) {
    larder_store *store = replay->store;
    journal_message message;
    larder_status status = journal_message_read(bytes, store->store_id, &message);
    if (status != LARDER_OK) return LARDER_EDAMAGED;
    message.sequence = sequence;
    // Whatever is replaced behind this in the journal is deleted only after both are in the tree.
    status = store_find_files(store, &message, replay->was_power_cut);
    if (status == LARDER_OK && message.kind == JOURNAL_INTENT) {
        spill_reference file = {0, message.number, message.epoch, 0};
        status = spill_files_add(&replay->announced, &file);
    }
    if (status == LARDER_OK) status = pending_reserve(store->active, message.count);
    if (status == LARDER_OK) status = spill_files_reserve(&store->unsynced, message.count);
    if (status != LARDER_OK) return status;
    store_publish(store, &message);
    return LARDER_OK;
}

static bool refers_to(const spill_files *files, uint64_t number) {
    for (size_t at = 0; at < files->count; at++)
        if (files->items[at].number == number) return true;
    return false;
}

/** Files that were announced, and whose put never came. */
static void delete_unreferenced(replay_work *replay) {
    const pending_writes *active = replay->store->active;
    for (size_t at = 0; at < replay->announced.count; at++) {
        const spill_reference *file = &replay->announced.items[at];
        if (refers_to(&active->spills, file->number)) continue;
        larder_status ignored = spill_delete(replay->store->spill, file->epoch, file->number);
        // It stays, known to nobody, if the folder cannot be changed; so nothing else works then.
        (void)ignored;
    }
}

larder_status store_replay(larder_store *store, uint64_t applied, bool was_power_cut,
                           larder_store_detail *detail) {
    larder_ring_reader *reader;
    larder_status status =
        larder_ring_reader_open(store->journal.ring, LARDER_RING_BORROW, &reader);
    if (status != LARDER_OK) return status;
    replay_work work = {store, applied, was_power_cut, {0}};
    uint64_t next = 0;
    uint64_t newest = store->journal.last_sequence;
    bool is_damaged = false;
    while (status == LARDER_OK) {
        larder_ring_record message;
        status = larder_ring_reader_next(reader, &message);
        if (status != LARDER_OK) break;
        uint64_t sequence = store->journal.base + message.sequence;
        if (sequence <= applied) continue;
        // Older ones are missing that the tree does not have. A power cut can do that, and then
        // what is left is behind the end of the prefix; else nothing here can be believed. Unless
        // this journal began here, after the one before it was put aside.
        if (next == 0 && sequence != applied + 1 && message.sequence != 1) {
            if (was_power_cut) break;
            detail->part = LARDER_STORE_PART_JOURNAL;
            status = LARDER_EDAMAGED;
            break;
        }
        if (next != 0 && sequence != next) break;
        status = replay_message(&work, message.payload, sequence);
        if (status == LARDER_EDAMAGED) {
            is_damaged = true;
            status = LARDER_END;
            break;
        }
        if (status == LARDER_OK) store->recovery.intact++;
        next = sequence + 1;
    }
    larder_ring_reader_close(reader);
    if (status == LARDER_END) status = LARDER_OK;
    // The journal gave up writes that the tree does not have: it is an older state of the tree.
    // What it has not given up and cannot be read is damaged.
    if (status == LARDER_OK && next == 0 && !was_power_cut && store->recovery.intact == 0 &&
        newest > applied && newest != store->journal.base && !is_damaged &&
        store->journal.lost == 0) {
        detail->part = LARDER_STORE_PART_DATA;
        status = LARDER_EDAMAGED;
    }
    if (status == LARDER_OK) {
        uint64_t taken = next == 0 ? applied : next - 1;
        store->recovery.through = taken;
        store->recovery.lost = newest > taken ? newest - taken : 0;
        if (newest < applied) store->recovery.lost = 0;
        delete_unreferenced(&work);
        // What the journal no longer knows of may have been announced before the power went.
        if (was_power_cut) status = store_sweep_files(store);
    }
    spill_files_free(&work.announced);
    return status;
}
