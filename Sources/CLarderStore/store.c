// SPDX-License-Identifier: MIT
/** @file store.c
    Opening and closing, limits and figures. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "condition.h"
#include "fork_page.h"
#include "store_internal.h"

enum { PATH_MAX_BYTES = 4000, LOCK_TEXT_BYTES = 64 };

void larder_store_options_init(larder_store_options *options) {
    memset(options, 0, sizeof *options);
    options->mode = 0600;
    options->journal_bytes = LARDER_STORE_JOURNAL_DEFAULT_BYTES;
    options->inline_threshold_bytes = 20 << 10;
    options->sync_interval_ns = 1000000000;
    options->flush_interval_ns = 5000000000;
    options->trim_interval_ns = 60000000000;
    options->limits.count = LARDER_STORE_UNLIMITED;
    options->limits.bytes = LARDER_STORE_UNLIMITED;
    options->limits.age_ns = LARDER_STORE_NEVER;
    options->limits.end_ns = LARDER_STORE_NEVER;
}

static larder_status options_check(larder_store_options *options) {
    const uint32_t flags = LARDER_STORE_READ_ONLY | LARDER_STORE_EXISTING |
                           LARDER_STORE_HOST_MAINTENANCE | LARDER_STORE_TRACK_ACCESS;
    if ((options->flags & ~flags) != 0 || (options->mode & ~0777u) != 0 || options->mode == 0 ||
        options->journal_bytes < LARDER_STORE_JOURNAL_MIN_BYTES ||
        options->journal_bytes > LARDER_RING_CAPACITY_MAX_BYTES || options->sync_interval_ns < 0 ||
        options->flush_interval_ns < 0 || options->trim_interval_ns < 0)
        return LARDER_EINVALID;
    // What lies in the journal has to leave room for others, too.
    uint64_t most = options->journal_bytes / 8;
    if (most > LARDER_STORE_INLINE_MAX_BYTES) most = LARDER_STORE_INLINE_MAX_BYTES;
    if (options->inline_threshold_bytes > most) options->inline_threshold_bytes = most;
    return LARDER_OK;
}

// The lock ----------------------------------------------------------------------------------------

/** What the last process that held the store wrote into the lock's file. */
typedef struct lock_text {
    int64_t pid;
    char boot[33];
} lock_text;

static void boot_text(char out[33]) {
    uint8_t id[16];
    system_boot_id(id);
    for (int at = 0; at < 16; at++) snprintf(out + 2 * at, 3, "%02x", id[at]);
}

static lock_text lock_text_read(int file) {
    char bytes[LOCK_TEXT_BYTES + 1] = {0};
    lock_text text = {0, ""};
    size_t got = 0;
    if (file_read_at(file, bytes, LOCK_TEXT_BYTES, 0, &got) != LARDER_OK) return text;
    long long pid = 0;
    if (sscanf(bytes, "%19lld %32s", &pid, text.boot) >= 1) text.pid = pid;
    return text;
}

static larder_status lock_text_write(const larder_store *store, int64_t pid) {
    char bytes[LOCK_TEXT_BYTES + 1];
    int length = snprintf(bytes, sizeof bytes, "%lld %s", (long long)pid, store->boot);
    for (int at = length; at < LOCK_TEXT_BYTES; at++) bytes[at] = '\n';
    return file_write_at(store->lock_file, bytes, LOCK_TEXT_BYTES, 0);
}

/** What the lock's file tells of the last session. */
typedef struct lock_state {
    /** The machine has started anew since: pages may be missing that nobody synced. */
    bool is_other_boot;
    /** It did not end by closing the store. Certain only of a session that made files of values:
        see store_note_session. */
    bool was_left;
} lock_state;

static larder_status lock_take(larder_store *store, lock_state *found,
                               larder_store_detail *detail) {
    char path[PATH_MAX_BYTES + 16];
    snprintf(path, sizeof path, "%s/lock", store->path);
    detail->part = LARDER_STORE_PART_LOCK;
    larder_status status =
        file_open(path, FILE_WRITE | FILE_CREATE, store->options.mode, &store->lock_file);
    if (status != LARDER_OK) {
        store->lock_file = -1;
        return status;
    }
    lock_text before = lock_text_read(store->lock_file);
    status = file_lock(store->lock_file);
    if (status != LARDER_OK) {
        if (status == LARDER_EBUSY) detail->holder_pid = before.pid;
        file_close(store->lock_file);
        store->lock_file = -1;
        return status;
    }
    before = lock_text_read(store->lock_file);
    char boot[33];
    boot_text(boot);
    found->is_other_boot = strcmp(before.boot, boot) != 0;
    found->was_left = before.pid != 0;
    // The new start of the machine is noted when the store is whole again: an open that fails in
    // between must not hide it from the next one.
    memcpy(store->boot, before.boot, sizeof store->boot);
    return lock_text_write(store, (int64_t)getpid());
}

/** The store is whole again: this start of the machine is the one that counts from here on. */
static larder_status lock_note_boot(larder_store *store) {
    char boot[33];
    boot_text(boot);
    if (strcmp(store->boot, boot) == 0) return LARDER_OK;
    memcpy(store->boot, boot, sizeof boot);
    return lock_text_write(store, (int64_t)getpid());
}

static void lock_release(larder_store *store) {
    if (store->lock_file < 0) return;
    larder_status ignored = lock_text_write(store, 0);
    // The number of a process that is gone is all that stays.
    (void)ignored;
    file_unlock(store->lock_file);
    file_close(store->lock_file);
    store->lock_file = -1;
}

/** Who wrote the lock's file last; whether he still holds it. */
static bool lock_look(const larder_store *store, lock_text *text) {
    char path[PATH_MAX_BYTES + 16];
    snprintf(path, sizeof path, "%s/lock", store->path);
    memset(text, 0, sizeof *text);
    int file;
    if (file_open(path, 0, 0, &file) != LARDER_OK) return false;
    *text = lock_text_read(file);
    bool is_held = file_is_locked(file);
    file_close(file);
    return is_held;
}

bool store_is_held(const larder_store *store, bool *is_other_boot) {
    lock_text holder;
    bool is_held = lock_look(store, &holder);
    char boot[33];
    boot_text(boot);
    *is_other_boot = strcmp(holder.boot, boot) != 0;
    return is_held;
}

// Opening -----------------------------------------------------------------------------------------

static int has_foreign_name(void *context, const char *name) {
    static const char *const ours[] = {"lock",     "journal",  "journal.new", "journal.damaged",
                                       "data.mdb", "data.new", "lock.mdb",    "spill"};
    (void)context;
    for (size_t at = 0; at < sizeof ours / sizeof *ours; at++)
        if (strcmp(name, ours[at]) == 0) return 0;
    return 1;
}

static int has_journal_name(void *context, const char *name) {
    (void)context;
    return strcmp(name, "journal") == 0;
}

static bool folder_has_journal(const larder_store *store) {
    return folder_list(store->path, has_journal_name, NULL) == ECANCELED;
}

/** ENOENT for an empty file, too. What else is wrong with it, whoever opens it will see. */
static larder_status data_path_exists(const larder_store *store) {
    char path[PATH_MAX_BYTES + 16];
    snprintf(path, sizeof path, "%s/data.mdb", store->path);
    file_facts facts;
    larder_status status = file_facts_at(path, &facts);
    return status == LARDER_OK && facts.is_regular && facts.bytes == 0 ? ENOENT : status;
}

/** The folder is there afterwards, and a store or nothing in it. */
static larder_status folder_prepare(larder_store *store, larder_store_detail *detail) {
    larder_status exists = data_path_exists(store);
    if (exists != ENOENT) return exists;
    // A journal is made after the tree: the tree has been lost, and a new one would hide it. Unless
    // somebody made both meanwhile.
    if (folder_has_journal(store)) {
        exists = data_path_exists(store);
        if (exists != ENOENT) return exists;
        detail->part = LARDER_STORE_PART_DATA;
        return LARDER_EDAMAGED;
    }
    if ((store->options.flags & (LARDER_STORE_EXISTING | LARDER_STORE_READ_ONLY)) != 0)
        return ENOENT;
    uint32_t mode = store->options.mode;
    larder_status status = folder_make(store->path, mode | (mode & 0444u) >> 2);
    if (status == LARDER_OK) return file_sync_parent(store->path);
    if (status != EEXIST) return status;
    status = folder_list(store->path, has_foreign_name, NULL);
    return status == ECANCELED ? LARDER_EFOREIGN : status;
}

static uint64_t random64(void) { return (uint64_t)system_random() << 32 | system_random(); }

static larder_status data_open(larder_store *store, store_meta *meta, larder_store_detail *detail) {
    bool writes = !store_is_read_only(store);
    store_meta fresh = {.content_format = store->options.content_format,
                        .created_ns = store_now(store),
                        .age_ns = LARDER_STORE_NEVER,
                        .version = META_VERSION,
                        .store_id = random64() | 1};
    system_random_fill(fresh.secret, sizeof fresh.secret);
    detail->part = LARDER_STORE_PART_DATA;
    larder_status status =
        environment_open(store->path, writes, writes ? &fresh : NULL, store->options.mode,
                         store->options.map_bytes, detail, &store->environment);
    // Beside a journal it was ours, and nothing of its heads is left.
    if (status == LARDER_EFOREIGN && folder_has_journal(store)) return LARDER_EDAMAGED;
    if (status != LARDER_OK) return status;
    snapshot *place;
    status = environment_read(store->environment, &place);
    if (status != LARDER_OK) return status;
    *meta = place->meta;
    environment_release(store->environment, place);
    uint64_t wanted = store->options.content_format;
    if (wanted != 0 && meta->content_format != 0 && meta->content_format != wanted) {
        detail->content_format = meta->content_format;
        return LARDER_EMISMATCH;
    }
    return LARDER_OK;
}

static void meta_adopt(larder_store *store, const store_meta *meta) {
    store->version = meta->version;
    store->content_format = meta->content_format;
    store->created_ns = meta->created_ns;
    store->store_id = meta->store_id;
    memcpy(store->secret, meta->secret, sizeof store->secret);
    store->spill_number = meta->spill_number;
    store->spill_epoch = meta->spill_epoch;
    store->swept_age_ns = meta->age_ns;
    store->committed.transaction = meta->transaction;
    store->committed.applied = meta->applied;
    store->committed.count = meta->count;
    store->committed.bytes = meta->bytes;
    atomic_store(&store->newest_sequence, meta->applied);
}

/** A journal of another size, if the one there is empty; one that counts on from the tree, if it is
    behind it: unsynced writes were lost that had come into the tree. */
static larder_status journal_prepare(larder_store *store, bool *was_closed,
                                     larder_store_detail *detail) {
    const larder_store_options *options = &store->options;
    larder_status status = journal_open(
        store->path, store->committed.applied, options->journal_bytes, store->store_id,
        options->flags, options->mode, options->sync_interval_ns, detail, &store->journal);
    if (status != LARDER_OK) return status;
    *was_closed = store->journal.was_closed;
    bool is_behind = store->journal.last_sequence < store->committed.applied;
    bool is_empty = store->journal.used_bytes == 0;
    bool has_other_size = store->journal.capacity_bytes != options->journal_bytes;
    if (!is_behind && !(is_empty && has_other_size)) return LARDER_OK;
    uint64_t base = store->journal.last_sequence > store->committed.applied
                        ? store->journal.last_sequence
                        : store->committed.applied;
    return journal_renew(store->path, base, options->journal_bytes, false, options->mode,
                         options->sync_interval_ns, detail, &store->journal);
}

/** Reads go on being numbered behind those of earlier sessions: stamps are never used twice. */
static larder_status read_number_resume(larder_store *store) {
    snapshot *place;
    larder_status status = environment_read(store->environment, &place);
    if (status != LARDER_OK) return status;
    // The order of use is the last name space of the tree, and the newest stamp its last row.
    uint8_t behind = SPACE_ORDER + 1;
    larder_bytes bound = {&behind, 1};
    tree_cursor cursor;
    larder_bytes key;
    larder_bytes value;
    status = tree_cursor_seek_back(&cursor, &place->tree, bound, false);
    if (status == LARDER_OK) status = tree_cursor_get(&cursor, &key, &value);
    const uint8_t *bytes = key.data;
    if (status == LARDER_OK && key.length == 17 && bytes[0] == SPACE_ORDER &&
        get_be64(bytes + 9) >> 32 != 0)
        atomic_store(&store->read_number, get_be64(bytes + 9) - ((uint64_t)1 << 32) + 1);
    environment_release(store->environment, place);
    // A damaged page is for those who need what is on it.
    return LARDER_OK;
}

larder_status store_note_session(larder_store *store) {
    if (atomic_load_explicit(&store->is_noted, memory_order_acquire)) return LARDER_OK;
    larder_status status = file_sync(store->lock_file);
    if (status == LARDER_OK) atomic_store_explicit(&store->is_noted, true, memory_order_release);
    return status;
}

/** What lies behind damage in the journal is put aside, and the rest is brought into the tree. */
static larder_status journal_put_aside(larder_store *store, larder_store_detail *detail) {
    flush_order order;
    flush_order_init(&order);
    uint64_t base = store->journal.last_sequence;
    larder_status status = store_flush(store, &order);
    if (status != LARDER_OK) return status;
    return journal_renew(store->path, base, store->options.journal_bytes, true, store->options.mode,
                         store->options.sync_interval_ns, detail, &store->journal);
}

static larder_status open_to_write(larder_store *store, larder_store_detail *detail) {
    lock_state found = {true, true};
    store_meta meta;
    larder_status status = folder_prepare(store, detail);
    if (status == LARDER_OK) status = lock_take(store, &found, detail);
    if (status == LARDER_OK) status = data_open(store, &meta, detail);
    if (status != LARDER_OK) return status;
    meta_adopt(store, &meta);
    detail->part = LARDER_STORE_PART_SPILL;
    status = spill_open(store->path, store->options.mode, &store->spill);
    if (status != LARDER_OK) return status;
    detail->part = LARDER_STORE_PART_JOURNAL;
    bool was_closed = false;
    status = journal_prepare(store, &was_closed, detail);
    if (status == LARDER_OK) status = read_number_resume(store);
    if (status != LARDER_OK) return status;
    store->has_doomed = true;
    bool was_power_cut = found.is_other_boot && (found.was_left || !was_closed);
    status = store_replay(store, meta.applied, was_power_cut, detail);
    if (status == LARDER_OK && store->recovery.lost > 0) status = journal_put_aside(store, detail);
    if (status != LARDER_OK) return status;
    flush_order order;
    flush_order_init(&order);
    pthread_mutex_lock(&store->flush_lock);
    store_delete_doomed(store, &order);
    pthread_mutex_unlock(&store->flush_lock);
    status = lock_note_boot(store);
    if (status != LARDER_OK) return status;
    if ((store->options.flags & LARDER_STORE_HOST_MAINTENANCE) != 0) return LARDER_OK;
    if (store->active->count > 0) store->pending_since_ns = system_monotonic_ns();
    return store_thread_start(store);
}

static larder_status open_to_read(larder_store *store, larder_store_detail *detail) {
    store_meta meta;
    larder_status status = folder_prepare(store, detail);
    if (status == LARDER_OK) status = data_open(store, &meta, detail);
    if (status != LARDER_OK) return status;
    meta_adopt(store, &meta);
    detail->part = LARDER_STORE_PART_SPILL;
    status = spill_open(store->path, store->options.mode, &store->spill);
    if (status != LARDER_OK) return status;
    detail->part = LARDER_STORE_PART_JOURNAL;
    return store_follow_begin(store, detail);
}

static larder_status store_make(const char *path, const larder_store_options *options,
                                larder_store **out) {
    larder_store_options defaults;
    larder_store_options_init(&defaults);
    if (path == NULL || path[0] == 0) return LARDER_EINVALID;
    larder_store *store = calloc(1, sizeof *store);
    if (store == NULL) return ENOMEM;
    store->options = options != NULL ? *options : defaults;
    store->limits = store->options.limits;
    store->lock_file = -1;
    pthread_mutex_init(&store->lock, NULL);
    pthread_mutex_init(&store->flush_lock, NULL);
    pthread_mutex_init(&store->sync_lock, NULL);
    pthread_mutex_init(&store->shutdown_lock, NULL);
    condition_init(&store->wake);
    condition_init(&store->backpressure.relief);
    *out = store;
    larder_status status = options_check(&store->options);
    void *page = NULL;
    if (status == LARDER_OK) status = fork_page_make(&page);
    store->not_forked = page;
    if (status == LARDER_OK) *(uint8_t *)page = 1;
    if (status == LARDER_OK) status = path_from_root(path, &store->path);
    if (status == LARDER_OK && strlen(store->path) > PATH_MAX_BYTES) status = ENAMETOOLONG;
    if (status == LARDER_OK) status = pending_create(system_random(), &store->active);
    if (status == LARDER_OK) status = larder_store_limits_set(store, &store->options.limits);
    return status;
}

static void store_free(larder_store *store) {
    bool is_ours = store->not_forked == NULL || *store->not_forked != 0;
    store_follow_end(store);
    if (is_ours) {
        larder_status ignored = journal_close(&store->journal);
        (void)ignored;
        lock_release(store);
    }
    // A handle that was shut down has ended its writing already.
    bool writes = !store_is_read_only(store) && !atomic_load(&store->is_shut);
    if (store->environment != NULL) environment_close(store->environment, writes);
    spill_close(store->spill);
    pending_destroy(store->active);
    pending_destroy(store->frozen);
    pending_destroy(store->spare);
    spill_files_free(&store->intents);
    spill_files_free(&store->unsynced);
    spill_files_free(&store->syncing);
    spill_files_free(&store->deleted);
    touch_buffer_free(&store->folding);
    // In a child the threads that may have waited here, or held a lock, are gone: it would wait for
    // them for ever.
    if (is_ours) {
        pthread_cond_destroy(&store->backpressure.relief);
        pthread_cond_destroy(&store->wake);
        pthread_mutex_destroy(&store->shutdown_lock);
        pthread_mutex_destroy(&store->sync_lock);
        pthread_mutex_destroy(&store->flush_lock);
        pthread_mutex_destroy(&store->lock);
    }
    fork_page_free((void *)(uintptr_t)store->not_forked);
    free(store->path);
    free(store);
}

larder_status larder_store_open(const char *path, const larder_store_options *options,
                                larder_store_detail *detail, larder_store **out) {
    larder_store_detail unused;
    if (detail == NULL) detail = &unused;
    memset(detail, 0, sizeof *detail);
    *out = NULL;
    larder_store *store = NULL;
    larder_status status = store_make(path, options, &store);
    if (status == LARDER_OK)
        status =
            store_is_read_only(store) ? open_to_read(store, detail) : open_to_write(store, detail);
    if (status == LARDER_OK) {
        memset(detail, 0, sizeof *detail);
        *out = store;
    } else if (store != NULL) {
        store_free(store);
    }
    return status;
}

static larder_status store_shut(larder_store *store) {
    larder_status status = LARDER_OK;
    if (!store_is_read_only(store)) {
        store_thread_stop(store);
        flush_order order;
        flush_order_init(&order);
        status = store_flush(store, &order);
    }
    pthread_mutex_lock(&store->flush_lock);
    pthread_mutex_lock(&store->sync_lock);
    pthread_mutex_lock(&store->lock);
    atomic_store(&store->is_shut, true);
    // Whatever came since the flush is in the journal, and the journal is synced here.
    if (store_is_read_only(store)) store_follow_end(store);
    // Its handle lives on for calls that wait for a sync; they hear that it is shut.
    larder_status closed =
        store->journal.ring == NULL ? LARDER_OK : larder_ring_shutdown(store->journal.ring);
    if (!store_is_read_only(store)) environment_end_writing(store->environment);
    lock_release(store);
    pthread_mutex_unlock(&store->lock);
    pthread_mutex_unlock(&store->sync_lock);
    pthread_mutex_unlock(&store->flush_lock);
    return status != LARDER_OK ? status : closed;
}

larder_status larder_store_shutdown(larder_store *store) {
    if (*store->not_forked == 0) return LARDER_EFORKED;
    pthread_mutex_lock(&store->shutdown_lock);
    larder_status status = LARDER_OK;
    if (!atomic_load(&store->is_shut)) status = store_shut(store);
    pthread_mutex_unlock(&store->shutdown_lock);
    return status;
}

void larder_store_close(larder_store *store) {
    if (store == NULL) return;
    larder_status ignored = larder_store_shutdown(store);
    // Who wants to know calls it himself.
    (void)ignored;
    store_free(store);
}

// Limits and figures ------------------------------------------------------------------------------

larder_store_limits larder_store_limits_get(larder_store *store) {
    pthread_mutex_lock(&store->lock);
    larder_store_limits limits = store->limits;
    pthread_mutex_unlock(&store->lock);
    return limits;
}

larder_status larder_store_limits_set(larder_store *store, const larder_store_limits *limits) {
    larder_status status = store_enter(store);
    if (status != LARDER_OK) return status;
    pthread_mutex_lock(&store->lock);
    store->limits = *limits;
    atomic_store(&store->age_ns, limits->age_ns);
    atomic_store(&store->end_ns, limits->end_ns);
    atomic_store(&store->tracks_access, (store->options.flags & LARDER_STORE_TRACK_ACCESS) != 0 ||
                                            limits->count != LARDER_STORE_UNLIMITED ||
                                            limits->bytes != LARDER_STORE_UNLIMITED ||
                                            limits->free_bytes != 0);
    if (store->committed.count > limits->count || store->committed.bytes > limits->bytes) {
        store->wants_flush = true;
        pthread_cond_signal(&store->wake);
    }
    pthread_mutex_unlock(&store->lock);
    return LARDER_OK;
}

larder_status larder_store_statistics_get(larder_store *store,
                                          larder_store_statistics *statistics) {
    memset(statistics, 0, sizeof *statistics);
    larder_status status = store_enter(store);
    if (status != LARDER_OK) return status;
    environment_look(store->environment, statistics);
    if (store_is_read_only(store)) {
        status = larder_store_totals(store, &statistics->count, &statistics->bytes);
        if (status != LARDER_OK) return status;
    }
    pthread_mutex_lock(&store->lock);
    status = store_enter(store);
    if (status != LARDER_OK) {
        pthread_mutex_unlock(&store->lock);
        return status;
    }
    statistics->count = store->committed.count;
    statistics->bytes = store->committed.bytes;
    statistics->applied_sequence = store->committed.applied;
    statistics->content_format = store->content_format;
    statistics->pending_count = atomic_load(&store->pending_count);
    statistics->last_sequence = atomic_load(&store->newest_sequence);
    if (store->journal.ring != NULL) {
        journal_measure(&store->journal);
        statistics->journal_bytes = store->journal.capacity_bytes;
        statistics->journal_used_bytes = store->journal.used_bytes;
        larder_ring_statistics ring;
        if (larder_ring_statistics_get(store->journal.ring, &ring) == LARDER_OK &&
            ring.synced_sequence != 0)
            statistics->synced_sequence = store->journal.base + ring.synced_sequence;
    }
    pthread_mutex_unlock(&store->lock);
    if (statistics->synced_sequence < statistics->applied_sequence)
        statistics->synced_sequence = statistics->applied_sequence;
    statistics->hits = atomic_load(&store->hits);
    statistics->misses = atomic_load(&store->misses);
    statistics->damaged = atomic_load(&store->damaged);
    statistics->written = atomic_load(&store->written);
    statistics->removed = atomic_load(&store->removed);
    statistics->evicted = atomic_load(&store->evicted);
    statistics->expired = atomic_load(&store->expired);
    statistics->flushes = atomic_load(&store->flushes);
    statistics->flush_failures = atomic_load(&store->flush_failures);
    statistics->touches_dropped = atomic_load(&store->touches_dropped);
    statistics->last_failure = atomic_load(&store->last_failure);
    statistics->created_ns = store->created_ns;
    statistics->version = store->version;
    statistics->read_only = store_is_read_only(store);
    statistics->writer_pid = (int64_t)getpid();
    lock_text holder;
    if (store_is_read_only(store))
        statistics->writer_pid = lock_look(store, &holder) ? holder.pid : 0;
    return LARDER_OK;
}

larder_status larder_store_recovery(larder_store *store, larder_store_report *report) {
    memset(report, 0, sizeof *report);
    larder_status status = store_enter(store);
    if (status != LARDER_OK) return status;
    report->journal_intact = store->recovery.intact;
    report->journal_lost = store->recovery.lost;
    return LARDER_OK;
}
