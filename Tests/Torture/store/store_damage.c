// SPDX-License-Identifier: MIT
// Any byte of any file of a store changed, pages zeroed, swapped and doubled, files cut short or
// missing. Nothing may crash or hang, no key may give another value than it has, not even one that
// it had, and a salvage must bring back what was not hurt. Every trial runs in a guarded child.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store_specimen.h"

typedef struct bench {
    store_specimen *what;
    const char *path;
    const char *target;
    rng random;
    /** Of what is hurt byte by byte: which file, and every how many bytes. */
    uint32_t file;
    uint64_t stride;
    /** Its index was made anew: nobody misses what was lost before. */
    bool was_rebuilt;
} bench;

static bool is_damage(larder_status status) {
    return status == LARDER_EDAMAGED || status == LARDER_EFOREIGN || status == LARDER_EVERSION ||
           status == LARDER_EMISMATCH;
}

/** What a damage in this place may do to the values that are read. */
static bool allows_older(const bench *self, const store_damage *damages, unsigned count) {
    const store_specimen *what = self->what;
    bool allowed = false;
    // Of a log that was not applied a damaged write is lost: what comes back is older.
    for (unsigned i = 0; i < count && what->is_unclosed; i++) {
        allowed |= damages[i].file != what->data;
    }
    return allowed;
}

enum { SEGMENT_HEAD = 64, SEGMENT_WRITTEN = 1, RECORD_HEAD = 36, RECORD_NEXT = 4 };

/** Of a segment of writes: behind its last write; of any other file UINT64_MAX. 0 without a
    write. */
static uint64_t end_of_writes(const specimen_file *file) {
    uint32_t kind = 0;
    if (strncmp(file->name, "log/", 4) == 0 && file->size >= SEGMENT_HEAD) {
        memcpy(&kind, file->bytes + 24, sizeof kind);
    }
    uint64_t end = kind == SEGMENT_WRITTEN ? 0 : UINT64_MAX;
    for (uint64_t at = SEGMENT_HEAD; end != UINT64_MAX && at + RECORD_HEAD <= file->size;) {
        uint32_t length;
        memcpy(&length, file->bytes + at, sizeof length);
        if (length < RECORD_HEAD || file->bytes[at + 20] == RECORD_NEXT) {
            break;
        }
        end = at += (length + 7) / 8 * 8;
    }
    return end;
}

/** Whether there may have been writes where it is hurt that are newer than the tree, for all that
    can be told from what is left: behind the last write there is, for longer than the shortest
    record. Then every older entry is uncertain, and a salvage leaves it out unless it is asked not
    to. */
static bool may_hide_writes(const store_specimen *what, const store_damage *damages,
                            unsigned count) {
    enum { SHORTEST = 24 };
    const char *last = "";
    for (uint32_t i = 0; i < what->count; i++) {
        const specimen_file *file = &what->files[i];
        uint64_t end = end_of_writes(file);
        if (end != 0 && end != UINT64_MAX && strcmp(file->name, last) > 0) {
            last = file->name;
        }
    }
    for (unsigned i = 0; i < count; i++) {
        const specimen_file *file = &what->files[damages[i].file];
        uint64_t end = end_of_writes(file);
        uint64_t from = damages[i].from > end ? damages[i].from : end;
        if (end != UINT64_MAX && strcmp(file->name, last) >= 0 && damages[i].to > from &&
            damages[i].to - from >= SHORTEST) {
            return true;
        }
    }
    return false;
}

/** Whether some write gave the key this value. */
static bool was_ever(const store_specimen *what, uint32_t which, uint32_t key,
                     const larder_store_entry *entry) {
    const lane *own = &what->book->lane[which];
    for (uint64_t n = own->first; n < atomic_load(&own->begun); n++) {
        operation made = book_operation(what->book, which, n);
        for (uint32_t i = 0; i < made.part_count; i++) {
            if (made.parts[i].key == key && made.parts[i].salt &&
                book_matches(what->book, made.parts[i].salt, entry)) {
                return true;
            }
        }
    }
    return false;
}

/** Reads every key. @return the number that are exactly as they should be, or UINT32_MAX. */
static uint32_t read_all(torture *run, const bench *self, larder_store *store, bool older,
                         const char *when) {
    const store_specimen *what = self->what;
    uint8_t key[BOOK_KEY_MAX];
    uint32_t right = 0;
    for (uint32_t which = 0; which < what->book->lanes; which++) {
        for (uint32_t i = 0; i < BOOK_KEYS; i++) {
            uint64_t salt = what->state[which][i].salt;
            larder_store_entry entry;
            larder_bytes name = bytes_of(key, book_key(which, i, key));
            larder_status status = larder_store_get(store, name, 0, &entry);
            bool good = EXPECT(
                run, status == LARDER_OK || status == LARDER_ENOTFOUND || status == LARDER_EDAMAGED,
                "%s: get gave %d (%s)", when, status, larder_strerror(status));
            if (good && status == LARDER_OK) {
                bool same = salt && book_matches(what->book, salt, &entry);
                bool was = !same && was_ever(what, which, i, &entry);
                good = EXPECT(run, same || (older && was && what->is_pending[which][i]),
                              "%s: key %u/%u has %s value of %zu bytes, version %" PRIu64 "%s",
                              when, which, i, was ? "an older" : "a wrong", entry.value.length,
                              entry.sequence, salt ? "" : "; it was removed");
                right += same;
            } else {
                right += !salt && status == LARDER_ENOTFOUND;
            }
            larder_store_release(&entry);
            if (!good) {
                return UINT32_MAX;
            }
        }
    }
    return right;
}

/** Counts, and ends: everything, and the rows of a range. */
static bool count_some(torture *run, const larder_store_query *query, larder_store *store) {
    larder_store_query counted = *query;
    for (unsigned round = 0; round < 2; round++) {
        uint64_t count = 0;
        larder_status status = larder_store_count(store, &counted, LARDER_STORE_UNLIMITED, &count);
        if (!EXPECT(run, status == LARDER_OK || status == LARDER_EDAMAGED, "count gave %d",
                    status)) {
            return false;
        }
        if (counted.order == LARDER_STORE_BY_RECENCY) break;
        counted.flags |= LARDER_STORE_HAS_LOWER;
    }
    return true;
}

/** Goes over everything in each order, and ends. */
static bool walk_all(torture *run, const bench *self, larder_store *store, bool older) {
    for (int order = 0; order < 6; order++) {
        larder_store_query query;
        larder_store_query_init(&query);
        query.order = (larder_store_order)(order / 2);
        query.index = BOOK_INDEX;
        query.flags = order % 2 ? (uint32_t)LARDER_STORE_DESCENDING : 0;
        if (!count_some(run, &query, store)) {
            return false;
        }
        larder_store_cursor *cursor = NULL;
        larder_status status = larder_store_cursor_open(store, &query, &cursor);
        if (status == LARDER_EDAMAGED) {
            continue;
        }
        if (!EXPECT(run, status == LARDER_OK, "cursor_open gave %d", status)) {
            return false;
        }
        uint64_t steps = 0;
        while (status != LARDER_END) {
            larder_store_entry entry;
            status = larder_store_cursor_next(cursor, &entry);
            bool good =
                EXPECT(run,
                       status == LARDER_OK || status == LARDER_END || status == LARDER_EDAMAGED,
                       "cursor_next gave %d", status) &&
                EXPECT(run, ++steps < 100000, "a cursor does not come to its end");
            if (good && status == LARDER_OK) {
                specimen_copy found = {0};
                bool known = false, same = false, was = false;
                uint8_t key[BOOK_KEY_MAX];
                for (uint32_t i = 0; i < self->what->book->lanes * BOOK_KEYS && !known; i++) {
                    found.which = i / BOOK_KEYS;
                    found.key = i % BOOK_KEYS;
                    size_t length = book_key(found.which, found.key, key);
                    known = length == entry.key.length &&
                            (!length || memcmp(key, entry.key.data, length) == 0);
                }
                if (known) {
                    uint64_t salt = self->what->state[found.which][found.key].salt;
                    same = salt && book_matches(self->what->book, salt, &entry);
                    was = older && self->what->is_pending[found.which][found.key] &&
                          was_ever(self->what, found.which, found.key, &entry);
                }
                good = EXPECT(run, same || was, "a cursor tells of %s entry, in order %d",
                              known ? "a wrong" : "an unknown", order);
            }
            if (!good) {
                larder_store_cursor_close(cursor);
                return false;
            }
        }
        larder_store_cursor_close(cursor);
    }
    return true;
}

/** Writes keys of another lane, so that pages are changed; all that is taken must be there. Pages
    have no checksum: a changed byte of a key that leaves its page in order, and between the
    separators above, cannot be seen, and hides the entry that it belonged to, but no other. So this
    holds for any damage: where a page's keys are out of their place, the write or its flush must
    refuse. */
static bool write_more(torture *run, larder_store *store, rng *random) {
    uint8_t key[BOOK_KEY_MAX], value[300];
    memset(value, 'n', sizeof value);
    uint64_t accepted = 0;
    bool good = true;
    for (uint32_t i = 0; i < 20 && good; i++) {
        larder_store_item item;
        larder_bytes name = bytes_of(key, book_key(BOOK_LANES, i, key));
        larder_store_item_init(&item, name, bytes_of(value, 1 + rng_below(random, 290)));
        larder_status status = larder_store_put(store, &item, NULL);
        good = EXPECT(run, status == LARDER_OK || status == LARDER_EDAMAGED, "put gave %d (%s)",
                      status, larder_strerror(status));
        accepted |= status == LARDER_OK ? 1ull << i : 0;
        if (i == 10 && good) {
            status = larder_store_flush(store);
            good = EXPECT(run, status == LARDER_OK || status == LARDER_EDAMAGED,
                          "flush gave %d (%s)", status, larder_strerror(status));
        }
    }
    for (uint32_t i = 0; i < 20 && good; i++) {
        larder_store_entry entry;
        larder_bytes name = bytes_of(key, book_key(BOOK_LANES, i, key));
        larder_status status = larder_store_get(store, name, 0, &entry);
        bool wrote = (accepted >> i & 1) != 0;
        good = EXPECT(
            run, status == LARDER_EDAMAGED || status == (wrote ? LARDER_OK : LARDER_ENOTFOUND),
            "a value that was %s: get gave %d", wrote ? "just written" : "refused", status);
        larder_store_release(&entry);
    }
    return good;
}

enum { REPLACED = 12 };

/** Whether all of them have the value that they were given last. */
static bool read_replaced(torture *run, larder_store *store, const uint32_t *keys,
                          const char *when) {
    uint8_t key[BOOK_KEY_MAX];
    for (uint32_t i = 0; i < REPLACED; i++) {
        larder_store_entry entry;
        larder_bytes name = bytes_of(key, book_key(keys[i] / BOOK_KEYS, keys[i] % BOOK_KEYS, key));
        larder_status status = larder_store_get(store, name, 0, &entry);
        bool is_last = status == LARDER_OK && entry.value.length == 1 + keys[i] &&
                       ((const uint8_t *)entry.value.data)[0] == 'r';
        larder_store_release(&entry);
        if (!EXPECT(run, is_last, "%s: get of key %u, which was replaced, gave %d", when, keys[i],
                    status)) {
            return false;
        }
    }
    return true;
}

/** Replaces what is there. Where the log is whole, each write that is accepted holds behind a
    checkpoint that succeeds; and after one that does not, the next handle mends the index. */
static bool replace_some(torture *run, const bench *self, rng *random,
                         const larder_store_options *options) {
    uint8_t key[BOOK_KEY_MAX], value[1 + BOOK_LANES * BOOK_KEYS];
    uint32_t keys[REPLACED];
    memset(value, 'r', sizeof value);
    larder_store *store = NULL;
    if (larder_store_open(self->path, options, NULL, &store) != LARDER_OK) {
        return true;
    }
    bool good = true;
    for (uint32_t i = 0; i < REPLACED && good; i++) {
        keys[i] = (uint32_t)rng_below(random, self->what->book->lanes * BOOK_KEYS);
        larder_store_item item;
        larder_bytes name = bytes_of(key, book_key(keys[i] / BOOK_KEYS, keys[i] % BOOK_KEYS, key));
        larder_store_item_init(&item, name, bytes_of(value, 1 + keys[i]));
        larder_status status = larder_store_put(store, &item, NULL);
        good = EXPECT(run, status == LARDER_OK, "put of key %u gave %d", keys[i], status);
    }
    larder_status flushed = good ? larder_store_flush(store) : LARDER_OK;
    good =
        good &&
        EXPECT(run, flushed == LARDER_OK || flushed == LARDER_EDAMAGED, "flush gave %d", flushed) &&
        read_replaced(run, store, keys, flushed ? "not flushed" : "flushed");
    larder_store_close(store);
    for (int round = 0; round < 2 && good; round++) {
        larder_status status = larder_store_open(self->path, options, NULL, &store);
        good = EXPECT(run, status == LARDER_OK, "opened after it was replaced: %d", status) &&
               read_replaced(run, store, keys, round ? "closed" : "opened again");
        flushed = good ? larder_store_flush(store) : LARDER_OK;
        good = EXPECT(run, flushed == LARDER_OK, "flush of what was mended gave %d", flushed);
        larder_store_close(store);
    }
    return good;
}

static uint32_t all_keys(const bench *self) { return self->what->book->lanes * BOOK_KEYS; }

static bool use(torture *run, bench *self, rng *random, const store_damage *damages, unsigned count,
                bool writes) {
    bool older = allows_older(self, damages, count);
    larder_store_options options =
        book_options(self->what->book,
                     (uint32_t)(writes ? LARDER_STORE_HOST_MAINTENANCE : LARDER_STORE_READ_ONLY));
    larder_store *store = NULL;
    larder_status status = larder_store_open(self->path, &options, NULL, &store);
    // Without data.mdb there is nothing to read: then, and then only, a reader finds no store.
    char data[700];
    snprintf(data, sizeof data, "%s/data.mdb", self->path);
    bool is_none = status == ENOENT && !writes && size_of_file(data) < 0;
    if (is_damage(status) || is_none || (status != LARDER_OK && !writes && older)) {
        return EXPECT(run, store == NULL, "a failed open gave a store");
    }
    if (!EXPECT(run, status == LARDER_OK, "open gave %d (%s)", status, larder_strerror(status))) {
        return false;
    }
    larder_store_report report;
    uint32_t right = read_all(run, self, store, older, "opened");
    bool good = right != UINT32_MAX && walk_all(run, self, store, older);
    if (good) {
        status = larder_store_check(store, NULL, NULL, &report);
        good = EXPECT(run, status == LARDER_OK || status == LARDER_EDAMAGED, "check gave %d (%s)",
                      status, larder_strerror(status)) &&
               EXPECT(run,
                      status == LARDER_EDAMAGED || right == all_keys(self) || older ||
                          self->was_rebuilt,
                      "check finds nothing, but %u of %u keys are not as they were",
                      all_keys(self) - right, all_keys(self));
    }
    if (good && writes) {
        good = write_more(run, store, random) &&
               read_all(run, self, store, older, "written to") != UINT32_MAX;
    }
    larder_store_close(store);
    store = NULL;
    if (good && writes && rng_one_in(random, 2)) {
        status = larder_store_open(self->path, &options, NULL, &store);
        good = EXPECT(run, status == LARDER_OK || is_damage(status), "opened again: %d", status) &&
               (status != LARDER_OK ||
                read_all(run, self, store, older, "opened again") != UINT32_MAX);
        larder_store_close(store);
    }
    bool is_byte_of_index =
        count == 1 && damages[0].file == self->what->data && damages[0].to - damages[0].from == 1;
    if (good && writes && is_byte_of_index) {
        good = replace_some(run, self, random, &options);
    }
    return good;
}

/** @param flags LARDER_STORE_WITH_UNCERTAIN or 0.
    @param rebuilds the index, where it is, instead. */
static bool salvage_with(torture *run, bench *self, const store_damage *damages, unsigned count,
                         uint32_t flags, bool rebuilds) {
    const store_specimen *what = self->what;
    larder_store_report report;
    remove_tree(self->target);
    larder_store_options options =
        book_options(what->book, (uint32_t)LARDER_STORE_HOST_MAINTENANCE | flags);
    larder_status status =
        rebuilds ? larder_store_rebuild(self->path, &options, NULL, NULL, &report)
                 : larder_store_salvage(self->path, self->target, &options, NULL, NULL, &report);
    larder_store *store = NULL;
    options.flags &= ~flags;
    if (rebuilds && status == LARDER_EDAMAGED) {
        bool may_be_older =
            may_hide_writes(what, damages, count) || allows_older(self, damages, count);
        return EXPECT(run, report.uncertain && !flags && may_be_older,
                      "a rebuilding was refused: %" PRIu64 " uncertain", report.uncertain);
    }
    if (!EXPECT_STATUS(run, status, LARDER_OK) ||
        !EXPECT_STATUS(
            run, larder_store_open(rebuilds ? self->path : self->target, &options, NULL, &store),
            LARDER_OK)) {
        return false;
    }
    // Where writes were lost that no row tells of, any other one may be outdated.
    bool older = allows_older(self, damages, count);
    bool is_sure = flags || !may_hide_writes(what, damages, count);
    uint8_t key[BOOK_KEY_MAX];
    const char *name_of_it = rebuilds ? "rebuilding" : "salvage";
    bool good = true;
    uint32_t lost = 0;
    for (uint32_t i = 0; i < all_keys(self) && good; i++) {
        uint32_t which = i / BOOK_KEYS, k = i % BOOK_KEYS;
        uint64_t salt = what->state[which][k].salt;
        larder_store_entry entry;
        larder_bytes name = bytes_of(key, book_key(which, k, key));
        status = larder_store_get(store, name, 0, &entry);
        bool intact =
            salt && !older && is_sure && store_specimen_is_intact(what, which, k, damages, count);
        bool same = status == LARDER_OK && salt && book_matches(what->book, salt, &entry);
        bool was = status == LARDER_OK && !same && was_ever(what, which, k, &entry);
        good =
            EXPECT(run, status == LARDER_OK || status == LARDER_ENOTFOUND,
                   "get from what was salvaged gave %d", status) &&
            EXPECT(run, same || !intact,
                   "%s lost key %u/%u, at %" PRIu64 ", which was not hurt%s (%" PRIu64
                   " found, %" PRIu64 " damaged, %" PRIu64 " uncertain)",
                   name_of_it, which, k, store_specimen_place(what, which, k),
                   was ? ", and has an older value" : "", report.intact, report.damaged,
                   report.uncertain) &&
            EXPECT(run, status != LARDER_OK || same || (was && older && what->is_pending[which][k]),
                   "%s brought %s value for key %u/%u%s", name_of_it, was ? "an older" : "a wrong",
                   which, k, salt ? "" : ", which was removed");
        lost += salt && !same;
        larder_store_release(&entry);
    }
    bool is_byte = count == 1 && damages[0].to - damages[0].from == 1;
    uint32_t most = damages[0].file == what->data ? 0 : 1;
    // A batch that is not in the tree is lost as a whole.
    if (most > 0 && what->is_unclosed) most = BOOK_PARTS;
    good =
        good && EXPECT(run, !is_byte || !is_sure || lost <= most,
                       "%s: one byte cost %u entries (%" PRIu64 " damaged, %" PRIu64 " uncertain)",
                       name_of_it, lost, report.damaged, report.uncertain);
    // What is hurt in the log stays there.
    bool is_clean = !rebuilds || (count == 1 && damages[0].file == what->data);
    if (good && is_clean) {
        good = EXPECT_STATUS(run, larder_store_check(store, NULL, NULL, &report), LARDER_OK);
    }
    larder_store_close(store);
    return good;
}

static bool salvage(torture *run, bench *self, const store_damage *damages, unsigned count) {
    return salvage_with(run, self, damages, count, 0, false) &&
           (!may_hide_writes(self->what, damages, count) ||
            salvage_with(run, self, damages, count, (uint32_t)LARDER_STORE_WITH_UNCERTAIN, false));
}

/** The store lies at `path`, hurt. */
static void verify(torture *run, bench *self, rng *random, const store_damage *damages,
                   unsigned count) {
    self->was_rebuilt = false;
    // Salvage only reads its source, so it comes first.
    bool good = !rng_one_in(random, 3) || salvage(run, self, damages, count);
    good = good && (rng_one_in(random, 2) || use(run, self, random, damages, count, false));
    bool rebuilds = self->was_rebuilt = rng_one_in(random, 3);
    uint32_t flags = rng_one_in(random, 2) ? (uint32_t)LARDER_STORE_WITH_UNCERTAIN : 0;
    good = good && (!rebuilds || salvage_with(run, self, damages, count, flags, true));
    (void)(good && use(run, self, random, damages, count, true));
}

// What is done to it ------------------------------------------------------------------------------

static void change_byte(torture *run, void *context, uint64_t index) {
    bench *self = context;
    specimen_file *file = &self->what->files[self->file];
    // In an order in which each stretch of time sees the whole file.
    uint64_t at = index * self->stride % file->size;
    rng random = rng_make(mix2(self->random.state, at));
    uint8_t was = file->bytes[at];
    uint8_t change = (uint8_t)(1u << rng_below(&random, 8));
    if (rng_one_in(&random, 4)) {
        change = rng_one_in(&random, 2) ? was : (uint8_t)~was; // To 00 or FF.
    }
    if (change == 0) {
        change = 1;
    }
    torture_note(run, "byte %" PRIu64 " of %s changed by %02x", at, file->name, change);
    file->bytes[at] = (uint8_t)(was ^ change);
    bool good = store_specimen_write(self->what, self->path);
    file->bytes[at] = was;
    store_damage one = {self->file, at, at + 1};
    if (EXPECT(run, good, "cannot write the store")) {
        verify(run, self, &random, &one, 1);
    }
}

static void hurt_widely(torture *run, void *context, uint64_t index) {
    bench *self = context;
    store_specimen *what = self->what;
    rng random = rng_make(mix2(self->random.state, index));
    uint32_t number = (uint32_t)rng_below(&random, what->count);
    if (rng_one_in(&random, 2)) {
        number = what->data;
    } else if (rng_one_in(&random, 2)) {
        number = what->journal;
    }
    specimen_file *file = &what->files[number];
    specimen_file was = *file;
    uint64_t unit = rng_one_in(&random, 4) ? 512 : 4096;
    uint64_t pages = (file->size + unit - 1) / unit;
    uint64_t one = rng_below(&random, pages) * unit, two = rng_below(&random, pages) * unit;
    store_damage damages[2] = {{number, one, one + unit}, {number, two, two + unit}};
    unsigned count = 1;
    file->bytes = malloc(was.size + unit);
    if (!file->bytes) {
        *file = was;
        return;
    }
    memset(file->bytes, 0, was.size + unit);
    memcpy(file->bytes, was.bytes, was.size);
    bool gone = false;
    uint64_t way = rng_below(&random, 7);
    switch (way) {
    case 0:
        torture_note(run, "%s: zeros at %" PRIu64, file->name, one);
        memset(file->bytes + one, 0, unit);
        break;
    case 1:
        torture_note(run, "%s: %" PRIu64 " and %" PRIu64 " swapped", file->name, one, two);
        for (uint64_t i = 0; i < unit; i++) {
            uint64_t a = one + i, b = two + i;
            if (a < was.size && b < was.size) {
                file->bytes[a] = was.bytes[b];
                file->bytes[b] = was.bytes[a];
            }
        }
        count = 2;
        break;
    case 2:
        torture_note(run, "%s: %" PRIu64 " is also at %" PRIu64, file->name, one, two);
        for (uint64_t i = 0; i < unit && two + i < was.size; i++) {
            file->bytes[two + i] = one + i < was.size ? was.bytes[one + i] : 0;
        }
        damages[0] = damages[1];
        break;
    case 3: {
        uint64_t size = rng_one_in(&random, 2) ? one : rng_below(&random, was.size + 1);
        torture_note(run, "%s: cut to %" PRIu64 " of %zu bytes", file->name, size, was.size);
        file->size = (size_t)size;
        damages[0] = (store_damage){number, size, UINT64_MAX};
        break;
    }
    case 4:
        torture_note(run, "%s: noise at %" PRIu64, file->name, one);
        message_fill(rng_next(&random), file->bytes + one, unit);
        break;
    case 5:
        torture_note(run, "%s: missing", file->name);
        gone = true;
        damages[0] = (store_damage){number, 0, UINT64_MAX};
        break;
    default: {
        uint64_t at = rng_below(&random, was.size ? was.size : 1);
        torture_note(run, "%s: byte %" PRIu64, file->name, at);
        file->bytes[at] ^= (uint8_t)(1u << rng_below(&random, 8));
        damages[0] = (store_damage){number, at, at + 1};
        break;
    }
    }
    bool good = store_specimen_write(what, self->path);
    if (gone) {
        char below[1200];
        snprintf(below, sizeof below, "%s/%s", self->path, file->name);
        good = good && unlink(below) == 0;
    }
    free(file->bytes);
    *file = was;
    if (EXPECT(run, good, "cannot write the store")) {
        verify(run, self, &random, damages, count);
    }
}

static void plan(book *notes, rng *random, bool is_small) {
    book_reset(notes, random);
    notes->lanes = is_small ? 1 : BOOK_LANES;
    // What was evicted is in the log still.
    notes->tracks = true;
    notes->journal_bytes = 64 << 10;
    // A flush is the only thing that tells here how far the tree is.
    notes->syncs = 0;
    notes->flags = (uint32_t)LARDER_STORE_HOST_MAINTENANCE;
    if (is_small) {
        notes->usual = 40;
        notes->longest = 900;
        notes->threshold_bytes = 700;
    }
}

static uint64_t coprime_stride(rng *random, uint64_t size) {
    uint64_t stride = rng_between(random, size / 3, size / 2) | 1;
    for (;; stride += 2) {
        uint64_t a = stride, b = size;
        while (b) {
            uint64_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1) {
            return stride;
        }
    }
}

void family_store_damage(torture *run) {
    bench self = {.what = shared_memory(sizeof(store_specimen))};
    self.what->book = shared_memory(sizeof(book));
    rng random;
    uint64_t end = run->deadline_ns;
    while (torture_next_case(run, &random)) {
        self.random = random;
        self.path = torture_path(run, "store");
        self.target = torture_path(run, "salvaged");
        bool is_small = run->case_index % 4 != 3, is_unclosed = run->case_index % 2 == 1;
        uint64_t left = end > now_ns() ? end - now_ns() : 0;
        plan(self.what->book, &self.random, is_small);
        torture_trial(run);
        if (!store_specimen_make(run, self.what, &self.random,
                                 is_small ? rng_between(&self.random, 20, 150) : 600,
                                 is_unclosed)) {
            continue;
        }
        // Each case has a share of the time: the first bytes, of data.mdb; a segment; the rest.
        if (is_small) {
            uint32_t files[2] = {self.what->data, self.what->journal};
            for (int i = 0; i < 2; i++) {
                self.file = files[i];
                self.stride = coprime_stride(&self.random, self.what->files[self.file].size);
                run->deadline_ns = now_ns() + left / (i == 0 ? 4 : 8);
                torture_guard_each(run, self.what->files[self.file].size, 20, false, change_byte,
                                   &self);
            }
        }
        run->deadline_ns = now_ns() + left / 8;
        torture_guard_each(run, 100000, 20, false, hurt_widely, &self);
        run->deadline_ns = end;
        store_specimen_free(self.what);
    }
    run->deadline_ns = end;
    remove_tree(self.path);
    remove_tree(self.target);
}
