// SPDX-License-Identifier: MIT
// Holds a store to the book: its state must be one that the writer's operations led through, and
// what it says of itself must agree with a full pass over it.
#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store.h"

/** An entry as found; a checksum stands for its bytes. */
typedef struct seen {
    bool is_there;
    uint32_t crc;
    uint64_t length;
    uint64_t sequence;
} seen;

static bool read_lane(torture *run, larder_store *store, uint32_t which, seen all[BOOK_KEYS]) {
    uint8_t key[BOOK_KEY_MAX];
    for (uint32_t i = 0; i < BOOK_KEYS; i++) {
        all[i] = (seen){0};
        larder_store_entry entry;
        larder_bytes name = bytes_of(key, book_key(which, i, key));
        larder_status status = larder_store_get(store, name, LARDER_STORE_PEEK, &entry);
        if (status == LARDER_ENOTFOUND) {
            continue;
        }
        if (!EXPECT(run, status == LARDER_OK, "get of key %u/%u gave %d (%s)", which, i, status,
                    larder_strerror(status))) {
            return false;
        }
        bool same = entry.key.length == name.length &&
                    (name.length == 0 || memcmp(entry.key.data, key, name.length) == 0);
        uint32_t crc = larder_crc32c(0, entry.value.data, entry.value.length);
        crc = larder_crc32c(crc, entry.extended.data, entry.extended.length);
        all[i] = (seen){true, crc, entry.value.length, entry.sequence};
        bool whole = entry.value.length == entry.value_bytes;
        larder_store_release(&entry);
        if (!EXPECT(run, same && whole, "the entry of key %u/%u has another key or length", which,
                    i)) {
            return false;
        }
    }
    return true;
}

static bool is_salt(const book *self, uint64_t salt, const seen *one, uint8_t *room) {
    if (!salt || !one->is_there) {
        return !salt && !one->is_there;
    }
    size_t length = book_value_length(self, salt), extended = book_extended_length(salt);
    if (length != one->length) {
        return false;
    }
    message_fill(salt, room, length);
    uint32_t crc = larder_crc32c(0, room, length);
    message_fill(~salt, room, extended);
    return larder_crc32c(crc, room, extended) == one->crc;
}

static unsigned differences(const book *self, const held state[BOOK_KEYS], const seen *all,
                            uint8_t *room, uint32_t *first) {
    unsigned count = 0;
    for (uint32_t key = 0; key < BOOK_KEYS; key++) {
        if (!is_salt(self, state[key].salt, &all[key], room)) {
            if (count++ == 0) {
                *first = key;
            }
        }
    }
    return count;
}

/** What a trim may have got to when it was cut short. */
static bool is_half_trimmed(const book *self, const operation *next, const held state[BOOK_KEYS],
                            const seen *all, uint8_t *room, held found[BOOK_KEYS]) {
    if (next->kind != OPERATION_TRIM) {
        return false;
    }
    for (uint32_t limit = BOOK_KEYS; limit > next->argument; limit--) {
        uint32_t first;
        memcpy(found, state, BOOK_KEYS * sizeof *found);
        book_trim(limit, found);
        if (differences(self, found, all, room, &first) == 0) {
            return true;
        }
    }
    return false;
}

static bool find_state(torture *run, const book *self, uint32_t which, promise promised,
                       const seen *all, uint8_t *room, held found[BOOK_KEYS]) {
    const lane *own = &self->lane[which];
    uint64_t least = promised == PROMISE_DONE ? atomic_load(&own->done) : atomic_load(&own->synced);
    uint64_t most = atomic_load(&own->begun);
    held state[BOOK_KEYS];
    memcpy(state, own->base, sizeof state);
    unsigned fewest = BOOK_KEYS + 1;
    uint64_t nearest = 0;
    uint32_t odd_one = 0;
    bool is_older = false;
    for (uint64_t number = own->first;; number++) {
        uint32_t first = 0;
        unsigned count = differences(self, state, all, room, &first);
        operation next = book_operation(self, which, number);
        if (number >= least) {
            if (count == 0 ||
                (number < most && is_half_trimmed(self, &next, state, all, room, found))) {
                if (count == 0) {
                    memcpy(found, state, sizeof state);
                }
                return true;
            }
            if (count < fewest) {
                fewest = count;
                nearest = number;
                odd_one = first;
            }
        } else {
            is_older |= count == 0;
        }
        if (number >= most) {
            break;
        }
        book_apply(which, &next, number, state);
    }
    torture_fail(run,
                 "lane %u: no state from %" PRIu64 " to %" PRIu64 " (session from %" PRIu64
                 ") is the one found; nearest is %" PRIu64 " with %u keys wrong, key %u first "
                 "(found: %s, %" PRIu64 " bytes, version %" PRIu64 ")%s",
                 which, least, most, own->first, nearest, fewest, odd_one,
                 all[odd_one].is_there ? "an entry" : "none", all[odd_one].length,
                 all[odd_one].sequence, is_older ? "; it is an older one" : "");
    return false;
}

static bool versions_grow(torture *run, uint32_t which, const held state[BOOK_KEYS],
                          const seen *all) {
    for (uint32_t one = 0; one < BOOK_KEYS; one++) {
        for (uint32_t other = 0; other < BOOK_KEYS && state[one].salt; other++) {
            uint64_t first = state[one].order / BOOK_PARTS;
            uint64_t second = state[other].order / BOOK_PARTS;
            // Empty values are alike, so which operation wrote one cannot be told.
            bool is_told = all[one].length > 0 && all[other].length > 0;
            if (is_told && state[other].salt && first <= second &&
                !EXPECT(run,
                        first == second ? all[one].sequence == all[other].sequence
                                        : all[one].sequence < all[other].sequence,
                        "keys %u/%u and %u/%u were written by operations %" PRIu64 " and %" PRIu64
                        ", and have versions %" PRIu64 " and %" PRIu64,
                        which, one, which, other, first - 1, second - 1, all[one].sequence,
                        all[other].sequence)) {
                return false;
            }
        }
    }
    return true;
}

/** The index's order: every entry that has a value in it, by that value. */
static bool verify_index(torture *run, const book *self, larder_store *store,
                         held (*found)[BOOK_KEYS]) {
    larder_store_query query;
    larder_store_query_init(&query);
    query.order = LARDER_STORE_BY_INDEX;
    query.index = BOOK_INDEX;
    query.flags = LARDER_STORE_WITHOUT_VALUE;
    larder_store_cursor *cursor = NULL;
    if (!EXPECT_STATUS(run, larder_store_cursor_open(store, &query, &cursor), LARDER_OK)) {
        return false;
    }
    uint64_t wanted = 0, count = 0;
    uint8_t value[BOOK_INDEX_MAX], previous[BOOK_INDEX_MAX];
    size_t previous_length = 0;
    for (uint32_t i = 0; i < self->lanes; i++) {
        for (uint32_t key = 0; key < BOOK_KEYS; key++) {
            uint64_t salt = found[i][key].salt;
            wanted += salt && book_index_value(salt, value) != SIZE_MAX;
        }
    }
    larder_store_entry entry;
    larder_status status;
    bool good = true;
    while (good && (status = larder_store_cursor_next(cursor, &entry)) == LARDER_OK) {
        larder_bytes is = entry.index_value;
        size_t shorter = is.length < previous_length ? is.length : previous_length;
        int order = shorter ? memcmp(previous, is.data, shorter) : 0;
        good = EXPECT(run, is.length <= BOOK_INDEX_MAX, "an index value of %zu bytes", is.length) &&
               EXPECT(run, order < 0 || (order == 0 && previous_length <= is.length),
                      "the index is not in order at its entry %" PRIu64, count);
        if (good && is.length) {
            memcpy(previous, is.data, is.length);
        }
        previous_length = is.length;
        count++;
    }
    larder_store_cursor_close(cursor);
    return good && EXPECT(run, status == LARDER_END, "a cursor by index gave %d", status) &&
           EXPECT(run, count == wanted,
                  "by index there are %" PRIu64 " entries; with a value in it %" PRIu64, count,
                  wanted);
}

bool book_verify(torture *run, book *self, larder_store *store, promise promised,
                 held (*found)[BOOK_KEYS]) {
    uint8_t *room = malloc((size_t)self->longest + BOOK_EXTENDED_MAX + BOOK_INDEX_MAX +
                           (size_t)self->threshold_bytes);
    held(*states)[BOOK_KEYS] = calloc(BOOK_LANES, sizeof *states);
    seen all[BOOK_KEYS];
    bool good = room && states;
    for (uint32_t i = 0; good && i < self->lanes; i++) {
        good = read_lane(run, store, i, all) &&
               find_state(run, self, i, promised, all, room, states[i]) &&
               versions_grow(run, i, states[i], all);
    }
    good = good && verify_index(run, self, store, states);
    if (good && found) {
        memcpy(found, states, BOOK_LANES * sizeof *states);
    }
    free(states);
    free(room);
    return good;
}

// Soundness ---------------------------------------------------------------------------------------

unsigned count_segments(const char *path) {
    char name[700];
    snprintf(name, sizeof name, "%s/log", path);
    DIR *files = opendir(name);
    unsigned count = 0;
    for (struct dirent *file; files && (file = readdir(files));) {
        count += strstr(file->d_name, ".seg") != NULL;
    }
    if (files) {
        closedir(files);
    }
    return count;
}

typedef struct full_count {
    uint64_t count, bytes;
} full_count;

/** Where keys are alike for longer than this, their order is another. */
enum { KEYS_COMPARED = 494 };

static bool count_all(torture *run, const book *self, larder_store *store, larder_store_order order,
                      full_count *total) {
    larder_store_query query;
    larder_store_query_init(&query);
    query.order = order;
    query.flags = LARDER_STORE_WITHOUT_VALUE | LARDER_STORE_EXPIRED_TOO;
    larder_store_cursor *cursor = NULL;
    if (!EXPECT_STATUS(run, larder_store_cursor_open(store, &query, &cursor), LARDER_OK)) {
        return false;
    }
    *total = (full_count){0};
    uint8_t previous[KEYS_COMPARED];
    size_t previous_length = 0;
    uint64_t sequence = 0;
    larder_store_entry entry;
    larder_status status;
    bool good = true;
    while (good && (status = larder_store_cursor_next(cursor, &entry)) == LARDER_OK) {
        size_t length = entry.key.length < KEYS_COMPARED ? entry.key.length : KEYS_COMPARED;
        size_t shorter = length < previous_length ? length : previous_length;
        int compared = shorter ? memcmp(previous, entry.key.data, shorter) : 0;
        bool after = compared < 0 || (compared == 0 && previous_length < length) ||
                     (compared == 0 && length == KEYS_COMPARED) || total->count == 0;
        good = order == LARDER_STORE_BY_KEY
                   ? EXPECT(run, after, "keys are not in order at %" PRIu64, total->count)
                   : EXPECT(run, entry.sequence >= sequence || (self && self->tracks),
                            "version %" PRIu64 " follows %" PRIu64 " in the order of use",
                            entry.sequence, sequence);
        if (length) {
            memcpy(previous, entry.key.data, length);
        }
        previous_length = length;
        sequence = entry.sequence;
        total->count++;
        total->bytes += entry.value_bytes;
    }
    larder_store_cursor_close(cursor);
    return good && EXPECT(run, status == LARDER_END, "a cursor gave %d", status);
}

bool book_verify_sound(torture *run, const book *self, larder_store *store, const char *path,
                       bool settles) {
    if (settles && (!EXPECT_STATUS(run, larder_store_flush(store), LARDER_OK) ||
                    !EXPECT_STATUS(run, larder_store_maintain(store), LARDER_OK) ||
                    !EXPECT_STATUS(run, larder_store_flush(store), LARDER_OK))) {
        return false;
    }
    full_count by_key, by_use;
    uint64_t count = 0, bytes = 0;
    larder_store_report report;
    if (!count_all(run, self, store, LARDER_STORE_BY_KEY, &by_key) ||
        !count_all(run, self, store, LARDER_STORE_BY_RECENCY, &by_use) ||
        !EXPECT_STATUS(run, larder_store_totals(store, &count, &bytes), LARDER_OK) ||
        !EXPECT(run,
                by_key.count == count && by_key.bytes == bytes && by_use.count == count &&
                    by_use.bytes == bytes,
                "totals are %" PRIu64 " and %" PRIu64 "; by key %" PRIu64 " and %" PRIu64
                ", by use %" PRIu64 " and %" PRIu64,
                count, bytes, by_key.count, by_key.bytes, by_use.count, by_use.bytes)) {
        return false;
    }
    larder_status status = larder_store_check(store, NULL, NULL, &report);
    if (!EXPECT(run,
                status == LARDER_OK && report.damaged == 0 && report.damaged_pages == 0 &&
                    report.inconsistencies == 0 && report.journal_lost == 0 &&
                    report.intact == count && report.intact_bytes == bytes,
                "check gave %d: %" PRIu64 " of %" PRIu64 " intact, %" PRIu64 " damaged, %" PRIu64
                " pages, %" PRIu64 " inconsistencies, %" PRIu64 " lost of the journal",
                status, report.intact, count, report.damaged, report.damaged_pages,
                report.inconsistencies, report.journal_lost)) {
        return false;
    }
    larder_store_statistics figures;
    if (!settles) {
        return true;
    }
    // One may have been made in advance. A flush waits for a checkpoint that is under way and
    // deletes some; another one may be by then.
    enum { LOOKS = 50 };
    unsigned files = 0;
    bool is_known = false;
    for (int look = 0; look < LOOKS && !is_known; look++) {
        if (look > 0) usleep(10000);
        (void)!larder_store_flush(store);
        files = count_segments(path);
        if (!EXPECT_STATUS(run, larder_store_statistics_get(store, &figures), LARDER_OK))
            return false;
        is_known = files <= figures.segment_count + 1 && files >= figures.segment_count;
    }
    return EXPECT(run, is_known, "%u segments lie in the folder, %" PRIu64 " are known", files,
                  figures.segment_count) &&
           EXPECT(run, figures.log_live_bytes <= figures.log_used_bytes,
                  "%" PRIu64 " of %" PRIu64 " bytes of the log are live", figures.log_live_bytes,
                  figures.log_used_bytes);
}
