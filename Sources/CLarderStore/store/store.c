// SPDX-License-Identifier: MIT
/** @file store.c
    Opening and closing, limits and figures. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "checkpoint/checkpoint.h"
#include "handle/entry.h"
#include "handle/owner.h"
#include "handle/pending.h"
#include "larder_os_condition.h"
#include "larder_os_fork.h"
#include "larder_os_machine.h"
#include "read/read.h"
#include "repair/salvage.h"
#include "store/replay.h"

enum { PATH_MAX_BYTES = 4000 };

void larder_store_options_init(larder_store_options *options) {
    *options = (larder_store_options){
        .mode = 0600,
        .journal_bytes = LARDER_STORE_JOURNAL_DEFAULT_BYTES,
        .inline_threshold_bytes = 64,
        .sync_interval_ns = 1000000000,
        .flush_interval_ns = 5000000000,
        .trim_interval_ns = 60000000000,
        .limits = {.count = LARDER_STORE_UNLIMITED,
                   .bytes = LARDER_STORE_UNLIMITED,
                   .age_ns = LARDER_STORE_NEVER,
                   .end_ns = LARDER_STORE_NEVER},
    };
}

void larder_store_tuning_init(larder_store_tuning *tuning) {
    *tuning = (larder_store_tuning){
        .segment_min_bytes = (uint64_t)32 << 10,
        .segment_max_bytes = (uint64_t)64 << 20,
        .memtable_max_count = (uint64_t)3 << 19,
        .transaction_max_count = (uint64_t)1 << 15,
        .checkpoint_permille = 500,
        .space_percent = 120,
        .clean_max_bytes = (uint64_t)256 << 20,
        .remove_max_count = (uint64_t)1 << 13,
        .overlay_max_count = (uint64_t)1 << 12,
    };
}

static bool tuning_is_valid(const larder_store_tuning *tuning) {
    return tuning->segment_min_bytes >= 1024 &&
           tuning->segment_max_bytes >= tuning->segment_min_bytes &&
           tuning->segment_max_bytes <= (uint64_t)1 << 32 && tuning->memtable_max_count > 0 &&
           tuning->memtable_max_count <= (uint64_t)1 << 24 && tuning->transaction_max_count > 0 &&
           tuning->space_percent >= 100 && tuning->space_percent <= 100000 &&
           tuning->remove_max_count > 0 && tuning->checkpoint_permille <= 1000000;
}

static larder_status options_check(larder_store *store) {
    larder_store_options *options = &store->options;
    if (options->tuning != NULL) store->tuning = *options->tuning;
    else larder_store_tuning_init(&store->tuning);
    options->tuning = NULL;
    if (!tuning_is_valid(&store->tuning)) return LARDER_EINVALID;
    const uint32_t flags = LARDER_STORE_READ_ONLY | LARDER_STORE_EXISTING |
                           LARDER_STORE_HOST_MAINTENANCE | LARDER_STORE_TRACK_ACCESS |
                           LARDER_STORE_WITH_UNCERTAIN | LARDER_STORE_REBUILDS;
    if ((options->flags & ~flags) != 0 || (options->mode & ~0777u) != 0 || options->mode == 0 ||
        options->journal_bytes < LARDER_STORE_JOURNAL_MIN_BYTES || options->sync_interval_ns < 0 ||
        options->flush_interval_ns < 0 || options->trim_interval_ns < 0)
        return LARDER_EINVALID;
    if (options->inline_threshold_bytes > LARDER_STORE_INLINE_MAX_BYTES)
        options->inline_threshold_bytes = LARDER_STORE_INLINE_MAX_BYTES;
    return LARDER_OK;
}

// Opening -----------------------------------------------------------------------------------------

static int has_foreign_name(void *context, const char *name) {
    static const char *const ours[] = {"lock",     "log",      "data.mdb",
                                       "data.new", "lock.mdb", "index.new"};
    (void)context;
    for (size_t at = 0; at < sizeof ours / sizeof *ours; at++)
        if (strcmp(name, ours[at]) == 0) return 0;
    return 1;
}

/** What is looked for in the folder `log`. */
typedef struct log_visit {
    int folder;
    /** Only segments that were synced; or only their removal. */
    bool is_synced_only;
    bool removes;
} log_visit;

static int visit_segment(void *context, const char *name) {
    const log_visit *visit = context;
    uint32_t number;
    if (!larder_segment_number_of(name, &number)) return 0;
    if (visit->removes) return larder_os_file_remove_in(visit->folder, name) != LARDER_OK;
    return !visit->is_synced_only || !larder_segment_file_is_new(visit->folder, name);
}

/** @return ECANCELED if there is such a segment; or one that cannot be removed. */
static larder_status visit_log(const larder_store *store, bool is_synced_only, bool removes) {
    file_path path;
    log_visit visit = {-1, is_synced_only, removes};
    larder_status status =
        larder_os_folder_open(larder_environment_path(path, store->path, "log"), &visit.folder);
    if (status) return status;
    status = larder_os_folder_list_in(visit.folder, visit_segment, &visit);
    // What is gone must not come back beside what is made next.
    if (!status && removes) status = larder_os_folder_sync(visit.folder);
    larder_os_file_close(visit.folder);
    return status;
}

/** Whether there is a log that a missing tree would belong to. After a power cut that is one of
    which something was synced: else the making of the store may be what was lost. */
static bool folder_has_log(const larder_store *store) {
    int64_t ignored;
    return visit_log(store, larder_store_was_cut(store, &ignored), false) == ECANCELED;
}

/** ENOENT for an empty file, too. What else is wrong with it, whoever opens it will see. */
static larder_status data_path_exists(const larder_store *store) {
    file_path path;
    larder_os_facts facts;
    larder_status status =
        larder_os_file_facts_at(larder_environment_path(path, store->path, "data.mdb"), &facts);
    return !status && facts.is_regular && facts.bytes == 0 ? ENOENT : status;
}

/** The folder is there afterwards, and a store or nothing in it. */
static larder_status folder_prepare(larder_store *store, larder_store_detail *detail) {
    larder_status exists = data_path_exists(store);
    if (exists != ENOENT) return exists;
    // The log begins after the tree was made: the tree has been lost, and a new one would hide what
    // the log has. Unless somebody made both meanwhile.
    if (folder_has_log(store)) {
        exists = data_path_exists(store);
        if (exists != ENOENT) return exists;
        detail->part = LARDER_STORE_PART_DATA;
        return LARDER_EDAMAGED;
    }
    if ((store->options.flags & (LARDER_STORE_EXISTING | LARDER_STORE_READ_ONLY)) != 0)
        return ENOENT;
    uint32_t mode = store->options.mode;
    larder_status status = larder_os_folder_make(store->path, mode | (mode & 0444u) >> 2);
    if (status != EEXIST) return status;
    status = larder_os_folder_list(store->path, has_foreign_name, NULL);
    return status == ECANCELED ? LARDER_EFOREIGN : status;
}

/** What the tree knows of the segments. O(segments). */
static larder_status live_load(const tree *from, live_table *table) {
    tree_cursor cursor;
    larder_status status =
        larder_tree_cursor_seek(&cursor, from, (larder_bytes){&(uint8_t){SPACE_SEGMENT}, 1});
    while (!status) {
        larder_bytes key, value;
        status = larder_tree_cursor_get(&cursor, &key, &value);
        const uint8_t *bytes = key.data;
        if (status || bytes[0] != SPACE_SEGMENT) break;
        live_segment found, *added;
        status = key.length == 5 ? larder_live_row_read(value, &found) : LARDER_EDAMAGED;
        if (!status) status = larder_live_add(table, found.number = get_be32(bytes + 1), &added);
        if (status) break;
        *added = found;
        status = larder_tree_cursor_next(&cursor);
    }
    return status == LARDER_END ? LARDER_OK : status;
}

/** Reads go on being numbered behind those of earlier sessions: stamps are never used twice. A
    damaged page is for those who need what is on it. */
static void resume_use(larder_store *store, const tree *from) {
    // The order of use is the last name space of the tree, and the newest stamp its last row.
    const uint8_t behind = SPACE_ORDER + 1, expiry = SPACE_EXPIRY;
    tree_cursor cursor;
    larder_bytes key, value;
    larder_status status = larder_tree_cursor_seek_back(&cursor, from, (larder_bytes){&behind, 1});
    if (!status) status = larder_tree_cursor_get(&cursor, &key, &value);
    const uint8_t *bytes = key.data;
    if (!status && key.length == 17 && bytes[0] == SPACE_ORDER && get_be64(bytes + 9) >> 32 != 0)
        atomic_store(&store->read_number, get_be64(bytes + 9) - ((uint64_t)1 << 32) + 1);
    status = larder_tree_cursor_seek(&cursor, from, (larder_bytes){&expiry, 1});
    if (!status) status = larder_tree_cursor_get(&cursor, &key, &value);
    bytes = key.data;
    if (!status && key.length > 0 && bytes[0] == SPACE_EXPIRY) store->may_expire = true;
}

/** Takes over what the tree says. */
static larder_status data_load(larder_store *store, larder_store_detail *detail) {
    snapshot *seen;
    larder_status status = larder_environment_read(store->environment, &seen);
    if (status) return status;
    store->meta = seen->meta;
    atomic_store(&store->newest_sequence, seen->meta.applied);
    uint64_t wanted = store->options.content_format, has = seen->meta.content_format;
    if (wanted != 0 && has != 0 && has != wanted) {
        detail->content_format = has;
        status = LARDER_EMISMATCH;
    } else if (!store_is_read_only(store)) {
        status = live_load(&seen->tree, &store->live);
        resume_use(store, &seen->tree);
    }
    larder_environment_release(store->environment, seen);
    return status;
}

static larder_status data_open(larder_store *store, larder_store_detail *detail) {
    bool writes = !store_is_read_only(store);
    store_meta fresh = {.content_format = store->options.content_format,
                        .created_ns = larder_store_now(store),
                        .age_ns = LARDER_STORE_NEVER,
                        .has_order = atomic_load(&store->tracks_access),
                        .next_segment = 1,
                        .version = META_VERSION,
                        .store_id = (uint64_t)larder_os_random() << 32 | larder_os_random() | 1};
    larder_os_random_fill(fresh.secret, sizeof fresh.secret);
    detail->part = LARDER_STORE_PART_DATA;
    larder_status status =
        larder_environment_open(store->path, writes, writes ? &fresh : NULL, store->options.mode,
                                store->options.map_bytes, detail, &store->environment);
    // Beside a log it was ours, and nothing of its heads is left.
    if (status == LARDER_EFOREIGN && folder_has_log(store)) return LARDER_EDAMAGED;
    return status ? status : data_load(store, detail);
}

static void data_close(larder_store *store) {
    larder_environment_close(store->environment, true);
    store->environment = NULL;
    larder_live_free(&store->live);
}

/** As data_open. After a power cut, what is left of a store whose creation was not synced may be
    anything: as nothing was promised of it, it is created again. */
static larder_status data_open_or_remake(larder_store *store, bool is_other_boot,
                                         larder_store_detail *detail) {
    file_path path;
    larder_status status = data_path_exists(store) == ENOENT ? ENOENT : data_open(store, detail);
    bool is_whole = status != ENOENT && status != LARDER_EDAMAGED && status != LARDER_EFOREIGN;
    if (is_whole ||
        (status != ENOENT && !(is_other_boot && larder_environment_is_unmade(store->path))) ||
        folder_has_log(store))
        return status;
    data_close(store);
    status = visit_log(store, false, true);
    if (!status || status == ENOENT)
        status = larder_os_file_remove(larder_environment_path(path, store->path, "data.mdb"));
    return !status || status == ENOENT ? data_open(store, detail) : status;
}

static larder_status log_begin(larder_store *store, larder_store_detail *detail) {
    detail->part = LARDER_STORE_PART_JOURNAL;
    larder_status status = larder_log_open(store->path, store->meta.store_id, store->options.mode,
                                           store_is_read_only(store), &store->log);
    store->log.segment_min_bytes = store->tuning.segment_min_bytes;
    store->log.segment_max_bytes = store->tuning.segment_max_bytes;
    return status;
}

static larder_status open_to_write(larder_store *store, larder_store_detail *detail) {
    owner_text past;
    bool rebuilds = (store->options.flags & LARDER_STORE_REBUILDS) != 0;
    larder_status status = folder_prepare(store, detail);
    bool is_lost = status == LARDER_EDAMAGED && rebuilds;
    if (!status || is_lost) status = larder_owner_take(store, &past, detail);
    if (status) return status;
    status = is_lost ? LARDER_EDAMAGED : data_open_or_remake(store, past.is_other_boot, detail);
    if (status == LARDER_EDAMAGED && rebuilds) {
        larder_store_report ignored;
        data_close(store);
        status = larder_store_rebuild_index(store, NULL, NULL, &ignored);
        if (!status) status = data_open_or_remake(store, past.is_other_boot, detail);
    }
    if (!status) status = log_begin(store, detail);
    if (!status) status = larder_log_enter(&store->log);
    if (status) return status;
    status = larder_store_replay(store, past.is_other_boot, detail);
    larder_log_leave(&store->log);
    bool has_pending = store->active->last_sequence > 0;
    if (past.pid == 0 && !past.is_other_boot && store->recovery.journal_lost == 0) {
        larder_log_trust(&store->log);
        store->is_partly_applied = has_pending = false;
        store->recovery.journal_intact = 0;
    }
    // The store is whole again: this start of the machine is the one that counts from here on.
    if (!status && past.is_other_boot) {
        larder_owner_boot(store->boot);
        status = larder_owner_write(store, (int64_t)getpid());
    }
    if (status) return status;
    store->is_settled = store->log.active != NULL && !larder_segment_is_new(store->log.active);
    larder_environment_rest(store->environment);
    if (store->log.active != NULL) larder_segment_rest(store->log.active);
    larder_environment_reserve(store->environment);
    if ((store->options.flags & LARDER_STORE_HOST_MAINTENANCE) != 0) return LARDER_OK;
    if (has_pending) store->pending_since_ns = larder_os_monotonic_ns();
    return larder_store_thread_start(store);
}

static larder_status open_to_read(larder_store *store, larder_store_detail *detail) {
    larder_status status = folder_prepare(store, detail);
    if (!status) status = data_open(store, detail);
    if (!status) status = log_begin(store, detail);
    // A writer notes the new start of the machine once it has gone over the log.
    int64_t ignored;
    if (!status) store->follower.is_cut = larder_store_was_cut(store, &ignored);
    return status;
}

static larder_status store_make(const char *path, const larder_store_options *options,
                                larder_store **out) {
    if (path == NULL || path[0] == 0) return LARDER_EINVALID;
    larder_store *store = calloc(1, sizeof *store);
    if (store == NULL) return ENOMEM;
    if (options != NULL) store->options = *options;
    else larder_store_options_init(&store->options);
    store->limits = store->options.limits;
    store->lock_file = -1;
    store->clean_grace_bytes = UINT64_MAX;
    pthread_mutex_init(&store->lock, NULL);
    pthread_mutex_init(&store->flush_lock, NULL);
    pthread_mutex_init(&store->sync_lock, NULL);
    pthread_mutex_init(&store->shutdown_lock, NULL);
    larder_os_condition_init(&store->backpressure.relief);
    *out = store;
    larder_status status = options_check(store);
    void *page = NULL;
    if (!status) status = larder_os_fork_page_make(&page);
    store->not_forked = page;
    if (!status) *(uint8_t *)page = 1;
    if (!status) status = larder_os_absolute_path(path, &store->path);
    if (!status && strlen(store->path) > PATH_MAX_BYTES) status = ENAMETOOLONG;
    if (!status) status = larder_memtable_create(&store->active);
    if (!status) status = larder_store_limits_set(store, &store->options.limits);
    return status;
}

static void store_free(larder_store *store) {
    bool is_ours = store->not_forked == NULL || *store->not_forked != 0;
    // A handle that was shut down has ended its writing already.
    bool writes = !store_is_read_only(store) && !atomic_load(&store->is_shut);
    if (store->environment != NULL) larder_environment_close(store->environment, writes);
    // The spare's file is the parent's.
    if (!is_ours) store->log.spare = NULL;
    if (store->log.path != NULL) larder_log_close(&store->log);
    if (is_ours) larder_owner_release(store, false);
    larder_memtable_destroy(store->active);
    larder_memtable_destroy(store->frozen);
    larder_memtable_destroy(store->spare);
    larder_live_free(&store->live);
    larder_live_free(&store->retired);
    larder_touch_buffer_free(&store->folding);
    // In a child the threads that may have waited here, or held a lock, are gone: it would wait for
    // them for ever.
    if (is_ours) {
        pthread_cond_destroy(&store->backpressure.relief);
        pthread_mutex_destroy(&store->shutdown_lock);
        pthread_mutex_destroy(&store->sync_lock);
        pthread_mutex_destroy(&store->flush_lock);
        pthread_mutex_destroy(&store->lock);
    }
    larder_os_fork_page_free((void *)(uintptr_t)store->not_forked);
    free(store->path);
    free(store);
}

larder_status larder_store_open(const char *path, const larder_store_options *options,
                                larder_store_detail *detail, larder_store **out) {
    larder_store_detail found = {0};
    *out = NULL;
    larder_store *store = NULL;
    larder_status status = store_make(path, options, &store);
    if (!status && store_is_read_only(store)) status = open_to_read(store, &found);
    else if (!status) status = open_to_write(store, &found);
    if (!status) *out = store;
    else if (store != NULL) store_free(store);
    if (detail != NULL) *detail = status ? found : (larder_store_detail){0};
    return status;
}

larder_status larder_store_rebuild(const char *path, const larder_store_options *options,
                                   larder_progress progress, void *context,
                                   larder_store_report *report) {
    larder_store_detail ignored = {0};
    larder_os_facts facts;
    owner_text past;
    larder_store *store = NULL;
    memset(report, 0, sizeof *report);
    larder_status status = store_make(path, options, &store);
    if (!status && store_is_read_only(store)) status = LARDER_EINVALID;
    if (!status) status = larder_owner_take(store, &past, &ignored);
    if (!status) status = larder_os_file_facts_get(store->lock_file, &facts);
    if (!status && options == NULL && (facts.mode & 0777) != 0)
        store->options.mode = facts.mode & 0777;
    if (!status) status = larder_store_rebuild_index(store, progress, context, report);
    if (store != NULL) store_free(store);
    return status;
}

static void look_for_touches(void *context, const touch_buffer *touches) {
    if (touches->count > 0) *(bool *)context = true;
}

/** Whether the store has so little, all of it in the log, that reading that again costs less than a
    checkpoint, and nothing else has to be done. What a larger store has is in the tree when it is
    closed: damage to the log costs less then. */
static bool may_leave_to_log(larder_store *store) {
    enum { LEFT_MAX_COUNT = 16, LEFT_MAX_BYTES = 4096 };
    bool has_touches = store->folding.count > 0;
    larder_environment_look_at_touches(store->environment, look_for_touches, &has_touches);
    pthread_mutex_lock(&store->lock);
    const memtable *active = store->active;
    bool may = !has_touches && store->frozen == NULL && active->cleared == 0 &&
               active->count <= LEFT_MAX_COUNT && active->bytes <= LEFT_MAX_BYTES &&
               store->retired.count == 0 && !store->is_partly_applied && store->meta.count == 0 &&
               active->count <= store->limits.count && active->bytes <= store->limits.bytes;
    pthread_mutex_unlock(&store->lock);
    return may;
}

static larder_status store_shut(larder_store *store) {
    bool writes = !store_is_read_only(store);
    larder_status status = LARDER_OK;
    if (writes) {
        larder_store_thread_stop(store);
        status = may_leave_to_log(store) ? larder_store_sync_log(store) : larder_store_flush(store);
    }
    pthread_mutex_lock(&store->flush_lock);
    pthread_mutex_lock(&store->sync_lock);
    pthread_mutex_lock(&store->lock);
    atomic_store(&store->is_shut, true);
    pthread_mutex_unlock(&store->lock);
    // What came since the flush is in the log.
    larder_status closed = writes ? larder_store_sync_held(store) : LARDER_OK;
    pthread_mutex_lock(&store->lock);
    // As long as nobody else may write: its number may be used again then.
    if (writes) larder_log_drop_spare(&store->log);
    if (writes) larder_environment_end_writing(store->environment);
    larder_owner_release(store, !status && !closed);
    pthread_mutex_unlock(&store->lock);
    pthread_mutex_unlock(&store->sync_lock);
    pthread_mutex_unlock(&store->flush_lock);
    return status ? status : closed;
}

larder_status larder_store_shutdown(larder_store *store) {
    if (*store->not_forked == 0) return LARDER_EFORKED;
    pthread_mutex_lock(&store->shutdown_lock);
    larder_status status = atomic_load(&store->is_shut) ? LARDER_OK : store_shut(store);
    pthread_mutex_unlock(&store->shutdown_lock);
    return status;
}

void larder_store_close(larder_store *store) {
    if (store == NULL) return;
    // Call larder_store_shutdown first if the status is needed.
    (void)larder_store_shutdown(store);
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
    if (status) return status;
    pthread_mutex_lock(&store->lock);
    store->limits = *limits;
    atomic_store(&store->age_ns, limits->age_ns);
    atomic_store(&store->end_ns, limits->end_ns);
    atomic_store(&store->tracks_access, (store->options.flags & LARDER_STORE_TRACK_ACCESS) != 0 ||
                                            limits->count != LARDER_STORE_UNLIMITED ||
                                            limits->bytes != LARDER_STORE_UNLIMITED ||
                                            limits->free_bytes != 0);
    if (limits->age_ns != LARDER_STORE_NEVER || limits->end_ns != LARDER_STORE_NEVER ||
        limits->free_bytes != 0)
        store->may_expire = true;
    if (store->meta.count > limits->count || store->meta.bytes > limits->bytes) {
        store->wants_flush = true;
        larder_store_wake(store);
    }
    pthread_mutex_unlock(&store->lock);
    return LARDER_OK;
}

/** What is known of the state `seen`, and of what waits behind it; `lock` is held. */
static void statistics_look(const larder_store *store, const snapshot *seen,
                            larder_store_statistics *statistics) {
    statistics->count = seen->meta.count;
    statistics->bytes = seen->meta.bytes;
    statistics->applied_sequence = seen->meta.applied;
    statistics->content_format = seen->meta.content_format;
    statistics->created_ns = seen->meta.created_ns;
    statistics->version = seen->meta.version;
    statistics->pending_count = atomic_load(&store->pending_count);
    statistics->last_sequence = atomic_load(&store->newest_sequence);
    statistics->journal_bytes = store->options.journal_bytes;
    statistics->journal_used_bytes = store->log.unapplied_bytes;
    statistics->synced_sequence = __atomic_load_n(&store->log.synced_sequence, __ATOMIC_RELAXED);
    if (statistics->synced_sequence < statistics->applied_sequence)
        statistics->synced_sequence = statistics->applied_sequence;
}

larder_status larder_store_statistics_get(larder_store *store,
                                          larder_store_statistics *statistics) {
    memset(statistics, 0, sizeof *statistics);
    larder_status status = store_enter(store);
    if (status) return status;
    larder_environment_look(store->environment, statistics);
    snapshot *seen;
    live_table live = {0};
    pthread_mutex_lock(&store->lock);
    status = larder_store_look(store, false, &seen);
    if (!status) statistics_look(store, seen, statistics);
    pthread_mutex_unlock(&store->lock);
    if (status) return status;
    status = live_load(&seen->tree, &live);
    larder_environment_release(store->environment, seen);
    larder_live_totals(&live, &statistics->log_used_bytes, &statistics->log_live_bytes);
    statistics->segment_count = live.count;
    larder_live_free(&live);
    statistics->hits = atomic_load(&store->hits);
    statistics->misses = atomic_load(&store->misses);
    statistics->damaged = atomic_load(&store->damaged);
    statistics->written = atomic_load(&store->written);
    statistics->removed = atomic_load(&store->removed);
    statistics->evicted = atomic_load(&store->evicted);
    statistics->expired = atomic_load(&store->expired);
    statistics->flushes = atomic_load(&store->flushes);
    statistics->flush_failures = atomic_load(&store->flush_failures);
    statistics->appended_bytes = atomic_load(&store->appended_bytes);
    statistics->cleaned_bytes = atomic_load(&store->cleaned_bytes);
    statistics->touches_dropped = atomic_load(&store->touches_dropped);
    statistics->last_failure = atomic_load(&store->last_failure);
    statistics->read_only = store_is_read_only(store);
    statistics->writer_pid = (int64_t)getpid();
    if (store_is_read_only(store)) (void)larder_store_was_cut(store, &statistics->writer_pid);
    return status;
}

larder_status larder_store_recovery(larder_store *store, larder_store_report *report) {
    memset(report, 0, sizeof *report);
    larder_status status = store_enter(store);
    if (!status) *report = store->recovery;
    return status;
}
