// SPDX-License-Identifier: MIT
/** @file follow.c
    How a read-only handle sees what another process writes: it reads on in the journal, and lays
    what the tree does not have over the tree. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "file_io.h"
#include "store_internal.h"

/** How often a read begins anew when what it found does not fit together. */
enum { LOOK_ATTEMPTS = 100 };

static void follower_reset(larder_store *store) {
    follower *follow = &store->follower;
    for (size_t at = 0; at < follow->block_count; at++) free(follow->blocks[at]);
    follow->block_count = 0;
    follow->first = follow->last = 0;
    pending_reset(store->active);
}

/** Begins to read at the oldest message again. */
static void follower_restart(larder_store *store) {
    follower_reset(store);
    larder_ring_reader_close(store->follower.reader);
    store->follower.reader = NULL;
}

void store_follow_end(larder_store *store) {
    follower *follow = &store->follower;
    if (store->active != NULL) follower_restart(store);
    free(follow->blocks);
    for (size_t at = 0; at < follow->retired_count; at++) {
        larder_status ignored = larder_ring_shutdown(follow->retired[at]);
        (void)ignored;
        larder_ring_close(follow->retired[at]);
    }
    free(follow->retired);
    memset(follow, 0, sizeof *follow);
}

larder_status store_follow_begin(larder_store *store, larder_store_detail *detail) {
    follower *follow = &store->follower;
    // Before the journal is opened: if it is another one by then, the next look shows that.
    larder_status status = journal_identify(store->path, &follow->device, &follow->inode);
    if (status == LARDER_OK)
        status = journal_open(store->path, 0, 0, store->store_id, store->options.flags,
                              store->options.mode, 0, detail, &store->journal);
    if (status == ENOENT) follow->inode = 0;
    if (status != LARDER_OK) return status == ENOENT ? LARDER_OK : status;
    follow->is_left = !store_is_held(store, &follow->was_power_cut);
    follow->has_ended = false;
    return LARDER_OK;
}

/** A writer that opens the store may put another journal in the place of the one that is read, when
    the tree has all of that. */
static larder_status follower_look_for_another(larder_store *store) {
    follower *follow = &store->follower;
    uint64_t device;
    uint64_t inode;
    larder_status status = journal_identify(store->path, &device, &inode);
    // For a moment there may be none.
    if (status != LARDER_OK || (inode == follow->inode && device == follow->device))
        return LARDER_OK;
    if (store->journal.ring != NULL) {
        // Another thread may be reading it, without the lock.
        size_t count = follow->retired_count + 1;
        larder_ring **retired = realloc(follow->retired, count * sizeof *retired);
        if (retired == NULL) return ENOMEM;
        follow->retired = retired;
        follow->retired[follow->retired_count++] = store->journal.ring;
        store->journal.ring = NULL;
    }
    follower_restart(store);
    larder_store_detail unused;
    return store_follow_begin(store, &unused);
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
    if (status == LARDER_OK && follow->is_left)
        status = store_find_files(store, &message, follow->was_power_cut);
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

/** Reads on in the journal, to its end.
    @param applied receives what the tree had when it began: earlier writes are left out. */
static larder_status follow(larder_store *store, uint64_t *applied) {
    follower *follow = &store->follower;
    *applied = 0;
    larder_status status = follower_look_for_another(store);
    if (status != LARDER_OK || store->journal.ring == NULL) return status;
    bool unused;
    if (follow->is_left && store_is_held(store, &unused)) {
        // Somebody took it up meanwhile; from the start again.
        follower_restart(store);
        follow->is_left = follow->has_ended = false;
    }
    // What the tree has of it is not needed here any more, and the files that it refers to may be
    // gone.
    snapshot *place;
    status = environment_read(store->environment, &place);
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

/** What had been written when it was asked; 0 if there is no telling, or no need to. */
static uint64_t written_so_far(const larder_store *store) {
    const follower *follow = &store->follower;
    uint64_t next;
    if (store->journal.ring == NULL || follow->is_left ||
        larder_ring_next_sequence(store->journal.ring, &next) != LARDER_OK)
        return 0;
    return store->journal.base + next - 1;
}

/** Whether the tree at `at` and what was followed since `applied` are one state, without a gap, of
    which `written` is a part. */
static bool is_whole(const larder_store *store, uint64_t at, uint64_t applied, uint64_t written) {
    const follower *follow = &store->follower;
    if (store->journal.ring == NULL || follow->is_left || follow->has_ended) return true;
    bool is_joined = follow->first <= at + 1 || follow->first == store->journal.base + 1;
    return applied <= at && is_joined && written <= (follow->last > at ? follow->last : at);
}

larder_status store_look(larder_store *store, bool is_long, snapshot **place) {
    environment *env = store->environment;
    for (int attempt = 1;; attempt++) {
        uint64_t written = 0;
        uint64_t applied = 0;
        larder_status status = LARDER_OK;
        if (store_is_read_only(store)) {
            written = written_so_far(store);
            status = follow(store, &applied);
        }
        // Behind what was followed: between the two, the tree can only have come to hold more of
        // it.
        if (status == LARDER_OK)
            status = is_long ? environment_read_long(env, place) : environment_read(env, place);
        if (status != LARDER_OK || !store_is_read_only(store)) return status;
        if (is_whole(store, (*place)->meta.applied, applied, written)) return LARDER_OK;
        // A journal that is damaged under its writer never fits: then what can be read has to do.
        if (attempt == LOOK_ATTEMPTS) return LARDER_OK;
        environment_release(env, *place);
        follower_restart(store);
        sched_yield();
    }
}
