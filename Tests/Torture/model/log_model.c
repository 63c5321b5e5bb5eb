// SPDX-License-Identifier: MIT
/** @file log_model.c
    The store's log and memtable against simple models: random writes over tiny segments, read back
    by log_scan; a segment cut at every byte, and changed at every byte; records and rows taken
    apart that were never written; the memtable against a list; its order against qsort.

    log-model [seed [rounds]]: `make torture` runs it. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "larder_os_faults.h"
#include "larder_os_file.h"
#include "log/memtable.h"
#include "log/scan.h"

static uint64_t seed_now;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s (seed %llu)\n", __FILE__, __LINE__, #condition,             \
                    (unsigned long long)seed_now);                                                 \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

// Chance, folders ---------------------------------------------------------------------------------

static uint64_t state;

static uint64_t random64(void) {
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static size_t below(size_t limit) { return (size_t)(random64() % limit); }

static void fill_random(uint8_t *bytes, size_t length) {
    for (size_t at = 0; at < length; at++) bytes[at] = (uint8_t)random64();
}

static char folder_path[64];

static void folder_begin(void) {
    strcpy(folder_path, "/tmp/larder-log-model-XXXXXX");
    CHECK(mkdtemp(folder_path) != NULL);
}

static int remove_name(void *context, const char *name) {
    return larder_os_file_remove_in(*(int *)context, name) != LARDER_OK;
}

static void folder_end(void) {
    int folder, log;
    CHECK(larder_os_folder_open(folder_path, &folder) == LARDER_OK);
    CHECK(larder_os_folder_open_in(folder, "log", &log) == LARDER_OK);
    CHECK(larder_os_folder_list_in(log, remove_name, &log) == LARDER_OK);
    close(log);
    CHECK(unlinkat(folder, "log", AT_REMOVEDIR) == 0);
    close(folder);
    CHECK(rmdir(folder_path) == 0);
}

// Writes ------------------------------------------------------------------------------------------

typedef struct model_write {
    uint8_t *bytes;
    size_t length;
    uint32_t count;
    location at;
} model_write;

typedef struct model {
    store_log log;
    pthread_mutex_t lock;
    model_write *writes;
    size_t count;
} model;

static const uint64_t STORE_ID = 0x1122334455667788;

/** The log's folder stays open. */
static void model_begin(model *m, uint64_t min, uint64_t max) {
    memset(m, 0, sizeof *m);
    CHECK(larder_log_open(folder_path, STORE_ID, 0600, false, &m->log) == LARDER_OK);
    CHECK(larder_log_enter(&m->log) == LARDER_OK);
    CHECK(pthread_mutex_init(&m->lock, NULL) == 0);
    m->log.segment_min_bytes = min;
    m->log.segment_max_bytes = max;
}

static void model_end(model *m) {
    larder_log_leave(&m->log);
    larder_log_close(&m->log);
    pthread_mutex_destroy(&m->lock);
    for (size_t at = 0; at < m->count; at++) free(m->writes[at].bytes);
    free(m->writes);
}

/** A key out of some hundred, of a length that belongs to it. */
static larder_bytes key_of(uint32_t id, uint8_t *out) {
    memset(out, 'k', 600);
    static const size_t lengths[] = {4, 5, 8, 9, 17, 40, 494, 495, 600};
    size_t length = lengths[id % (sizeof lengths / sizeof lengths[0])];
    memcpy(out + length - 4, &id, 4);
    return (larder_bytes){out, length};
}

static uint8_t scratch[70000];

static size_t random_put(uint8_t *target, larder_bytes key, size_t value_max) {
    larder_store_item item = {.key = key,
                              .value = {scratch, below(value_max + 1)},
                              .expires_ns = LARDER_STORE_NEVER,
                              .idle_ns = LARDER_STORE_NEVER,
                              .refresh_ns = LARDER_STORE_NEVER};
    larder_store_index_entry indexes[3] = {
        {7, {scratch + 1, below(20)}}, {9, {scratch + 2, 0}}, {9, {scratch + 3, below(9)}}};
    if (below(3) == 0) item.extended = (larder_bytes){scratch + 5, below(30)};
    if (below(3) == 0) item.expires_ns = (int64_t)random64() >> 1;
    if (below(3) == 0) item.idle_ns = 5;
    if (below(3) == 0) item.refresh_ns = (int64_t)random64() / 2;
    if (below(3) == 0) item.cost = random64();
    if (below(3) == 0) item.flags = LARDER_STORE_OWN_TIMES;
    if (below(3) == 0) {
        item.indexes = indexes;
        item.index_count = below(4);
    }
    size_t length = larder_record_size(&item);
    CHECK(length != SIZE_MAX);
    memset(target, 0xAA, record_padded(length));
    larder_record_write(target, &item, length, 77);
    memcpy(target, &(uint32_t){(uint32_t)length}, 4);
    for (size_t at = length; at < record_padded(length); at++) CHECK(target[at] == 0);
    memset(target + 4, 0, 4);
    record found;
    CHECK(larder_record_read((larder_bytes){target, length}, false, &found) == LARDER_OK);
    CHECK(compare_bytes(found.key, item.key) == 0 && compare_bytes(found.value, item.value) == 0);
    CHECK(compare_bytes(found.extended, item.extended) == 0 && found.cost == item.cost);
    CHECK(found.expires_ns == item.expires_ns && found.idle_ns == item.idle_ns &&
          found.refresh_ns == item.refresh_ns);
    CHECK(found.written_ns == 77 && found.index_count == item.index_count);
    CHECK(compare_bytes(larder_record_key(target), item.key) == 0);
    CHECK(larder_record_value_length(target) == item.value.length);
    size_t offset = 0;
    larder_store_index_entry entry;
    for (size_t at = 0; at < item.index_count; at++) {
        CHECK(larder_record_next_index(&found, &offset, &entry) &&
              entry.index == indexes[at].index);
        CHECK(compare_bytes(entry.value, indexes[at].value) == 0);
    }
    CHECK(!larder_record_next_index(&found, &offset, &entry));
    return length;
}

/** A record of a random kind, not sealed, with its length. */
static size_t random_record(uint8_t *target, uint32_t id, size_t value_max) {
    uint8_t key[600];
    size_t dice = below(20);
    if (dice > 3) return random_put(target, key_of(id, key), value_max);
    larder_bytes name = dice > 0 ? key_of(id, key) : (larder_bytes){NULL, 0};
    size_t length = larder_record_write_bare(target, dice > 0 ? RECORD_REMOVE : RECORD_CLEAR, name);
    memcpy(target, &(uint32_t){(uint32_t)length}, 4);
    return length;
}

/** Makes a write; gives false, and nothing has changed, if the log has no room. */
static bool model_add(model *m, const uint8_t *records, size_t length, uint32_t count,
                      bool uses_reserve) {
    uint8_t *bytes = malloc(length);
    memcpy(bytes, records, length);
    pthread_mutex_lock(&m->lock);
    uint8_t *target;
    larder_status status = larder_log_reserve(&m->log, length, uses_reserve, &target);
    if (status == LARDER_OK) {
        uint64_t first_word = 0;
        uint8_t *at = bytes;
        for (uint32_t minor = 0; minor < count; minor++) {
            size_t one = record_length(at);
            uint64_t word =
                larder_record_seal(at, one, m->log.last_sequence + 1, minor, minor + 1 < count);
            memcpy(at, &word, 8);
            if (minor == 0) first_word = word;
            at += record_padded(one);
        }
        memcpy(target + 8, bytes + 8, length - 8);
        location place = {m->log.active->number, (uint64_t)(target - m->log.active->map)};
        CHECK(place.offset % 8 == 0);
        CHECK(place.offset + length + SEGMENT_NEXT_BYTES <= m->log.active->capacity);
        larder_log_publish(&m->log, length, count, first_word);
        m->writes = realloc(m->writes, (m->count + 1) * sizeof *m->writes);
        m->writes[m->count++] = (model_write){bytes, length, count, place};
        CHECK(m->log.last_sequence == m->count);
    } else {
        free(bytes);
    }
    pthread_mutex_unlock(&m->lock);
    return status == LARDER_OK;
}

static uint8_t *batch;
enum { BATCH_BYTES = 1 << 20 };

static bool random_write(model *m, uint32_t ids, size_t value_max) {
    uint32_t count = below(4) == 0 ? 1 + (uint32_t)below(5) : 1;
    size_t length = 0;
    for (uint32_t n = 0; n < count; n++)
        length += record_padded(
            random_record(batch + length, (uint32_t)below(ids), below(2) ? value_max : 40));
    return model_add(m, batch, length, count, false);
}

/** Follows the log to its end, and compares; gives how many writes came. */
static size_t compare_scan(const model *m, log_scan *scan, larder_status *end) {
    size_t came = 0;
    for (;;) {
        const uint8_t *first;
        uint32_t count;
        segment *from;
        *end = larder_log_scan_next(scan, true, &first, &count, &from);
        if (*end != LARDER_OK) return came;
        CHECK(scan->sequence >= 1 && scan->sequence <= m->count);
        const model_write *expected = &m->writes[scan->sequence - 1];
        CHECK(count == expected->count && from->number == expected->at.segment);
        // The padding is not covered by a checksum.
        const uint8_t *at = expected->bytes;
        for (uint32_t n = 0; n < count; n++) {
            size_t offset = (size_t)(at - expected->bytes);
            CHECK(memcmp(first + offset, at, record_length(at)) == 0);
            at += record_padded(record_length(at));
        }
        came++;
    }
}

static log_scan scan_of(store_log *log) {
    return (log_scan){.log = log, .at = {1, SEGMENT_HEAD_BYTES}};
}

// The log -----------------------------------------------------------------------------------------

static void test_log(void) {
    folder_begin();
    model m;
    size_t min = 4096u << below(2), max = below(2) ? 4096 : 65536;
    model_begin(&m, min, max < min ? min : max);
    store_log reader;
    CHECK(larder_log_open(folder_path, STORE_ID, 0600, true, &reader) == LARDER_OK);
    log_scan follower = scan_of(&reader);
    size_t followed = 0;
    larder_status end;
    for (size_t n = 0, total = 200 + below(400); n < total; n++) {
        static const char *const points[] = {"open", "fallocate", "mmap", "rename"};
        bool fails = below(10) == 0;
        if (fails) larder_fault_set(points[below(4)], 1, ENOSPC);
        random_write(&m, 100, below(50) == 0 ? 20000 : 400);
        larder_fault_set(NULL, 0, 0);
        if (below(5) == 0) larder_log_prepare(&m.log, &m.lock);
        if (below(20) == 0) {
            bool sync_fails = below(3) == 0;
            if (sync_fails) larder_fault_set(below(2) ? "fdatasync" : "fsync", 1, EIO);
            larder_status status = larder_log_sync(&m.log, &m.lock);
            larder_fault_set(NULL, 0, 0);
            CHECK(status == LARDER_OK || (sync_fails && status == EIO));
            CHECK(status != LARDER_OK || m.log.synced_sequence == m.count);
        }
        if (below(20) == 0) {
            followed += compare_scan(&m, &follower, &end);
            CHECK(end == LARDER_END && followed == m.count);
        }
    }
    CHECK(larder_log_sync(&m.log, &m.lock) == LARDER_OK && m.log.synced_sequence == m.count);
    followed += compare_scan(&m, &follower, &end);
    CHECK(end == LARDER_END && followed == m.count && follower.lost == 0);
    log_scan scan = scan_of(&m.log);
    CHECK(compare_scan(&m, &scan, &end) == m.count && end == LARDER_END);
    for (size_t at = 0; at < m.count; at++) {
        larder_bytes bytes;
        CHECK(larder_log_record(&m.log, m.writes[at].at, &bytes) == LARDER_OK);
        CHECK(bytes.length == record_length(m.writes[at].bytes));
    }
    // What is lent out outlives segment and log.
    segment *first;
    CHECK(larder_log_segment(&m.log, 1, &first) == LARDER_OK);
    larder_bytes head = {first->map, 8}, tail = {m.log.active->map, 8};
    segment_loan *held = larder_segment_lend(first, head);
    segment_loan *last = larder_segment_lend(m.log.active, tail);
    CHECK(held != NULL && last != NULL);
    CHECK(larder_log_remove(&m.log, 1) == LARDER_OK);
    CHECK(larder_log_remove(&m.log, 1) == LARDER_OK);
    CHECK(larder_log_segment(&m.log, 1, &first) == ENOENT);
    larder_log_close(&reader);
    model_end(&m);
    CHECK(((const char *)head.data)[0] == 'L' && ((const char *)tail.data)[0] == 'L');
    larder_segment_take_back(held);
    larder_segment_take_back(last);
    folder_end();
}

typedef struct threads {
    model *m;
    _Atomic bool has_ended;
} threads;

static void *prepare_and_sync(void *context) {
    threads *all = context;
    uint64_t synced = 0;
    while (!atomic_load(&all->has_ended)) {
        larder_log_prepare(&all->m->log, &all->m->lock);
        CHECK(larder_log_sync(&all->m->log, &all->m->lock) == LARDER_OK);
        CHECK(all->m->log.synced_sequence >= synced);
        synced = all->m->log.synced_sequence;
    }
    return NULL;
}

static void *follow(void *context) {
    threads *all = context;
    store_log reader;
    CHECK(larder_log_open(folder_path, STORE_ID, 0600, true, &reader) == LARDER_OK);
    log_scan scan = scan_of(&reader);
    for (;;) {
        bool has_ended = atomic_load(&all->has_ended);
        const uint8_t *first;
        uint32_t count;
        segment *from;
        larder_status status;
        while ((status = larder_log_scan_next(&scan, true, &first, &count, &from)) == LARDER_OK) {
        }
        CHECK(status == LARDER_END && scan.lost == 0);
        if (has_ended) break;
    }
    CHECK(scan.sequence == all->m->count);
    larder_log_close(&reader);
    return NULL;
}

/** One thread writes, one makes segments in advance and syncs, one follows as another process
    does. */
static void test_threads(void) {
    folder_begin();
    model m;
    model_begin(&m, 4096, 4096);
    threads all = {&m, false};
    pthread_t helper, reader;
    CHECK(pthread_create(&helper, NULL, prepare_and_sync, &all) == 0);
    CHECK(pthread_create(&reader, NULL, follow, &all) == 0);
    for (size_t n = 0; n < 3000; n++) {
        CHECK(random_write(&m, 100, 200));
        CHECK(n == 0 || m.writes[n].at.segment >= m.writes[n - 1].at.segment);
    }
    atomic_store(&all.has_ended, true);
    CHECK(pthread_join(helper, NULL) == 0 && pthread_join(reader, NULL) == 0);
    model_end(&m);
    folder_end();
}

/** A full disk: removals still find room, and it is as it was. */
static void test_reserve(void) {
    folder_begin();
    model m;
    model_begin(&m, 4096, 4096);
    CHECK(random_write(&m, 10, 10));
    size_t refused = 0, removed = 0;
    for (size_t n = 0; n < 200; n++) {
        bool removes = refused > 0;
        size_t length =
            removes ? larder_record_write_bare(batch, RECORD_REMOVE, (larder_bytes){"k", 1}) : 0;
        if (!removes) {
            larder_store_item item = {.key = {"k", 1},
                                      .expires_ns = LARDER_STORE_NEVER,
                                      .idle_ns = LARDER_STORE_NEVER,
                                      .refresh_ns = LARDER_STORE_NEVER};
            length = larder_record_size(&item);
            larder_record_write(batch, &item, length, 1);
        }
        memcpy(batch, &(uint32_t){(uint32_t)length}, 4);
        larder_fault_set("fallocate", 1, ENOSPC);
        bool is_there = model_add(&m, batch, record_padded(length), 1, removes);
        larder_fault_set(NULL, 0, 0);
        if (removes) removed += is_there;
        else refused += !is_there;
    }
    CHECK(refused > 0 && m.log.active->number == 1);
    // An eighth of the segment was kept for them.
    CHECK(removed >= 4096 / 8 / 40 && removed < 200 - 4096 / 80);
    while (m.log.active->number < 4) random_write(&m, 10, 100);
    larder_status end;
    log_scan scan = scan_of(&m.log);
    CHECK(compare_scan(&m, &scan, &end) == m.count && end == LARDER_END);
    model_end(&m);
    folder_end();
}

/** A chain of segments whose last records name each other, or what is no part of it. */
static void test_circle(void) {
    folder_begin();
    model m;
    model_begin(&m, 4096, 4096);
    CHECK(random_write(&m, 10, 10));
    segment *other, *cleaned;
    CHECK(larder_log_create_cleaned(&m.log, &m.lock, 100, 1, 0, &cleaned) == LARDER_OK);
    CHECK(larder_segment_create(m.log.folder, 3, SEGMENT_WRITTEN, 1, 2, 0, (segment_epoch){0, 0},
                                STORE_ID, 0600, &other) == 0);
    segment *twice;
    CHECK(larder_segment_create(m.log.folder, 3, SEGMENT_WRITTEN, 1, 2, 0, (segment_epoch){0, 0},
                                STORE_ID, 0600, &twice) == EEXIST);
    static const uint32_t leads[] = {1, 2, 3, 4, 0};
    segment *first = m.log.active;
    uint64_t at = atomic_load(&first->end);
    for (size_t n = 0; n < 5; n++) {
        atomic_store(&first->end, at);
        larder_segment_seal(first, leads[n], m.log.last_sequence);
        atomic_store(&other->end, SEGMENT_HEAD_BYTES);
        larder_segment_seal(other, (uint32_t)below(4), m.log.last_sequence);
        log_scan scan = scan_of(&m.log);
        larder_status end;
        CHECK(compare_scan(&m, &scan, &end) == 1);
        CHECK(end == LARDER_EDAMAGED);
        while (larder_log_scan_resync(&scan)) CHECK(compare_scan(&m, &scan, &end) == 0);
    }
    larder_segment_close(other);
    model_end(&m);
    folder_end();
}

// Damage ------------------------------------------------------------------------------------------

typedef struct image {
    uint8_t *bytes;
    size_t length;
    size_t end;
    int file;
} image;

/** A log of one segment, closed, and its bytes. */
static void image_begin(model *m, image *out) {
    folder_begin();
    model_begin(m, 4096, 4096);
    for (;;) {
        size_t before = m->count;
        CHECK(random_write(m, 30, 60));
        if (m->log.active->number == 1) continue;
        free(m->writes[before].bytes);
        m->count--;
        break;
    }
    out->end = (size_t)m->writes[m->count - 1].at.offset + m->writes[m->count - 1].length;
    out->length = 4096;
    out->bytes = malloc(out->length);
    CHECK(larder_os_file_open_in(m->log.folder, "00000001.seg", LARDER_OS_WRITE, 0, &out->file) ==
          LARDER_OK);
    CHECK(larder_log_remove(&m->log, m->log.active->number) == LARDER_OK);
    size_t got;
    CHECK(larder_os_file_read_at(out->file, out->bytes, 4096, 0, &got) == LARDER_OK && got == 4096);
}

static void image_end(model *m, image *used) {
    close(used->file);
    model_end(m);
    folder_end();
    free(used->bytes);
}

static void image_write(const image *used, const uint8_t *bytes) {
    CHECK(larder_os_file_write_at(used->file, bytes, used->length, 0) == LARDER_OK);
}

static void test_cut(void) {
    model m;
    image used;
    image_begin(&m, &used);
    store_log reader;
    CHECK(larder_log_open(folder_path, STORE_ID, 0600, true, &reader) == LARDER_OK);
    uint8_t *bytes = malloc(used.length);
    for (size_t cut = SEGMENT_HEAD_BYTES; cut <= used.length; cut++) {
        for (int is_garbage = 0; is_garbage < 2; is_garbage++) {
            memcpy(bytes, used.bytes, used.length);
            if (is_garbage) fill_random(bytes + cut, used.length - cut);
            else memset(bytes + cut, 0, used.length - cut);
            image_write(&used, bytes);
            log_scan scan = scan_of(&reader);
            larder_status end;
            size_t came = compare_scan(&m, &scan, &end), whole = 0;
            CHECK(end == LARDER_END || end == LARDER_EDAMAGED);
            while (whole < m.count && m.writes[whole].at.offset + m.writes[whole].length <= cut)
                whole++;
            // A cut inside zeros or padding takes nothing away.
            CHECK(came == scan.sequence && came >= whole && came <= whole + 1);
        }
    }
    larder_log_close(&reader);
    // Shorter than its head says: what is there can be read.
    for (size_t cut = 0; cut < used.length; cut += 1 + below(60)) {
        image_write(&used, used.bytes);
        CHECK(larder_os_file_truncate(used.file, cut) == LARDER_OK);
        segment *opened;
        larder_status status = larder_segment_open(m.log.folder, 1, STORE_ID, false, &opened);
        CHECK(status == (cut < SEGMENT_HEAD_BYTES ? LARDER_EDAMAGED : LARDER_OK));
        if (status) continue;
        CHECK(opened->capacity == (cut + 7) / 8 * 8 && opened->kind == SEGMENT_WRITTEN);
        uint64_t at = SEGMENT_HEAD_BYTES, whole = 0;
        record found;
        while (larder_segment_read(opened, &at, true, &found) == LARDER_OK) whole = at;
        CHECK(whole <= opened->capacity);
        larder_segment_close(opened);
    }
    image_write(&used, used.bytes);
    segment *opened;
    CHECK(larder_segment_open(m.log.folder, 1, STORE_ID + 1, false, &opened) == LARDER_EDAMAGED);
    CHECK(larder_segment_open(m.log.folder, 2, STORE_ID, false, &opened) == ENOENT);
    for (size_t at = 0; at < SEGMENT_HEAD_BYTES; at++) {
        memcpy(bytes, used.bytes, used.length);
        bytes[at] ^= (uint8_t)(1u << below(8));
        image_write(&used, bytes);
        // Of its first word alone nothing follows.
        CHECK(larder_segment_open(m.log.folder, 1, STORE_ID, false, &opened) == LARDER_OK);
        CHECK(opened->kind == (at < 8 ? SEGMENT_WRITTEN : SEGMENT_UNKNOWN));
        larder_segment_close(opened);
    }
    free(bytes);
    image_end(&m, &used);
}

/** Every write that can be had, by going on behind what is damaged. */
static size_t scan_all(const model *m, log_scan *scan) {
    size_t came = 0;
    for (;;) {
        larder_status end;
        came += compare_scan(m, scan, &end);
        if (end != LARDER_EDAMAGED || !larder_log_scan_resync(scan)) return came;
    }
}

static void test_flip(void) {
    model m;
    image used;
    image_begin(&m, &used);
    store_log reader;
    CHECK(larder_log_open(folder_path, STORE_ID, 0600, true, &reader) == LARDER_OK);
    uint8_t *bytes = malloc(used.length);
    for (size_t at = SEGMENT_HEAD_BYTES; at < used.length; at++) {
        for (int how = 0; how < 2; how++) {
            memcpy(bytes, used.bytes, used.length);
            bytes[at] ^= how ? (uint8_t)(1u << below(8)) : 0xFF;
            image_write(&used, bytes);
            log_scan scan = scan_of(&reader);
            size_t came = scan_all(&m, &scan);
            CHECK(came + 1 >= m.count && came + scan.lost >= scan.sequence);
            CHECK(scan.lost <= 1 && (at < used.end || came == m.count));
        }
    }
    // Much damage at once: whatever comes was written, and nothing crashes.
    for (size_t n = 0; n < 2000; n++) {
        memcpy(bytes, used.bytes, used.length);
        for (size_t times = 1 + below(20); times > 0; times--) {
            size_t at = SEGMENT_HEAD_BYTES + below(used.length - SEGMENT_HEAD_BYTES);
            size_t length = 1 + below(n % 2 ? 4 : 64);
            if (length > used.length - at) length = used.length - at;
            if (below(3) == 0) memset(bytes + at, 0, length);
            else fill_random(bytes + at, length);
        }
        image_write(&used, bytes);
        log_scan scan = scan_of(&reader);
        size_t came = scan_all(&m, &scan);
        CHECK(came + scan.lost == scan.sequence);
    }
    larder_log_close(&reader);
    free(bytes);
    image_end(&m, &used);
}

/** Sound records in an order in which nobody wrote them: what begins the log comes, no more. */
static void test_splice(void) {
    model m;
    image used;
    image_begin(&m, &used);
    store_log reader;
    CHECK(larder_log_open(folder_path, STORE_ID, 0600, true, &reader) == LARDER_OK);
    uint8_t *bytes = malloc(used.length);
    const uint8_t *records[128];
    size_t count = 0;
    for (size_t at = SEGMENT_HEAD_BYTES; at < used.end && count < 128;) {
        records[count++] = used.bytes + at;
        at += record_padded(record_length(used.bytes + at));
    }
    for (size_t n = 0; n < 3000; n++) {
        memcpy(bytes, used.bytes, used.length);
        memset(bytes + SEGMENT_HEAD_BYTES, 0, used.length - SEGMENT_HEAD_BYTES);
        size_t end = SEGMENT_HEAD_BYTES, whole = 0, started = 0;
        bool is_in_order = true;
        for (size_t next = 0;;) {
            size_t chosen = below(10) ? next : below(count);
            next = chosen + 1;
            if (chosen >= count) break;
            size_t length = record_padded(record_length(records[chosen]));
            if (end + length > used.length) break;
            memcpy(bytes + end, records[chosen], length);
            end += length;
            if (chosen != started) is_in_order = false;
            started++;
            if (is_in_order && (records[chosen][21] & RECORD_CONTINUES) == 0) whole++;
        }
        image_write(&used, bytes);
        log_scan scan = scan_of(&reader);
        larder_status status;
        size_t came = compare_scan(&m, &scan, &status);
        CHECK(came == whole && scan.lost == 0);
        while (status == LARDER_EDAMAGED && larder_log_scan_resync(&scan))
            came += compare_scan(&m, &scan, &status);
        CHECK(came + scan.lost == scan.sequence);
    }
    larder_log_close(&reader);
    free(bytes);
    image_end(&m, &used);
}

/** Records and rows with bytes changed: bounds hold, so that the sanitizers have nothing to say. */
static void test_records(void) {
    volatile uint64_t sum = 0;
    for (size_t n = 0; n < 20000; n++) {
        size_t length = random_record(batch, (uint32_t)below(30), 40);
        uint64_t word =
            larder_record_seal(batch, length, random64() / 2, (uint32_t)below(100), below(2));
        memcpy(batch, &word, 8);
        record found;
        CHECK(larder_record_read((larder_bytes){batch, length}, true, &found) == LARDER_OK);
        if (found.kind == RECORD_PUT) {
            uint8_t *row = malloc(ROW_BYTES + length);
            location place = {1 + (uint32_t)below(99), below(1 << 20) * 8};
            bool inlines = below(2);
            size_t row_bytes = larder_row_write(row, batch, place, inlines);
            place.segment++;
            larder_row_move(row, place);
            entry_row read;
            CHECK(larder_row_read((larder_bytes){row, row_bytes}, &read) == LARDER_OK);
            CHECK(read.sequence == found.sequence && read.minor == found.minor);
            CHECK(read.at.segment == place.segment && read.at.offset == place.offset);
            CHECK(read.value_bytes == found.value.length);
            CHECK((read.flags & ~RECORD_INDEXED) == found.flags);
            CHECK(((read.flags & RECORD_INDEXED) != 0) == (found.index_count > 0));
            CHECK(read.inlined.length == (inlines ? length : 0));
            size_t padded = larder_row_record_padded(&read, found.key);
            CHECK(padded == 0 ? !inlines : padded == record_padded(length));
            CHECK(padded != 0 || (found.flags & RECORD_HAS_PARTS) || found.key.length > 494);
            free(row);
        }
        // A copy of exactly its size.
        size_t cut = below(4) == 0 ? below(length + 1) : length;
        uint8_t *bytes = malloc(cut + 1);
        memcpy(bytes, batch, cut);
        for (size_t times = below(4); times > 0 && cut > 0; times--)
            bytes[below(below(2) ? cut : cut < 48 ? cut : 48)] ^= (uint8_t)(1u << below(8));
        if (below(2) && cut >= 4) memcpy(bytes, &(uint32_t){(uint32_t)cut}, 4);
        if (larder_record_read((larder_bytes){bytes, cut}, false, &found) == LARDER_OK) {
            const larder_bytes all[] = {found.key, found.extended, found.indexes, found.value};
            for (size_t part = 0; part < 4; part++)
                for (size_t at = 0; at < all[part].length; at++)
                    sum += ((const uint8_t *)all[part].data)[at];
            CHECK(found.kind == RECORD_PUT || found.value.length == 0);
        }
        entry_row row;
        if (larder_row_read((larder_bytes){bytes, cut}, &row) == LARDER_OK)
            sum += row.inlined.length;
        free(bytes);
    }
    uint32_t number;
    char name[SEGMENT_NAME_BYTES];
    larder_segment_name(0x1234ABCD, name);
    CHECK(larder_segment_number_of(name, &number) && number == 0x1234ABCD);
    CHECK(strcmp(name, "1234abcd.seg") == 0);
    static const char *const wrong[] = {"",
                                        "1",
                                        "00000000.seg",
                                        "1234ABCD.seg",
                                        "1234abcd.sex",
                                        "1234abcd.segx",
                                        "1234abcd",
                                        "1234abcde.seg"};
    for (size_t at = 0; at < sizeof wrong / sizeof wrong[0]; at++)
        CHECK(!larder_segment_number_of(wrong[at], &number));
}

// The memtable ------------------------------------------------------------------------------------

enum { IDS = 3000 };

typedef struct reference {
    const uint8_t *at[IDS];
    uint64_t base[IDS];
} reference;

static void compare_table(const memtable *table, const reference *expected) {
    uint32_t count = 0;
    uint8_t key[600];
    for (uint32_t id = 0; id < IDS; id++) {
        const memtable_entry *found = larder_memtable_find(table, key_of(id, key));
        CHECK((found ? found->record : NULL) == expected->at[id]);
        count += found != NULL;
    }
    CHECK(count == table->count);
    int64_t entries = 0, bytes = 0;
    for (uint32_t at = 0; at < table->resolved; at++) {
        const uint8_t *record_at = table->entries[at].record;
        uint32_t id;
        larder_bytes name = larder_record_key(record_at);
        memcpy(&id, (const uint8_t *)name.data + name.length - 4, 4);
        entries += (record_kind(record_at) == RECORD_PUT) - (expected->base[id] != 0);
        bytes += (int64_t)larder_record_value_length(record_at) -
                 (expected->base[id] ? (int64_t)expected->base[id] - 1 : 0);
    }
    CHECK(entries == table->count_delta && bytes == table->bytes_delta);
}

static void test_memtable(void) {
    memtable *table;
    CHECK(larder_memtable_create(&table) == LARDER_OK);
    reference *expected = calloc(1, sizeof *expected);
    uint8_t *arena = malloc(16 << 20), *end = arena;
    for (uint32_t id = 0; id < IDS; id++) expected->base[id] = below(2) ? 1 + below(1000) : 0;
    uint32_t range = 1 + (uint32_t)below(IDS);
    uint64_t sequence = 0;
    for (size_t n = 0; n < 12000; n++) {
        uint32_t id = (uint32_t)below(range);
        uint8_t key[600];
        larder_bytes name = key_of(id, key);
        size_t length = below(4) ? random_put(end, name, 60)
                                 : larder_record_write_bare(end, RECORD_REMOVE, name);
        uint64_t word = larder_record_seal(end, length, ++sequence, 0, false);
        memcpy(end, &word, 8);
        CHECK(larder_memtable_reserve(table, 1) == LARDER_OK);
        larder_memtable_put(table, end, (uint32_t)n);
        expected->at[id] = end;
        end += record_padded(length);
        CHECK(end < arena + (16 << 20) - 4096 && table->last_sequence == sequence);
        size_t dice = below(3000);
        if (dice == 0) {
            larder_memtable_clear(table, ++sequence);
            memset(expected->at, 0, sizeof expected->at);
            CHECK(table->cleared == sequence && table->count == 0);
        } else if (dice == 1) {
            larder_memtable_forget_bases(table);
        } else if (dice == 2) {
            larder_memtable_reset(table);
            memset(expected->at, 0, sizeof expected->at);
            CHECK(table->cleared == 0 && table->last_sequence == 0);
        } else if (dice < 1200 && table->resolved < table->count) {
            name = larder_record_key(table->entries[table->resolved].record);
            memcpy(&id, (const uint8_t *)name.data + name.length - 4, 4);
            uint64_t base = expected->base[id];
            larder_memtable_resolve(table, base != 0, base ? base - 1 : 99);
        }
        if (below(400) == 0) compare_table(table, expected);
    }
    compare_table(table, expected);
    larder_memtable_destroy(table);
    free(expected);
    free(arena);
}

static int compare_by_key(const void *a, const void *b) {
    const sorted_write *left = a, *right = b;
    int order = compare_bytes(larder_record_key(left->record), larder_record_key(right->record));
    return order ? order : (left->victim != 0) - (right->victim != 0);
}

static void test_sort(void) {
    for (int round = 0; round < 60; round++) {
        uint32_t count = (uint32_t)below(round % 3 ? 40 : 4000);
        size_t alphabet = 1 + below(round % 2 ? 3 : 256), prefix = below(3) ? 0 : below(20);
        size_t longest = below(30);
        uint8_t *arena = calloc(count + 1, 128);
        sorted_write *writes = calloc(count + 1, sizeof *writes);
        sorted_write *sorted = calloc(count + 1, sizeof *sorted);
        for (uint32_t at = 0; at < count; at++) {
            uint8_t key[64];
            memset(key, 'p', prefix);
            size_t length = prefix + below(longest + 1);
            for (size_t i = prefix; i < length; i++) key[i] = (uint8_t)below(alphabet);
            uint8_t *target = arena + at * 128u;
            size_t bytes =
                larder_record_write_bare(target, RECORD_REMOVE, (larder_bytes){key, length});
            uint64_t word = larder_record_seal(target, bytes, at, 0, false);
            memcpy(target, &word, 8);
            writes[at] = (sorted_write){random64(), target, at, (uint32_t)below(3)};
        }
        memcpy(sorted, writes, count * sizeof *writes);
        qsort(sorted, count, sizeof *sorted, compare_by_key);
        CHECK(larder_sorted_writes_sort(writes, count) == LARDER_OK);
        for (uint32_t at = 0; at < count; at++)
            CHECK(compare_by_key(&writes[at], &sorted[at]) == 0);
        uint64_t sum = 0, other = 0;
        for (uint32_t at = 0; at < count; at++) sum += writes[at].segment, other += at;
        CHECK(sum == other);
        free(arena);
        free(writes);
        free(sorted);
    }
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t rounds = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    batch = malloc(BATCH_BYTES);
    for (uint64_t round = 0; round < rounds; round++) {
        seed_now = state = seed + round;
        fill_random(scratch, sizeof scratch);
        test_records();
        test_sort();
        test_memtable();
        test_log();
        test_threads();
        test_reserve();
        test_circle();
        test_cut();
        test_flip();
        test_splice();
    }
    free(batch);
    printf("log model: %llu rounds from seed %llu\n", (unsigned long long)rounds,
           (unsigned long long)seed);
    return 0;
}
