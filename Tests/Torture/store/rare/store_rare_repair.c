// SPDX-License-Identifier: MIT
// What happens seldom while a store is checked, copied, salvaged or made anew: writes that come
// beside it, memory and descriptors that run out, rows that contradict the log, damage where it is
// hard to tell what was lost, files that change beneath a salvage.
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "failing_calls.h"
#include "faults.h"
#include "store_disk.h"
#include "store_rare.h"

enum { SEGMENT_BYTES = 4096, SEGMENT_HEAD = 64, RECORD_HEAD = 36 };
enum { KIND_ANY = 0, KIND_PUT = 1, KIND_REMOVE = 2, KIND_NEXT = 4 };
/** Values of this length take a segment each; shorter ones do not lie in the tree. */
enum { LARGE = 3000, USUAL = 200, TINY = 10, INDEX = 3 };

// The store ---------------------------------------------------------------------------------------

/** Small segments, small transactions, and nothing cleaned but what is dead. */
static larder_store_options options_of(uint32_t flags, uint64_t segment_bytes) {
    static larder_store_tuning tuning;
    larder_store_options options;
    larder_store_options_init(&options);
    larder_store_tuning_init(&tuning);
    tuning.segment_min_bytes = tuning.segment_max_bytes = segment_bytes;
    tuning.transaction_max_count = 8;
    tuning.space_percent = 100000;
    options.tuning = &tuning;
    options.clock = own_clock;
    options.flags = flags | LARDER_STORE_HOST_MAINTENANCE;
    return options;
}

static larder_status opened_with(const char *path, uint32_t flags, uint64_t segment_bytes,
                                 larder_store **out) {
    larder_store_options options = options_of(flags, segment_bytes);
    *out = NULL;
    return larder_store_open(path, &options, NULL, out);
}

static larder_status opened(const char *path, uint32_t flags, larder_store **out) {
    return opened_with(path, flags, SEGMENT_BYTES, out);
}

static larder_bytes value_of(unsigned number, size_t length) {
    static uint8_t value[200000];
    for (size_t i = 0; i < length; i++) {
        value[i] = (uint8_t)(1 + (number * 31 + i * 7) % 255);
    }
    return bytes_of(value, length);
}

static larder_status put(larder_store *store, unsigned number, size_t length) {
    larder_store_item item;
    larder_store_item_init(&item, rare_key(number), value_of(number, length));
    return larder_store_put(store, &item, NULL);
}

static larder_status put_many(larder_store *store, unsigned from, unsigned behind, size_t length) {
    larder_status status = LARDER_OK;
    for (unsigned i = from; i < behind && !status; i++) {
        status = put(store, i, length);
    }
    return status;
}

static bool holds(larder_store *store, unsigned number, size_t length) {
    larder_store_entry entry;
    bool is_same =
        larder_store_get(store, rare_key(number), LARDER_STORE_PEEK, &entry) == LARDER_OK;
    is_same = is_same && entry.value.length == length &&
              memcmp(entry.value.data, value_of(number, length).data, length) == 0;
    larder_store_release(&entry);
    return is_same;
}

/** The store at `path` is sound, and has exactly these, all with values of that length. */
static void has_just(torture *run, const char *path, unsigned from, unsigned behind,
                     size_t length) {
    larder_store *store = NULL;
    larder_store_report report;
    torture_trial(run);
    if (!EXPECT_STATUS(run, opened(path, 0, &store), LARDER_OK)) {
        return;
    }
    EXPECT_STATUS(run, larder_store_check(store, NULL, NULL, &report), LARDER_OK);
    EXPECT(run, report.intact == behind - from, "%llu are there",
           (unsigned long long)report.intact);
    for (unsigned i = from; i < behind; i++) {
        EXPECT(run, holds(store, i, length), "key %u is lost", i);
    }
    larder_store_close(store);
}

/** A store at `path` of some entries; of the last of `rounds` through them. */
static bool make_store(torture *run, const char *path, unsigned count, size_t length,
                       unsigned rounds) {
    larder_store *store = NULL;
    larder_status status = opened(path, 0, &store);
    for (unsigned round = 0; round < rounds && !status; round++) {
        status = put_many(store, 0, count, length);
        status = status ? status : larder_store_flush(store);
    }
    status = status ? status : larder_store_shutdown(store);
    larder_store_close(store);
    return EXPECT(run, status == LARDER_OK, "making a store gave %d", status);
}

enum { REMOVED = 50, SMALL = 60, LARGE_FROM = 1000, LARGE_BEHIND = 1010, LAST = 8 };

/** A store of many segments, one of them with nothing but removals. The last entries by key lie in
    the first one. */
static void make_with_removals(torture *run, const char *path) {
    larder_store *store = NULL;
    GIVES(opened(path, 0, &store), LARDER_OK);
    larder_status status = put_many(store, 0, SMALL, TINY);
    status = status ? status : put_many(store, 9000, 9000 + LAST, TINY);
    status = status ? status : put(store, LARGE_FROM, LARGE);
    for (unsigned i = 0; i < REMOVED && !status; i++) {
        status = larder_store_remove(store, rare_key(i), 0);
    }
    status = status ? status : put_many(store, LARGE_FROM, LARGE_BEHIND, LARGE);
    GIVES(status, LARDER_OK);
    GIVES(larder_store_shutdown(store), LARDER_OK);
    larder_store_close(store);
}

/** The store at `path` as a process leaves it that dies: at `to`. */
static void leave_open(torture *run, larder_store *store, const char *path, const char *to) {
    EXPECT(run, copy_tree(path, to), "cannot copy the store");
    larder_store_close(store);
    remove_tree(path);
}

// Calls that fail ---------------------------------------------------------------------------------

typedef larder_status (*action)(void *context);

/** Does it over and over, each time with the next pass of `call` failing, until none is left.
    @param then is done after each, if it is not NULL, and does not fail. */
static void fail_each(torture *run, const char *call, int error, action act, action then,
                      void *context) {
    int nth = 0, passes;
    do {
        torture_trial(run);
        torture_note(run, "pass %d of %s gives %d", ++nth, call, error);
        larder_fault_set(call, nth, error);
        larder_status status = act(context);
        passes = larder_fault_passes();
        larder_fault_set(NULL, 0, 0);
        EXPECT(run, status == LARDER_OK || status == error, "it gave %d", status);
        status = then ? then(context) : LARDER_OK;
        EXPECT(run, status == LARDER_OK, "then %d", status);
    } while (passes >= nth && torture_unhurt(run));
}

/** Tells nobody to stop, or whoever asks for the `left`-th time. */
typedef struct patience {
    int left;
} patience;

static int loses_patience(void *context, uint64_t done, uint64_t total) {
    patience *self = context;
    return done > total || --self->left == 0;
}

// Files -------------------------------------------------------------------------------------------

typedef struct place {
    char file[700];
    uint64_t offset;
    uint32_t length;
} place;

static const char *segment_path(const char *store, unsigned number) {
    char name[32];
    snprintf(name, sizeof name, "log/%08x.seg", number);
    return inside(store, name);
}

/** The record of that number, and of that kind. */
static bool find_record(torture *run, const char *store, uint64_t sequence, uint8_t kind,
                        place *out) {
    enum { SEGMENTS = 64, MOST = 1 << 18 };
    static uint8_t bytes[MOST];
    for (unsigned number = 1; number < SEGMENTS; number++) {
        snprintf(out->file, sizeof out->file, "%s", segment_path(store, number));
        int64_t size = read_file(out->file, bytes, sizeof bytes);
        for (int64_t at = SEGMENT_HEAD; at + RECORD_HEAD <= size && size <= MOST;) {
            uint64_t number_of_it;
            memcpy(&out->length, bytes + at, 4);
            memcpy(&number_of_it, bytes + at + 8, 8);
            if (out->length < RECORD_HEAD) {
                break;
            }
            out->offset = (uint64_t)at;
            if (number_of_it == sequence && (kind == KIND_ANY || bytes[at + 20] == kind)) {
                return true;
            }
            at += (out->length + 7) / 8 * 8;
        }
    }
    return EXPECT(run, false, "no record of number %llu", (unsigned long long)sequence);
}

static void change(torture *run, const char *path, uint64_t offset, const void *bytes,
                   size_t length) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    EXPECT(run,
           file >= 0 && pwrite(file, bytes, length, (off_t)offset) == (ssize_t)length &&
               close(file) == 0,
           "cannot change %s", path);
}

/** Changes one byte of the record, `at` bytes behind where it begins. */
static void flip_byte(torture *run, const place *where, uint64_t at) {
    static uint8_t bytes[1 << 18];
    EXPECT(run, read_file(where->file, bytes, sizeof bytes) > (int64_t)(where->offset + at),
           "cannot read %s", where->file);
    uint8_t flipped = (uint8_t)(bytes[where->offset + at] ^ 0x10);
    change(run, where->file, where->offset + at, &flipped, 1);
}

/** Nothing was written from there on. */
static void blank_behind(torture *run, const place *where) {
    int64_t size = size_of_file(where->file);
    EXPECT(run,
           truncate(where->file, (off_t)where->offset) == 0 && truncate(where->file, size) == 0,
           "cannot change %s", where->file);
}

/** Gives a field another value, and the sum that fits: of a record, or of a segment's head. */
static void set_field(torture *run, const char *file, uint64_t start, uint32_t length,
                      uint64_t offset, const void *value, size_t bytes) {
    static uint8_t all[1 << 18];
    bool is_head = start == 0;
    EXPECT(run, read_file(file, all, sizeof all) >= (int64_t)(start + length), "cannot read %s",
           file);
    memcpy(all + start + offset, value, bytes);
    uint64_t from = is_head ? 12 : start + 8;
    uint32_t crc = larder_crc32c(0, all + from, (size_t)(start + length - from));
    memcpy(all + from - 4, &crc, sizeof crc);
    change(run, file, start, all + start, length);
}

static MDB_val val_of(larder_bytes bytes) {
    return (MDB_val){bytes.length, (void *)(uintptr_t)bytes.data};
}

/** The row of an entry: of its name space, and its key. */
static larder_bytes row_key(uint8_t space, larder_bytes key) {
    static uint8_t name[64];
    name[0] = space;
    memcpy(name + 1, key.data, key.length);
    return bytes_of(name, key.length + 1);
}

/** Changes so many bytes of a row, from `offset` on; NULL cuts it there. */
static void edit_row(torture *run, tree_edit *edit, larder_bytes name, size_t offset,
                     const void *bytes, size_t length) {
    uint8_t row[2000];
    MDB_val key = val_of(name), value;
    if (!EXPECT(run,
                mdb_get(edit->txn, edit->tree, &key, &value) == 0 && value.mv_size <= sizeof row,
                "there is no such row")) {
        return;
    }
    memcpy(row, value.mv_data, value.mv_size);
    if (bytes) {
        memcpy(row + offset, bytes, length);
    }
    value = (MDB_val){bytes ? value.mv_size : offset, row};
    EXPECT(run, mdb_put(edit->txn, edit->tree, &key, &value, 0) == 0, "cannot change a row");
}

/** Where the entry lies, by its row. */
static void edit_location(torture *run, tree_edit *edit, unsigned number, uint32_t segment,
                          uint64_t offset) {
    uint32_t location[2] = {segment, (uint32_t)(offset / 8)};
    edit_row(run, edit, row_key(0x10, rare_key(number)), 8, location, sizeof location);
}

// Checks ------------------------------------------------------------------------------------------

/** What another thread might do while a check is at work. */
typedef struct beside {
    larder_store *store;
    enum { PUTS_ONE, PUTS_MANY, SHUTS } way;
    bool is_done;
    /** From then on opening a file fails with that pass. */
    int open_fails;
    larder_status status;
} beside;

static int does_beside(void *context, uint64_t done, uint64_t total) {
    beside *self = context;
    if (self->is_done) {
        return done > total;
    }
    self->is_done = true;
    if (self->way == SHUTS) {
        self->status = larder_store_shutdown(self->store);
    } else if (self->way == PUTS_ONE) {
        self->status = put(self->store, 700, USUAL);
    } else {
        larder_status status = put_many(self->store, 800, 806, LARGE);
        status = status ? status : larder_store_flush(self->store);
        self->status = status ? status : put_many(self->store, 806, 812, LARGE);
    }
    if (self->open_fails) {
        larder_fault_set("open", self->open_fails, EMFILE);
    }
    return 0;
}

static void check_beside_writes(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL;
    larder_store_report report;
    if (!make_store(run, self->path, 20, USUAL, 1)) {
        return;
    }
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    uint64_t there = 20;
    for (int way = PUTS_ONE; way <= SHUTS; way++) {
        beside other = {.store = store, .way = (unsigned)way};
        // One that is just being made in advance has this name.
        EXPECT(run, write_file(inside(self->path, "log/000000ff.new"), "", 0), "cannot write");
        GIVES(larder_store_check(store, does_beside, &other, &report),
              way == SHUTS ? LARDER_ECLOSED : LARDER_OK);
        EXPECT(run, other.is_done && other.status == LARDER_OK, "beside it %d", other.status);
        EXPECT(run, report.intact == there && report.inconsistencies == 0,
               "%llu are there, and %llu inconsistencies", (unsigned long long)report.intact,
               (unsigned long long)report.inconsistencies);
        there += way == PUTS_ONE ? 1 : 12;
    }
    larder_store_close(store);
}

/** The same for a handle that only reads: it finds what came, unless it cannot look. */
static void check_beside_a_writer(torture *run, void *context) {
    const rare *self = context;
    int failures = 0;
    for (int nth = 0; nth < 6; nth++) {
        larder_store *store = NULL, *reader = NULL;
        larder_store_report report;
        remove_tree(self->path);
        GIVES(opened(self->path, 0, &store), LARDER_OK);
        GIVES(put_many(store, 0, 20, USUAL), LARDER_OK);
        GIVES(larder_store_flush(store), LARDER_OK);
        GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &reader), LARDER_OK);
        EXPECT(run, holds(reader, 7, USUAL), "a key is not read");
        beside other = {.store = store, .way = PUTS_MANY, .open_fails = nth};
        larder_status status = larder_store_check(reader, does_beside, &other, &report);
        larder_fault_set(NULL, 0, 0);
        failures += status == EMFILE;
        EXPECT(run, status == LARDER_OK || (nth && status == EMFILE), "the check gave %d", status);
        EXPECT(run, report.intact == 20, "%llu are there", (unsigned long long)report.intact);
        GIVES(larder_store_check(reader, NULL, NULL, &report), LARDER_OK);
        larder_store_close(reader);
        larder_store_close(store);
    }
    EXPECT(run, failures > 0, "no check went without descriptors");
}

typedef struct checking {
    const char *path;
    uint32_t flags;
    /** What the check gives when nothing fails. */
    larder_status usual;
} checking;

static larder_status open_and_check(void *context) {
    const checking *self = context;
    larder_store *store = NULL;
    larder_store_report report;
    larder_status status = opened(self->path, self->flags, &store);
    if (!status) {
        status = larder_store_check(store, NULL, NULL, &report);
    }
    larder_store_close(store);
    return status == self->usual ? LARDER_OK : status;
}

/** Segments are found by and by, and their table grows: at any of them memory and descriptors may
    be at their end. One of them has nothing but removals. */
static void check_without_means(torture *run, void *context) {
    static const struct {
        const char *call;
        int error;
    } fails[] = {{"memory", ENOMEM}, {"mmap", ENOMEM}, {"open", EMFILE},
                 {"open", ENFILE},   {"open", ENOMEM}, {"opendir", EMFILE}};
    const rare *self = context;
    larder_store *store = NULL;
    make_with_removals(run, self->path);
    for (unsigned more = 0; more < 5; more++) {
        checking reads = {self->path, LARDER_STORE_READ_ONLY, LARDER_OK};
        checking writes = {self->path, 0, LARDER_OK};
        for (size_t i = 0; i < sizeof fails / sizeof *fails; i++) {
            fail_each(run, fails[i].call, fails[i].error, open_and_check, NULL, &reads);
            fail_each(run, fails[i].call, fails[i].error, open_and_check, NULL, &writes);
        }
        GIVES(opened(self->path, 0, &store), LARDER_OK);
        GIVES(put(store, LARGE_BEHIND + more, LARGE), LARDER_OK);
        larder_store_close(store);
    }
}

/** Rows of segments that are not there are told, and their place is found without. */
static void check_without_segment_rows(torture *run, void *context) {
    const rare *self = context;
    larder_store_report report;
    larder_store *store = NULL;
    tree_edit edit;
    if (!make_store(run, self->path, 20, USUAL, 1) ||
        !EXPECT(run, edit_begin(self->path, &edit), "cannot open the tree")) {
        return;
    }
    for (uint8_t number = 1; number < 9; number++) {
        uint8_t name[5] = {3, 0, 0, 0, number};
        MDB_val key = {sizeof name, name};
        (void)mdb_del(edit.txn, edit.tree, &key, NULL);
    }
    EXPECT(run, edit_seal(&edit, NULL) && edit_end(&edit), "cannot change the tree");
    checking reads = {self->path, LARDER_STORE_READ_ONLY, LARDER_EDAMAGED};
    fail_each(run, "memory", ENOMEM, open_and_check, NULL, &reads);
    GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &store), LARDER_OK);
    GIVES(larder_store_check(store, NULL, NULL, &report), LARDER_EDAMAGED);
    EXPECT(run, report.intact == 20 && report.damaged == 0, "%llu are intact, %llu damaged",
           (unsigned long long)report.intact, (unsigned long long)report.damaged);
    larder_store_close(store);
}

/** Every way in which a row of a segment can be wrong is told. */
static void check_segment_rows(torture *run, void *context) {
    const rare *self = context;
    for (unsigned way = 0; way < 4; way++) {
        larder_store *store = NULL;
        larder_store_report report;
        tree_edit edit;
        uint8_t name[5] = {3, 0, 0, 0, 1};
        remove_tree(self->path);
        if (!make_store(run, self->path, 20, USUAL, 1) ||
            !EXPECT(run, edit_begin(self->path, &edit), "cannot open the tree")) {
            return;
        }
        MDB_val key = {4, name}, value = {sizeof name, name};
        uint64_t number = way == 2 ? 1 << 20 : 8;
        switch (way) {
        case 0: EXPECT(run, mdb_put(edit.txn, edit.tree, &key, &value, 0) == 0, "no row"); break;
        case 1: edit_row(run, &edit, bytes_of(name, sizeof name), 24, NULL, 0); break;
        case 2: edit_row(run, &edit, bytes_of(name, sizeof name), 0, &number, 8); break;
        default: edit_row(run, &edit, bytes_of(name, sizeof name), 24, &number, 8); break;
        }
        EXPECT(run, edit_seal(&edit, NULL) && edit_end(&edit), "cannot change the tree");
        GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &store), LARDER_OK);
        GIVES(larder_store_check(store, NULL, NULL, &report), LARDER_EDAMAGED);
        EXPECT(run, report.intact == 20 && report.damaged == 0 && report.inconsistencies > 0,
               "%llu are intact, %llu inconsistencies", (unsigned long long)report.intact,
               (unsigned long long)report.inconsistencies);
        larder_store_close(store);
    }
}

/** Segments that somebody still reads, and one that is made this moment, belong there. */
static void check_with_other_segments(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL;
    larder_store_report report;
    larder_store_query query;
    larder_store_cursor *cursor = NULL;
    larder_store_query_init(&query);
    if (!make_store(run, self->path, 20, USUAL, 1)) {
        return;
    }
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(larder_store_cursor_open(store, &query, &cursor), LARDER_OK);
    GIVES(put_many(store, 0, 20, USUAL), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_OK);
    GIVES(put_many(store, 0, 20, USUAL), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_OK);
    EXPECT(run, write_file(segment_path(self->path, 0xFFF), "", 0), "cannot write");
    GIVES(larder_store_check(store, NULL, NULL, &report), LARDER_OK);
    EXPECT(run, report.intact == 20, "%llu are there", (unsigned long long)report.intact);
    larder_store_cursor_close(cursor);
    larder_store_close(store);
}

/** Of a removal of everything, and what came behind it, no checkpoint can be made: a check sees
    what waits, a copy has just that. */
static void what_waits(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL, *reader = NULL;
    larder_store_report report;
    if (!make_store(run, self->path, 20, USUAL, 1)) {
        return;
    }
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(larder_store_remove_all(store, NULL, NULL), LARDER_OK);
    GIVES(put_many(store, 30, 35, USUAL), LARDER_OK);
    GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &reader), LARDER_OK);
    GIVES(larder_store_check(reader, NULL, NULL, &report), LARDER_OK);
    EXPECT(run, report.intact == 5 && report.journal_intact == 6, "%llu are there",
           (unsigned long long)report.intact);
    larder_status status = ECANCELED;
    for (int left = 1; status == ECANCELED; left++) {
        torture_trial(run);
        status = larder_store_check(reader, loses_patience, &(patience){left}, &report);
        // It is asked once for each of the tree's, and of those that wait.
        EXPECT(run, status == (left > 25 ? LARDER_OK : ECANCELED), "call %d gave %d", left, status);
    }
    GIVES(larder_store_backup(reader, self->other, NULL, NULL), LARDER_OK);
    has_just(run, self->other, 30, 35, USUAL);
    // One of them is damaged before anybody looks at it.
    place where;
    if (find_record(run, self->path, 24, KIND_PUT, &where)) {
        flip_byte(run, &where, 100);
    }
    GIVES(larder_store_check(reader, NULL, NULL, &report), LARDER_EDAMAGED);
    EXPECT(run, report.damaged == 1 && report.intact == 4, "%llu are damaged, %llu intact",
           (unsigned long long)report.damaged, (unsigned long long)report.intact);
    larder_store_close(reader);
    larder_store_close(store);
}

/** Nothing is in the tree yet. */
static void all_of_it_waits(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL, *reader = NULL;
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(put_many(store, 0, 10, USUAL), LARDER_OK);
    GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &reader), LARDER_OK);
    larder_fault_set("open", 1, EIO);
    GIVES(larder_store_backup(reader, self->other, NULL, NULL), EIO);
    larder_fault_set(NULL, 0, 0);
    GIVES(larder_store_backup(reader, self->other, loses_patience, &(patience){100}), LARDER_OK);
    has_just(run, self->other, 0, 10, USUAL);
    larder_store_close(reader);
    larder_store_close(store);
}

/** A checkpoint that ended in its midst leaves entries without a place in the order of use. */
static void in_the_midst(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL, *reader = NULL;
    larder_store_report report;
    GIVES(opened(self->path, LARDER_STORE_TRACK_ACCESS, &store), LARDER_OK);
    GIVES(put_many(store, 0, 20, USUAL), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_OK);
    GIVES(larder_store_backup(store, self->other, NULL, NULL), LARDER_OK);
    has_just(run, self->other, 0, 20, USUAL);
    remove_tree(self->other);
    GIVES(put_many(store, 20, 40, USUAL), LARDER_OK);
    larder_fault_set("mdb_txn_commit", 2, EIO);
    GIVES(larder_store_flush(store), EIO);
    larder_fault_set(NULL, 0, 0);
    GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &reader), LARDER_OK);
    GIVES(larder_store_check(reader, NULL, NULL, &report), LARDER_OK);
    EXPECT(run, report.intact == 40, "%llu are there", (unsigned long long)report.intact);
    GIVES(larder_store_backup(reader, self->other, loses_patience, &(patience){100}), LARDER_OK);
    larder_store_close(reader);
    has_just(run, self->other, 0, 40, USUAL);
    larder_store_close(store);
}

/** An entry that is found twice by one value has one row for it. */
static void found_twice(torture *run, void *context) {
    const rare *self = context;
    static uint8_t shared[2][300];
    larder_store *store = NULL;
    larder_store_report report;
    shared[0][299] = 1;
    const larder_store_index_entry indexes[] = {{INDEX, bytes_of("a", 1)},
                                                {INDEX, bytes_of("b", 1)},
                                                {INDEX, bytes_of("a", 1)},
                                                {INDEX, bytes_of(shared[0], sizeof shared[0])},
                                                {INDEX, bytes_of(shared[1], sizeof shared[1])},
                                                {INDEX, bytes_of("b", 1)}};
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    larder_store_item item;
    larder_store_item_init(&item, rare_key(1), value_of(1, USUAL));
    item.indexes = indexes;
    item.index_count = sizeof indexes / sizeof *indexes;
    GIVES(larder_store_put(store, &item, NULL), LARDER_OK);
    GIVES(larder_store_check(store, NULL, NULL, &report), LARDER_OK);
    larder_store_query query;
    uint64_t count = 0;
    larder_store_query_init(&query);
    query.order = LARDER_STORE_BY_INDEX;
    query.index = INDEX;
    GIVES(larder_store_count(store, &query, LARDER_STORE_UNLIMITED, &count), LARDER_OK);
    EXPECT(run, count == 4, "%llu are found", (unsigned long long)count);
    larder_store_close(store);
}

// Copies ------------------------------------------------------------------------------------------

static larder_status compacted(const char *path) {
    return larder_store_compact(path, NULL, NULL, NULL, NULL, NULL);
}

static void compact_odd_files(torture *run, void *context) {
    const rare *self = context;
    if (!make_store(run, self->path, 20, USUAL, 3)) {
        return;
    }
    const char *data = inside(self->path, "data.mdb");
    EXPECT(run, chmod(data, 0) == 0, "cannot change the permissions");
    larder_status status = compacted(self->path);
    // Who may read everything is not kept out.
    EXPECT(run, status == LARDER_OK || status == EACCES, "compacting gave %d", status);
    EXPECT(run, chmod(data, 0600) == 0, "cannot change the permissions");
    GIVES(compacted(self->path), LARDER_OK);
    has_just(run, self->path, 0, 20, USUAL);
    EXPECT(run, unlink(data) == 0 && mkdir(data, 0700) == 0, "cannot make a folder");
    status = compacted(self->path);
    EXPECT(run, status != LARDER_OK, "a folder was compacted");
}

typedef struct copying {
    larder_store *store;
    const char *target;
} copying;

/** Leaves nothing, whatever becomes of it. */
static larder_status back_up(void *context) {
    const copying *self = context;
    larder_status status = larder_store_backup(self->store, self->target, NULL, NULL);
    if ((size_of_file(self->target) >= 0) != (status == LARDER_OK)) {
        status = LARDER_EMISMATCH;
    }
    remove_tree(self->target);
    return status;
}

/** An entry that idles lives in the copy until it would have here. */
static void backup_of_reads(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL, *copy = NULL;
    larder_store_entry entry;
    const unsigned renewed = 6, aged = 7, count = 8;
    uint64_t version = 0;
    GIVES(opened(self->path, LARDER_STORE_TRACK_ACCESS, &store), LARDER_OK);
    for (unsigned i = 0; i < count; i++) {
        larder_store_item item;
        larder_store_item_init(&item, rare_key(i), value_of(i, USUAL));
        item.idle_ns = i >= renewed ? LARDER_STORE_RENEWABLE : i % 2 ? 1000 : LARDER_STORE_NEVER;
        item.expires_ns = i >= renewed ? the_time + 800 : LARDER_STORE_NEVER;
        EXPECT_STATUS(run, larder_store_put(store, &item, i == renewed ? &version : NULL),
                      LARDER_OK);
    }
    GIVES(larder_store_flush(store), LARDER_OK);
    the_time += 500;
    for (unsigned i = 0; i < 4; i++) {
        EXPECT_STATUS(run, larder_store_get(store, rare_key(i), 0, &entry), LARDER_OK);
        larder_store_release(&entry);
    }
    GIVES(larder_store_renew(store, rare_key(renewed), version), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_OK);
    for (int left = 1; left < 8; left++) {
        GIVES(larder_store_backup(store, self->other, loses_patience, &(patience){left}),
              ECANCELED);
        EXPECT(run, size_of_file(self->other) < 0, "a copy that was stopped is there");
    }
    fail_each(run, "memory", ENOMEM, back_up, NULL, &(copying){store, self->other});
    GIVES(larder_store_backup(store, self->other, NULL, NULL), LARDER_OK);
    GIVES(opened(self->other, 0, &copy), LARDER_OK);
    the_time += 700;
    for (unsigned way = 0; way < 5; way++) {
        for (unsigned i = 0; i < count; i++) {
            larder_status wanted = i == 5 || i == aged ? LARDER_ENOTFOUND : LARDER_OK;
            GIVES(larder_store_contains(copy, rare_key(i)), wanted);
        }
        // The copy, the store, and that when it was compacted; then a handle that only reads.
        larder_store_close(copy);
        copy = way == 0 ? store : NULL;
        if (way == 1) {
            GIVES(larder_store_compact(self->path, NULL, NULL, NULL, NULL, NULL), LARDER_OK);
        }
        // The last way: what a salvage of it makes.
        if (way == 3) {
            larder_store_report report;
            remove_tree(self->other);
            GIVES(larder_store_salvage(self->path, self->other, NULL, NULL, NULL, &report),
                  LARDER_OK);
        }
        if (way > 0) {
            GIVES(opened(way == 3 ? self->other : self->path, way == 2 ? LARDER_STORE_READ_ONLY : 0,
                         &copy),
                  LARDER_OK);
        }
    }
    larder_store_close(copy);
}

/** The last steps: the copy gets its name, which is made safe. */
static void backup_gets_its_name(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL;
    char folder[700], target[800];
    // In a folder of its own, whose syncs are those that a copy makes.
    snprintf(folder, sizeof folder, "%s-in", self->other);
    snprintf(target, sizeof target, "%s/copy", folder);
    remove_tree(folder);
    EXPECT(run, make_directory(folder), "cannot make a folder");
    if (!make_store(run, self->path, 20, USUAL, 1)) {
        return;
    }
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    copying self_to = {store, target};
    larder_fault_set("rename", 1 << 20, EIO);
    disk_fail(folder, "sync", 1 << 20, EIO, false);
    GIVES(back_up(&self_to), LARDER_OK);
    int renames = larder_fault_passes(), syncs = disk_passes();
    disk_fail(NULL, NULL, 0, 0, false);
    larder_fault_set("rename", renames, ENOTEMPTY);
    GIVES(back_up(&self_to), EEXIST);
    larder_fault_set(NULL, 0, 0);
    EXPECT(run, rmdir(folder) == 0 && make_directory(folder), "something is left");
    // The last sync fails: then the name is taken back, and if that fails too, it stays.
    for (int also = 0; also < 2 && syncs > 0; also++) {
        larder_fault_set("rename", renames + 1, also ? EIO : 0);
        disk_fail(folder, "sync", syncs, EIO, false);
        GIVES(larder_store_backup(store, target, NULL, NULL), EIO);
        disk_fail(NULL, NULL, 0, 0, false);
        larder_fault_set(NULL, 0, 0);
        EXPECT(run, (size_of_file(target) >= 0) == also, "a name was taken back, or was not");
    }
    if (syncs > 0) {
        has_just(run, target, 0, 20, USUAL);
    }
    larder_store_close(store);
    remove_tree(folder);
}

// Salvage and rebuilding --------------------------------------------------------------------------

static larder_status salvaged(const rare *self, larder_store_report *report) {
    remove_tree(self->other);
    return larder_store_salvage(self->path, self->other, NULL, NULL, NULL, report);
}

static larder_status rebuilt(const char *path, larder_store_report *report) {
    return larder_store_rebuild(path, NULL, NULL, NULL, report);
}

/** Both bring back so many, and find so many damaged. */
static void brings_back(torture *run, const rare *self, uint64_t intact, uint64_t damaged) {
    larder_store_report report;
    GIVES(salvaged(self, &report), LARDER_OK);
    EXPECT(run, report.intact == intact && report.damaged == damaged,
           "%llu are salvaged, %llu damaged, %llu uncertain", (unsigned long long)report.intact,
           (unsigned long long)report.damaged, (unsigned long long)report.uncertain);
    larder_store *store = NULL;
    GIVES(opened(self->other, 0, &store), LARDER_OK);
    GIVES(larder_store_check(store, NULL, NULL, &report), LARDER_OK);
    EXPECT(run, report.intact == intact, "%llu are there", (unsigned long long)report.intact);
    larder_store_close(store);
}

static void almost_nothing(torture *run, void *context) {
    const rare *self = context;
    larder_store_report report;
    larder_store_options options;
    larder_store_statistics figures;
    larder_store *store = NULL;
    if (!make_store(run, self->path, 0, 0, 0)) {
        return;
    }
    brings_back(run, self, 0, 0);
    GIVES(rebuilt(self->path, &report), LARDER_OK);
    // The segment that the log goes on in has nothing yet.
    GIVES(rebuilt(self->path, &report), LARDER_OK);
    has_just(run, self->path, 0, 0, 0);
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(put_many(store, 0, 20, USUAL), LARDER_OK);
    larder_store_close(store);
    GIVES(rebuilt(self->path, &report), LARDER_OK);
    GIVES(rebuilt(self->path, &report), LARDER_OK);
    has_just(run, self->path, 0, 20, USUAL);
    larder_store_options_init(&options);
    options.content_format = 5;
    remove_tree(self->other);
    GIVES(larder_store_salvage(self->path, self->other, &options, NULL, NULL, &report), LARDER_OK);
    GIVES(opened(self->other, 0, &store), LARDER_OK);
    GIVES(larder_store_statistics_get(store, &figures), LARDER_OK);
    EXPECT(run, figures.content_format == 5, "the format is %llu",
           (unsigned long long)figures.content_format);
    larder_store_close(store);
}

/** Without anything in the log, what cannot be read may have been anything. */
static void unknown_version(torture *run, void *context) {
    const rare *self = context;
    larder_store_report report;
    static uint8_t bytes[1 << 16];
    if (!make_store(run, self->path, 0, 0, 0)) {
        return;
    }
    const char *data = inside(self->path, "data.mdb");
    int64_t size = read_file(data, bytes, sizeof bytes);
    uint32_t page;
    memcpy(&page, bytes + 40, sizeof page);
    bytes[20] = bytes[page + 20] = 9;
    EXPECT(run, size > 0 && write_file(data, bytes, (size_t)size), "cannot write");
    GIVES(salvaged(self, &report), LARDER_EVERSION);
    GIVES(rebuilt(self->path, &report), LARDER_EVERSION);
    EXPECT(run, size_of_file(self->other) < 0, "something was salvaged");
}

/** Records that are short enough lie in rows, too: the index is made of them where the whole folder
    `log` is gone. */
static void no_log(torture *run, void *context) {
    const rare *self = context;
    larder_store_report report;
    char log[700];
    snprintf(log, sizeof log, "%s/log", self->path);
    if (!make_store(run, self->path, 20, TINY, 1)) {
        return;
    }
    remove_tree(log);
    larder_store *store = NULL;
    GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &store), LARDER_OK);
    EXPECT(run, holds(store, 7, TINY), "a reader has lost what lies in a row");
    GIVES(larder_store_recovery(store, &report), LARDER_OK);
    EXPECT(run, report.journal_lost > 0 && report.damaged == 20, "%llu lost, %llu damaged",
           (unsigned long long)report.journal_lost, (unsigned long long)report.damaged);
    GIVES(larder_store_check(store, NULL, NULL, &report), LARDER_EDAMAGED);
    larder_store_close(store);
    EXPECT(run, size_of_file(log) < 0, "a reader has made the folder");
    larder_store_options options = options_of(LARDER_STORE_WITH_UNCERTAIN, SEGMENT_BYTES);
    GIVES(larder_store_rebuild(self->path, &options, NULL, NULL, &report), LARDER_OK);
    EXPECT(run, report.intact == 20, "%llu are rebuilt", (unsigned long long)report.intact);
    has_just(run, self->path, 0, 20, TINY);
}

/** A socket in the place of data.mdb, a link in that of the log. */
static void odd_places(torture *run, void *context) {
    const rare *self = context;
    larder_store_report report;
    if (!make_store(run, self->path, 20, USUAL, 1)) {
        return;
    }
    for (int nth = 1; nth < 16; nth++) {
        int error = nth % 2 ? ELOOP : EMFILE;
        torture_trial(run);
        remove_tree(self->other);
        larder_fault_set("opendir", (nth + 1) / 2, error);
        larder_status status =
            larder_store_salvage(self->path, self->other, NULL, NULL, NULL, &report);
        larder_fault_set(NULL, 0, 0);
        EXPECT(run, status == LARDER_OK || status == error, "a salvage gave %d", status);
        EXPECT(run, status || report.intact + report.damaged == 20, "%llu are salvaged",
               (unsigned long long)report.intact);
    }
    const char *data = inside(self->path, "data.mdb");
    if (EXPECT(run, unlink(data) == 0, "cannot remove") && mknod(data, S_IFSOCK | 0600, 0) == 0) {
        brings_back(run, self, 20, 0);
    }
}

static larder_status rebuild_it(void *context) {
    const rare *self = context;
    larder_store_report report;
    larder_store_options options = options_of(0, SEGMENT_BYTES);
    return larder_store_rebuild(self->path, &options, NULL, NULL, &report);
}

/** A rebuilding leaves a segment for the log to go on in; with the next one nobody knows of it. */
static larder_status open_it(void *context) {
    const rare *self = context;
    larder_store *store = NULL;
    larder_status status = opened(self->path, 0, &store);
    larder_store_close(store);
    return status;
}

static larder_status salvage_it(void *context) {
    const rare *self = context;
    larder_store_report report;
    larder_status status = salvaged(self, &report);
    return (size_of_file(self->other) >= 0) == (status == LARDER_OK) ? status : LARDER_EMISMATCH;
}

/** Whoever stops a rebuilding, or what fails in it: the store is there as before. */
static void rebuilt_at_last(torture *run, void *context) {
    const rare *self = context;
    larder_store_report report;
    if (!make_store(run, self->path, 20, USUAL, 2)) {
        return;
    }
    larder_status status = ECANCELED;
    for (int left = 1; status == ECANCELED && left < 100; left++) {
        status = larder_store_rebuild(self->path, NULL, loses_patience, &(patience){left}, &report);
        EXPECT(run, status == LARDER_OK || status == ECANCELED, "it gave %d", status);
        has_just(run, self->path, 0, 20, USUAL);
    }
    status = ECANCELED;
    for (int left = 1; status == ECANCELED && left < 100; left++) {
        torture_trial(run);
        remove_tree(self->other);
        status = larder_store_salvage(self->path, self->other, NULL, loses_patience,
                                      &(patience){left}, &report);
        EXPECT(run, (size_of_file(self->other) >= 0) == (status == LARDER_OK), "it gave %d",
               status);
    }
    static const char *const calls[] = {"mdb_put", "mkdir", "fsync", "fdatasync", "rename"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        fail_each(run, calls[i], EIO, rebuild_it, open_it, context);
    }
    fail_each(run, "memory", ENOMEM, salvage_it, NULL, context);
    has_just(run, self->path, 0, 20, USUAL);
    remove_tree(self->path);
    make_with_removals(run, self->path);
    unsigned segments = count_segments(self->path);
    fail_each(run, "memory", ENOMEM, rebuild_it, open_it, context);
    EXPECT(run, count_segments(self->path) <= segments + 1, "%u segments are left",
           count_segments(self->path) - segments);
    brings_back(run, self, SMALL - REMOVED + LARGE_BEHIND - LARGE_FROM + LAST, 0);
}

/** Rows that say what the log does not: none of them is believed then. */
static void rows_against_the_log(torture *run, void *context) {
    static const char *const what[] = {"the next segment is not known",
                                       "a row leads to a removal",
                                       "a row leads to no segment",
                                       "a row leads to a segment of which a row is too short",
                                       "a row leads behind what its segment had",
                                       "there are not so many entries"};
    const rare *self = context;
    for (unsigned way = 0; way < sizeof what / sizeof *what; way++) {
        larder_store *store = NULL;
        tree_edit edit;
        place removal;
        torture_note(run, "%s", what[way]);
        remove_tree(self->path);
        GIVES(opened(self->path, 0, &store), LARDER_OK);
        GIVES(put_many(store, 0, 10, USUAL), LARDER_OK);
        GIVES(larder_store_remove(store, rare_key(9), 0), LARDER_OK);
        GIVES(larder_store_flush(store), LARDER_OK);
        larder_store_close(store);
        if (!find_record(run, self->path, 11, KIND_REMOVE, &removal) ||
            !EXPECT(run, edit_begin(self->path, &edit), "cannot open the tree")) {
            return;
        }
        uint8_t segment_row[5] = {3, 0, 0, 0, 1}, meta_row = 1;
        uint32_t none = 0, many = 77;
        switch (way) {
        case 0: edit_row(run, &edit, bytes_of(&meta_row, 1), 120, &none, sizeof none); break;
        case 1: edit_location(run, &edit, 1, 1, removal.offset); break;
        case 2: edit_location(run, &edit, 1, 0x77, removal.offset); break;
        case 3:
            edit_location(run, &edit, 1, 1, removal.offset);
            edit_row(run, &edit, bytes_of(segment_row, 5), 24, NULL, 0);
            break;
        case 4: edit_location(run, &edit, 1, 1, removal.offset + 800); break;
        default: edit_row(run, &edit, bytes_of(&meta_row, 1), 32, &many, sizeof many); break;
        }
        EXPECT(run, edit_seal(&edit, NULL) && edit_end(&edit), "cannot change the tree");
        brings_back(run, self, 9, 0);
    }
}

/** What a sound tree says was there, and the log has no more. */
static void records_that_are_gone(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL;
    place where;
    // The end of the log, as if nothing had ever been there.
    if (!make_store(run, self->path, 10, USUAL, 1) ||
        !find_record(run, self->path, 9, KIND_PUT, &where)) {
        return;
    }
    blank_behind(run, &where);
    brings_back(run, self, 8, 2);
    // One that a removal of everything, which no checkpoint knows, took anyway.
    char left[700];
    snprintf(left, sizeof left, "%s-left", self->path);
    remove_tree(left);
    remove_tree(self->path);
    if (!make_store(run, left, 10, USUAL, 1)) {
        return;
    }
    GIVES(opened(left, 0, &store), LARDER_OK);
    GIVES(larder_store_remove_all(store, NULL, NULL), LARDER_OK);
    GIVES(put(store, 30, USUAL), LARDER_OK);
    leave_open(run, store, left, self->path);
    if (find_record(run, self->path, 3, KIND_PUT, &where)) {
        flip_byte(run, &where, 100);
    }
    brings_back(run, self, 1, 0);
    // One of a checkpoint that was in its midst.
    remove_tree(self->path);
    GIVES(opened(left, 0, &store), LARDER_OK);
    GIVES(put_many(store, 0, 20, USUAL), LARDER_OK);
    larder_fault_set("mdb_txn_commit", 2, EIO);
    GIVES(larder_store_flush(store), EIO);
    larder_fault_set(NULL, 0, 0);
    leave_open(run, store, left, self->path);
    if (find_record(run, self->path, 3, KIND_PUT, &where)) {
        flip_byte(run, &where, 100);
    }
    brings_back(run, self, 19, 1);
    // The tail of a segment that the tree has all of, and the log goes on behind it.
    remove_tree(self->path);
    GIVES(opened(left, 0, &store), LARDER_OK);
    GIVES(put_many(store, 0, 10, USUAL), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_OK);
    GIVES(put(store, 10, LARGE), LARDER_OK);
    leave_open(run, store, left, self->path);
    if (find_record(run, self->path, 9, KIND_PUT, &where)) {
        blank_behind(run, &where);
    }
    brings_back(run, self, 9, 2);
}

/** Damage in a log of which the tree has nothing, or not the place. */
static void damage_behind_the_tree(torture *run, void *context) {
    enum { LONG = 100000 };
    const rare *self = context;
    larder_store *store = NULL;
    larder_store_report report;
    place where;
    char left[700];
    snprintf(left, sizeof left, "%s-left", self->path);
    remove_tree(left);
    GIVES(opened(left, 0, &store), LARDER_OK);
    GIVES(put_many(store, 0, 5, USUAL), LARDER_OK);
    leave_open(run, store, left, self->path);
    if (find_record(run, self->path, 2, KIND_PUT, &where)) {
        flip_byte(run, &where, 100);
    }
    brings_back(run, self, 4, 1);
    // One byte far behind the key: what there was under it before does not come back.
    remove_tree(self->path);
    GIVES(opened(left, 0, &store), LARDER_OK);
    GIVES(put_many(store, 0, 5, USUAL), LARDER_OK);
    GIVES(put(store, 3, LONG), LARDER_OK);
    GIVES(put(store, 5, USUAL), LARDER_OK);
    leave_open(run, store, left, self->path);
    if (find_record(run, self->path, 6, KIND_PUT, &where)) {
        flip_byte(run, &where, 80000);
    }
    EXPECT(run, unlink(inside(self->path, "data.mdb")) == 0, "cannot remove");
    brings_back(run, self, 5, 1);
    fail_each(run, "memory", ENOMEM, salvage_it, NULL, context);
    // The first record of all is the one that is damaged, and named.
    remove_tree(self->path);
    GIVES(opened(left, 0, &store), LARDER_OK);
    GIVES(put_many(store, 0, 5, USUAL), LARDER_OK);
    leave_open(run, store, left, self->path);
    if (find_record(run, self->path, 1, KIND_PUT, &where)) {
        flip_byte(run, &where, 100);
    }
    EXPECT(run, unlink(inside(self->path, "data.mdb")) == 0, "cannot remove");
    fail_each(run, "memory", ENOMEM, salvage_it, NULL, context);
    brings_back(run, self, 4, 1);
    // A segment names itself as the one that the log goes on in; behind that is damage.
    remove_tree(self->path);
    GIVES(opened(left, 0, &store), LARDER_OK);
    GIVES(put_many(store, 0, 5, USUAL), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_OK);
    GIVES(put_many(store, 5, 10, LARGE), LARDER_OK);
    leave_open(run, store, left, self->path);
    place next;
    if (find_record(run, self->path, 5, KIND_NEXT, &next) &&
        find_record(run, self->path, 8, KIND_PUT, &where)) {
        flip_byte(run, &where, 100);
        uint32_t itself = 1;
        set_field(run, next.file, next.offset, next.length, 16, &itself, sizeof itself);
    }
    brings_back(run, self, 9, 1);
    // Nothing can be read of a segment that cleaning made.
    remove_tree(self->path);
    if (!make_store(run, self->path, 5, LARGE, 1) ||
        !find_record(run, self->path, 3, KIND_PUT, &where)) {
        return;
    }
    static uint8_t noise[SEGMENT_BYTES - SEGMENT_HEAD];
    memset(noise, 0xA5, sizeof noise);
    uint32_t cleaned = 2;
    set_field(run, where.file, 0, SEGMENT_HEAD, 24, &cleaned, sizeof cleaned);
    change(run, where.file, SEGMENT_HEAD, noise, sizeof noise);
    brings_back(run, self, 4, 1);
    EXPECT(run, unlink(inside(self->path, "data.mdb")) == 0, "cannot remove");
    GIVES(salvaged(self, &report), LARDER_OK);
    EXPECT(run, report.intact + report.uncertain == 4, "%llu are intact, %llu uncertain",
           (unsigned long long)report.intact, (unsigned long long)report.uncertain);
}

/** Writes a segment of that number, like another one but for its kind. */
static void copy_segment(torture *run, const char *store, uint32_t from, uint32_t to,
                         uint32_t kind) {
    char path[800];
    snprintf(path, sizeof path, "%s", segment_path(store, to));
    EXPECT(run, copy_file(segment_path(store, from), path), "cannot copy a segment");
    set_field(run, path, 0, SEGMENT_HEAD, 12, &to, sizeof to);
    set_field(run, path, 0, SEGMENT_HEAD, 24, &kind, sizeof kind);
}

static void odd_segments(torture *run, void *context) {
    enum { CLEANED = 2 };
    const rare *self = context;
    larder_store *store = NULL;
    larder_store_report report;
    place where;
    static uint8_t noise[SEGMENT_BYTES - SEGMENT_HEAD];
    memset(noise, 0xA5, sizeof noise);
    // What is damaged in one is whole in another, to which cleaning took it.
    if (!make_store(run, self->path, 10, USUAL, 1) ||
        !find_record(run, self->path, 4, KIND_PUT, &where)) {
        return;
    }
    copy_segment(run, self->path, 1, 9, CLEANED);
    flip_byte(run, &where, 100);
    EXPECT(run, unlink(inside(self->path, "data.mdb")) == 0, "cannot remove");
    brings_back(run, self, 10, 0);
    // One to which the log does not come had nothing that counts.
    remove_tree(self->path);
    if (!make_store(run, self->path, 10, USUAL, 1)) {
        return;
    }
    copy_segment(run, self->path, 1, 9, 1);
    change(run, segment_path(self->path, 9), SEGMENT_HEAD, noise, sizeof noise);
    brings_back(run, self, 10, 0);
    // Behind the last record lies what is too short to have been one.
    remove_tree(self->path);
    if (!make_store(run, self->path, 10, USUAL, 1) ||
        !find_record(run, self->path, 10, KIND_PUT, &where)) {
        return;
    }
    change(run, where.file, where.offset + (where.length + 7) / 8 * 8, noise, 8);
    brings_back(run, self, 10, 0);
    // Neither tree nor head says which store it was.
    EXPECT(run, unlink(inside(self->path, "data.mdb")) == 0, "cannot remove");
    change(run, segment_path(self->path, 1), 0, noise, SEGMENT_HEAD);
    brings_back(run, self, 10, 0);
    GIVES(rebuilt(self->path, &report), LARDER_OK);
    has_just(run, self->path, 0, 10, USUAL);
    // The end of a segment, and the tree, are gone; the log goes on in the next one.
    char left[700];
    snprintf(left, sizeof left, "%s-left", self->path);
    remove_tree(left);
    remove_tree(self->path);
    GIVES(opened(left, 0, &store), LARDER_OK);
    GIVES(put_many(store, 0, 10, USUAL), LARDER_OK);
    GIVES(put(store, 10, LARGE), LARDER_OK);
    leave_open(run, store, left, self->path);
    EXPECT(run, unlink(inside(self->path, "data.mdb")) == 0, "cannot remove");
    if (find_record(run, self->path, 9, KIND_PUT, &where)) {
        blank_behind(run, &where);
    }
    GIVES(salvaged(self, &report), LARDER_OK);
    EXPECT(run, report.intact == 1 && report.uncertain == 8, "%llu are intact, %llu uncertain",
           (unsigned long long)report.intact, (unsigned long long)report.uncertain);
    // Damage behind the place that the tree knows, and again behind that.
    remove_tree(self->path);
    GIVES(opened(left, 0, &store), LARDER_OK);
    GIVES(put_many(store, 0, 5, USUAL), LARDER_OK);
    GIVES(larder_store_flush(store), LARDER_OK);
    GIVES(put_many(store, 5, 7, USUAL), LARDER_OK);
    GIVES(put_many(store, 7, 10, LARGE), LARDER_OK);
    leave_open(run, store, left, self->path);
    for (unsigned number = 6; number < 10; number += 3) {
        if (find_record(run, self->path, number, KIND_PUT, &where)) {
            flip_byte(run, &where, 100);
        }
    }
    brings_back(run, self, 8, 2);
}

/** Writes a batch of these, from record `sequence` on, and leaves it at `to` as a process does that
    dies before it stores the first word. */
static void leave_unpublished(torture *run, larder_store *store, const char *path, const char *to,
                              unsigned from, unsigned behind, uint64_t sequence) {
    larder_store_batch *batch = NULL;
    place where;
    GIVES(larder_store_batch_create(store, &batch), LARDER_OK);
    for (unsigned i = from; i < behind; i++) {
        larder_store_item item;
        larder_store_item_init(&item, rare_key(i), value_of(i, TINY));
        EXPECT_STATUS(run, larder_store_batch_put(batch, &item), LARDER_OK);
    }
    GIVES(larder_store_batch_commit(batch, 0, NULL), LARDER_OK);
    larder_store_batch_destroy(batch);
    leave_open(run, store, path, to);
    if (find_record(run, to, sequence, KIND_PUT, &where)) {
        uint64_t nothing = 0;
        change(run, where.file, where.offset, &nothing, sizeof nothing);
    }
}

/** Whoever writes a batch stores the first word of its first record last. */
static void unpublished_batch(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL;
    char left[700];
    snprintf(left, sizeof left, "%s-left", self->path);
    remove_tree(left);
    GIVES(opened(left, 0, &store), LARDER_OK);
    GIVES(put_many(store, 0, 5, USUAL), LARDER_OK);
    leave_unpublished(run, store, left, self->path, 3, 8, 6);
    brings_back(run, self, 5, 0);
    has_just(run, self->other, 0, 5, USUAL);
    has_just(run, self->path, 0, 5, USUAL);
    // Nothing was written before it.
    remove_tree(self->path);
    remove_tree(left);
    GIVES(opened(left, 0, &store), LARDER_OK);
    leave_unpublished(run, store, left, self->path, 0, 3, 1);
    brings_back(run, self, 0, 0);
}

/** The last record of all, which ends with zeros, is the one that is damaged. */
static void damage_before_zeros(torture *run, void *context) {
    static uint8_t value[400] = {1, 2, 3};
    const rare *self = context;
    larder_store *store = NULL;
    larder_store_item item;
    place where;
    char left[700];
    snprintf(left, sizeof left, "%s-left", self->path);
    remove_tree(left);
    GIVES(opened(left, 0, &store), LARDER_OK);
    GIVES(put_many(store, 0, 5, USUAL), LARDER_OK);
    larder_store_item_init(&item, rare_key(5), bytes_of(value, sizeof value));
    GIVES(larder_store_put(store, &item, NULL), LARDER_OK);
    leave_open(run, store, left, self->path);
    EXPECT(run, unlink(inside(self->path, "data.mdb")) == 0, "cannot remove");
    if (find_record(run, self->path, 6, KIND_PUT, &where)) {
        flip_byte(run, &where, 4);
    }
    brings_back(run, self, 5, 1);
}

// What changes beneath a salvage ------------------------------------------------------------------

typedef struct meddling {
    torture *run;
    const char *data;
    const place *record;
    /** Of which entry in its page the key becomes empty, or leads out of the page. */
    unsigned entry;
    bool empties_key;
    bool is_done;
} meddling;

/** Changes each leaf of data.mdb that has so many entries. */
static void hurt_leaf(meddling *self) {
    enum { HEAD = 16, LEAF = 2, MOST = 1 << 18 };
    static uint8_t bytes[MOST];
    int64_t size = read_file(self->data, bytes, sizeof bytes);
    uint32_t page;
    memcpy(&page, bytes + 40, sizeof page);
    EXPECT(self->run, size > page && size <= MOST, "cannot read %s", self->data);
    for (int64_t at = 2 * (int64_t)page; at + page <= size; at += page) {
        uint16_t flags, lower;
        memcpy(&flags, bytes + at + 10, 2);
        memcpy(&lower, bytes + at + 12, 2);
        unsigned entries = 0;
        for (int64_t i = 0; flags == LEAF && i < (lower - HEAD) / 2; i++) {
            uint16_t node;
            memcpy(&node, bytes + at + HEAD + 2 * i, 2);
            if (node + 8u >= page || bytes[at + node + 8] != 0x10 || ++entries != self->entry) {
                continue;
            }
            uint16_t wrong = self->empties_key ? 0 : 0x7FFF;
            change(self->run, self->data, (uint64_t)(at + node + 6), &wrong, sizeof wrong);
        }
    }
}

/** A key of no bytes is none; what lies beside it in its page is told. */
static void check_of_an_empty_key(torture *run, void *context) {
    const rare *self = context;
    larder_store *store = NULL;
    larder_store_report report;
    char data[700];
    if (!make_store(run, self->path, 20, TINY, 1)) {
        return;
    }
    GIVES(opened(self->path, LARDER_STORE_READ_ONLY, &store), LARDER_OK);
    snprintf(data, sizeof data, "%s/data.mdb", self->path);
    hurt_leaf(&(meddling){.run = run, .data = data, .entry = 3, .empties_key = true});
    GIVES(larder_store_check(store, NULL, NULL, &report), LARDER_EDAMAGED);
    EXPECT(run, report.damaged_pages > 0 && report.intact == 19, "%llu are intact",
           (unsigned long long)report.intact);
    larder_store_close(store);
}

static int meddles(void *context, uint64_t done, uint64_t total) {
    meddling *self = context;
    bool is_time = self->record ? done == 1 : done == 0;
    if (self->is_done || !is_time) {
        return done > total && total > 0;
    }
    self->is_done = true;
    if (self->record) {
        uint8_t unknown = 0xFF;
        change(self->run, self->record->file, self->record->offset + 21, &unknown, 1);
    } else {
        hurt_leaf(self);
    }
    return 0;
}

static void changes_meanwhile(torture *run, void *context) {
    enum { WRITES = 4200, COUNT = 20 };
    const rare *self = context;
    larder_store_report report;
    char data[700], whole[700];
    snprintf(data, sizeof data, "%s/data.mdb", self->path);
    snprintf(whole, sizeof whole, "%s-whole", self->path);
    remove_tree(whole);
    larder_store *store = NULL;
    GIVES(opened_with(whole, 0, 1 << 20, &store), LARDER_OK);
    larder_status status = LARDER_OK;
    for (unsigned i = 0; i < WRITES && !status; i++) {
        status = put(store, i % COUNT, TINY);
    }
    GIVES(status, LARDER_OK);
    larder_store_close(store);
    for (unsigned way = 0; way < 8; way++) {
        meddling other = {.run = run, .data = data, .entry = 2 + way / 2, .empties_key = way % 2};
        remove_tree(self->path);
        remove_tree(self->other);
        EXPECT(run, copy_tree(whole, self->path), "cannot copy the store");
        GIVES(larder_store_salvage(self->path, self->other, NULL, meddles, &other, &report),
              LARDER_OK);
        EXPECT(run, other.is_done, "nobody was told of %d records", WRITES);
        // Where a page is seen to be damaged, the log alone is asked.
        EXPECT(run, report.intact == COUNT || (other.empties_key && report.intact < COUNT),
               "%llu are salvaged", (unsigned long long)report.intact);
        GIVES(opened(self->other, 0, &store), LARDER_OK);
        uint64_t right = 0;
        for (unsigned i = 0; i < COUNT; i++) {
            right += holds(store, i, TINY);
        }
        EXPECT(run, right == report.intact, "%llu are right", (unsigned long long)right);
        larder_store_close(store);
    }
    // A record that was whole when it was found.
    remove_tree(self->path);
    remove_tree(self->other);
    place where;
    if (!make_store(run, self->path, 5, USUAL, 1) ||
        !find_record(run, self->path, 4, KIND_PUT, &where)) {
        return;
    }
    meddling other = {.run = run, .record = &where};
    GIVES(larder_store_salvage(self->path, self->other, NULL, meddles, &other, &report),
          LARDER_EDAMAGED);
    EXPECT(run, other.is_done && size_of_file(self->other) < 0, "a damaged copy is there");
    brings_back(run, self, 4, 1);
}

/** A removal that compaction has taken away with its entry is not missed where data.mdb is gone. */
static void removal_that_is_gone(torture *run, void *context) {
    enum { COUNT = 3 };
    const rare *self = context;
    larder_store *store = NULL;
    larder_store_report report;
    if (!make_store(run, self->path, COUNT, USUAL, 1)) return;
    GIVES(opened(self->path, 0, &store), LARDER_OK);
    GIVES(larder_store_remove(store, rare_key(1), 0), LARDER_OK);
    larder_store_close(store);
    GIVES(larder_store_compact(self->path, NULL, NULL, NULL, NULL, NULL), LARDER_OK);
    EXPECT(run, unlink(inside(self->path, "data.mdb")) == 0, "cannot remove");
    GIVES(larder_store_rebuild(self->path, NULL, NULL, NULL, &report), LARDER_OK);
    EXPECT(run, report.intact == COUNT - 1 && report.journal_lost == 0,
           "%llu are intact, %llu lost", (unsigned long long)report.intact,
           (unsigned long long)report.journal_lost);
}

void family_store_rare_repair(torture *run) {
    if (failing_call_count == 0) {
        torture_skip(run, "rare repairs: the linker does not wrap failing calls here");
        return;
    }
    RARE_EACH(run, " in repairs", NULL, check_beside_writes, check_beside_a_writer,
              check_without_means, check_without_segment_rows, check_segment_rows,
              check_with_other_segments, check_of_an_empty_key, what_waits, all_of_it_waits,
              in_the_midst, found_twice, compact_odd_files, backup_of_reads, backup_gets_its_name,
              almost_nothing, unknown_version, no_log, odd_places, rebuilt_at_last,
              rows_against_the_log, records_that_are_gone, damage_behind_the_tree, odd_segments,
              unpublished_batch, damage_before_zeros, removal_that_is_gone, changes_meanwhile);
}
