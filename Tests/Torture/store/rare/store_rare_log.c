// SPDX-License-Identifier: MIT
// What is rare in the log, in checkpoints and in cleaning, where chance does not come to it:
// records and keys that no store writes, a log put together by hand, rows that no checkpoint
// leaves, and a call that fails at the one moment that matters.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// The harness's rings have a function of that name, and so has the store's log.
#define record_bytes ring_record_bytes
#include "failing_calls.h"
#include "store_rare.h"
#undef record_bytes

#include "checkpoint/append.h"
#include "checkpoint/checkpoint.h"
#include "faults.h"
#include "larder_index.h"
#include "lmdb/touch.h"
#include "log/scan.h"

enum { SMALL_BYTES = 4096, STORE_ID = 77 };

static larder_status opened_as(const char *path, uint32_t flags, larder_store_tuning *tuning,
                               larder_store **out) {
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = flags | LARDER_STORE_HOST_MAINTENANCE;
    options.clock = own_clock;
    options.tuning = tuning;
    options.inline_threshold_bytes = 16;
    *out = NULL;
    the_time = 1000;
    return larder_store_open(path, &options, NULL, out);
}

static larder_status opened(const char *path, uint32_t flags, larder_store **out) {
    larder_store_tuning tuning;
    larder_store_tuning_init(&tuning);
    tuning.segment_min_bytes = SMALL_BYTES;
    tuning.segment_max_bytes = 2 * SMALL_BYTES;
    return opened_as(path, flags, &tuning, out);
}

/** Passes over many rows take several transactions. */
static larder_status opened_in_parts(const char *path, uint32_t flags, larder_store **out) {
    larder_store_tuning tuning;
    larder_store_tuning_init(&tuning);
    tuning.remove_max_count = 1;
    return opened_as(path, flags, &tuning, out);
}

static larder_store_item item_of(unsigned number, const char *value) {
    larder_store_item item;
    larder_store_item_init(&item, rare_key(number), bytes_of_text(value));
    return item;
}

static larder_status put_many(larder_store *store, unsigned from, unsigned to) {
    larder_status status = LARDER_OK;
    for (unsigned i = from; i < to && !status; i++) {
        status = rare_put(store, i, "a value of some length, so that segments fill up");
    }
    return status;
}

static larder_status remove_many(larder_store *store, unsigned from, unsigned to, unsigned step) {
    larder_status status = LARDER_OK;
    for (unsigned i = from; i < to && !status; i += step) {
        status = larder_store_remove(store, rare_key(i), 0);
    }
    return status;
}

static void is_whole(torture *run, larder_store *store, uint64_t count) {
    larder_store_report report;
    GIVES(larder_store_check(store, NULL, NULL, &report), LARDER_OK);
    EXPECT(run, report.intact == count && rare_count(run, store) == count,
           "%llu are there, %llu counted, of %llu", (unsigned long long)report.intact,
           (unsigned long long)rare_count(run, store), (unsigned long long)count);
}

/** Closed, the store is opened anew, and has so many. */
static void is_whole_anew(torture *run, const char *path, larder_store *store, uint64_t count) {
    larder_store_close(store);
    GIVES(opened(path, 0, &store), LARDER_OK);
    if (store) {
        is_whole(run, store, count);
    }
    larder_store_close(store);
}

// Records and keys --------------------------------------------------------------------------------

static void records(torture *run, void *context) {
    enum { LONG = 4097 };
    static _Alignas(8) uint8_t bytes[8192], value[LONG];
    const rare *self = context;
    record found;
    static const uint8_t kinds[] = {0, RECORD_NEXT + 1};
    for (size_t i = 0; i < sizeof kinds; i++) {
        size_t length = larder_record_write_bare(bytes, kinds[i], bytes_of(NULL, 0));
        uint64_t word = larder_record_seal(bytes, length, 1, 0, false);
        memcpy(bytes, &word, sizeof word);
        GIVES(larder_record_read(bytes_of(bytes, length), true, &found), LARDER_EDAMAGED);
    }
    // The longest value in an index, and one that is longer.
    for (size_t length = LONG - 1; length <= LONG; length++) {
        larder_store_index_entry index = {.index = 1, .value = {value, length}};
        larder_store_item item = item_of(1, "");
        item.indexes = &index;
        item.index_count = 1;
        size_t whole = RECORD_HEAD_BYTES + 8 + item.key.length + 4 + length;
        larder_record_write(bytes, &item, whole, 1);
        uint64_t word = larder_record_seal(bytes, whole, 1, 0, false);
        memcpy(bytes, &word, sizeof word);
        GIVES(larder_record_read(bytes_of(bytes, whole), true, &found),
              length < LONG ? LARDER_OK : LARDER_EDAMAGED);
    }
    // Values too long for a record, alone and with their keys: nobody looks at their bytes.
    larder_store *store;
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    larder_store_item item = item_of(1, "");
    item.value.length = RECORD_MAX_BYTES + 1;
    GIVES(larder_store_put(store, &item, NULL), LARDER_ETOOLARGE);
    item.value.length = RECORD_MAX_BYTES - RECORD_HEAD_BYTES;
    GIVES(larder_store_put(store, &item, NULL), LARDER_ETOOLARGE);
    EXPECT(run, rare_count(run, store) == 0, "too long a value was put");
    // An entry that names a segment that there is not.
    GIVES(rare_put(store, 1, "value"), LARDER_OK);
    larder_store_entry entry;
    void *kept;
    GIVES(larder_store_get(store, rare_key(1), 0, &entry), LARDER_OK);
    entry.flags |= LARDER_STORE_ENTRY_IN_LOG;
    uint32_t number = entry.segment;
    entry.segment = 1 << 20;
    GIVES(larder_store_retain_value(&entry, &kept), LARDER_EINVALID);
    entry.segment = number;
    larder_store_release(&entry);
    larder_store_close(store);
}

static void keys(torture *run, void *context) {
    (void)context;
    tree_key key;
    size_t bytes;
    bool is_cut;
    torture_trial(run);
    EXPECT(run, !larder_tree_key_index_value(bytes_of("\x30\0\0\0", 4), &bytes, &is_cut),
           "a key that is too short has a value");
    EXPECT(run, !larder_tree_key_index_value(bytes_of("\x31\0\1v\0\1", 6), &bytes, &is_cut),
           "a key of no index has a value");
    EXPECT(run, !larder_tree_key_index_value(bytes_of("\x30\0\1value", 8), &bytes, &is_cut),
           "a value without an end has one");
    EXPECT(run, !larder_tree_key_index_value(bytes_of("\x30\0\1v\0\7", 6), &bytes, &is_cut),
           "a value with an unknown mark has an end");
    larder_tree_key_index(1, bytes_of_text("value"), NULL, NULL, &key);
    EXPECT(run,
           larder_tree_key_index_value(bytes_of_key(&key), &bytes, &is_cut) && bytes == 7 &&
               !is_cut,
           "a value of %zu bytes, not 7", bytes);
    larder_bytes form = {key.bytes + 3, bytes};
    EXPECT(run, larder_index_value_has_form(bytes_of_text("value"), form),
           "its own form is another's");
    EXPECT(run,
           !larder_index_value_has_form(bytes_of_text("values"), form) &&
               !larder_index_value_has_form(bytes_of_text("walue"), form),
           "another value has its form");
    key = (tree_key){{SPACE_INDEX, 1, 0xFF, 0xFF}, 4};
    larder_tree_key_after_prefix(&key);
    EXPECT(run, key.length == 2 && key.bytes[1] == 2, "not the least key behind a prefix");
}

static int compare_words(const void *a, const void *b) {
    const uint64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

/** Two keys that a memtable cannot tell apart by the 32 bits that it keeps of them. */
static bool find_twins(unsigned *one, unsigned *other) {
    enum { MANY = 400000 };
    uint64_t *tagged = malloc(MANY * sizeof *tagged);
    bool is_found = false;
    for (unsigned i = 0; i < MANY && tagged; i++) {
        larder_bytes key = rare_key(i);
        tagged[i] = larder_index_hash_bytes(key.data, key.length) >> 32 << 32 | i;
    }
    if (tagged) {
        qsort(tagged, MANY, sizeof *tagged, compare_words);
    }
    for (unsigned i = 1; i < MANY && tagged && !is_found; i++) {
        is_found = tagged[i] >> 32 == tagged[i - 1] >> 32;
        *one = (uint32_t)tagged[i - 1];
        *other = (uint32_t)tagged[i];
    }
    free(tagged);
    return is_found;
}

static void twins(torture *run, void *context) {
    const rare *self = context;
    unsigned one = 0, other = 0;
    torture_trial(run);
    if (!EXPECT(run, find_twins(&one, &other), "all keys differ")) {
        return;
    }
    larder_store *store;
    larder_store_entry entry;
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(rare_put(store, one, "one"), LARDER_OK);
    GIVES(larder_store_get(store, rare_key(other), 0, &entry), LARDER_ENOTFOUND);
    GIVES(rare_put(store, other, "other"), LARDER_OK);
    GIVES(larder_store_get(store, rare_key(one), 0, &entry), LARDER_OK);
    EXPECT(run, entry.value.length == 3, "one key's value is another's");
    larder_store_release(&entry);
    is_whole(run, store, 2);
    // A batch of which more is waited for than at a time.
    larder_store_batch *batch = NULL;
    GIVES(larder_store_batch_create(store, &batch), LARDER_OK);
    for (unsigned i = 0; i < 200; i++) {
        larder_store_item item = item_of(500000 + i, "of many");
        EXPECT_STATUS(run, larder_store_batch_put(batch, &item), LARDER_OK);
    }
    GIVES(larder_store_batch_commit(batch, 0, NULL), LARDER_OK);
    larder_store_batch_destroy(batch);
    is_whole_anew(run, self->path, store, 202);
}

// A log by hand -----------------------------------------------------------------------------------

static larder_status log_made(const char *path, store_log *out) {
    larder_status status =
        make_directory(path) ? larder_log_open(path, STORE_ID, 0600, false, out) : errno;
    out->segment_min_bytes = SMALL_BYTES;
    out->segment_max_bytes = SMALL_BYTES;
    return status;
}

static larder_status append(store_log *log, bool continues) {
    uint8_t *target;
    larder_bytes key = bytes_of_text("some key");
    size_t length = RECORD_HEAD_BYTES + key.length, padded = record_padded(length);
    larder_status status = larder_log_reserve(log, padded, false, &target);
    if (!status) {
        (void)larder_record_write_bare(target, RECORD_REMOVE, key);
        uint64_t word = larder_record_seal(target, length, log->last_sequence + 1, 0, continues);
        larder_log_publish(log, padded, 1, word);
    }
    return status;
}

static larder_status scanned(store_log *log, location at, uint64_t sequence) {
    log_scan scan = {.log = log, .at = at, .sequence = sequence};
    const uint8_t *first;
    uint32_t count;
    segment *from;
    larder_status status = LARDER_OK;
    while (!status) {
        status = larder_log_scan_next(&scan, true, &first, &count, &from);
    }
    return status;
}

static void scans(torture *run, void *context) {
    const rare *self = context;
    store_log log;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    segment *cleaned;
    const location start = {1, SEGMENT_HEAD_BYTES};
    GIVES(log_made(self->path, &log), LARDER_OK);
    GIVES(append(&log, false), LARDER_OK);
    GIVES(append(&log, false), LARDER_OK);
    GIVES(scanned(&log, start, 0), LARDER_END);
    // Behind the head, and nowhere at all.
    log_scan scan = {.log = &log, .at = {1, 0}};
    torture_trial(run);
    EXPECT(run, larder_log_scan_resync(&scan) && scan.at.offset == SEGMENT_HEAD_BYTES,
           "not found from the head on");
    larder_bytes bytes;
    GIVES(larder_segment_look(log.active, log.active->capacity + 8, &bytes), LARDER_EDAMAGED);
    // The log does not go on in a cleaned segment.
    log.next_number = 2;
    GIVES(larder_log_create_cleaned(&log, &lock, SMALL_BYTES, 1, 0, &cleaned), LARDER_OK);
    GIVES(scanned(&log, (location){2, SEGMENT_HEAD_BYTES}, 0), LARDER_EDAMAGED);
    GIVES(larder_segment_look(log.active, SEGMENT_HEAD_BYTES + 4, &bytes), LARDER_EDAMAGED);
    larder_segment_seal(log.active, 2, log.last_sequence);
    GIVES(scanned(&log, start, 0), LARDER_EDAMAGED);
    // A segment is made in advance once, and not of one that is not half full.
    larder_log_close(&log);
    remove_tree(self->path);
    GIVES(log_made(self->path, &log), LARDER_OK);
    larder_log_prepare(&log, &lock);
    GIVES(append(&log, false), LARDER_OK);
    larder_log_prepare(&log, &lock);
    EXPECT(run, !log.spare, "a spare segment beside one that is not half full");
    while (atomic_load(&log.active->end) <= SMALL_BYTES / 2) {
        EXPECT_STATUS(run, append(&log, false), LARDER_OK);
    }
    log.is_read_only = true;
    larder_log_prepare(&log, &lock);
    EXPECT(run, !log.spare, "who only reads makes a spare segment");
    log.is_read_only = false;
    larder_log_prepare(&log, &lock);
    const segment *spare = log.spare;
    larder_log_prepare(&log, &lock);
    EXPECT(run, spare && log.spare == spare, "a spare segment is made anew");
    // A batch that ends with the segment is none.
    GIVES(append(&log, true), LARDER_OK);
    larder_segment_seal(log.active, 2, log.last_sequence);
    GIVES(scanned(&log, start, 0), LARDER_EDAMAGED);
    larder_log_close(&log);
}

/** Behind a segment that is lost, the log goes on in none of those that began before. */
static void resyncs(torture *run, void *context) {
    const rare *self = context;
    store_log log;
    GIVES(log_made(self->path, &log), LARDER_OK);
    for (unsigned i = 0; i < 200; i++) {
        EXPECT_STATUS(run, append(&log, false), LARDER_OK);
    }
    EXPECT(run, log.active->number > 2, "the log has a single segment");
    EXPECT(run, write_file(inside(self->path, "log/of others"), "text", 4), "cannot write");
    GIVES(larder_log_enter(&log), LARDER_OK);
    log_scan scan = {.log = &log, .at = {1, SMALL_BYTES}, .sequence = 1000};
    EXPECT(run, !larder_log_scan_resync(&scan), "what came before goes on");
    scan.sequence = 1;
    EXPECT(run, larder_log_scan_resync(&scan) && scan.at.segment == 2,
           "the next segment is not found");
    larder_log_leave(&log);
    larder_log_close(&log);
}

static void head_sums(uint8_t head[SEGMENT_HEAD_BYTES]) {
    uint32_t crc = larder_crc32c(0, head + 12, SEGMENT_HEAD_BYTES - 12);
    memcpy(head + 8, &crc, sizeof crc);
}

static void segments(torture *run, void *context) {
    const rare *self = context;
    store_log log;
    segment *made = NULL, *again = NULL;
    uint64_t store_id;
    GIVES(log_made(self->path, &log), LARDER_OK);
    GIVES(larder_log_enter(&log), LARDER_OK);
    GIVES(larder_segment_create(log.folder, 1, SEGMENT_WRITTEN, SMALL_BYTES, 1, 0,
                                (segment_epoch){0, 0}, STORE_ID, 0600, &made),
          LARDER_OK);
    GIVES(larder_segment_create(log.folder, 1, SEGMENT_WRITTEN, SMALL_BYTES, 1, 0,
                                (segment_epoch){0, 0}, STORE_ID, 0600, &again),
          EEXIST);
    EXPECT(run, !again, "what is there is made again");
    larder_segment_close(made);
    const char *path = inside(self->path, "log/00000001.seg");
    uint8_t head[SEGMENT_HEAD_BYTES];
    torture_trial(run);
    EXPECT(run, read_file(path, head, sizeof head) >= SMALL_BYTES, "no head");
    segment_facts facts;
    GIVES(larder_segment_facts(log.folder, 1, &facts), LARDER_OK);
    EXPECT(run, facts.is_new && facts.is_empty && facts.head_number == 1,
           "a new segment is an old one");
    GIVES(larder_segment_facts(log.folder, 9, &facts), ENOENT);
    larder_fault_set("pread", 1, EIO);
    GIVES(larder_segment_facts(log.folder, 1, &facts), EIO);
    larder_fault_set(NULL, 0, 0);
    // Larger than offsets are wide: a file of holes.
    uint64_t huge = ((uint64_t)1 << 35) + 4096;
    memcpy(head + 32, &huge, sizeof huge);
    head_sums(head);
    int file = open(path, O_WRONLY | O_CLOEXEC);
    EXPECT(run, file >= 0 && pwrite(file, head, sizeof head, 0) == sizeof head, "cannot write");
    if (huge <= MAPPED_MAX_BYTES && ftruncate(file, (off_t)huge) == 0) {
        GIVES(larder_segment_open(log.folder, 1, STORE_ID, false, &made), LARDER_OK);
        EXPECT(run, made && made->kind == SEGMENT_UNKNOWN && made->capacity < huge,
               "such a head is believed");
        larder_segment_close(made);
    }
    EXPECT(run, ftruncate(file, SMALL_BYTES) == 0, "cannot truncate");
    close(file);
    // Its head is damaged, and cannot be mended.
    GIVES(larder_segment_open_damaged(log.folder, 1, &store_id, &made), LARDER_OK);
    EXPECT(run, made && made->kind == 0, "a damaged head is believed");
    if (made) {
        larder_fault_set("fallocate", 1, ENOSPC);
        GIVES(larder_segment_mend(made, log.folder, SEGMENT_CLEANED, STORE_ID), ENOSPC);
        larder_fault_set("pwrite", 1, EIO);
        GIVES(larder_segment_mend(made, log.folder, SEGMENT_CLEANED, STORE_ID), EIO);
        larder_fault_set(NULL, 0, 0);
        GIVES(larder_segment_mend(made, log.folder, SEGMENT_CLEANED, STORE_ID), LARDER_OK);
        larder_segment_close(made);
        GIVES(larder_segment_open(log.folder, 1, STORE_ID, false, &made), LARDER_OK);
        larder_segment_close(made);
    }
    // A socket is no segment.
    (void)unlink(path);
    if (mknod(path, S_IFSOCK | 0600, 0) == 0) {
        GIVES(larder_segment_open_damaged(log.folder, 1, &store_id, &made), LARDER_OK);
        EXPECT(run, !made, "a socket is a segment");
    }
    larder_log_leave(&log);
    larder_log_close(&log);
}

/** A segment that is mended stays as long as it is, and gets no room for its holes. */
static void mended_with_holes(torture *run, void *context) {
    const rare *self = context;
    const off_t claimed = 256 << 20;
    struct stat before, after;
    store_log log;
    segment *made = NULL;
    uint64_t store_id;
    GIVES(log_made(self->path, &log), LARDER_OK);
    GIVES(larder_log_enter(&log), LARDER_OK);
    GIVES(larder_segment_create(log.folder, 1, SEGMENT_WRITTEN, SMALL_BYTES, 1, 0,
                                (segment_epoch){0, 0}, STORE_ID, 0600, &made),
          LARDER_OK);
    larder_segment_close(made);
    const char *path = inside(self->path, "log/00000001.seg");
    int file = open(path, O_WRONLY | O_CLOEXEC);
    EXPECT(run,
           pwrite(file, "x", 1, 8) == 1 && ftruncate(file, claimed) == 0 &&
               stat(path, &before) == 0,
           "cannot write");
    close(file);
    GIVES(larder_segment_open_damaged(log.folder, 1, &store_id, &made), LARDER_OK);
    if (made && before.st_blocks * 512 < claimed / 4) {
        GIVES(larder_segment_mend(made, log.folder, SEGMENT_CLEANED, STORE_ID), LARDER_OK);
        EXPECT(run,
               stat(path, &after) == 0 && after.st_size == claimed &&
                   after.st_blocks * 512 < claimed / 4,
               "it has %lld blocks", (long long)after.st_blocks);
    }
    larder_segment_close(made);
    larder_log_leave(&log);
    larder_log_close(&log);
}

/** Removals take what each segment keeps back for them where no other can be made, up to what is
    for the removal of everything, which takes the last byte; the record that names the next one has
    its own place. */
static void keep_back(torture *run, const char *path, bool clears) {
    larder_store *store;
    static char key[SMALL_BYTES];
    GIVES(opened(path, 0, &store), LARDER_OK);
    larder_fault_set("open", -1, ENOSPC);
    GIVES(larder_store_remove(store, rare_key(1), 0), ENOSPC);
    larder_fault_set(NULL, 0, 0);
    unsigned count = 0;
    do {
        EXPECT_STATUS(run, rare_put(store, count++, "a value"), LARDER_OK);
    } while (!larder_log_turns_over(&store->pending.log, 100));
    larder_fault_set("open", -1, ENOSPC);
    larder_status status = LARDER_OK;
    while (!status) {
        status = rare_put(store, count, "a value");
        count += !status;
    }
    EXPECT(run, status == ENOSPC, "a put without room gave %d", status);
    GIVES(larder_store_remove(store, rare_key(0), 0), LARDER_OK);
    // No room for one so long, and just enough for this one.
    memset(key, 'x', sizeof key);
    GIVES(larder_store_remove(store, bytes_of(key, sizeof key), 0), ENOSPC);
    const segment *active = store->pending.log.active;
    const size_t last = record_padded(RECORD_HEAD_BYTES);
    size_t left = (size_t)(active->capacity - atomic_load(&active->end)) - SEGMENT_NEXT_BYTES;
    left -= last;
    GIVES(larder_store_remove(store, bytes_of(key, left - RECORD_HEAD_BYTES), 0), LARDER_OK);
    GIVES(larder_store_remove(store, rare_key(1), 0), ENOSPC);
    if (clears) GIVES(larder_store_remove_all(store, NULL, NULL), LARDER_OK);
    larder_fault_set(NULL, 0, 0);
    GIVES(rare_put(store, count, "a value"), LARDER_OK);
    uint64_t end = atomic_load(&active->end) + (clears ? 0 : last);
    EXPECT(run, end == active->capacity, "the segment is not full");
    if (clears) {
        EXPECT(run, rare_count(run, store) == 1, "not everything is removed");
        larder_store_close(store);
        return;
    }
    is_whole(run, store, count);
    is_whole_anew(run, path, store, count);
}

static void kept_back(torture *run, void *context) {
    const rare *self = context;
    keep_back(run, self->path, false);
    keep_back(run, self->other, true);
}

/** A segment that another program filled to its end: there is no place for the next one's name. */
static void filled(torture *run, void *context) {
    const rare *self = context;
    larder_store *store;
    static char key[SMALL_BYTES];
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(rare_put(store, 1, "a value"), LARDER_OK);
    const segment *active = store->pending.log.active;
    uint64_t end = atomic_load(&active->end);
    size_t length = (size_t)(active->capacity - end);
    uint8_t *target = active->map + end;
    (void)larder_record_write_bare(target, RECORD_REMOVE,
                                   bytes_of(key, length - RECORD_HEAD_BYTES));
    uint64_t word =
        larder_record_seal(target, length, store->pending.log.last_sequence + 1, 0, false);
    memcpy(target, &word, sizeof word);
    EXPECT(run, copy_tree(self->path, self->other), "cannot copy");
    larder_store_close(store);
    GIVES(opened(self->other, 0, &store), LARDER_OK);
    GIVES(rare_put(store, 2, "a value"), LARDER_EDAMAGED);
    EXPECT(run, rare_count(run, store) == 1, "not what was there");
    larder_store_close(store);
}

/** The path leads to another file system, where a folder with the same names lies. */
static void elsewhere(torture *run, void *context) {
    const rare *self = context;
    static const char *const others[] = {"/tmp", "/dev/shm", "/var/tmp"};
    struct stat here, there;
    char path[700], target[100];
    larder_store *store;
    if (!make_directory(self->path) || stat(self->path, &here) != 0) {
        return;
    }
    EXPECT(run, make_directory(inside(self->path, "a")), "cannot make a folder");
    snprintf(path, sizeof path, "%s/link/store", self->path);
    EXPECT(run, symlink("a", inside(self->path, "link")) == 0, "cannot make a link");
    GIVES(opened(path, 0, &store), LARDER_OK);
    GIVES(larder_store_sync(store), LARDER_OK);
    GIVES(rare_put(store, 1, "value"), LARDER_OK);
    GIVES(larder_store_sync(store), LARDER_OK);
    GIVES(rare_put(store, 1, "other"), LARDER_OK);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (stat(others[i], &there) != 0 || there.st_dev == here.st_dev) {
            continue;
        }
        snprintf(target, sizeof target, "%s/larder-elsewhere-%ld", others[i], (long)getpid());
        if (make_directory(target) && make_directory(inside(target, "store")) &&
            make_directory(inside(target, "store/log"))) {
            (void)unlink(inside(self->path, "link"));
            EXPECT(run, symlink(target, inside(self->path, "link")) == 0, "cannot make a link");
            GIVES(larder_store_sync(store), LARDER_EREPLACED);
            (void)unlink(inside(self->path, "link"));
            EXPECT(run, symlink("a", inside(self->path, "link")) == 0, "cannot make a link");
        }
        remove_tree(target);
        break;
    }
    GIVES(larder_store_sync(store), LARDER_OK);
    is_whole(run, store, 1);
    larder_store_close(store);
}

/** Reads every entry of a store whose folder is gone: what is not mapped is no damage and no miss.
    @return how many could not be read. */
static unsigned read_moved(torture *run, larder_store *store, unsigned count) {
    unsigned unread = 0;
    for (unsigned i = 0; i < count; i++) {
        larder_store_entry entry;
        larder_status status = larder_store_get(store, rare_key(i), 0, &entry);
        larder_store_release(&entry);
        torture_trial(run);
        EXPECT(run, status == LARDER_OK || status == LARDER_EREPLACED, "entry %u gave %d", i,
               status);
        unread += status != LARDER_OK;
    }
    return unread;
}

/** The folder is moved away under handles that have not mapped all of the log. */
static void moved(torture *run, void *context) {
    enum { MANY = 400 };
    const rare *self = context;
    larder_store *store;
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(put_many(store, 0, MANY), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_OK);
    larder_store_close(store);
    for (unsigned reads = 0; reads < 2; reads++) {
        larder_store_cursor *cursor = NULL;
        larder_store_entry entry;
        larder_status status;
        unsigned seen = 0;
        GIVES(opened(self->path, reads ? LARDER_STORE_READ_ONLY : 0, &store), LARDER_OK);
        EXPECT(run, rename(self->path, self->other) == 0, "cannot move the folder");
        status = larder_store_cursor_open(store, &(larder_store_query){0}, &cursor);
        // Who only reads cannot even look where the log ends.
        EXPECT(run, reads || !status, "a cursor gave %d", status);
        while (!status && !(status = larder_store_cursor_next(cursor, &entry))) seen++;
        larder_store_cursor_close(cursor);
        EXPECT(run, status == LARDER_EREPLACED && seen < MANY, "a cursor ended with %d after %u",
               status, seen);
        EXPECT(run, read_moved(run, store, MANY) > 0, "every segment was mapped");
        if (!reads) GIVES(larder_store_sync(store), LARDER_EREPLACED);
        EXPECT(run, rename(self->other, self->path) == 0, "cannot move it back");
        EXPECT(run, read_moved(run, store, MANY) == 0, "not all of it is back");
        if (!reads) GIVES(larder_store_sync(store), LARDER_OK);
        larder_store_close(store);
    }
}

/** Another store's files come into the folder one by one, as from a backup: nothing is promised to
    be in them, and none is made beside them. */
static void replaced_by_files(torture *run, void *context) {
    const rare *self = context;
    larder_store *store;
    char lock[700], of_other[700];
    GIVES(opened(self->other, 0, &store), LARDER_OK);
    GIVES(put_many(store, 0, 2), LARDER_OK);
    larder_store_close(store);
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(put_many(store, 0, 2), LARDER_OK);
    GIVES(larder_store_sync(store), LARDER_OK);
    snprintf(lock, sizeof lock, "%s/lock", self->path);
    snprintf(of_other, sizeof of_other, "%s/lock", self->other);
    EXPECT(run, rename(of_other, lock) == 0, "cannot replace a file");
    GIVES(rare_put(store, 3, "value"), LARDER_OK);
    GIVES(larder_store_sync(store), LARDER_EREPLACED);
    larder_status status = put_many(store, 4, 400);
    EXPECT(run, status == LARDER_EREPLACED, "a long log gave %d", status);
    EXPECT(run, access(inside(self->path, "log/00000002.seg"), F_OK) != 0, "a segment was made");
    larder_store_close(store);
}

// Rows that no checkpoint leaves ------------------------------------------------------------------

/** Puts a row into the tree, or deletes it if `value` has no bytes; the meta record says of which
    transaction the tree is. */
static larder_status set_row(larder_store *store, larder_bytes key, larder_bytes value) {
    MDB_txn *txn;
    MDB_dbi main;
    uint8_t bytes[META_BYTES], space = SPACE_META;
    store_meta meta = store->index.meta;
    larder_status status = larder_environment_begin(store->index.environment, &txn, &main);
    if (status) {
        return status;
    }
    status = larder_environment_row(store->index.environment, txn, main, key,
                                    value.length ? &value : NULL);
    meta.transaction = mdb_txn_id(txn);
    larder_store_meta_write(bytes, &meta);
    larder_bytes written = {bytes, sizeof bytes};
    status = status ? status
                    : larder_environment_row(store->index.environment, txn, main,
                                             bytes_of(&space, 1), &written);
    status = larder_environment_end(store->index.environment, txn, status);
    store->index.meta.transaction = status ? store->index.meta.transaction : meta.transaction;
    return status;
}

/** Copies a row, of at most 2000 bytes. */
static size_t get_row(larder_store *store, larder_bytes key, uint8_t *target) {
    MDB_txn *txn;
    MDB_dbi main;
    MDB_val name = {key.length, (void *)(uintptr_t)key.data}, value = {0, NULL};
    if (larder_environment_begin(store->index.environment, &txn, &main) != LARDER_OK) {
        return 0;
    }
    if (mdb_get(txn, main, &name, &value) == 0 && value.mv_size <= 2000) {
        memcpy(target, value.mv_data, value.mv_size);
    } else {
        value.mv_size = 0;
    }
    (void)!larder_environment_end(store->index.environment, txn, ECANCELED);
    return value.mv_size;
}

static larder_bytes row_of(unsigned number) {
    static tree_key key;
    static const uint8_t secret[16];
    larder_tree_key_entry(SPACE_ENTRY, rare_key(number), secret, &key);
    return bytes_of_key(&key);
}

/** Makes a row such that it leads nowhere. */
static larder_status hurt_row(larder_store *store, unsigned number) {
    uint8_t bytes[2000];
    size_t length = get_row(store, row_of(number), bytes);
    larder_row_move(bytes, (location){0, 0});
    return length ? set_row(store, row_of(number), bytes_of(bytes, length)) : ENOENT;
}

static larder_status read_one(larder_store *store, unsigned number) {
    larder_store_entry entry;
    larder_status status = larder_store_get(store, rare_key(number), 0, &entry);
    larder_store_release(&entry);
    return status;
}

/** Reads of entries whose rows are damaged, that were read later, or that no order is kept of. */
static void reads(torture *run, void *context) {
    const rare *self = context;
    larder_store *store;
    GIVES(opened(self->path, LARDER_STORE_TRACK_ACCESS, &store), LARDER_OK);
    GIVES(put_many(store, 0, 5), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_OK);
    GIVES(read_one(store, 1), LARDER_OK);
    GIVES(read_one(store, 2), LARDER_OK);
    GIVES(hurt_row(store, 1), LARDER_OK);
    uint8_t state[STATE_BYTES];
    tree_key key;
    const uint8_t secret[16] = {0};
    put_be64(state, store->pending.newest_sequence);
    put_be64(state + 8, UINT64_MAX);
    put_be64(state + 16, flip(LARDER_STORE_NEVER));
    put_be64(state + 24, flip(LARDER_STORE_NEVER));
    larder_tree_key_entry(SPACE_RECENCY, rare_key(2), secret, &key);
    GIVES(set_row(store, bytes_of_key(&key), bytes_of(state, sizeof state)), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_OK);
    GIVES(read_one(store, 1), LARDER_EDAMAGED);
    GIVES(read_one(store, 2), LARDER_OK);
    larder_store_close(store);
    // Tracked when it was read, and no more when that is folded in.
    remove_tree(self->path);
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(put_many(store, 0, 5), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_OK);
    larder_store_limits limits = larder_store_limits_get(store);
    limits.count = 100;
    GIVES(larder_store_limits_set(store, &limits), LARDER_OK);
    GIVES(read_one(store, 1), LARDER_OK);
    limits.count = LARDER_STORE_UNLIMITED;
    GIVES(larder_store_limits_set(store, &limits), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_OK);
    EXPECT(run, !store->index.meta.has_order, "an order that nobody asked for");
    is_whole(run, store, 5);
    larder_store_close(store);
}

/** Reads are folded in where memory runs out, and again when it is there. */
static void reads_without_memory(torture *run, void *context) {
    const rare *self = context;
    larder_store *store;
    GIVES(opened(self->path, LARDER_STORE_TRACK_ACCESS, &store), LARDER_OK);
    for (int nth = 1; nth < 24; nth++) {
        EXPECT_STATUS(run, put_many(store, 0, 5), LARDER_OK);
        GIVES(larder_store_flush(store), LARDER_OK);
        GIVES(read_one(store, 1), LARDER_OK);
        larder_fault_set("memory", nth, ENOMEM);
        larder_status status = larder_store_flush(store);
        larder_fault_set(NULL, 0, 0);
        EXPECT(run, status == LARDER_OK || status == ENOMEM, "a flush gave %d", status);
        GIVES(larder_store_flush(store), LARDER_OK);
    }
    is_whole(run, store, 5);
    larder_store_close(store);
}

/** Rows of other places than an entry's own, too long ones, and those of damaged entries. */
static void odd_rows(torture *run, void *context) {
    const rare *self = context;
    static uint8_t bytes[2000];
    larder_store *store;
    tree_key key;
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    larder_store_item item = item_of(1, "value");
    item.expires_ns = 10000;
    uint64_t sequence;
    GIVES(larder_store_put(store, &item, &sequence), LARDER_OK);
    GIVES(put_many(store, 2, 40), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_OK);
    for (uint32_t minor = 0; minor < 2; minor++) {
        larder_tree_key_expiry(500, sequence, minor, &key);
        GIVES(set_row(store, bytes_of_key(&key), rare_key(1)), LARDER_OK);
    }
    uint64_t removed;
    GIVES(larder_store_remove_expired(store, &removed), LARDER_OK);
    EXPECT(run, removed == 0 && get_row(store, bytes_of_key(&key), bytes) == 0,
           "%llu expired by rows of others", (unsigned long long)removed);
    is_whole(run, store, 39);
    // The order is made without what is damaged, and what is too long for a key is passed over.
    GIVES(hurt_row(store, 3), LARDER_OK);
    larder_tree_key_order((stamp){0, 1}, &key);
    GIVES(larder_store_trim(store, 30, LARDER_STORE_UNLIMITED, &removed), LARDER_OK);
    EXPECT(run, removed == 9, "%llu were evicted, not 9", (unsigned long long)removed);
    GIVES(set_row(store, bytes_of_key(&key), bytes_of(bytes, 600)), LARDER_OK);
    GIVES(larder_store_trim(store, 20, LARDER_STORE_UNLIMITED, &removed), LARDER_OK);
    EXPECT(run, removed == 10, "%llu were evicted, not 10", (unsigned long long)removed);
    larder_store_close(store);
    // A row that is longer than any with a record in it, of a segment that is to be cleaned.
    remove_tree(self->path);
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(put_many(store, 0, 10), LARDER_OK);
    GIVES(remove_many(store, 0, 5, 1), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_OK);
    size_t length = get_row(store, row_of(7), bytes);
    GIVES(set_row(store, row_of(7), bytes_of(bytes, 1900)), LARDER_OK);
    larder_store_close(store);
    GIVES(larder_store_compact(self->path, NULL, NULL, NULL, NULL, NULL), LARDER_EDAMAGED);
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(set_row(store, row_of(7), bytes_of(bytes, length)), LARDER_OK);
    is_whole(run, store, 5);
    larder_store_close(store);
}

/** Damages the last page of the order of use under a store that is open. */
static bool hurt_order(const char *path, int64_t page) {
    static uint8_t bytes[1 << 21];
    const char *data = inside(path, "data.mdb");
    int64_t size = read_file(data, bytes, sizeof bytes), found = 0;
    const uint8_t *last = NULL;
    for (int64_t at = 2 * page; at + page <= size && size <= (int64_t)sizeof bytes; at += page) {
        enum { LEAF = 2, KEY_BYTES = 17 };
        uint16_t kind = load16(bytes + at + 10), node = load16(bytes + at + 16);
        if (kind != LEAF || node + 8 + KEY_BYTES > page) {
            continue;
        }
        const uint8_t *first = bytes + at + node + 8;
        if (first[0] == SPACE_ORDER && load16(first - 2) == KEY_BYTES &&
            (!last || memcmp(first, last, KEY_BYTES) > 0)) {
            last = first;
            found = at;
        }
    }
    int file = open(data, O_WRONLY | O_CLOEXEC);
    bool good = last && pwrite(file, "\0\0", 2, found + 12) == 2;
    close(file);
    return good;
}

static void hurt_under_way(torture *run, void *context) {
    const rare *self = context;
    larder_store *store;
    larder_store_tuning tuning;
    larder_store_tuning_init(&tuning);
    for (int part = 0; part < 2; part++) {
        remove_tree(self->path);
        GIVES(opened_as(self->path, LARDER_STORE_TRACK_ACCESS, &tuning, &store), LARDER_OK);
        GIVES(put_many(store, 0, 3000), LARDER_OK);
        GIVES(larder_store_flush(store), LARDER_OK);
        GIVES(larder_store_shutdown(store), LARDER_OK);
        larder_store_close(store);
        GIVES(opened_as(self->path, LARDER_STORE_TRACK_ACCESS, &tuning, &store), LARDER_OK);
        snapshot *seen;
        GIVES(larder_environment_read(store->index.environment, &seen), LARDER_OK);
        int64_t page = seen->tree.page_bytes;
        larder_environment_release(store->index.environment, seen);
        EXPECT(run, hurt_order(self->path, page), "no page to hurt");
        GIVES(part == 0 ? rare_put(store, 1, "new") : larder_store_remove_all(store, NULL, NULL),
              LARDER_OK);
        GIVES(larder_store_flush(store), LARDER_EDAMAGED);
        larder_store_close(store);
    }
}

// Checkpoints -------------------------------------------------------------------------------------

/** A record that another program changed before it came into the tree. */
static void changed_record(torture *run, void *context) {
    const rare *self = context;
    larder_store *store;
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    uint8_t *at = NULL;
    for (unsigned i = 0; i < 3; i++) {
        GIVES(rare_put(store, i, "value"), LARDER_OK);
        const segment *active = store->pending.log.active;
        at = active->map + (atomic_load(&active->end) - record_padded(RECORD_HEAD_BYTES + 7 + 5));
    }
    at[23] = 1;
    GIVES(larder_store_flush(store), LARDER_EDAMAGED);
    at[23] = 0;
    GIVES(larder_store_flush(store), LARDER_OK);
    is_whole(run, store, 3);
    larder_store_close(store);
}

static larder_status put_indexed(larder_store *store, unsigned number) {
    enum { INDEXES = 24 };
    larder_store_index_entry indexes[INDEXES];
    larder_store_item item = item_of(number, "value");
    for (unsigned i = 0; i < INDEXES; i++) {
        indexes[i] = (larder_store_index_entry){(uint16_t)i, bytes_of_text("a value to find")};
    }
    item.indexes = indexes;
    item.index_count = INDEXES;
    item.expires_ns = 5000;
    return larder_store_put(store, &item, NULL);
}

/** What comes, goes, and is cleaned, where the `nth` call fails: nothing of it is lost. */
static void failing_checkpoints(torture *run, void *context) {
    static const struct {
        const char *call;
        int error, most;
    } calls[] = {{"memory", ENOMEM, 40},   {"mdb_put", EIO, 12}, {"mdb_put", ENOSPC, 12},
                 {"fdatasync", EIO, 8},    {"fsync", EIO, 8},    {"system mmap", ENOMEM, 8},
                 {"mdb_txn_begin", EIO, 6}};
    const rare *self = context;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        for (int nth = 1; nth <= calls[i].most && torture_unhurt(run); nth++) {
            for (unsigned what = 0; what < 4; what++) {
                larder_store *store;
                torture_note(run, "pass %d of %s gives %d in %u", nth, calls[i].call,
                             calls[i].error, what);
                torture_trial(run);
                remove_tree(self->path);
                EXPECT_STATUS(run,
                              opened(self->path, what == 1 ? 0 : LARDER_STORE_TRACK_ACCESS, &store),
                              LARDER_OK);
                larder_status status = LARDER_OK;
                uint64_t left = 60;
                for (unsigned n = 0; n < 60 && !status; n++) {
                    status = what == 3 ? put_many(store, 8 * n, 8 * n + 8) : put_indexed(store, n);
                }
                if (what > 0) {
                    status = status ? status : larder_store_flush(store);
                }
                if (what == 3) {
                    status = status ? status : remove_many(store, 0, 480, 2);
                    left = 240;
                }
                if (what > 1) {
                    status = status ? status : larder_store_shutdown(store);
                    larder_store_close(store);
                    status = status ? status : opened(self->path, 0, &store);
                }
                EXPECT_STATUS(run, status, LARDER_OK);
                larder_fault_set(calls[i].call, nth, calls[i].error);
                if (what == 0) {
                    status = larder_store_sync(store);
                    status = status ? status : larder_store_flush(store);
                } else if (what == 1) {
                    status = larder_store_trim(store, 20, LARDER_STORE_UNLIMITED, NULL);
                } else if (what == 2) {
                    the_time = 6000;
                    status = rare_put(store, 100, "value");
                    status = status ? status : larder_store_remove_expired(store, NULL);
                } else {
                    flush_order order = {.flags = FLUSH_COMPACTS};
                    status = larder_store_checkpoint(store, &order);
                }
                larder_fault_set(NULL, 0, 0);
                EXPECT(run, status == LARDER_OK || status == calls[i].error, "it gave %d", status);
                EXPECT_STATUS(run, larder_store_flush(store), LARDER_OK);
                if (what == 1) {
                    EXPECT_STATUS(run, larder_store_trim(store, 20, LARDER_STORE_UNLIMITED, NULL),
                                  LARDER_OK);
                    left = 20;
                } else if (what == 2) {
                    EXPECT_STATUS(run, larder_store_remove_expired(store, NULL), LARDER_OK);
                    left = larder_store_contains(store, rare_key(100)) == LARDER_OK;
                }
                // What could not be deleted is, when the store is opened again.
                is_whole_anew(run, self->path, store, left);
            }
        }
    }
}

/** Segments that there was no memory for when the store was opened, nor later. */
static void unmapped(torture *run, void *context) {
    const rare *self = context;
    for (int nth = 1; nth <= 14; nth++) {
        larder_store *store;
        remove_tree(self->path);
        GIVES(opened(self->path, 0, &store), LARDER_OK);
        for (unsigned i = 0; i < 30; i++) {
            EXPECT_STATUS(run, put_indexed(store, i), LARDER_OK);
        }
        GIVES(larder_store_flush(store), LARDER_OK);
        GIVES(remove_many(store, 0, 8, 1), LARDER_OK);
        GIVES(larder_store_flush(store), LARDER_OK);
        GIVES(larder_store_shutdown(store), LARDER_OK);
        larder_store_close(store);
        larder_fault_set("system mmap", -nth, ENOMEM);
        larder_status status = opened(self->path, 0, &store);
        EXPECT(run, status == LARDER_OK || status == ENOMEM, "an open gave %d", status);
        if (!status) {
            the_time = 6000;
            flush_order order = {.flags = nth % 2 ? FLUSH_COMPACTS : FLUSH_TRIMS};
            status = larder_store_checkpoint(store, &order);
            EXPECT(run, status == LARDER_OK || status == ENOMEM, "a flush gave %d", status);
        }
        larder_fault_set(NULL, 0, 0);
        larder_store_close(store);
        GIVES(opened(self->path, 0, &store), LARDER_OK);
        the_time = 6000;
        GIVES(larder_store_remove_expired(store, NULL), LARDER_OK);
        is_whole_anew(run, self->path, store, 0);
    }
}

/** Flushes and syncs while a segment is not mapped, and cannot be. */
static void while_unmapped(torture *run, larder_store *store, uint32_t number, uint32_t flags) {
    segment *kept = larder_segment_table_set(&store->pending.log.table, number, NULL);
    flush_order order = {.flags = flags};
    larder_fault_set("mmap", -1, ENOMEM);
    GIVES(larder_store_checkpoint(store, &order), ENOMEM);
    larder_fault_set(NULL, 0, 0);
    EXPECT(run, !larder_segment_table_set(&store->pending.log.table, number, kept),
           "it was mapped all the same");
    order = (flush_order){.flags = flags};
    GIVES(larder_store_checkpoint(store, &order), LARDER_OK);
}

static void unmapped_by_place(torture *run, void *context) {
    const rare *self = context;
    for (unsigned place = 0; place < 4; place++) {
        larder_store *store;
        torture_note(run, "a segment that is not mapped, %u", place);
        remove_tree(self->path);
        GIVES(opened(self->path, 0, &store), LARDER_OK);
        GIVES(put_many(store, 0, 60), LARDER_OK);
        uint32_t last = store->pending.log.active->number;
        EXPECT(run, last > 1, "a single segment");
        if (place == 0) {
            // The last one, of what was written since; then one that was not synced.
            while_unmapped(run, store, last, 0);
        } else if (place == 1) {
            while_unmapped(run, store, 1, 0);
        } else if (place == 2) {
            GIVES(larder_store_sync(store), LARDER_OK);
            while_unmapped(run, store, 1, 0);
        } else {
            // The one that the log has left.
            GIVES(larder_store_flush(store), LARDER_OK);
            pthread_mutex_lock(&store->pending.lock);
            GIVES(larder_log_turn_over(&store->pending.log), LARDER_OK);
            pthread_mutex_unlock(&store->pending.lock);
            GIVES(larder_store_sync(store), LARDER_OK);
            while_unmapped(run, store, last, FLUSH_PASSES);
        }
        is_whole_anew(run, self->path, store, 60);
    }
}

/** The name of the first segment, which is synced with it, and not before. */
static void unnamed(torture *run, void *context) {
    const rare *self = context;
    for (int nth = 1; nth <= 8; nth++) {
        larder_store *store;
        remove_tree(self->path);
        GIVES(opened(self->path, 0, &store), LARDER_OK);
        GIVES(rare_put(store, 1, "value"), LARDER_OK);
        larder_fault_set("fsync", nth, EIO);
        larder_status status = larder_store_sync(store);
        EXPECT(run, status == LARDER_OK || status == EIO, "a sync gave %d", status);
        larder_fault_set(NULL, 0, 0);
        GIVES(larder_store_sync(store), LARDER_OK);
        is_whole_anew(run, self->path, store, 1);
    }
}

/** A segment that nothing lives in is noted, too. */
static void bare(torture *run, void *context) {
    const rare *self = context;
    for (int nth = 1; nth <= 20; nth++) {
        larder_store *store;
        remove_tree(self->path);
        larder_fault_set("memory", nth, ENOMEM);
        larder_status status = opened(self->path, 0, &store);
        EXPECT(run, status == LARDER_OK || status == ENOMEM, "an open gave %d", status);
        larder_fault_set(NULL, 0, 0);
        larder_store_close(store);
        GIVES(opened(self->path, 0, &store), LARDER_OK);
        GIVES(larder_store_remove(store, rare_key(1), 0), LARDER_OK);
        larder_fault_set("memory", nth, ENOMEM);
        status = larder_store_flush(store);
        larder_fault_set(NULL, 0, 0);
        EXPECT(run, status == LARDER_OK || status == ENOMEM, "a flush gave %d", status);
        GIVES(larder_store_flush(store), LARDER_OK);
        is_whole_anew(run, self->path, store, 0);
    }
}

/** Behind a checkpoint that failed, what was written since does not fit beside what it had. */
static void merging(torture *run, void *context) {
    const rare *self = context;
    for (int nth = 1; nth <= 3; nth++) {
        larder_store *store;
        remove_tree(self->path);
        GIVES(opened(self->path, 0, &store), LARDER_OK);
        GIVES(put_many(store, 0, 50), LARDER_OK);
        larder_fault_set("mdb_txn_commit", -1, EIO);
        GIVES(larder_store_flush(store), EIO);
        larder_fault_set(NULL, 0, 0);
        GIVES(put_many(store, 50, 100), LARDER_OK);
        larder_fault_set("memory", nth, ENOMEM);
        larder_status status = larder_store_flush(store);
        larder_fault_set(NULL, 0, 0);
        EXPECT(run, status == LARDER_OK || status == ENOMEM, "a flush gave %d", status);
        GIVES(larder_store_flush(store), LARDER_OK);
        is_whole(run, store, 100);
        larder_store_close(store);
    }
}

/** More goes, and more gets a place in the order, than one transaction takes. */
static void passes(torture *run, void *context) {
    enum { MANY = 1300 };
    const rare *self = context;
    larder_store *store;
    uint64_t removed;
    GIVES(opened_in_parts(self->path, 0, &store), LARDER_OK);
    larder_store_limits limits = larder_store_limits_get(store);
    limits.age_ns = 1000000;
    GIVES(larder_store_limits_set(store, &limits), LARDER_OK);
    GIVES(larder_store_maintain(store), LARDER_OK);
    limits.age_ns = LARDER_STORE_NEVER;
    GIVES(larder_store_limits_set(store, &limits), LARDER_OK);
    for (unsigned i = 0; i < 2 * MANY; i++) {
        larder_store_item item = item_of(i, "value");
        item.expires_ns = i < MANY ? 5000 : LARDER_STORE_NEVER;
        EXPECT_STATUS(run, larder_store_put(store, &item, NULL), LARDER_OK);
    }
    GIVES(larder_store_flush(store), LARDER_OK);
    the_time = 6000;
    GIVES(larder_store_remove_expired(store, &removed), LARDER_OK);
    EXPECT(run, removed == MANY, "%llu expired", (unsigned long long)removed);
    GIVES(larder_store_trim(store, 10, LARDER_STORE_UNLIMITED, &removed), LARDER_OK);
    EXPECT(run, removed == MANY - 10, "%llu were evicted", (unsigned long long)removed);
    is_whole(run, store, 10);
    larder_store_close(store);
}

// Cleaning ----------------------------------------------------------------------------------------

/** Compacting what is empty, and what is compact; what is left of a segment that is missing. */
static void compacting(torture *run, void *context) {
    const rare *self = context;
    larder_store *store;
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    larder_store_close(store);
    GIVES(larder_store_compact(self->path, NULL, NULL, NULL, NULL, NULL), LARDER_OK);
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(put_many(store, 0, 200), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_OK);
    GIVES(remove_many(store, 0, 200, 2), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_OK);
    EXPECT(run, copy_tree(self->path, self->other), "cannot copy");
    larder_store_close(store);
    GIVES(larder_store_compact(self->path, NULL, NULL, NULL, NULL, NULL), LARDER_OK);
    GIVES(larder_store_compact(self->path, NULL, NULL, NULL, NULL, NULL), LARDER_OK);
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    is_whole_anew(run, self->path, store, 100);
    bool is_missing = false;
    for (unsigned number = 1; number < 6 && !is_missing; number++) {
        char name[32];
        snprintf(name, sizeof name, "log/%08x.seg", number);
        is_missing = unlink(inside(self->other, name)) == 0;
    }
    EXPECT(run, is_missing, "no segment to remove");
    GIVES(larder_store_compact(self->other, NULL, NULL, NULL, NULL, NULL), LARDER_OK);
    GIVES(opened(self->other, 0, &store), LARDER_OK);
    EXPECT(run, rare_count(run, store) == 100, "%llu are counted",
           (unsigned long long)rare_count(run, store));
    unsigned there = 0;
    for (unsigned i = 1; i < 200; i += 2) {
        larder_status status = read_one(store, i);
        EXPECT(run, status == LARDER_OK || status == LARDER_EDAMAGED, "a get gave %d", status);
        there += status == LARDER_OK;
    }
    EXPECT(run, there > 0 && there < 100, "%u can be read", there);
    larder_store_close(store);
}

/** How often somebody was told, and whether it made sense; the call is stopped when none is left.
    */
typedef struct listener {
    unsigned calls, left;
    uint64_t last;
    bool is_wrong;
} listener;

static int listens(void *context, uint64_t done, uint64_t total) {
    listener *self = context;
    self->is_wrong = self->is_wrong || done > total || done < self->last;
    self->last = done;
    self->calls++;
    return self->left-- == 0;
}

static larder_status opened_told(const char *path, uint32_t flags, unsigned left, listener *told,
                                 larder_store **out) {
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = flags | LARDER_STORE_HOST_MAINTENANCE;
    *told = (listener){.left = left};
    options.progress = listens;
    options.context = told;
    return larder_store_open(path, &options, NULL, out);
}

/** An open that reads a long log, or makes an index, says how far it is, and can be stopped. */
static void told_of_opening(torture *run, void *context) {
    enum { MANY = 6, LONG = 1 << 20 };
    static char value[LONG];
    const rare *self = context;
    larder_store *store;
    listener told;
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    for (unsigned i = 0; i < MANY; i++) {
        larder_store_item item = item_of(i, "");
        item.value = bytes_of(value, LONG);
        EXPECT_STATUS(run, larder_store_put(store, &item, NULL), LARDER_OK);
    }
    // As a kill leaves it.
    EXPECT(run, copy_tree(self->path, self->other), "cannot copy");
    larder_store_close(store);
    for (unsigned left = 0; left < MANY; left++) {
        GIVES(opened_told(self->other, 0, left, &told, &store), ECANCELED);
        EXPECT(run, told.calls == left + 1 && !told.is_wrong, "told %u times", told.calls);
    }
    GIVES(opened_told(self->other, 0, MANY, &told, &store), LARDER_OK);
    EXPECT(run, told.calls == MANY && !told.is_wrong, "told %u times", told.calls);
    is_whole(run, store, MANY);
    GIVES(larder_store_flush(store), LARDER_OK);
    larder_store_close(store);
    EXPECT(run, told.calls == MANY, "told of what came later");
    EXPECT(run, unlink(inside(self->other, "data.mdb")) == 0, "no index to remove");
    GIVES(opened_told(self->other, LARDER_STORE_REBUILDS, 0, &told, &store), ECANCELED);
    GIVES(opened_told(self->other, LARDER_STORE_REBUILDS, 100, &told, &store), LARDER_OK);
    EXPECT(run, told.calls > 0, "a rebuild said nothing");
    is_whole(run, store, MANY);
    larder_store_close(store);
}

/** A store of few entries whose index was once of many: in order of use, and one that expires. */
static void make_sparse(torture *run, const char *path) {
    enum { MANY = 4000, FEW = 100 };
    larder_store *store;
    larder_store_entry entry;
    GIVES(opened(path, LARDER_STORE_TRACK_ACCESS, &store), LARDER_OK);
    GIVES(put_many(store, 0, MANY), LARDER_OK);
    larder_store_item item = item_of(MANY, "for a while");
    item.expires_ns = 5000;
    GIVES(larder_store_put(store, &item, NULL), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_OK);
    GIVES(remove_many(store, FEW, MANY, 1), LARDER_OK);
    GIVES(larder_store_get(store, rare_key(0), 0, &entry), LARDER_OK);
    larder_store_release(&entry);
    GIVES(larder_store_flush(store), LARDER_OK);
    is_whole(run, store, FEW + 1);
    larder_store_close(store);
}

/** Has what make_sparse left, and its order. */
static void is_as_made(torture *run, const char *path) {
    larder_store *store;
    larder_store_query query;
    larder_store_cursor *cursor;
    larder_store_entry entry = {0};
    GIVES(opened(path, LARDER_STORE_TRACK_ACCESS, &store), LARDER_OK);
    is_whole(run, store, 101);
    larder_store_query_init(&query);
    query.order = LARDER_STORE_BY_RECENCY;
    query.flags = LARDER_STORE_DESCENDING;
    GIVES(larder_store_cursor_open(store, &query, &cursor), LARDER_OK);
    GIVES(larder_store_cursor_next(cursor, &entry), LARDER_OK);
    larder_bytes newest = rare_key(0);
    EXPECT(run,
           entry.key.length == newest.length && !memcmp(entry.key.data, newest.data, newest.length),
           "another one was used last");
    larder_store_cursor_close(cursor);
    the_time = 6000;
    GIVES(larder_store_contains(store, rare_key(4000)), LARDER_ENOTFOUND);
    GIVES(read_one(store, 0), LARDER_OK);
    larder_store_close(store);
}

/** Ends the process, or the call, when that many rows were told of. */
typedef struct stop {
    int left;
    bool kills;
} stop;

static int stops(void *context, uint64_t done, uint64_t total) {
    stop *self = context;
    (void)done;
    // Segments are few.
    if (total < 100 || self->left-- > 0) return 0;
    if (self->kills) _exit(0);
    return 1;
}

/** An index that is mostly free pages is copied without them; killed, stopped or failing in the
    midst of it, the old one is there; and it stays as it is while somebody reads. */
static void shrinking(torture *run, void *context) {
    const rare *self = context;
    larder_store_compaction sizes;
    larder_store *reader;
    make_sparse(run, self->path);
    const char *data = inside(self->path, "data.mdb");
    const int64_t large = size_of_file(data);
    GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &reader), LARDER_OK);
    GIVES(read_one(reader, 1), LARDER_OK);
    GIVES(larder_store_compact(self->path, NULL, NULL, NULL, NULL, &sizes), LARDER_OK);
    EXPECT(run,
           sizes.data_bytes_after == (uint64_t)size_of_file(data) &&
               sizes.data_bytes_after >= sizes.data_bytes_before,
           "an index shrank that somebody reads");
    larder_store_close(reader);
    larder_fault_set("rename", 1, EIO);
    GIVES(larder_store_compact(self->path, NULL, NULL, NULL, NULL, &sizes), EIO);
    larder_fault_set(NULL, 0, 0);
    EXPECT(run, sizes.data_bytes_after == 0, "sizes of a failure");
    is_as_made(run, self->path);
    for (int kills = 0; kills < 2; kills++) {
        stop where = {0, kills};
        pid_t child = kills ? fork() : -1;
        if (child <= 0) {
            larder_status status =
                larder_store_compact(self->path, NULL, NULL, stops, &where, NULL);
            if (child == 0) _exit(1);
            EXPECT_STATUS(run, status, ECANCELED);
        }
        int ended = 0;
        EXPECT(run, child < 0 || (waitpid(child, &ended, 0) == child && ended == 0),
               "the child went on");
        EXPECT(run, size_of_file(data) >= large / 2, "the index shrank");
        is_as_made(run, self->path);
    }
    GIVES(larder_store_compact(self->path, NULL, NULL, NULL, NULL, &sizes), LARDER_OK);
    EXPECT(run,
           sizes.data_bytes_before > 4 * sizes.data_bytes_after &&
               sizes.data_bytes_after == (uint64_t)size_of_file(data) &&
               sizes.log_bytes_after <= sizes.log_bytes_before,
           "%llu bytes of index before, %llu after", (unsigned long long)sizes.data_bytes_before,
           (unsigned long long)sizes.data_bytes_after);
    EXPECT(run, size_of_file(inside(self->path, "index.new")) < 0, "the copy's folder is there");
    is_as_made(run, self->path);
    // What is written afterwards goes on from there.
    GIVES(opened(self->path, 0, &reader), LARDER_OK);
    GIVES(put_many(reader, 200, 3000), LARDER_OK);
    is_whole_anew(run, self->path, reader, 101 + 2800);
}

/** Writes that were lost between the tree's end of the log and the next segment. */
static void lost_before_end(torture *run, void *context) {
    const rare *self = context;
    larder_store *store;
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(put_many(store, 0, 5), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_OK);
    const segment *active = store->pending.log.active;
    uint64_t from = atomic_load(&active->end);
    GIVES(put_many(store, 5, 8), LARDER_OK);
    uint64_t to = atomic_load(&active->end);
    pthread_mutex_lock(&store->pending.lock);
    GIVES(larder_log_turn_over(&store->pending.log), LARDER_OK);
    pthread_mutex_unlock(&store->pending.lock);
    for (uint64_t at = from; at < to; at += record_padded(record_length(active->map + at))) {
        active->map[at + 4] ^= 1;
    }
    EXPECT(run, copy_tree(self->path, self->other), "cannot copy");
    larder_store_close(store);
    GIVES(larder_store_compact(self->other, NULL, NULL, NULL, NULL, NULL), LARDER_OK);
    GIVES(opened(self->other, 0, &store), LARDER_OK);
    EXPECT(run, rare_count(run, store) == 5, "%llu are there",
           (unsigned long long)rare_count(run, store));
    larder_store_close(store);
}

/** On a full disk, segments that have removals to remember stay. */
static void full_disk(torture *run, void *context) {
    const rare *self = context;
    for (unsigned from = 0; from < 60; from += 20) {
        larder_store *store;
        larder_store_tuning tuning;
        larder_store_tuning_init(&tuning);
        tuning.segment_min_bytes = tuning.segment_max_bytes = SMALL_BYTES;
        tuning.space_percent = 100;
        remove_tree(self->path);
        GIVES(opened_as(self->path, 0, &tuning, &store), LARDER_OK);
        GIVES(put_many(store, 0, 300), LARDER_OK);
        GIVES(larder_store_flush(store), LARDER_OK);
        larder_fault_set("mdb_put", -1, ENOSPC);
        GIVES(remove_many(store, from, 300, 2), LARDER_OK);
        GIVES(put_many(store, 300, 340), LARDER_OK);
        GIVES(larder_store_flush(store), ENOSPC);
        larder_fault_set(NULL, 0, 0);
        for (unsigned round = 0; round < 3; round++) {
            flush_order order = {.flags = FLUSH_COPIES_NOTHING};
            GIVES(larder_store_checkpoint(store, &order), LARDER_OK);
            GIVES(put_many(store, 340, 341), LARDER_OK);
        }
        is_whole_anew(run, self->path, store, 300 - (300 - from) / 2 + 41);
    }
}

/** Where there is little room the log leaves a segment that holds little; if that fails, it stays
    where it is. */
static void little_room(torture *run, void *context) {
    const rare *self = context;
    for (int nth = 0; nth < 8; nth++) {
        larder_store *store;
        remove_tree(self->path);
        GIVES(opened(self->path, 0, &store), LARDER_OK);
        do {
            EXPECT_STATUS(run, rare_put(store, 0, "a value"), LARDER_OK);
        } while (!larder_log_turns_over(&store->pending.log, 600));
        failing_room = 32 << 20;
        larder_fault_set(nth % 2 ? "fdatasync" : "open", nth / 2 + 1, EIO);
        char name[32];
        snprintf(name, sizeof name, "log/%08x.seg", store->pending.log.next_number);
        if (nth == 0) {
            larder_fault_set(NULL, 0, 0);
            EXPECT(run, write_file(inside(self->path, name), "x", 1), "cannot write");
        }
        larder_status status = larder_store_flush(store);
        larder_fault_set(NULL, 0, 0);
        EXPECT(run, status == LARDER_OK || status == EIO, "a flush gave %d", status);
        (void)(nth == 0 && unlink(inside(self->path, name)));
        GIVES(larder_store_flush(store), LARDER_OK);
        failing_room = UINT64_MAX;
        is_whole_anew(run, self->path, store, 1);
    }
}

static larder_store *written_meanwhile;
static void write_at_sync(const char *call, const void *what) {
    (void)what;
    if (written_meanwhile && strcmp(call, "system fdatasync") == 0) {
        larder_store *store = written_meanwhile;
        written_meanwhile = NULL;
        (void)!rare_put(store, 1, "a value");
    }
}

/** A segment that holds little is not left while it has what was written since. */
static void written_since(torture *run, void *context) {
    const rare *self = context;
    larder_store *store;
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    do {
        EXPECT_STATUS(run, rare_put(store, 0, "a value"), LARDER_OK);
    } while (!larder_log_turns_over(&store->pending.log, 600));
    uint32_t number = store->pending.log.active->number;
    written_meanwhile = store;
    failing_room = 32 << 20;
    call_hook = write_at_sync;
    GIVES(larder_store_flush(store), LARDER_OK);
    call_hook = NULL;
    failing_room = UINT64_MAX;
    EXPECT(run, failing_call_count == 0 || !written_meanwhile, "nothing was synced");
    EXPECT(run, written_meanwhile || store->pending.log.active->number == number,
           "the log has left its segment");
    is_whole_anew(run, self->path, store, written_meanwhile ? 1 : 2);
}

/** A segment to which nothing leads, behind one with something dead, without memory. */
static void dead_without_memory(torture *run, void *context) {
    const rare *self = context;
    for (int nth = 1; nth <= 60; nth++) {
        larder_store *store;
        unsigned count = 0;
        remove_tree(self->path);
        GIVES(opened(self->path, 0, &store), LARDER_OK);
        do {
            EXPECT_STATUS(run, put_many(store, count, count + 1), LARDER_OK);
            count++;
        } while (store->pending.log.active->number == 1);
        while (store->pending.log.active->number == 2) {
            EXPECT_STATUS(run, put_many(store, count - 1, count), LARDER_OK);
        }
        GIVES(put_many(store, 0, 1), LARDER_OK);
        larder_fault_set("memory", nth, ENOMEM);
        larder_status status = larder_store_flush(store);
        larder_fault_set(NULL, 0, 0);
        EXPECT(run, status == LARDER_OK || status == ENOMEM, "a flush gave %d", status);
        GIVES(larder_store_flush(store), LARDER_OK);
        is_whole_anew(run, self->path, store, count);
    }
}

/** Shut down between the first look at the store and the room in its log. */
static void shut_before_room(torture *run, void *context) {
    const rare *self = context;
    larder_store *store;
    uint8_t *target;
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(rare_put(store, 1, "value"), LARDER_OK);
    GIVES(larder_store_shutdown(store), LARDER_OK);
    GIVES(larder_store_begin_append(store, 64, 1, 0, false, &target), LARDER_ECLOSED);
    is_whole_anew(run, self->path, store, 1);
}

static touch_buffer searched;
static size_t searched_bytes;

/** Comes at the very instruction that looks at what was noted, which is done again afterwards. */
static void empty_meanwhile(int signal_number) {
    if (searched.count == 0 ||
        mprotect(searched.touches, searched_bytes, PROT_READ | PROT_WRITE) != 0) {
        (void)signal(signal_number, SIG_DFL);
        return;
    }
    searched.count = 0;
    searched.emptied++;
}

/** Of several reads of one key the latest deadline counts, in whatever order they were noted; of
    those that were emptied meanwhile none. */
static void noted_reads(torture *run, void *context) {
    (void)context;
    enum { MANY = 200 };
    touch touches[MANY] = {{.at = {.sequence = 5}, .deadline_ns = 200, .hash = 7},
                           {.at = {.sequence = 5}, .deadline_ns = 100, .hash = 7}};
    touch_buffer buffer = {.count = 2, .touches = touches};
    int64_t deadline = 50;
    torture_trial(run);
    larder_touch_buffer_find(&buffer, 7, 5, &deadline);
    EXPECT(run, deadline == 200, "a deadline at %lld", (long long)deadline);
    // Of many, which a table leads to, as they come.
    for (uint32_t i = 2; i < MANY; i++) {
        touches[i] = (touch){.at = {.sequence = 5}, .deadline_ns = 200 + i, .hash = 7 + i % 150};
        buffer.count = i + 1;
        deadline = 50;
        larder_touch_buffer_find(&buffer, 7 + i % 150, 5, &deadline);
        EXPECT(run, deadline == 200 + i, "a deadline at %lld", (long long)deadline);
    }
    deadline = 50;
    larder_touch_buffer_find(&buffer, 7, 6, &deadline);
    larder_touch_buffer_find(&buffer, 6, 5, &deadline);
    EXPECT(run, deadline == 50, "a deadline at %lld", (long long)deadline);
    free(buffer.found);
    // Emptied during the search, which then begins anew.
    searched_bytes = (size_t)sysconf(_SC_PAGESIZE);
    static uint16_t slots[TOUCH_SLOTS] = {[7] = 1, [8] = 2};
    searched = (touch_buffer){.count = 2, .slots = slots};
    searched.touches =
        mmap(NULL, searched_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!EXPECT(run, searched.touches != MAP_FAILED, "no page")) {
        return;
    }
    memcpy(searched.touches, touches, 2 * sizeof *touches);
    (void)signal(SIGSEGV, empty_meanwhile);
    (void)signal(SIGBUS, empty_meanwhile);
    EXPECT(run, mprotect(searched.touches, searched_bytes, PROT_NONE) == 0, "no trap");
    deadline = 50;
    larder_touch_buffer_search(&searched, 7, 5, &deadline);
    (void)signal(SIGSEGV, SIG_DFL);
    (void)signal(SIGBUS, SIG_DFL);
    EXPECT(run, searched.emptied == 1 && deadline == 50, "a deadline at %lld", (long long)deadline);
    (void)munmap(searched.touches, searched_bytes);
}

// The store's own thread --------------------------------------------------------------------------

static void naps(void) {
    struct timespec nap = {0, 500000};
    nanosleep(&nap, NULL);
}

/** Little that waits is left to wait once more, as long as more comes; what fails is tried again an
    interval later. */
static void by_thread(torture *run, void *context) {
    enum { TRIES = 20000 };
    const rare *self = context;
    larder_store *store;
    larder_store_options options;
    larder_store_tuning tuning;
    larder_store_options_init(&options);
    larder_store_tuning_init(&tuning);
    tuning.checkpoint_permille = 1000;
    options.tuning = &tuning;
    options.sync_interval_ns = options.trim_interval_ns = 0;
    options.flush_interval_ns = 2000000;
    GIVES(larder_store_open(self->path, &options, NULL, &store), LARDER_OK);
    GIVES(put_many(store, 0, 2000), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_OK);
    uint64_t before = atomic_load(&store->figures.flushes);
    GIVES(rare_put(store, 1, "value"), LARDER_OK);
    for (unsigned i = 0; i < TRIES && atomic_load(&store->figures.flushes) == before; i++) {
        naps();
    }
    EXPECT(run, atomic_load(&store->figures.flushes) > before, "what waits is never applied");
    is_whole(run, store, 2000);
    larder_store_close(store);
    // Syncs fail, while something waits for a checkpoint.
    options.sync_interval_ns = 1000000;
    options.flush_interval_ns = INT64_C(3600000000000);
    GIVES(larder_store_open(self->path, &options, NULL, &store), LARDER_OK);
    larder_fault_set("fdatasync", -1, EIO);
    for (unsigned i = 0; i < TRIES && larder_fault_passes() < 3; i++) {
        EXPECT_STATUS(run, rare_put(store, 1, "value"), LARDER_OK);
        naps();
    }
    EXPECT(run, larder_fault_passes() >= 3, "a sync that failed is not tried again");
    larder_fault_set(NULL, 0, 0);
    GIVES(larder_store_sync(store), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_OK);
    larder_store_close(store);
    // Checkpoints fail before they have begun.
    options.sync_interval_ns = options.flush_interval_ns;
    options.flush_interval_ns = 1000000;
    GIVES(larder_store_open(self->path, &options, NULL, &store), LARDER_OK);
    larder_fault_set("opendir", -1, EMFILE);
    GIVES(rare_put(store, 1, "value"), LARDER_OK);
    for (unsigned i = 0; i < TRIES && larder_fault_passes() < 3; i++) {
        naps();
    }
    EXPECT(run, larder_fault_passes() >= 3, "a checkpoint that failed is not tried again");
    larder_fault_set(NULL, 0, 0);
    GIVES(larder_store_flush(store), LARDER_OK);
    is_whole(run, store, 2000);
    larder_store_close(store);
}

/** Writers do not wait for a checkpoint that cannot be; nor longer than they should for the first
    one, of which nobody knows how long it takes. */
static void held_back(torture *run, void *context) {
    const rare *self = context;
    for (unsigned fails = 0; fails < 2; fails++) {
        larder_store *store;
        larder_store_options options;
        larder_store_tuning tuning;
        larder_store_options_init(&options);
        larder_store_tuning_init(&tuning);
        tuning.memtable_max_count = 64;
        options.tuning = &tuning;
        options.journal_bytes = (uint64_t)1 << 30;
        options.sync_interval_ns = options.flush_interval_ns = options.trim_interval_ns = 0;
        remove_tree(self->path);
        GIVES(larder_store_open(self->path, &options, NULL, &store), LARDER_OK);
        unsigned count = 0;
        if (fails) {
            larder_fault_set("mdb_txn_commit", -1, EIO);
            GIVES(rare_put(store, count++, "value"), LARDER_OK);
            GIVES(larder_store_flush(store), EIO);
        }
        larder_status status = LARDER_OK;
        while (count < 300 && !status) {
            status = rare_put(store, count, "value");
            count += !status;
        }
        EXPECT(run, status == (fails ? EIO : LARDER_OK), "%u puts, then %d", count, status);
        larder_fault_set(NULL, 0, 0);
        GIVES(larder_store_flush(store), LARDER_OK);
        is_whole(run, store, count);
        larder_store_close(store);
    }
}

/** A segment whose unused end was cut off gets its length again, also where a file system cannot
    reserve: by zeros, behind what it holds. */
static void cut_without_reserving(torture *run, void *context) {
    const rare *self = context;
    larder_store *store;
    GIVES(opened_as(self->path, 0, NULL, &store), LARDER_OK);
    for (unsigned i = 0; i < 20; i++) {
        GIVES(rare_put(store, i, "a value that is in the log alone"), LARDER_OK);
    }
    GIVES(larder_store_flush(store), LARDER_OK);
    larder_store_close(store);
    EXPECT(run, truncate(inside(self->path, "log/00000001.seg"), 2 * SMALL_BYTES) == 0, "not cut");
    larder_fault_set("system fallocate", -1, EOPNOTSUPP);
    GIVES(opened_as(self->path, 0, NULL, &store), LARDER_OK);
    GIVES(rare_put(store, 20, "another one"), LARDER_OK);
    is_whole(run, store, 21);
    larder_fault_set(NULL, 0, 0);
    larder_store_close(store);
}

/** How many entries there are is added to, and how many bytes they have. */
static void great_sums(torture *run, void *context) {
    (void)context;
    for (uint64_t more = 0; more < 2; more++) {
        for (unsigned part = 0; part < 2; part++) {
            uint8_t bytes[META_BYTES];
            store_meta meta = {.version = META_VERSION, .page_bytes = 4096}, got;
            *(part ? &meta.count : &meta.bytes) = ((uint64_t)1 << 62) + more;
            larder_store_meta_write(bytes, &meta);
            GIVES(larder_store_meta_read((larder_bytes){bytes, sizeof bytes}, &got),
                  more ? LARDER_EDAMAGED : LARDER_OK);
        }
    }
}

void family_store_rare_log(torture *run) {
    RARE_EACH(run, " in the log", NULL, records, keys, twins, scans, resyncs, segments, kept_back,
              filled, elsewhere, moved, replaced_by_files, reads, reads_without_memory, odd_rows,
              hurt_under_way, changed_record, failing_checkpoints, unmapped, unmapped_by_place,
              unnamed, bare, merging, passes, told_of_opening, compacting, shrinking,
              lost_before_end, full_disk, little_room, written_since, dead_without_memory,
              shut_before_room, noted_reads, by_thread, held_back, cut_without_reserving,
              great_sums, mended_with_holes);
}
