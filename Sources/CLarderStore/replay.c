// SPDX-License-Identifier: MIT
/** @file replay.c
    What a journal holds that is not in the tree: taken up when a store is opened, and followed by
    read-only handles while another process writes it. */
#include <errno.h>
#include <stdlib.h>

#include "store_internal.h"

// Opening -----------------------------------------------------------------------------------------

/** Replaced files, too, are there until what replaces them is in the tree. */
bool store_has_files(larder_store *store, const journal_message *message, bool verifies) {
    if (message->kind != JOURNAL_BATCH) return true;
    size_t offset = 0;
    const uint8_t *op;
    while (journal_next_op(message, &offset, &op)) {
        spill_reference file;
        if (!op_spill(op, &file)) continue;
        larder_bytes mapped;
        if (spill_map(store->spill, &file, verifies, &mapped) != LARDER_OK) return false;
        spill_unmap(mapped);
    }
    return true;
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
    if (!store_has_files(store, &message, replay->was_power_cut)) return LARDER_EDAMAGED;
    if (message.kind == JOURNAL_INTENT) {
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
    if (status == LARDER_OK && next == 0 && !was_power_cut && store->recovery.intact == 0 &&
        newest > applied && newest != store->journal.base && !is_damaged) {
        detail->part = LARDER_STORE_PART_DATA;
        status = LARDER_EDAMAGED;
    }
    if (status == LARDER_OK) {
        uint64_t taken = next == 0 ? applied : next - 1;
        store->recovery.lost = newest > taken ? newest - taken : 0;
        if (newest < applied) store->recovery.lost = 0;
        delete_unreferenced(&work);
        // What the journal no longer knows of may have been announced before the power went.
        if (was_power_cut) status = store_sweep_files(store);
    }
    spill_files_free(&work.announced);
    return status;
}

// Following ---------------------------------------------------------------------------------------

static void follower_reset(larder_store *store) {
    follower *follow = &store->follower;
    for (size_t at = 0; at < follow->block_count; at++) free(follow->blocks[at]);
    follow->block_count = 0;
    follow->first = follow->last = 0;
    pending_reset(store->active);
}

void store_follow_end(larder_store *store) {
    if (store->active != NULL) follower_reset(store);
    free(store->follower.blocks);
    larder_ring_reader_close(store->follower.reader);
    memset(&store->follower, 0, sizeof store->follower);
}

static larder_status follower_keep(larder_store *store, larder_bytes bytes, uint64_t sequence) {
    follower *follow = &store->follower;
    if (follow->block_count == follow->block_capacity) {
        size_t capacity = follow->block_capacity == 0 ? 64 : follow->block_capacity * 2;
        uint8_t **blocks = realloc(follow->blocks, capacity * sizeof *blocks);
        if (blocks == NULL) return ENOMEM;
        follow->blocks = blocks;
        follow->block_capacity = capacity;
    }
    uint8_t *copy = malloc(bytes.length);
    if (copy == NULL) return ENOMEM;
    memcpy(copy, bytes.data, bytes.length);
    larder_bytes kept = {copy, bytes.length};
    journal_message message;
    larder_status status = journal_message_read(kept, store->store_id, &message);
    if (status == LARDER_OK && follow->is_left &&
        !store_has_files(store, &message, follow->was_power_cut))
        status = LARDER_EDAMAGED;
    if (status == LARDER_OK) status = pending_reserve(store->active, message.count);
    if (status == LARDER_OK) status = spill_files_reserve(&store->unsynced, message.count);
    if (status != LARDER_OK) {
        free(copy);
        return status;
    }
    follow->blocks[follow->block_count++] = copy;
    message.sequence = sequence;
    store_publish(store, &message);
    store->unsynced.count = 0;
    return LARDER_OK;
}

larder_status store_follow(larder_store *store, uint64_t *applied) {
    follower *follow = &store->follower;
    *applied = 0;
    if (store->journal.ring == NULL) return LARDER_OK;
    if (follow->is_left && store_is_held(store)) {
        // Somebody took it up meanwhile; from the start again.
        follower_reset(store);
        larder_ring_reader_close(follow->reader);
        follow->reader = NULL;
        follow->is_left = follow->has_ended = false;
    }
    // What the tree has of it is not needed here any more, and the files that it refers to may be
    // gone.
    snapshot *place;
    larder_status status = environment_read(store->environment, &place);
    if (status != LARDER_OK) return status;
    *applied = place->meta.applied;
    environment_release(store->environment, place);
    if (follow->last != 0 && follow->last <= *applied) follower_reset(store);
    if (follow->reader == NULL)
        status = larder_ring_reader_open(store->journal.ring, 0, &follow->reader);
    while (status == LARDER_OK && !follow->has_ended) {
        larder_ring_record message;
        status = larder_ring_reader_next(follow->reader, &message);
        if (status != LARDER_OK) break;
        uint64_t sequence = store->journal.base + message.sequence;
        if (sequence <= *applied) continue;
        // A gap: what is missing was applied, and freed, before it could be read here.
        if (follow->last != 0 && sequence != follow->last + 1) follower_reset(store);
        status = follower_keep(store, message.payload, sequence);
        // Not whole: what a power cut left, or damage. What came before it still holds, and nothing
        // behind it.
        if (status == LARDER_EDAMAGED) {
            follow->has_ended = true;
            return LARDER_OK;
        }
        // Nobody will apply what is missing before it: as for a writer, nothing here can be
        // believed.
        if (follow->first == 0 && follow->is_left && sequence != *applied + 1 &&
            message.sequence != 1) {
            follower_reset(store);
            follow->has_ended = true;
            return LARDER_OK;
        }
        if (follow->first == 0) follow->first = sequence;
        follow->last = sequence;
    }
    return status == LARDER_END ? LARDER_OK : status;
}

// Overlays ----------------------------------------------------------------------------------------

static size_t item_bytes(const pending_entry *entry) { return op_read(entry->op).payload.length; }

static size_t overlay_measure(const larder_store *store, uint64_t applied, size_t *count) {
    size_t bytes = 0;
    *count = 0;
    for (int round = 0; round < 2; round++) {
        const pending_writes *writes = round == 0 ? store->active : store->frozen;
        if (writes == NULL) continue;
        for (uint32_t at = 0; at < writes->count; at++) {
            if (writes->entries[at].sequence <= applied) continue;
            bytes += item_bytes(&writes->entries[at]);
            *count += 1;
        }
        if (round == 0 && writes->cleared > applied) break;
    }
    return bytes;
}

static void overlay_copy(const larder_store *store, uint64_t applied, overlay *out) {
    uint8_t *target = out->bytes;
    for (int round = 0; round < 2; round++) {
        const pending_writes *writes = round == 0 ? store->active : store->frozen;
        if (writes == NULL) continue;
        for (uint32_t at = 0; at < writes->count; at++) {
            const pending_entry *entry = &writes->entries[at];
            if (entry->sequence <= applied) continue;
            // Written again since it was frozen.
            if (round == 1 && pending_find(store->active, op_key(entry->op)) != NULL) continue;
            overlay_item *item = &out->items[out->count++];
            larder_bytes payload = op_read(entry->op).payload;
            if (payload.length > 0) memcpy(target, payload.data, payload.length);
            memset(item, 0, sizeof *item);
            item->sequence = entry->sequence;
            item->minor = entry->minor;
            item->is_removal = op_read(entry->op).kind == OP_REMOVE;
            item->key = op_key(entry->op);
            // The same key, in the copy.
            size_t offset =
                payload.length == 0
                    ? 0
                    : (size_t)((const uint8_t *)item->key.data - (const uint8_t *)payload.data);
            item->key.data = target + offset;
            if (!item->is_removal) {
                item->record.data = target;
                item->record.length = payload.length;
            }
            target += payload.length;
        }
        if (writes->cleared > applied) {
            if (writes->cleared > out->cleared) out->cleared = writes->cleared;
            if (round == 0) break;
        }
    }
}

static larder_status overlay_fill(const larder_store *store, uint64_t applied, overlay *out) {
    size_t count;
    size_t bytes = overlay_measure(store, applied, &count);
    if (count == 0) {
        overlay_copy(store, applied, out);
        return LARDER_OK;
    }
    out->items = malloc(count * sizeof *out->items);
    out->bytes = malloc(bytes + 1);
    if (out->items == NULL || out->bytes == NULL) {
        overlay_free(out);
        return ENOMEM;
    }
    overlay_copy(store, applied, out);
    return LARDER_OK;
}

/** Whether the tree at `at` and what was followed since `applied` are everything there is. */
static bool covers_newest(const larder_store *store, uint64_t at, uint64_t applied) {
    const follower *follow = &store->follower;
    if (store->journal.ring == NULL || follow->is_left || follow->has_ended) return true;
    bool is_joined = follow->first <= at + 1 || follow->first == store->journal.base + 1;
    larder_ring_statistics figures;
    if (applied > at || !is_joined ||
        larder_ring_statistics_get(store->journal.ring, &figures) != LARDER_OK)
        return false;
    uint64_t newest = store->journal.base + figures.next_sequence - 1;
    return newest <= (follow->last > at ? follow->last : at);
}

larder_status store_overlay(larder_store *store, overlay *out, snapshot **place) {
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&store->lock);
    larder_status status = store_enter(store);
    while (status == LARDER_OK) {
        status = environment_read_long(store->environment, place);
        if (status != LARDER_OK || !store_is_read_only(store)) break;
        uint64_t applied;
        status = store_follow(store, &applied);
        if (status != LARDER_OK || covers_newest(store, (*place)->meta.applied, applied)) break;
        // The flusher was quicker: a transaction came between the two.
        environment_release(store->environment, *place);
    }
    if (status == LARDER_OK) {
        uint64_t applied = store_is_read_only(store) ? (*place)->meta.applied : 0;
        status = overlay_fill(store, applied, out);
        if (status != LARDER_OK) environment_release(store->environment, *place);
    }
    pthread_mutex_unlock(&store->lock);
    return status;
}

void overlay_free(overlay *out) {
    free(out->items);
    free(out->bytes);
    memset(out, 0, sizeof *out);
}
