// SPDX-License-Identifier: MIT
// Every call that the library makes fails once, in each operation on a ring, an index or a coded
// value: the operation tells of it, or does without, and what was there before is there after it.
#include "failing_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "faults.h"

// The driver --------------------------------------------------------------------------------------

/** @return false when the trial makes fewer passes. */
static bool fail_once(torture *run, const failing_bench *bench, const failing_trial *trial,
                      const char *call, int nth, int error) {
    torture_note(run, "%s: pass %d of %s%s fails with %d", trial->name, abs(nth), call,
                 nth < 0 ? ", and each that follows," : "", error);
    unsigned before = open_descriptors();
    if (!bench->prepare(run, bench->context, trial)) {
        return false;
    }
    larder_fault_set(call, nth, error);
    larder_status status = trial->act(bench->context);
    bool reached = larder_fault_passes() >= abs(nth);
    larder_fault_set(NULL, 0, 0);
    (void)(EXPECT(run, reached || status == LARDER_OK, "nothing failed, and it gave %d", status) &&
           EXPECT(run, (error != EINTR && error != LARDER_FAULT_SHORT) || status == LARDER_OK,
                  "what only has to be tried again gave %d", status));
    bench->verify(run, bench->context, trial, status, error);
    unsigned after = open_descriptors();
    EXPECT(run, after == before, "%u descriptors are open, not %u", after, before);
    return reached;
}

/** What is to fail, in which trial. */
typedef struct failing_way {
    const failing_trial *trial;
    const char *call;
    int error;
} failing_way;

typedef struct failing_ways {
    const failing_bench *bench;
    size_t count;
    failing_way items[8192];
} failing_ways;

static void fail_each(torture *run, void *context, uint64_t index) {
    const failing_ways *ways = context;
    const failing_way *way = &ways->items[index];
    // Further on, passes are more of the same; where each waits for a second, a few will do.
    int most = run->brief ? 2 : 512;
    const uint64_t until = now_ns() + UINT64_C(15000000000);
    for (int nth = 1; nth <= most && torture_unhurt(run) && now_ns() < until;
         nth += 1 + nth / (nth < 24 ? 8 : 4)) {
        if (nth > 1) {
            torture_trial(run);
        }
        if (!fail_once(run, ways->bench, way->trial, way->call, nth, way->error)) {
            break;
        }
    }
    // As on a medium that broke: what is done because of a failure fails as well.
    bool may_last = way->error != EINTR && way->error != LARDER_FAULT_SHORT;
    for (int nth = 1; may_last && nth <= most && torture_unhurt(run) && now_ns() < until;
         nth += 1 + nth / 2) {
        torture_trial(run);
        if (!fail_once(run, ways->bench, way->trial, way->call, -nth, way->error)) {
            break;
        }
    }
}

void fail_every_call(torture *run, const failing_bench *bench) {
    static failing_ways ways;
    ways.bench = bench;
    ways.count = 0;
    for (size_t i = 0; i < bench->trial_count * failing_call_count * FAILING_ERRORS; i++) {
        const failing_call *call = &failing_calls[i / FAILING_ERRORS % failing_call_count];
        int error = call->errors[i % FAILING_ERRORS];
        bool is_wanted = error && (!run->brief || mix2(run->seed, i) % 8 == 0);
        if (is_wanted && ways.count < sizeof ways.items / sizeof *ways.items) {
            ways.items[ways.count++] = (failing_way){
                &bench->trials[i / FAILING_ERRORS / failing_call_count], call->name, error};
        }
    }
    torture_guard_each(run, ways.count, 60, true, fail_each, &ways);
}

// Rings -------------------------------------------------------------------------------------------

enum { MESSAGES = 60 };

typedef struct ring_bench {
    const char *path;
    const char *other;
    uint8_t closed[65536];
    uint8_t unclean[65536];
    size_t size;
    larder_ring *ring;
    /** Messages that must be there, and that may be, up to these numbers. */
    uint64_t least, most;
} ring_bench;

static larder_status ring_end(ring_bench *self, larder_status status) {
    larder_status ended = self->ring ? larder_ring_shutdown(self->ring) : LARDER_OK;
    larder_ring_close(self->ring);
    self->ring = NULL;
    return status ? status : ended;
}

static larder_status ring_start(ring_bench *self, uint32_t flags) {
    larder_ring_options options = ring_options(flags & LARDER_RING_READ_ONLY ? 0 : 16384, flags);
    options.sync_interval_ns = 1000000000;
    larder_ring_detail detail;
    return larder_ring_open(self->path, &options, &detail, &self->ring);
}

static larder_status ring_put(ring_bench *self, uint64_t count) {
    larder_status worst = LARDER_OK;
    for (uint64_t i = 0; i < count && !worst; i++) {
        uint8_t bytes[200];
        uint64_t next;
        worst = larder_ring_next_sequence(self->ring, &next);
        size_t length = (size_t)(next * 37 % sizeof bytes);
        message_fill(next, bytes, length);
        if (!worst) {
            worst = i % 5 == 4 ? larder_ring_append_synced(self->ring, bytes, length, NULL)
                               : larder_ring_append(self->ring, bytes, length, NULL);
            self->most = next;
        }
    }
    return worst;
}

static larder_status open_and_append(void *context) {
    ring_bench *self = context;
    larder_status status = ring_start(self, LARDER_RING_OVERWRITE);
    status = status ? status : ring_put(self, 12);
    status = status ? status : larder_ring_acknowledge(self->ring, bytes_of_text("one"), 3);
    status = status ? status : larder_ring_remove_through(self->ring, 1, NULL);
    status = status ? status : larder_ring_sync(self->ring);
    return ring_end(self, status);
}

static larder_status open_and_read(void *context) {
    ring_bench *self = context;
    larder_status status = ring_start(self, LARDER_RING_READ_ONLY);
    larder_ring_reader *reader = NULL;
    status = status ? status : larder_ring_reader_open(self->ring, 0, &reader);
    larder_ring_record record;
    while (status == LARDER_OK) {
        status = larder_ring_reader_next(reader, &record);
    }
    status = status == LARDER_END ? LARDER_OK : status;
    while (status == LARDER_OK) {
        status = larder_ring_reader_previous(reader, &record);
    }
    status = status == LARDER_END ? LARDER_OK : status;
    status = status ? status : larder_ring_reader_seek(reader, 7);
    larder_ring_statistics figures;
    status = status ? status : larder_ring_statistics_get(self->ring, &figures);
    status = status ? status : larder_ring_wait(self->ring, figures.newest_sequence, 1000);
    status = status == ETIMEDOUT ? LARDER_OK : status;
    larder_ring_report report;
    status = status ? status : larder_ring_check(self->ring, &report);
    larder_ring_reader_close(reader);
    return ring_end(self, status);
}

static int goes_on(void *context, uint64_t done, uint64_t total) {
    (void)context;
    (void)done;
    (void)total;
    return 0;
}

static larder_status salvage(void *context) {
    ring_bench *self = context;
    larder_ring_report report;
    return larder_ring_salvage(self->path, self->other, NULL, goes_on, NULL, &report);
}

static larder_status resize(void *context) {
    ring_bench *self = context;
    larder_ring_options options = ring_options(20000, LARDER_RING_OVERWRITE);
    larder_status status = larder_ring_resize(self->path, &options, NULL);
    options.capacity_bytes = 16384;
    return status ? status : larder_ring_resize(self->path, &options, NULL);
}

/** In a folder that is given by a name alone. */
static larder_status open_here(void *context) {
    ring_bench *self = context;
    char folder[512], here[512];
    snprintf(folder, sizeof folder, "%s", self->path);
    *strrchr(folder, '/') = 0;
    if (!getcwd(here, sizeof here) || chdir(folder) != 0) {
        return LARDER_OK;
    }
    larder_ring *ring = NULL;
    larder_ring_options options = ring_options(16384, LARDER_RING_OVERWRITE);
    larder_status status = larder_ring_open("here", &options, NULL, &ring);
    larder_ring_close(ring);
    (void)unlink("here");
    (void)!chdir(here);
    return status;
}

static bool ring_prepare(torture *run, void *context, const failing_trial *trial) {
    ring_bench *self = context;
    bool is_unclean = strstr(trial->name, "unclean") != NULL;
    (void)unlink(self->other);
    self->least = self->most = MESSAGES;
    return EXPECT(run,
                  write_file(self->path, is_unclean ? self->unclean : self->closed, self->size),
                  "cannot write %s", self->path);
}

static void ring_verify(torture *run, void *context, const failing_trial *trial,
                        larder_status status, int error) {
    ring_bench *self = context;
    (void)error;
    EXPECT(run, status == LARDER_OK || size_of_file(self->other) < 0,
           "%s gave %d and left its target", trial->name, status);
    larder_ring_reader *reader = NULL;
    larder_ring_record record = {0};
    uint64_t next = 0;
    bool good =
        EXPECT_STATUS(run, larder_ring_open(self->path, NULL, NULL, &self->ring), LARDER_OK) &&
        EXPECT_STATUS(run, larder_ring_reader_open(self->ring, 0, &reader), LARDER_OK);
    while (good && larder_ring_reader_next(reader, &record) == LARDER_OK) {
        // In a file that is a copy, numbers are passed over as behind a power cut: messages count.
        good =
            EXPECT(run, record.sequence >= next, "number %llu comes too late",
                   (unsigned long long)record.sequence) &&
            EXPECT(run, message_equals(record.sequence, record.payload.data, record.payload.length),
                   "message %llu is another one", (unsigned long long)record.sequence);
        next = next ? next + 1 : record.sequence + 1;
    }
    (void)(good && EXPECT(run, next > self->least && next <= self->most + 1,
                          "the newest message is %llu, not one from %llu to %llu",
                          (unsigned long long)next - 1, (unsigned long long)self->least,
                          (unsigned long long)self->most));
    larder_ring_reader_close(reader);
    good = good && EXPECT_STATUS(run, ring_put(self, 3), LARDER_OK);
    (void)ring_end(self, LARDER_OK);
}

static const failing_trial ring_trials[] = {
    {"open and append", open_and_append},
    {"open unclean and append", open_and_append},
    {"open and read", open_and_read},
    {"open unclean and read", open_and_read},
    {"salvage", salvage},
    {"salvage unclean", salvage},
    {"resize", resize},
    {"resize unclean", resize},
    {"open in this folder", open_here},
};

static bool ring_fill(torture *run, ring_bench *self) {
    if (!EXPECT_STATUS(run, ring_start(self, LARDER_RING_OVERWRITE), LARDER_OK) ||
        !EXPECT_STATUS(run, ring_put(self, MESSAGES), LARDER_OK)) {
        return false;
    }
    self->size = (size_t)read_file(self->path, self->unclean, sizeof self->unclean);
    if (!EXPECT_STATUS(run, ring_end(self, LARDER_OK), LARDER_OK)) {
        return false;
    }
    read_file(self->path, self->closed, sizeof self->closed);
    return true;
}

// Memory ------------------------------------------------------------------------------------------

typedef struct shelf {
    larder_index *index;
    /** Added, less those that went: the index must say the same. */
    uint64_t count;
} shelf;

static bool shelf_prepare(torture *run, void *context, const failing_trial *trial) {
    (void)run;
    (void)trial;
    memset(context, 0, sizeof(shelf));
    return true;
}

static larder_status shelf_add(shelf *self, uint64_t first, uint64_t count) {
    larder_status worst = LARDER_OK;
    for (uint64_t key = first; key < first + count; key++) {
        larder_index_probe probe;
        larder_index_cause cause;
        if (larder_index_write_first(self->index, larder_index_hash_u64(key), &probe)) {
            while (larder_index_expire(self->index) != LARDER_INDEX_NONE) {
                self->count--;
            }
            larder_index_first(self->index, larder_index_hash_u64(key), &probe);
        }
        larder_status status = larder_index_write_insert(self->index, key % 5, &probe);
        worst = worst ? worst : status;
        if (!status) {
            memcpy(probe.payload, &key, sizeof key);
            self->count++;
        }
        while (larder_index_write_settle(self->index, &probe, &cause)) {
            self->count--;
        }
    }
    return worst;
}

static larder_status shelf_use(shelf *self, larder_index_policy policy, uint64_t limit) {
    larder_index_options options;
    larder_index_options_init(&options);
    options.payload_bytes = 16;
    options.policy = policy;
    options.count_limit = limit;
    larder_status status = larder_index_create(&options, &self->index);
    status = status ? status : shelf_add(self, 0, 6000);
    if (!self->index) {
        return status;
    }
    larder_index_write_begin(self->index);
    larder_index_expiry expiry = {INT64_MAX / 2, INT64_MAX / 2, LARDER_INDEX_NEVER};
    larder_status next = larder_index_set_expiry(self->index, &expiry);
    status = status ? status : next;
    static larder_index_slot slots[8];
    size_t count = 0;
    for (unsigned order = 0; order <= LARDER_INDEX_UNORDERED; order++) {
        next = larder_index_list(self->index, (larder_index_order)order, slots, 8, &count);
        status = status ? status : next;
    }
    for (size_t i = 0; i < count && i < 8 && !next; i++) {
        larder_index_expiry own = {(int64_t)i + 1, LARDER_INDEX_NEVER, LARDER_INDEX_NEVER};
        next = larder_index_set_entry_expiry(self->index, slots[i], i % 2 ? &own : NULL);
        next = next ? next : larder_index_pin(self->index, slots[i], i < 4);
    }
    status = status ? status : next;
    next =
        larder_index_set_limits(self->index, limit == UINT64_MAX ? 3000 : UINT64_MAX, UINT64_MAX);
    status = status ? status : next;
    while (larder_index_evict(self->index, NULL) != LARDER_INDEX_NONE) {
        self->count--;
    }
    next = larder_index_check(self->index, NULL);
    larder_index_write_end(self->index);
    status = status ? status : next;
    next = shelf_add(self, 10000, 3000);
    return status ? status : next;
}

static larder_status use_plain(void *context) {
    return shelf_use(context, LARDER_INDEX_LRU, LARDER_INDEX_UNLIMITED);
}
static larder_status use_lru(void *context) { return shelf_use(context, LARDER_INDEX_LRU, 4000); }
static larder_status use_fifo(void *context) { return shelf_use(context, LARDER_INDEX_FIFO, 4000); }
static larder_status use_s3fifo(void *context) {
    return shelf_use(context, LARDER_INDEX_S3FIFO, 4000);
}
static larder_status use_adaptive(void *context) {
    return shelf_use(context, LARDER_INDEX_ADAPTIVE, 4000);
}

/** A map of more keys than fit without memory, under which others lie. */
static larder_status check_cbor(void *context) {
    enum { KEYS = 900 };
    static uint8_t bytes[8000];
    (void)context;
    size_t length = 0;
    bytes[length++] = 0xBF;
    for (unsigned key = 0; key < KEYS; key++) {
        bytes[length++] = 0x19;
        bytes[length++] = (uint8_t)((key + 256) >> 8);
        bytes[length++] = (uint8_t)key;
        bytes[length++] = key % 3 ? 0x01 : 0xA1;
        if (key % 3 == 0) {
            bytes[length++] = 0x01;
            bytes[length++] = 0x02;
        }
    }
    bytes[length++] = 0xFF;
    larder_cbor_detail detail;
    larder_status status = larder_cbor_check(bytes, length, 16, &detail);
    larder_cbor_index index = {0};
    status = status ? status : larder_cbor_check_and_index(bytes, length, 16, &index, &detail);
    larder_cbor_index_destroy(&index);
    larder_cbor_pair first, second;
    status = status ? status : larder_cbor_find_duplicate(bytes, length, 1, KEYS, &first, &second);
    return status == LARDER_END ? LARDER_OK : status;
}

static void shelf_verify(torture *run, void *context, const failing_trial *trial,
                         larder_status status, int error) {
    shelf *self = context;
    (void)error;
    (void)trial;
    (void)status;
    if (self->index) {
        const char *reason = NULL;
        larder_index_write_begin(self->index);
        EXPECT(run, larder_index_check(self->index, &reason) == LARDER_OK, "the index: %s", reason);
        EXPECT(run, larder_index_count(self->index) == self->count, "it has %llu entries, not %llu",
               (unsigned long long)larder_index_count(self->index),
               (unsigned long long)self->count);
        larder_index_write_end(self->index);
    }
    larder_index_destroy(self->index);
}

static const failing_trial memory_trials[] = {
    {"an index", use_plain},
    {"an index that is LRU", use_lru},
    {"a FIFO index", use_fifo},
    {"an S3-FIFO index", use_s3fifo},
    {"an adaptive index", use_adaptive},
    {"a coded map", check_cbor},
};

void family_failures(torture *run) {
    rng random;
    if (failing_call_count == 0) {
        torture_skip(run, "failing calls: the linker does not wrap them here");
        return;
    }
    if (!torture_next_case(run, &random)) {
        return;
    }
    ring_bench *ring = shared_memory(sizeof *ring);
    char path[600], other[600];
    snprintf(path, sizeof path, "%s", torture_path(run, "ring"));
    snprintf(other, sizeof other, "%s", torture_path(run, "other"));
    ring->path = path;
    ring->other = other;
    if (ring_fill(run, ring)) {
        failing_bench bench = {ring_trials, sizeof ring_trials / sizeof *ring_trials, ring_prepare,
                               ring_verify, ring};
        fail_every_call(run, &bench);
    }
    shelf *own = shared_memory(sizeof *own);
    failing_bench bench = {memory_trials, sizeof memory_trials / sizeof *memory_trials,
                           shelf_prepare, shelf_verify, own};
    fail_every_call(run, &bench);
}
