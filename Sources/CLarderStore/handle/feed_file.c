// SPDX-License-Identifier: MIT
#include "handle/handle.h"

#include "larder_crc32c.h"

static const char magic[8] = {'L', 'A', 'R', 'D', 'F', 'E', 'E', 'D'};

// Cursors -----------------------------------------------------------------------------------------

static uint64_t load_word(const _Atomic uint64_t *from) {
    return atomic_load_explicit(from, memory_order_acquire);
}

static void store_word(_Atomic uint64_t *to, uint64_t value) {
    atomic_store_explicit(to, value, memory_order_release);
}

/** Length and sum, as they lie in one word. */
static uint64_t length_word(const uint64_t name[FEED_NAME_WORDS], uint32_t length,
                            uint64_t max_lag) {
    uint32_t crc = larder_crc32c(0, name, FEED_NAME_WORDS * sizeof *name);
    crc = larder_crc32c(crc, &length, sizeof length);
    return (uint64_t)larder_crc32c(crc, &max_lag, sizeof max_lag) << 32 | length;
}

/** @return how often it was written; 0 if it is not whole. */
static uint64_t position_read(const _Atomic uint64_t from[4], feed_cursor *out) {
    uint64_t words[4];
    for (int at = 0; at < 4; at++) words[at] = load_word(&from[at]);
    if (words[3] != larder_crc32c(0, words, 3 * sizeof *words) || words[2] > UINT32_MAX ||
        words[0] > SEQUENCE_MAX)
        return 0;
    out->sequence = words[0];
    out->epoch = (uint32_t)words[2];
    return words[1];
}

/** @param counts receives how often each of the two was written. */
static void positions_read(const feed_slot *slot, uint64_t counts[2], feed_cursor *out) {
    enum { ATTEMPTS = 1000 };
    feed_cursor other = {.length = 0};
    counts[0] = counts[1] = 0;
    // Whoever acknowledges may have come from the one to the other meanwhile.
    for (int attempt = 0; attempt < ATTEMPTS && counts[0] == 0 && counts[1] == 0; attempt++) {
        counts[0] = position_read(slot->positions[0], out);
        counts[1] = position_read(slot->positions[1], &other);
    }
    if (counts[0] < counts[1]) {
        out->sequence = other.sequence;
        out->epoch = other.epoch;
    }
}

bool larder_feed_cursor_read(const feed_page *page, size_t at, feed_cursor *out) {
    const feed_slot *slot = &page->slots[at];
    uint64_t name[FEED_NAME_WORDS], counts[2], length = load_word(&slot->length);
    memset(out, 0, sizeof *out);
    for (int word = 0; word < FEED_NAME_WORDS; word++) name[word] = load_word(&slot->name[word]);
    out->length = (uint32_t)length;
    out->max_lag = load_word(&slot->max_lag);
    if (out->length == 0 || out->length > LARDER_STORE_FEED_NAME_MAX_BYTES ||
        length != length_word(name, out->length, out->max_lag))
        return false;
    memcpy(out->name, name, sizeof out->name);
    positions_read(slot, counts, out);
    // Of a damaged one nobody knows how far it is: then it is nowhere.
    if (counts[0] == 0 && counts[1] == 0) out->epoch = FEED_EPOCH_NONE;
    return true;
}

bool larder_feed_cursor_is_damaged(const feed_page *page, size_t at) {
    feed_cursor ignored;
    return load_word(&page->slots[at].length) != FEED_SLOT_FREE &&
           !larder_feed_cursor_read(page, at, &ignored);
}

static void position_write(feed_page *page, size_t at, uint32_t epoch, uint64_t sequence) {
    feed_slot *slot = &page->slots[at];
    feed_cursor ignored = {.length = 0};
    uint64_t counts[2];
    positions_read(slot, counts, &ignored);
    int older = counts[0] <= counts[1] ? 0 : 1;
    _Atomic uint64_t *to = slot->positions[older];
    uint64_t words[] = {sequence, counts[1 - older] + 1, epoch};
    // If we crash here, the other copy counts.
    store_word(&to[3], UINT64_MAX);
    for (int word = 0; word < 3; word++) store_word(&to[word], words[word]);
    store_word(&to[3], larder_crc32c(0, words, sizeof words));
}

void larder_feed_cursor_write(feed_page *page, size_t at, const feed_cursor *written) {
    feed_slot *slot = &page->slots[at];
    uint64_t name[FEED_NAME_WORDS] = {0};
    store_word(&slot->length, FEED_SLOT_FREE);
    if (written->length == 0) return;
    memcpy(name, written->name, written->length);
    for (int copy = 0; copy < 2; copy++) store_word(&slot->positions[copy][3], UINT64_MAX);
    position_write(page, at, written->epoch, written->sequence);
    for (int word = 0; word < FEED_NAME_WORDS; word++) store_word(&slot->name[word], name[word]);
    store_word(&slot->max_lag, written->max_lag);
    // If we crash here, the slot is still free.
    store_word(&slot->length, length_word(name, written->length, written->max_lag));
}

// The file ----------------------------------------------------------------------------------------

larder_status larder_feed_table_lock(const feed_file *of) {
    enum { ATTEMPTS = 1000 };
    larder_status status = LARDER_EBUSY;
    for (int attempt = 0; attempt < ATTEMPTS && status == LARDER_EBUSY; attempt++) {
        if (attempt > 0) larder_os_sleep(1000000);
        // Without locks of places nobody is kept out: a slot that two fill is damaged at worst.
        if (!larder_os_file_locks_places()) return LARDER_OK;
        status = larder_os_file_lock_place(of->file, FEED_PLACE_TABLE, false);
    }
    return status;
}

void larder_feed_table_unlock(const feed_file *of) {
    if (larder_os_file_locks_places()) larder_os_file_unlock_place(of->file, FEED_PLACE_TABLE);
}

static void lose_positions(feed_page *page) {
    feed_cursor left;
    for (size_t at = 0; at < LARDER_STORE_FEED_CURSORS_MAX; at++)
        if (larder_feed_cursor_read(page, at, &left)) position_write(page, at, FEED_EPOCH_NONE, 0);
}

/** What another store has left in the folder says nothing of this one: unless it is this one that
    was replaced, and a handle is left of it. */
static larder_status adopt(feed_page *page, const larder_store *store) {
    const uint64_t store_id = store->pending.log.store_id;
    if (load_word(&page->store_id) == store_id) return LARDER_OK;
    if (!larder_environment_is_there(store->index.environment)) return LARDER_EREPLACED;
    // Before, for we may be killed; and behind what a handle of the other one writes that has not
    // seen this.
    lose_positions(page);
    store_word(&page->store_id, store_id);
    atomic_thread_fence(memory_order_seq_cst);
    lose_positions(page);
    return LARDER_OK;
}

/** In one write, so that whoever is killed leaves a whole file, or an empty one. */
static larder_status write_blank(const feed_file *of, const larder_store *store) {
    feed_page page = {.store_id = store->pending.log.store_id};
    memcpy(page.magic, magic, sizeof magic);
    for (size_t at = 0; at < LARDER_STORE_FEED_CURSORS_MAX; at++)
        page.slots[at].length = FEED_SLOT_FREE;
    larder_status status = larder_os_file_size_check(FEED_BYTES);
    return status ? status : larder_os_file_write_at(of->file, &page, FEED_BYTES, 0);
}

/** Whether the file is a store's: begins as one, or as what damage to its head leaves.
    @param page its first `bytes`, then zeros. */
static bool is_feed_file(const feed_page *page, size_t bytes, const larder_store *store) {
    static const char blank[sizeof magic];
    return memcmp(page->magic, magic, bytes < sizeof magic ? bytes : sizeof magic) == 0 ||
           memcmp(page->magic, blank, sizeof blank) == 0 ||
           load_word(&page->store_id) == store->pending.log.store_id;
}

/** Maps the file, which is there. What was cut off is zeros from then on: slots that are damaged.
    @return ENOENT if nothing was written to it yet, and it may not be `makes`. */
static larder_status map_file(feed_file *of, const larder_store *store, bool makes) {
    larder_os_facts facts;
    feed_page begin = {.store_id = 0};
    uint8_t *map = NULL;
    size_t got = 0;
    larder_status status = larder_os_file_facts_get(of->file, &facts);
    if (!status && facts.bytes == 0) status = makes ? write_blank(of, store) : ENOENT;
    if (!status) status = larder_os_file_read_at(of->file, &begin, sizeof begin, 0, &got);
    if (!status && (facts.bytes > FEED_BYTES || !is_feed_file(&begin, got, store)))
        status = LARDER_EFOREIGN;
    if (!status) status = larder_os_file_reserve(of->file, FEED_BYTES);
    if (!status) status = larder_os_file_map(of->file, FEED_BYTES, true, &map);
    if (status) return status;
    of->page = (feed_page *)(void *)map;
    if (memcmp(begin.magic, magic, sizeof magic) != 0) {
        // Its slots have sums of their own.
        store_word(&of->page->store_id, store->pending.log.store_id);
        memcpy(of->page->magic, magic, sizeof magic);
    }
    return adopt(of->page, store);
}

/** The folder that the store is in: of a reader without a slot, behind what a compaction has put in
    the place of data.mdb meanwhile. */
static larder_status open_folder(environment *env, int *folder) {
    enum { ATTEMPTS = 16 };
    snapshot *seen;
    larder_status status = larder_environment_folder(env, folder);
    for (int attempt = 1; status == LARDER_EREPLACED && attempt < ATTEMPTS; attempt++) {
        if (!larder_environment_is_replaced(env)) break;
        status = larder_environment_read(env, &seen);
        if (status) break;
        larder_environment_release(env, seen);
        status = larder_environment_folder(env, folder);
    }
    return status;
}

larder_status larder_feed_file_open(const larder_store *store, bool makes, feed_file *out) {
    const bool trusts = (store->options.flags & LARDER_STORE_TRUST_OTHERS) != 0;
    int folder = -1;
    file_path path;
    larder_os_facts facts = {0};
    *out = (feed_file){.file = -1};
    larder_status status = larder_os_file_facts_at(
        larder_environment_path(path, store->identity.path, "lock"), &facts);
    const uint32_t mode = facts.mode & 0777;
    // Another store may be at that path by now, and gets no file of this one.
    if (!status) status = open_folder(store->index.environment, &folder);
    if (!status) status = larder_os_file_open_in(folder, "feed", LARDER_OS_WRITE, 0, &out->file);
    if (status == ENOENT && folder >= 0 && makes)
        status = larder_os_file_open_in(folder, "feed", LARDER_OS_WRITE | LARDER_OS_CREATE, mode,
                                        &out->file);
    larder_os_file_close(folder);
    if (!status) status = larder_os_file_facts_get(out->file, &facts);
    if (!status && !facts.is_regular) status = LARDER_EFOREIGN;
    if (!status) status = larder_os_trust_check(&facts, trusts);
    if (!status && makes && facts.bytes == 0) (void)larder_os_file_change_mode(out->file, mode);
    if (!status) status = larder_feed_table_lock(out);
    bool is_locked = !status;
    if (!status) status = map_file(out, store, makes);
    if (is_locked) larder_feed_table_unlock(out);
    if (status) larder_feed_file_close(out);
    return status;
}

larder_status larder_feed_file_note(const feed_file *of, uint64_t store_id, size_t slot,
                                    uint32_t epoch, uint64_t sequence) {
    position_write(of->page, slot, epoch, sequence);
    // Either whoever takes the file over writes behind this, or it is seen here.
    atomic_thread_fence(memory_order_seq_cst);
    if (load_word(&of->page->store_id) == store_id) return LARDER_OK;
    position_write(of->page, slot, FEED_EPOCH_NONE, 0);
    return LARDER_EREPLACED;
}

void larder_feed_file_close(feed_file *closed) {
    if (closed->page != NULL) larder_os_file_unmap((uint8_t *)closed->page, FEED_BYTES);
    larder_os_file_close(closed->file);
    *closed = (feed_file){.file = -1};
}

larder_status larder_feed_file_sync(const feed_file *of, const char *folder) {
    file_path path;
    larder_status status = larder_os_map_sync(of->file, (uint8_t *)of->page, FEED_BYTES);
    if (status) return status;
    return larder_os_file_sync_parent(larder_environment_path(path, folder, "feed"));
}

// Waiting -----------------------------------------------------------------------------------------

void larder_feed_wake(feed_bell *bell) {
    atomic_fetch_add_explicit(&bell->word, 1, memory_order_seq_cst);
    larder_os_shared_wake_all(&bell->word);
}

uint32_t larder_feed_arm(feed_bell *bell) {
    uint32_t word = atomic_load_explicit(&bell->word, memory_order_seq_cst);
    uint32_t armed = atomic_load_explicit(&bell->armed, memory_order_relaxed);
    while ((int32_t)(armed - (word + 1)) < 0 &&
           !atomic_compare_exchange_weak(&bell->armed, &armed, word + 1)) {
    }
    // Either what is published is seen, or whoever publishes it sees this.
    atomic_thread_fence(memory_order_seq_cst);
    return word;
}

void larder_feed_watch(larder_store *store) {
    store_feed *feed = &store->feed;
    feed_file found;
    if (atomic_load_explicit(&feed->page, memory_order_relaxed) != NULL ||
        store_is_read_only(store))
        return;
    pthread_mutex_lock(&feed->lock);
    if (atomic_load(&feed->page) == NULL && !atomic_load(&store->identity.is_shut)) {
        larder_status status = larder_feed_file_open(store, false, &found);
        // A handle that is being closed may still have it: then the next look will do.
        if (!status && larder_os_file_locks_places())
            status = larder_os_file_lock_place(found.file, FEED_PLACE_WATCH, false);
        atomic_store(&feed->is_unknown, status == LARDER_EBUSY || status == EMFILE ||
                                            status == ENFILE || status == ENOMEM);
        if (status) {
            larder_feed_file_close(&found);
        } else {
            feed->file = found;
            atomic_store_explicit(&feed->page, found.page, memory_order_release);
            for (int what = 0; what < 2; what++) larder_feed_wake(&found.page->bells[what]);
        }
    }
    pthread_mutex_unlock(&feed->lock);
}

void larder_feed_join(store_feed *feed, feed_waiter *added) {
    pthread_mutex_lock(&feed->lock);
    added->next = feed->waiters;
    feed->waiters = added;
    pthread_mutex_unlock(&feed->lock);
}

void larder_feed_leave(store_feed *feed, const feed_waiter *gone) {
    pthread_mutex_lock(&feed->lock);
    feed_waiter **at = &feed->waiters;
    while (*at != NULL && *at != gone) at = &(*at)->next;
    if (*at != NULL) *at = gone->next;
    pthread_mutex_unlock(&feed->lock);
}

void larder_feed_wake_own(store_feed *feed) {
    pthread_mutex_lock(&feed->lock);
    for (feed_waiter *next = feed->waiters; next != NULL; next = next->next) {
        feed_page *page = atomic_load(&next->page);
        for (int what = 0; what < 2 && page != NULL; what++) larder_feed_wake(&page->bells[what]);
    }
    pthread_mutex_unlock(&feed->lock);
}

void larder_feed_unwatch(store_feed *feed) {
    pthread_mutex_lock(&feed->lock);
    if (feed->file.file >= 0 && larder_os_file_locks_places())
        larder_os_file_unlock_place(feed->file.file, FEED_PLACE_WATCH);
    pthread_mutex_unlock(&feed->lock);
}

larder_status larder_feed_sync(const store_feed *feed) {
    if (atomic_load(&feed->page) == NULL) return LARDER_EBUSY;
    return larder_os_map_sync(feed->file.file, (uint8_t *)feed->file.page, FEED_BYTES);
}

void larder_feed_free(store_feed *feed) { larder_feed_file_close(&feed->file); }
