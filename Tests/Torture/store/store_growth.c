// SPDX-License-Identifier: MIT
// New stores whose first checkpoint makes the index large: from one page to a hundred thousand, and
// at every size about which a table or a map is enlarged. Whatever was written is found by the
// writer, by a second handle of its process, by one that is opened afterwards, and by another
// process, all but the third open since before the first write.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store.h"

enum {
    /** As addresses have them. */
    KEY_BYTES = 300,
    INDEXES_MOST = 4,
    PAGE_BYTES = 4096,
    /** More than this are not read one by one. */
    GETS_MOST = 20000,
    /** What is written to learn how many pages it takes. */
    PROBE_COUNT = 8000,
    LIMIT_SECONDS = 300
};

typedef struct growth {
    torture *run;
    const char *path;
    uint64_t count;
    unsigned indexes;
    /** Everything in one transaction, not in those of the usual size. */
    bool at_once;
    /** As a program opens it that asks for nothing. */
    bool has_defaults;
    larder_store *writer, *second;
    /** What was found of data.mdb behind the checkpoint. */
    uint64_t pages;
} growth;

static larder_bytes key_of(uint64_t i, char room[KEY_BYTES]) {
    static const char site[] = "https://images.example.org/thumbnails/";
    memset(room, 'x', KEY_BYTES);
    memcpy(room, site, sizeof site - 1);
    for (size_t at = KEY_BYTES; i > 0 || at == KEY_BYTES; i /= 10) {
        room[--at] = (char)('0' + i % 10);
    }
    return bytes_of(room, KEY_BYTES);
}

/** Both are compared as bytes, so the greatest comes first: in the order of numbers. */
static larder_bytes index_value_of(uint64_t i, unsigned index, uint8_t room[9]) {
    room[0] = (uint8_t)index;
    for (unsigned at = 0; at < 8; at++) {
        room[1 + at] = (uint8_t)(i >> 8 * (7 - at));
    }
    return bytes_of(room, 9);
}

static bool put(growth *self, uint64_t i) {
    char key[KEY_BYTES];
    uint8_t values[INDEXES_MOST][9];
    larder_store_index_entry entries[INDEXES_MOST];
    for (unsigned index = 0; index < self->indexes; index++) {
        entries[index].index = (uint16_t)(index + 1);
        entries[index].value = index_value_of(i, index, values[index]);
    }
    larder_store_item item;
    larder_store_item_init(&item, key_of(i, key), bytes_of(&i, sizeof i));
    item.indexes = entries;
    item.index_count = self->indexes;
    return EXPECT_STATUS(self->run, larder_store_put(self->writer, &item, NULL), LARDER_OK);
}

// Looking -----------------------------------------------------------------------------------------

static bool look_at_keys(growth *self, larder_store *store, const char *who) {
    uint64_t step = self->count / GETS_MOST + 1;
    // The last one, too.
    for (uint64_t i = self->count - 1;; i -= step) {
        char key[KEY_BYTES];
        larder_store_entry entry;
        larder_status status = larder_store_get(store, key_of(i, key), LARDER_STORE_PEEK, &entry);
        bool is_right = !status && entry.value.length == sizeof i &&
                        memcmp(entry.value.data, &i, sizeof i) == 0;
        if (!status) {
            larder_store_release(&entry);
        }
        if (!EXPECT(self->run, is_right, "%s: key %" PRIu64 " of %" PRIu64 " gave %d (%s)", who, i,
                    self->count, status, larder_strerror(status))) {
            return false;
        }
        if (i < step) {
            return true;
        }
    }
}

static bool look_at_counts(growth *self, larder_store *store, const char *who) {
    uint64_t count, bytes;
    if (!EXPECT_STATUS(self->run, larder_store_totals(store, &count, &bytes), LARDER_OK) ||
        !EXPECT(self->run, count == self->count && bytes == count * sizeof(uint64_t),
                "%s: totals of %" PRIu64 " entries: %" PRIu64 ", %" PRIu64 " bytes", who,
                self->count, count, bytes)) {
        return false;
    }
    for (unsigned index = 0; index <= self->indexes; index++) {
        larder_store_query query;
        larder_store_query_init(&query);
        query.order = index == 0 ? LARDER_STORE_BY_KEY : LARDER_STORE_BY_INDEX;
        query.index = (uint16_t)index;
        larder_status status = larder_store_count(store, &query, UINT64_MAX, &count);
        if (!EXPECT(self->run, !status && count == self->count,
                    "%s: counting %" PRIu64 " in order %u gave %" PRIu64 ", %s", who, self->count,
                    index, count, larder_strerror(status))) {
            return false;
        }
    }
    return true;
}

/** The newest and the oldest, by each index. */
static bool look_at_ends(growth *self, larder_store *store, const char *who) {
    for (unsigned way = 0; way < 2 * self->indexes; way++) {
        larder_store_query query;
        larder_store_query_init(&query);
        query.order = LARDER_STORE_BY_INDEX;
        query.index = (uint16_t)(way / 2 + 1);
        query.flags = way % 2 ? LARDER_STORE_DESCENDING : 0;
        uint64_t wanted = way % 2 ? self->count - 1 : 0;
        larder_store_cursor *cursor;
        if (!EXPECT_STATUS(self->run, larder_store_cursor_open(store, &query, &cursor),
                           LARDER_OK)) {
            return false;
        }
        larder_store_entry entry;
        larder_status status = larder_store_cursor_next(cursor, &entry);
        bool is_right = !status && memcmp(entry.value.data, &wanted, sizeof wanted) == 0;
        larder_store_cursor_close(cursor);
        if (!EXPECT(self->run, is_right, "%s: an end of index %u gave %s", who, way / 2 + 1,
                    larder_strerror(status))) {
            return false;
        }
    }
    return true;
}

static bool look(growth *self, larder_store *store, const char *who) {
    return look_at_keys(self, store, who) && look_at_counts(self, store, who) &&
           look_at_ends(self, store, who);
}

// Another process ---------------------------------------------------------------------------------

typedef struct elsewhere {
    pid_t process;
    int wire;
} elsewhere;

/** Opens the store, says so, and looks when it is asked to. */
static void read_elsewhere(growth *self, int wire) {
    alarm(LIMIT_SECONDS);
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = LARDER_STORE_READ_ONLY;
    larder_store *store = NULL;
    bool is_right =
        EXPECT_STATUS(self->run, larder_store_open(self->path, &options, NULL, &store), LARDER_OK);
    char sign = is_right;
    while (write(wire, &sign, 1) == 1 && is_right && read(wire, &sign, 1) == 1) {
        sign = is_right = look(self, store, "another process");
    }
    larder_store_close(store);
    _exit(0);
}

static elsewhere elsewhere_start(growth *self) {
    int wires[2];
    elsewhere made = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, wires) != 0) {
        return made;
    }
    fflush(NULL);
    made.process = fork();
    if (made.process == 0) {
        close(wires[0]);
        read_elsewhere(self, wires[1]);
    }
    close(wires[1]);
    made.wire = wires[0];
    return made;
}

static bool elsewhere_answers(growth *self, const elsewhere *other) {
    char sign = 0;
    bool has_answered = read(other->wire, &sign, 1) == 1;
    return EXPECT(self->run, has_answered, "the other process is gone") && sign;
}

static void elsewhere_end(growth *self, const elsewhere *other) {
    int status = 0;
    close(other->wire);
    while (waitpid(other->process, &status, 0) < 0 && errno == EINTR) {
    }
    EXPECT(self->run, WIFEXITED(status), "another process ended with status 0x%x", status);
}

// A trial -----------------------------------------------------------------------------------------

static larder_status open_writer(growth *self, larder_store **out) {
    larder_store_options options;
    larder_store_options_init(&options);
    larder_store_tuning tuning;
    larder_store_tuning_init(&tuning);
    // The first checkpoint comes when the flush asks for it, and has everything.
    options.flags = LARDER_STORE_HOST_MAINTENANCE;
    options.journal_bytes = UINT64_C(4) << 30;
    tuning.memtable_max_count = 1 << 24;
    if (self->at_once) {
        tuning.transaction_max_count = 1 << 24;
    }
    options.tuning = &tuning;
    return larder_store_open(self->path, self->has_defaults ? NULL : &options, NULL, out);
}

/** Writes it all, and runs the checkpoint. */
static bool grow(growth *self) {
    for (uint64_t i = 0; i < self->count; i++) {
        if (!put(self, i)) {
            return false;
        }
    }
    larder_store_statistics figures;
    if (!EXPECT_STATUS(self->run, larder_store_flush(self->writer), LARDER_OK) ||
        !EXPECT_STATUS(self->run, larder_store_statistics_get(self->writer, &figures), LARDER_OK)) {
        return false;
    }
    self->pages = figures.data_bytes / PAGE_BYTES;
    return true;
}

static bool look_everywhere(growth *self, const elsewhere *other) {
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = LARDER_STORE_READ_ONLY;
    larder_store *late;
    larder_store_report report;
    if (!look(self, self->writer, "the writer") || !look(self, self->second, "a second handle") ||
        !EXPECT(self->run, write(other->wire, "?", 1) == 1, "the other process is gone") ||
        !elsewhere_answers(self, other) ||
        !EXPECT_STATUS(self->run, larder_store_open(self->path, &options, NULL, &late),
                       LARDER_OK)) {
        return false;
    }
    bool is_right = look(self, late, "a late handle");
    larder_store_close(late);
    return is_right &&
           EXPECT_STATUS(self->run, larder_store_check(self->writer, NULL, NULL, &report),
                         LARDER_OK) &&
           EXPECT(self->run, report.inconsistencies == 0, "%" PRIu64 " inconsistencies",
                  report.inconsistencies);
}

static void trial(torture *run, void *context) {
    growth *self = context;
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = LARDER_STORE_READ_ONLY;
    self->run = run;
    self->pages = 0;
    torture_note(run, "%" PRIu64 " entries, %u indexes%s", self->count, self->indexes,
                 self->at_once ? ", at once" : "");
    remove_tree(self->path);
    // Other processes first: what they inherit of an open store is none of theirs.
    if (!EXPECT_STATUS(run, open_writer(self, &self->writer), LARDER_OK)) {
        return;
    }
    larder_store_close(self->writer);
    self->writer = self->second = NULL;
    elsewhere other = elsewhere_start(self);
    if (elsewhere_answers(self, &other) &&
        EXPECT_STATUS(run, open_writer(self, &self->writer), LARDER_OK) &&
        EXPECT_STATUS(run, larder_store_open(self->path, &options, NULL, &self->second),
                      LARDER_OK) &&
        grow(self)) {
        (void)look_everywhere(self, &other);
    }
    elsewhere_end(self, &other);
    larder_store_close(self->second);
    larder_store_close(self->writer);
}

static void grow_to(growth *self, uint64_t count) {
    self->count = count > 0 ? count : 1;
    torture_trial(self->run);
    (void)torture_guard(self->run, LIMIT_SECONDS, trial, self);
}

/** How many entries take about so many pages. */
static uint64_t entries_of(uint64_t pages, uint64_t probed) { return pages * PROBE_COUNT / probed; }

/** One more and one less than every size about which something is enlarged, and some beside. */
static void grow_about(growth *self, uint64_t pages, uint64_t probed, unsigned reach) {
    uint64_t step = entries_of(1, probed) / 2 + 1, middle = entries_of(pages, probed);
    for (unsigned i = 0; i <= 2 * reach && torture_unhurt(self->run); i++) {
        uint64_t count = middle + i * step;
        self->at_once = i % 2;
        grow_to(self, count > reach * step ? count - reach * step : i);
    }
}

void family_store_growth(torture *run) {
    /** The new file; a hundred; what the free list of three pages has room for; our first map and
        LMDB's, half of it, and the next ones; and large. */
    static const uint64_t sizes[] = {3, 100, 1539, 2048, 4096, 6144, 10000, 100000};
    growth *self = shared_memory(sizeof *self);
    *self = (growth){.run = run, .path = torture_path(run, "store")};
    size_t most = sizeof sizes / sizeof *sizes;
#ifdef TORTURE_EMULATED
    // The largest would take minutes.
    most--;
#endif
    for (unsigned kind = 0; kind < 3; kind++) {
        self->indexes = (unsigned[]){0, 1, INDEXES_MOST}[kind];
        self->at_once = true;
        grow_to(self, PROBE_COUNT);
        uint64_t probed = self->pages;
        for (size_t i = 0; i < most && probed > 0 && torture_unhurt(run); i++) {
            unsigned reach = sizes[i] == 1539 ? 4 : sizes[i] < 10000 && !run->brief ? 2 : 0;
            grow_about(self, sizes[i], probed, reach);
        }
    }
    self->has_defaults = true;
    self->indexes = 1;
    grow_to(self, 10000);
    self->has_defaults = false;
    rng random;
    (void)torture_next_case(run, &random);
    for (int i = 0; i < (run->brief ? 4 : 40) && torture_unhurt(run); i++) {
        self->indexes = (unsigned)rng_below(&random, INDEXES_MOST + 1);
        self->at_once = rng_one_in(&random, 2);
        grow_to(self, rng_below(&random, UINT64_C(1) << rng_between(&random, 4, 16)));
    }
    remove_tree(self->path);
}
