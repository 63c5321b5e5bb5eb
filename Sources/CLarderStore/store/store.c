// SPDX-License-Identifier: MIT
/** @file store.c
    Opening and closing, limits and figures. */
#include <sched.h>
#include <unistd.h>

#include "checkpoint/checkpoint.h"
#include "handle/trust.h"
#include "larder_os_fork.h"
#include "pages/tree_page.h"
#include "read/read.h"
#include "repair/salvage.h"
#include "store/match.h"
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
        .excess_max_bytes = (uint64_t)32 << 20,
        .excess_max_count = (uint64_t)1 << 13,
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
                           LARDER_STORE_WITH_UNCERTAIN | LARDER_STORE_REBUILDS |
                           LARDER_STORE_TRUST_OTHERS;
    if ((options->flags & ~flags) != 0 || (options->mode & ~0777u) != 0 || options->mode == 0 ||
        options->journal_bytes < LARDER_STORE_JOURNAL_MIN_BYTES || options->sync_interval_ns < 0 ||
        options->flush_interval_ns < 0 || options->trim_interval_ns < 0 ||
        options->key_form > UINT16_MAX)
        return LARDER_EINVALID;
    if (options->inline_threshold_bytes > LARDER_STORE_INLINE_MAX_BYTES)
        options->inline_threshold_bytes = LARDER_STORE_INLINE_MAX_BYTES;
    return LARDER_OK;
}

// Opening -----------------------------------------------------------------------------------------

static int has_foreign_name(void *context, const char *name) {
    static const char *const ours[] = {"lock",      "log",  "data.mdb", "data.new", "lock.mdb",
                                       "index.new", "feed", "hot",      "hot.new",  "damaged"};
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
    segment_facts facts;
    if (!larder_segment_number_of(name, &number)) return 0;
    if (visit->removes) return larder_os_file_remove_in(visit->folder, name) != LARDER_OK;
    return !visit->is_synced_only ||
           (larder_segment_facts(visit->folder, number, &facts) == LARDER_OK && !facts.is_new);
}

/** @return ECANCELED if there is such a segment; or one that cannot be removed. */
static larder_status visit_log(const larder_store *store, bool is_synced_only, bool removes) {
    file_path path;
    log_visit visit = {-1, is_synced_only, removes};
    larder_status status = larder_os_folder_open(
        larder_environment_path(path, store->identity.path, "log"), &visit.folder);
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
    int64_t holder;
    bool was_cut = larder_identity_look(&store->identity, &holder).is_other_boot;
    return visit_log(store, was_cut, false) == ECANCELED;
}

/** ENOENT for an empty file, too. What else is wrong with it, whoever opens it will see. */
static larder_status data_path_exists(const larder_store *store) {
    file_path path;
    larder_os_facts facts;
    larder_status status = larder_os_file_facts_at(
        larder_environment_path(path, store->identity.path, "data.mdb"), &facts);
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
        detail->offset = LARDER_STORE_MISSING;
        return LARDER_EDAMAGED;
    }
    if ((store->options.flags & (LARDER_STORE_EXISTING | LARDER_STORE_READ_ONLY)) != 0)
        return ENOENT;
    uint32_t mode = store->options.mode;
    larder_status status = larder_os_folder_make(store->identity.path, mode | (mode & 0444u) >> 2);
    store->identity.made_folder = !status;
    if (status != EEXIST) return status;
    status = larder_os_folder_list(store->identity.path, has_foreign_name, NULL);
    if (!status && larder_identity_is_foreign(&store->identity)) return LARDER_EFOREIGN;
    return status == ECANCELED ? LARDER_EFOREIGN : status;
}

/** Leaves nothing where no store could be made. */
static void folder_undo(larder_store *store) {
    if (data_path_exists(store) != ENOENT) return;
    larder_identity_undo(&store->identity);
    // Unless somebody has put something into it.
    if (store->identity.made_folder) (void)!larder_os_folder_remove(store->identity.path);
}

/** Reads go on being numbered behind those of earlier sessions, none of which had 2^32 of them for
    each of its transactions: stamps are never used twice. What was made from another index may have
    greater ones. A damaged page is for those who need what is on it. */
static void resume_use(larder_store *store, const tree *from) {
    // The order of use is the last name space of the tree, and the newest stamp its last row.
    const uint8_t behind = SPACE_ORDER + 1, expiry = SPACE_EXPIRY;
    tree_cursor cursor;
    larder_bytes key, value;
    larder_status status = larder_tree_cursor_seek_back(&cursor, from, (larder_bytes){&behind, 1});
    if (!status) status = larder_tree_cursor_get(&cursor, &key, &value);
    const uint8_t *bytes = key.data;
    uint64_t next = from->transaction << 32, behind_last = 0;
    if (!status && key.length == 17 && bytes[0] == SPACE_ORDER && get_be64(bytes + 9) >> 32 != 0)
        behind_last = get_be64(bytes + 9) - ((uint64_t)1 << 32) + 1;
    atomic_store(&store->expiry.read_number, next > behind_last ? next : behind_last);
    status = larder_tree_cursor_seek(&cursor, from, (larder_bytes){&expiry, 1});
    if (!status) status = larder_tree_cursor_get(&cursor, &key, &value);
    bytes = key.data;
    if ((!status && key.length > 0 && bytes[0] == SPACE_EXPIRY) ||
        expiry_is_behind_rows(&store->expiry))
        store->expiry.may_expire = true;
}

/** A file that was cut short, though what the two of its pages say that LMDB begins with can be
    read: a handle that only reads shows what is left, and tells of the rest. */
static larder_status data_is_whole(larder_store *store, const snapshot *seen,
                                   larder_store_detail *detail) {
    uint64_t missing, end = seen->tree.page_count * seen->tree.page_bytes;
    larder_status status = larder_tree_missing_pages(&seen->tree, &missing);
    if (status || missing == 0) return status;
    status = larder_environment_confirm(seen, LARDER_EDAMAGED);
    // A writer went on: what was looked at is not what is there.
    if (status == LARDER_EBUSY) return LARDER_OK;
    detail->offset = end;
    if (!store_is_read_only(store)) return status;
    store->recovery.damaged_pages = missing;
    store->recovery.first_damage_offset = end;
    return LARDER_OK;
}

/** 0 of either is unknown. */
static bool is_as_wanted(uint64_t wanted, uint64_t has) {
    return wanted == 0 || has == 0 || wanted == has;
}

/** Takes over what the tree says. */
static larder_status data_load(larder_store *store, larder_store_detail *detail) {
    snapshot *seen;
    larder_status status = larder_environment_read(store->index.environment, &seen);
    if (status) return status;
    store->index.meta = seen->meta;
    atomic_store(&store->pending.newest_sequence, seen->meta.applied);
    status = data_is_whole(store, seen, detail);
    if (!status && !(is_as_wanted(store->options.content_format, seen->meta.content_format) &&
                     is_as_wanted(store->options.key_form, seen->meta.key_form))) {
        detail->content_format = seen->meta.content_format;
        detail->key_form = seen->meta.key_form;
        status = LARDER_EMISMATCH;
    } else if (!status && !store_is_read_only(store)) {
        status = larder_store_live_load(&seen->tree, &store->index.live);
        resume_use(store, &seen->tree);
    }
    larder_environment_release(store->index.environment, seen);
    return status;
}

/** What has not even a head of LMDB's may be anything. */
static bool data_has_head(const larder_store *store) {
    file_path path;
    larder_os_facts facts;
    larder_status status = larder_os_file_facts_at(
        larder_environment_path(path, store->identity.path, "data.mdb"), &facts);
    return status || facts.bytes >= sizeof(meta_page);
}

static larder_status data_open(larder_store *store, larder_store_detail *detail) {
    const bool writes = !store_is_read_only(store);
    const uint32_t trusts = store->options.flags & LARDER_STORE_TRUST_OTHERS;
    const uint32_t flags =
        (writes ? ENVIRONMENT_WRITES : 0) | (trusts ? ENVIRONMENT_TRUSTS_OTHERS : 0);
    store_meta fresh = {.content_format = store->options.content_format,
                        .key_form = (uint16_t)store->options.key_form,
                        .created_ns = expiry_now(&store->expiry),
                        .age_ns = LARDER_STORE_NEVER,
                        .has_order = atomic_load(&store->expiry.tracks_access),
                        .next_segment = 1,
                        .version = META_VERSION,
                        .store_id = (uint64_t)larder_os_random() << 32 | larder_os_random() | 1};
    larder_os_random_fill(fresh.secret, sizeof fresh.secret);
    detail->part = LARDER_STORE_PART_DATA;
    larder_status status = larder_environment_open(
        store->identity.path, flags, writes ? &fresh : NULL, store->options.mode,
        store->options.map_bytes, detail, &store->index.environment);
    // Beside a log it was ours, and nothing of its heads is left.
    if (status == LARDER_EFOREIGN && folder_has_log(store)) return LARDER_EDAMAGED;
    if (status == LARDER_EDAMAGED && !data_has_head(store) && !folder_has_log(store))
        return LARDER_EFOREIGN;
    if (!status) status = data_load(store, detail);
    store->index.is_made = !status && store->index.meta.store_id == fresh.store_id;
    return status;
}

static void data_close(larder_store *store) {
    larder_environment_close(store->index.environment, true);
    store->index.environment = NULL;
    larder_live_free(&store->index.live);
}

/** As data_open. After a power cut, what is left of a store whose creation was not synced may be
    anything: as nothing was promised of it, it is created again. */
static larder_status data_open_or_remake(larder_store *store, bool is_other_boot,
                                         larder_store_detail *detail) {
    file_path path;
    larder_status status = data_path_exists(store) == ENOENT ? ENOENT : data_open(store, detail);
    bool is_whole = status != ENOENT && status != LARDER_EDAMAGED && status != LARDER_EFOREIGN;
    if (is_whole ||
        (status != ENOENT &&
         !(is_other_boot && larder_environment_is_unmade(store->identity.path))) ||
        folder_has_log(store))
        return status;
    data_close(store);
    status = visit_log(store, false, true);
    if (!status || status == ENOENT)
        status =
            larder_os_file_remove(larder_environment_path(path, store->identity.path, "data.mdb"));
    return !status || status == ENOENT ? data_open(store, detail) : status;
}

static larder_status log_begin(larder_store *store, larder_store_detail *detail) {
    detail->part = LARDER_STORE_PART_JOURNAL;
    larder_status status =
        larder_log_open(store->identity.path, store->index.meta.store_id, store->options.mode,
                        store_is_read_only(store), &store->pending.log);
    if (!status && !store_is_read_only(store))
        status = larder_log_hold(&store->pending.log, store->identity.lock_file);
    store->pending.log.segment_min_bytes = store->tuning.segment_min_bytes;
    store->pending.copied_at_once = larder_store_copied_at_once(store);
    larder_store_set_room(store);
    return status;
}

/** Tree and log, as they lie there. */
static larder_status open_parts(larder_store *store, bool is_other_boot, log_survey *there,
                                larder_store_detail *detail) {
    larder_status status = data_open_or_remake(store, is_other_boot, detail);
    if (!status) status = log_begin(store, detail);
    return status ? status : larder_store_match(store, there, detail);
}

static void close_parts(larder_store *store, log_survey *there) {
    larder_log_survey_free(there);
    if (store->pending.log.path != NULL) larder_log_close(&store->pending.log);
    data_close(store);
}

/** What the log has besides the tree, and where it goes on. */
static larder_status open_log(larder_store *store, const lock_text *past, const log_survey *there,
                              larder_store_detail *detail) {
    larder_status status = larder_log_enter(&store->pending.log);
    if (status) return status;
    bool was_closed = past->pid == 0 && !past->is_other_boot;
    location synced = larder_lock_text_synced(past, store->index.meta.store_id);
    // Of a log that was synced once, be it another store's, only the lock's file is left.
    if (past->synced.segment != 0 && there->count == 0 && store->index.meta.end.segment == 0)
        store->recovery.journal_lost = 1;
    store->identity.synced = synced;
    status = larder_store_replay(store, there, past->is_other_boot, was_closed, detail);
    larder_log_leave(&store->pending.log);
    return status;
}

/** From here on it is like any store that was open. */
static larder_status begin_writing(larder_store *store, const lock_text *past) {
    bool has_pending = store->pending.active->last_sequence > 0;
    if (past->pid == 0 && !past->is_other_boot && store->recovery.journal_lost == 0) {
        larder_log_trust(&store->pending.log);
        store->index.is_partly_applied = has_pending = false;
        store->recovery.journal_intact = 0;
    }
    store->syncing.is_settled =
        store->pending.log.active != NULL && !larder_segment_is_new(store->pending.log.active);
    larder_environment_rest(store->index.environment);
    if (store->pending.log.active != NULL) larder_segment_rest(store->pending.log.active);
    larder_environment_reserve(store->index.environment);
    store->pending.log.synced_end = store->identity.synced;
    store->feed.epoch = store->pending.log.epoch;
    larder_feed_watch(store);
    if ((store->options.flags & LARDER_STORE_HOST_MAINTENANCE) != 0) return LARDER_OK;
    if (has_pending) store->maintenance.pending_since_ns = larder_os_monotonic_ns();
    store->maintenance.wants_flush = larder_store_is_over_limit(store);
    return larder_store_thread_start(store);
}

/** Rebuilds an index of which an earlier handle found that it is damaged. Where that cannot be, the
    store opens with what there is: what damage to the log costs is for the caller to choose.
    @return LARDER_OK; ECANCELED. */
static larder_status heal(larder_store *store) {
    if (!larder_identity_has_damage(&store->identity)) return LARDER_OK;
    larder_store_report ignored;
    larder_status status = larder_store_rebuild_index(store, true, store->options.progress,
                                                      store->options.context, &ignored);
    // Another attempt would find the same.
    if (status == LARDER_EDAMAGED || status == LARDER_EVERSION || status == LARDER_EFOREIGN)
        larder_identity_forget_damage(&store->identity);
    return status == ECANCELED ? status : LARDER_OK;
}

static larder_status open_to_write(larder_store *store, larder_store_detail *detail) {
    lock_text past;
    log_survey there = {0};
    bool rebuilds = (store->options.flags & LARDER_STORE_REBUILDS) != 0;
    larder_status status = folder_prepare(store, detail);
    bool is_lost = status == LARDER_EDAMAGED && rebuilds;
    if (!status || is_lost) {
        larder_status trusted = larder_store_trust(store->identity.path, &store->options, detail);
        if (trusted) return trusted;
    }
    if (!status || is_lost)
        status = larder_identity_lock(&store->identity, store->options.mode, &past, detail);
    if (!status && !is_lost) status = heal(store);
    if (status) return status;
    status = is_lost ? LARDER_EDAMAGED : open_parts(store, past.is_other_boot, &there, detail);
    if (status == LARDER_EDAMAGED && rebuilds) {
        larder_store_report ignored;
        close_parts(store, &there);
        status = larder_store_rebuild_index(store, false, store->options.progress,
                                            store->options.context, &ignored);
        // What was wrong is not any more.
        if (!status) *detail = (larder_store_detail){0};
        if (!status) status = open_parts(store, past.is_other_boot, &there, detail);
    }
    if (!status) status = open_log(store, &past, &there, detail);
    larder_log_survey_free(&there);
    // The store is whole again: this start of the machine is the one that counts from here on.
    if (!status && past.is_other_boot) status = larder_identity_note_boot(&store->identity);
    return status ? status : begin_writing(store, &past);
}

static larder_status open_to_read(larder_store *store, larder_store_detail *detail) {
    log_survey there = {0};
    larder_status status = folder_prepare(store, detail);
    if (!status) status = data_open(store, detail);
    if (!status) status = log_begin(store, detail);
    if (!status)
        store->pending.log.is_unprotected =
            larder_environment_is_unprotected(store->index.environment);
    if (!status) status = larder_store_match(store, &there, detail);
    if (!status) larder_store_follow_begin(store, &there);
    larder_log_survey_free(&there);
    return status;
}

static larder_status store_make(const char *path, const larder_store_options *options,
                                larder_store **out) {
    if (path == NULL || path[0] == 0) return LARDER_EINVALID;
    larder_store *store = calloc(1, sizeof *store);
    if (store == NULL) return ENOMEM;
    if (options != NULL) store->options = *options;
    else larder_store_options_init(&store->options);
    store->expiry.clock = store->options.clock;
    store->expiry.context = store->options.context;
    store->expiry.grace_ns = store->options.grace_ns > 0 ? store->options.grace_ns : 0;
    store->expiry.limits = store->options.limits;
    store->identity.lock_file = -1;
    store->index.clean_grace_bytes = UINT64_MAX;
    store->index.value_max_bytes = LARDER_STORE_UNLIMITED;
    pthread_mutex_init(&store->pending.unique_lock, NULL);
    store->feed.file.file = -1;
    store->index.feed = &store->feed;
    pthread_mutex_init(&store->feed.lock, NULL);
    pthread_mutex_init(&store->pending.rows_lock, NULL);
    pthread_mutex_init(&store->pending.lock, NULL);
    pthread_mutex_init(&store->index.lock, NULL);
    pthread_mutex_init(&store->syncing.lock, NULL);
    pthread_mutex_init(&store->identity.lock, NULL);
    larder_os_condition_init(&store->pending.pressure.relief);
    *out = store;
    larder_status status = options_check(store);
    void *page = NULL;
    if (!status) status = larder_os_fork_page_make(&page);
    store->identity.not_forked = page;
    if (!status) *(uint8_t *)page = 1;
    if (!status) status = larder_os_absolute_path(path, &store->identity.path);
    if (!status && strlen(store->identity.path) > PATH_MAX_BYTES) status = ENAMETOOLONG;
    if (!status) status = larder_memtable_create(&store->pending.active);
    if (!status) status = larder_store_limits_set(store, &store->options.limits);
    return status;
}

static void store_free(larder_store *store) {
    bool is_ours = store->identity.not_forked == NULL || *store->identity.not_forked != 0;
    // A handle that was shut down has ended its writing already.
    bool writes = !store_is_read_only(store) && !atomic_load(&store->identity.is_shut);
    if (store->index.environment != NULL)
        larder_environment_close(store->index.environment, writes);
    // The spare's file is the parent's.
    if (!is_ours) store->pending.log.spare = NULL;
    if (store->pending.log.path != NULL) larder_log_close(&store->pending.log);
    if (is_ours) larder_identity_unlock(&store->identity, false);
    larder_memtable_destroy(store->pending.active);
    larder_memtable_destroy(store->pending.frozen);
    larder_memtable_destroy(store->pending.spare);
    larder_live_free(&store->index.live);
    larder_live_free(&store->index.retired);
    larder_touch_buffer_free(&store->index.folding);
    larder_touch_buffer_free(&store->index.waiting);
    larder_feed_free(&store->feed);
    larder_leaving_free(&store->index.leaving);
    // In a child the threads that may have waited here, or held a lock, are gone: it would wait for
    // them for ever.
    if (is_ours) {
        pthread_cond_destroy(&store->pending.pressure.relief);
        pthread_mutex_destroy(&store->identity.lock);
        pthread_mutex_destroy(&store->syncing.lock);
        pthread_mutex_destroy(&store->index.lock);
        pthread_mutex_destroy(&store->pending.lock);
        pthread_mutex_destroy(&store->pending.unique_lock);
        pthread_mutex_destroy(&store->pending.rows_lock);
        pthread_mutex_destroy(&store->feed.lock);
    }
    larder_os_fork_page_free((void *)(uintptr_t)store->identity.not_forked);
    free(store->identity.path);
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
    if (store != NULL) store->options.progress = NULL;
    if (!status) *out = store;
    else if (store != NULL && store->identity.path != NULL) folder_undo(store);
    if (status && store != NULL) store_free(store);
    if (detail != NULL) *detail = status ? found : (larder_store_detail){0};
    return status;
}

larder_store_options larder_store_repair_options(const char *path,
                                                 const larder_store_options *options) {
    larder_store_options wanted;
    larder_os_facts facts;
    file_path log;
    larder_store_options_init(&wanted);
    if (options != NULL) wanted = *options;
    if (options != NULL && options->mode != 0) return wanted;
    // What somebody has let anybody write to is for the caller to trust.
    const uint32_t kept = wanted.flags & LARDER_STORE_TRUST_OTHERS ? 0666 : 0664;
    larder_status status =
        larder_os_file_facts_at(larder_environment_path(log, path, "log"), &facts);
    // The folder may be searched, too, by whoever may read it.
    wanted.mode = !status && facts.is_folder && (facts.mode & kept) ? facts.mode & kept : 0600;
    return wanted;
}

/** Makes a handle that has the store's lock, and neither its index nor its log.
    @param out receives it also on failure, unless there is no memory. */
static larder_status store_make_alone(const char *path, const larder_store_options *options,
                                      lock_text *past, larder_store **out) {
    larder_store_detail ignored = {0};
    larder_store_options wanted = larder_store_repair_options(path, options);
    larder_status status = store_make(path, &wanted, out);
    larder_store *store = *out;
    if (!status && store_is_read_only(store)) status = LARDER_EINVALID;
    if (status) return status;
    status = larder_store_trust(store->identity.path, &store->options, &ignored);
    return status ? status
                  : larder_identity_lock(&store->identity, store->options.mode, past, &ignored);
}

larder_status larder_store_rebuild(const char *path, const larder_store_options *options,
                                   larder_progress progress, void *context,
                                   larder_store_report *report) {
    lock_text past;
    larder_store *store = NULL;
    memset(report, 0, sizeof *report);
    larder_status status = store_make_alone(path, options, &past, &store);
    if (!status) status = larder_store_rebuild_index(store, false, progress, context, report);
    // What is no store stays as it was.
    if (status == LARDER_EFOREIGN) larder_identity_undo(&store->identity);
    if (store != NULL) store_free(store);
    return status;
}

larder_status larder_store_shrink(const char *path, const larder_store_options *options,
                                  larder_progress progress, void *context) {
    lock_text past = {.pid = 0};
    larder_store *store = NULL;
    larder_status status = store_make_alone(path, options, &past, &store);
    if (!status) {
        status = larder_store_shrink_index(store, progress, context);
        // The log was not touched: what was said of it holds.
        larder_identity_unlock(&store->identity, past.pid == 0);
    }
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
    bool has_touches = store->index.folding.count + store->index.waiting.count > 0;
    larder_environment_look_at_touches(store->index.environment, look_for_touches, &has_touches);
    pthread_mutex_lock(&store->pending.lock);
    const memtable *active = store->pending.active;
    bool may = !has_touches && store->pending.frozen == NULL && active->cleared == 0 &&
               active->count <= LEFT_MAX_COUNT && active->bytes <= LEFT_MAX_BYTES &&
               store->index.retired.count == 0 && !store->index.is_partly_applied &&
               store->index.meta.count == 0 && active->count <= store->expiry.limits.count &&
               active->bytes <= store->expiry.limits.bytes;
    pthread_mutex_unlock(&store->pending.lock);
    return may;
}

static larder_status store_shut(larder_store *store) {
    bool writes = !store_is_read_only(store);
    larder_status status = LARDER_OK;
    if (writes) {
        larder_store_thread_stop(store);
        larder_store_ask_for_reads(store);
        status = may_leave_to_log(store) ? larder_store_sync_through(store, UINT64_MAX)
                                         : larder_store_flush(store);
    }
    pthread_mutex_lock(&store->index.lock);
    pthread_mutex_lock(&store->syncing.lock);
    pthread_mutex_lock(&store->pending.lock);
    atomic_store(&store->identity.is_shut, true);
    pthread_mutex_unlock(&store->pending.lock);
    // What came since the flush is in the log.
    larder_status closed = writes ? larder_store_sync_held(store) : LARDER_OK;
    pthread_mutex_lock(&store->pending.lock);
    // As long as nobody else may write: its number may be used again then.
    if (writes) larder_log_drop_spare(&store->pending.log);
    if (writes && larder_environment_is_damaged(store->index.environment))
        larder_identity_note_damage(&store->identity, store->options.mode);
    if (writes) larder_environment_end_writing(store->index.environment);
    if (writes) larder_feed_unwatch(&store->feed);
    larder_identity_unlock(&store->identity, !status && !closed);
    pthread_mutex_unlock(&store->pending.lock);
    pthread_mutex_unlock(&store->syncing.lock);
    pthread_mutex_unlock(&store->index.lock);
    larder_feed_wake_own(&store->feed);
    return status ? status : closed;
}

larder_status larder_store_shutdown(larder_store *store) {
    if (*store->identity.not_forked == 0) return LARDER_EFORKED;
    pthread_mutex_lock(&store->identity.lock);
    larder_status status = atomic_load(&store->identity.is_shut) ? LARDER_OK : store_shut(store);
    pthread_mutex_unlock(&store->identity.lock);
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
    pthread_mutex_lock(&store->pending.lock);
    larder_store_limits limits = store->expiry.limits;
    pthread_mutex_unlock(&store->pending.lock);
    return limits;
}

larder_status larder_store_limits_set(larder_store *store, const larder_store_limits *limits) {
    larder_status status = store_enter(store);
    if (status) return status;
    pthread_mutex_lock(&store->pending.lock);
    store->expiry.limits = *limits;
    atomic_store(&store->expiry.age_ns, limits->age_ns);
    atomic_store(&store->expiry.end_ns, limits->end_ns);
    atomic_store(&store->expiry.tracks_access,
                 (store->options.flags & LARDER_STORE_TRACK_ACCESS) != 0 ||
                     limits->count != LARDER_STORE_UNLIMITED ||
                     limits->bytes != LARDER_STORE_UNLIMITED || limits->free_bytes != 0);
    if (limits->age_ns != LARDER_STORE_NEVER || limits->end_ns != LARDER_STORE_NEVER ||
        limits->free_bytes != 0)
        store->expiry.may_expire = true;
    larder_store_set_room(store);
    if (store->index.meta.count > limits->count || store->index.meta.bytes > limits->bytes) {
        store->maintenance.wants_flush = true;
        larder_store_wake(store);
    }
    pthread_mutex_unlock(&store->pending.lock);
    return LARDER_OK;
}

/** What is known of the state `seen`, and of what waits behind it; the pending lock is held. */
static void statistics_look(const larder_store *store, const snapshot *seen,
                            larder_store_statistics *out) {
    out->applied_sequence = seen->meta.applied;
    out->content_format = seen->meta.content_format;
    out->key_form = seen->meta.key_form;
    out->created_ns = seen->meta.created_ns;
    out->version = seen->meta.version;
    out->pending_count = atomic_load(&store->pending.count);
    out->last_sequence = atomic_load(&store->pending.newest_sequence);
    out->journal_bytes = store->options.journal_bytes;
    out->journal_used_bytes = store->pending.log.unapplied_bytes;
    out->synced_sequence = __atomic_load_n(&store->pending.log.synced_sequence, __ATOMIC_RELAXED);
    if (out->synced_sequence < out->applied_sequence) out->synced_sequence = out->applied_sequence;
}

larder_status larder_store_statistics_get(larder_store *store, larder_store_statistics *out) {
    memset(out, 0, sizeof *out);
    larder_status status = store_enter(store);
    if (status) return status;
    larder_environment_look(store->index.environment, out);
    snapshot *seen;
    live_table live = {0};
    do {
        pthread_mutex_lock(&store->pending.lock);
        status = larder_store_totals_look(store, &out->count, &out->bytes);
        if (!status) status = larder_store_look(store, false, &seen);
        if (!status) statistics_look(store, seen, out);
        pthread_mutex_unlock(&store->pending.lock);
        if (status) continue;
        larder_live_free(&live);
        status = larder_environment_confirm(seen, larder_store_live_load(&seen->tree, &live));
        larder_environment_release(store->index.environment, seen);
        if (status == LARDER_EBUSY) status = EAGAIN;
    } while (status == EAGAIN && sched_yield() == 0);
    larder_live_totals(&live, &out->log_used_bytes, &out->log_live_bytes);
    out->segment_count = live.count;
    larder_live_free(&live);
    out->hits = atomic_load(&store->figures.hits);
    out->misses = atomic_load(&store->figures.misses);
    out->damaged = atomic_load(&store->figures.damaged);
    out->written = atomic_load(&store->figures.written);
    out->removed = atomic_load(&store->figures.removed);
    out->evicted = atomic_load(&store->figures.evicted);
    out->expired = atomic_load(&store->figures.expired);
    out->flushes = atomic_load(&store->figures.flushes);
    out->flush_failures = atomic_load(&store->figures.flush_failures);
    out->flush_ns = atomic_load(&store->figures.flush_ns);
    out->appended_bytes = atomic_load(&store->figures.appended_bytes);
    out->cleaned_bytes = atomic_load(&store->figures.cleaned_bytes);
    out->touches_dropped = atomic_load(&store->figures.touches_dropped);
    out->last_failure = atomic_load(&store->figures.last_failure);
    out->read_only = store_is_read_only(store);
    out->writer_pid = (int64_t)getpid();
    if (store_is_read_only(store)) (void)larder_identity_look(&store->identity, &out->writer_pid);
    return status;
}

bool larder_store_is_deleted(larder_store *store) {
    larder_os_facts facts;
    // Whoever shuts the store closes the file.
    pthread_mutex_lock(&store->identity.lock);
    bool is_deleted = store_enter(store) == LARDER_OK && !store_is_read_only(store) &&
                      larder_os_file_facts_get(store->identity.lock_file, &facts) == LARDER_OK &&
                      facts.links == 0;
    pthread_mutex_unlock(&store->identity.lock);
    return is_deleted;
}

larder_status larder_store_recovery(larder_store *store, larder_store_report *report) {
    memset(report, 0, sizeof *report);
    larder_status status = store_enter(store);
    if (status || !store_is_read_only(store)) {
        if (!status) *report = store->recovery;
        return status;
    }
    // What is followed belongs to whoever writes; what is lost of it, to everybody.
    snapshot *seen;
    pthread_mutex_lock(&store->pending.lock);
    status = larder_store_look(store, false, &seen);
    *report = store->recovery;
    report->journal_lost = store->pending.follower.lost;
    pthread_mutex_unlock(&store->pending.lock);
    if (!status) larder_environment_release(store->index.environment, seen);
    return status;
}
