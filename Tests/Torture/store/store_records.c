// SPDX-License-Identifier: MIT
// Every field of records in the log, and of the heads of its segments, set to values that it must
// not have, one at a time, with the checksum that fits them: what the reader's checks of shape are
// for, which a flipped byte never comes to. A store that was closed, one whose writer was killed,
// and one that lost power. No key may give a value that was never written to it, and a salvage
// makes a store that is whole.
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "faults.h"
#include "store.h"

enum { KEYS = 60, INDEX = 3, VERSIONS = 4, PLACES = 3000, VALUES = 8, FILE_MAX = 1 << 17 };
enum { SEGMENT_HEAD = 64, RECORD_HEAD = 36 };
/** Instead of a key's number: a record of no key was hurt, or none. */
enum { NO_KEY = KEYS, NO_RECORD = KEYS + 1 };

typedef struct place {
    /** Of the record, or 0 for the segment's head. */
    uint32_t start;
    /** The field: behind that. */
    uint32_t offset;
    uint32_t width;
    char file[16];
} place;

typedef struct records_bench {
    /** The store closed, and as its writer left it; and what is hurt. */
    const char *closed, *killed, *hurt, *target;
    place places[PLACES];
    size_t count;
    size_t of_closed;
    unsigned stride;
    /** So many trials set one field; the rest hurt more. */
    uint64_t singles;
} records_bench;

// The store ---------------------------------------------------------------------------------------

static larder_status opened(const char *path, uint32_t flags, larder_store **out) {
    larder_store_options options;
    larder_store_tuning tuning;
    larder_store_options_init(&options);
    larder_store_tuning_init(&tuning);
    tuning.segment_min_bytes = 8 << 10;
    tuning.segment_max_bytes = 16 << 10;
    options.tuning = &tuning;
    options.flags = flags | LARDER_STORE_HOST_MAINTENANCE;
    options.inline_threshold_bytes = 100;
    *out = NULL;
    return larder_store_open(path, &options, NULL, out);
}

static larder_bytes key_of(unsigned number, char *target) {
    size_t length = (size_t)sprintf(target, "key %03u", number);
    memset(target + length, 'k', number % 5 * 130);
    return bytes_of(target, length + number % 5 * 130);
}

/** Number and version in front, then bytes that follow from both. */
static larder_bytes value_of(unsigned number, unsigned version, uint8_t *target) {
    size_t length = 2 + (number * 37 + version * 11) % 300;
    target[0] = (uint8_t)number;
    target[1] = (uint8_t)version;
    for (size_t i = 2; i < length; i++) {
        target[i] = (uint8_t)mix2(number * VERSIONS + version, i);
    }
    return bytes_of(target, length);
}

static void item_of(unsigned number, unsigned version, larder_store_item *item) {
    static char key[1000];
    static uint8_t value[400];
    static larder_store_index_entry indexes[2];
    larder_store_item_init(item, key_of(number, key), value_of(number, version, value));
    indexes[0] = (larder_store_index_entry){INDEX, bytes_of("index", number % 6)};
    indexes[1] = (larder_store_index_entry){INDEX + 1, bytes_of("another", number % 8)};
    item->indexes = indexes;
    item->index_count = number % 3;
    item->extended = bytes_of("extended", number % 2 * 8);
    item->expires_ns = number % 4 == 1 ? INT64_MAX / 2 : LARDER_STORE_NEVER;
    item->idle_ns = number % 6 == 1 ? INT64_MAX / 2 : LARDER_STORE_NEVER;
    item->cost = number % 5 == 1 ? 77 : 0;
}

static larder_status write_all(larder_store *store, unsigned version) {
    larder_store_batch *batch = NULL;
    larder_store_item item;
    char key[1000];
    larder_status status = larder_store_batch_create(store, &batch);
    for (unsigned i = 0; i < KEYS && !status; i++) {
        item_of(i, version, &item);
        bool is_removed = version > 1 && i % 13 == version;
        if (i % 10 < 3) {
            status = is_removed ? larder_store_batch_remove(batch, item.key)
                                : larder_store_batch_put(batch, &item);
        } else {
            status = is_removed ? larder_store_remove(store, key_of(i, key), 0)
                                : larder_store_put(store, &item, NULL);
        }
        if (i % 10 == 2 && !status) {
            status = larder_store_batch_commit(batch, 0, NULL);
        }
    }
    larder_store_batch_destroy(batch);
    return status;
}

static bool make_stores(torture *run, const records_bench *self) {
    larder_store *store = NULL;
    larder_status status = opened(self->closed, 0, &store);
    status = status ? status : write_all(store, 0);
    status = status ? status : write_all(store, 1);
    status = status ? status : larder_store_flush(store);
    status = status ? status : write_all(store, 2);
    status = status ? status : larder_store_remove(store, bytes_of_text("none"), 0);
    status = status ? status : write_all(store, 3);
    bool good = EXPECT(run, status == LARDER_OK, "making a store gave %d", status) &&
                EXPECT(run, copy_tree(self->closed, self->killed), "cannot copy the store") &&
                EXPECT_STATUS(run, larder_store_flush(store), LARDER_OK) &&
                EXPECT_STATUS(run, larder_store_shutdown(store), LARDER_OK);
    larder_store_close(store);
    return good;
}

// Reading -----------------------------------------------------------------------------------------

static bool is_damage(larder_status status) {
    return status == LARDER_EDAMAGED || status == LARDER_EFOREIGN || status == LARDER_EVERSION;
}

/** Whether it is what was written under its key once. The record that was hurt has a checksum that
    fits: it is another one, and may say what it likes under its own key, or under one that nobody
    wrote. */
static bool was_written(const larder_store_entry *entry, unsigned hurt) {
    uint8_t value[400];
    char key[1000];
    for (unsigned i = 0; i < KEYS; i++) {
        larder_bytes name = key_of(i, key);
        if (entry->key.length != name.length ||
            memcmp(entry->key.data, name.data, name.length) != 0) {
            continue;
        }
        const uint8_t *bytes = entry->value.data;
        if (i == hurt || entry->value.length < 2 || bytes[0] != i || bytes[1] >= VERSIONS) {
            return i == hurt;
        }
        larder_bytes wanted = value_of(i, bytes[1], value);
        return entry->value.length == wanted.length && memcmp(bytes, value, wanted.length) == 0;
    }
    return hurt != NO_RECORD;
}

static void read_all(torture *run, larder_store *store, unsigned hurt) {
    larder_store_entry entry;
    for (unsigned i = 0; i < KEYS && torture_unhurt(run); i++) {
        char key[1000];
        larder_status status = larder_store_get(store, key_of(i, key), 0, &entry);
        EXPECT(run, status == LARDER_OK || status == LARDER_ENOTFOUND || is_damage(status),
               "get gave %d", status);
        EXPECT(run, status != LARDER_OK || was_written(&entry, hurt), "key %u has a wrong value",
               i);
        larder_store_release(&entry);
    }
    for (unsigned order = 0; order < 6 && torture_unhurt(run); order++) {
        larder_store_query query;
        larder_store_cursor *cursor = NULL;
        larder_store_query_init(&query);
        query.order = (larder_store_order)(order / 2);
        query.index = INDEX;
        query.flags = order % 2 ? (uint32_t)LARDER_STORE_DESCENDING : 0;
        larder_status status = larder_store_cursor_open(store, &query, &cursor);
        unsigned steps = 0;
        while (cursor && status != LARDER_END &&
               EXPECT(run, steps++ < 20 * KEYS, "a cursor goes on for ever")) {
            status = larder_store_cursor_next(cursor, &entry);
            EXPECT(run, status == LARDER_OK || status == LARDER_END || is_damage(status),
                   "a cursor gave %d", status);
            EXPECT(run, status != LARDER_OK || was_written(&entry, hurt),
                   "a cursor gave a wrong value");
        }
        larder_store_cursor_close(cursor);
        uint64_t count;
        status = larder_store_count(store, &query, LARDER_STORE_UNLIMITED, &count);
        EXPECT(run, status == LARDER_OK || is_damage(status), "count gave %d", status);
    }
}

// Hurting -----------------------------------------------------------------------------------------

static uint64_t read_field(const uint8_t *bytes, uint32_t width) {
    uint64_t value = 0;
    memcpy(&value, bytes, width);
    return value;
}

static uint64_t bad_value(uint64_t is, uint32_t width, unsigned which) {
    uint64_t all = width == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * width) - 1;
    const uint64_t values[VALUES] = {0, 1, all, is + 1, is - 1, all / 2, is ^ 4, is ^ 32};
    return values[which] & all;
}

static void add(records_bench *self, const char *file, uint32_t start, uint32_t offset,
                uint32_t width) {
    if (self->count < PLACES) {
        place *to = &self->places[self->count++];
        *to = (place){start, offset, width, ""};
        snprintf(to->file, sizeof to->file, "%.15s", file);
    }
}

static void add_record(records_bench *self, const char *file, uint32_t at, const uint8_t *bytes) {
    static const uint8_t head[][2] = {{0, 4},  {8, 8},  {16, 4}, {20, 1}, {21, 1},
                                      {22, 1}, {23, 1}, {24, 8}, {32, 4}};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++) {
        add(self, file, at, head[i][0], head[i][1]);
    }
    enum { PARTS = 4 };
    bool has_parts = (bytes[at + 21] & PARTS) != 0;
    if (!has_parts) {
        return;
    }
    uint32_t optional = 8;
    for (unsigned flags = bytes[at + 21] & 0x13; flags; flags &= flags - 1) {
        optional += 8;
    }
    add(self, file, at, RECORD_HEAD, 4);
    add(self, file, at, RECORD_HEAD + 4, 4);
    uint32_t indexes = RECORD_HEAD + optional + (uint32_t)read_field(bytes + at + 32, 4) +
                       (uint32_t)read_field(bytes + at + RECORD_HEAD, 4);
    if (bytes[at + 22] > 0) {
        add(self, file, at, indexes, 2);
        add(self, file, at, indexes + 2, 2);
    }
}

static bool find_places(torture *run, records_bench *self, const char *folder) {
    static uint8_t bytes[FILE_MAX];
    char path[700];
    snprintf(path, sizeof path, "%s/log", folder);
    DIR *list = opendir(path);
    for (struct dirent *entry = NULL; list && (entry = readdir(list));) {
        if (!strstr(entry->d_name, ".seg")) {
            continue;
        }
        snprintf(path, sizeof path, "%s/log/%.15s", folder, entry->d_name);
        int64_t size = read_file(path, bytes, sizeof bytes);
        static const uint8_t head[][2] = {{12, 4}, {16, 8}, {24, 4}, {28, 4},
                                          {32, 8}, {40, 8}, {48, 8}, {56, 8}};
        for (size_t i = 0; i < sizeof head / sizeof *head; i++) {
            add(self, entry->d_name, 0, head[i][0], head[i][1]);
        }
        unsigned number = 0;
        for (uint32_t at = SEGMENT_HEAD; at + RECORD_HEAD < size; number++) {
            uint32_t length = (uint32_t)read_field(bytes + at, 4);
            if (length < RECORD_HEAD) {
                break;
            }
            if (number % 9 == 0 || (bytes[at + 21] & 32) || bytes[at + 20] != 1) {
                add_record(self, entry->d_name, at, bytes);
            }
            at += (length + 7) / 8 * 8;
        }
    }
    if (list) {
        closedir(list);
    }
    return EXPECT(run, self->count > 50, "no records in %s", folder);
}

/** Sets the field, and the checksum. @return the number of the key that the record is of, NO_KEY,
    NO_RECORD, or UINT32_MAX. */
static unsigned set_field(const records_bench *self, const place *where, unsigned which) {
    static uint8_t bytes[FILE_MAX];
    char path[700];
    snprintf(path, sizeof path, "%s/log/%s", self->hurt, where->file);
    int64_t size = read_file(path, bytes, sizeof bytes);
    if (size <= (int64_t)where->start + where->offset + where->width) {
        return UINT32_MAX;
    }
    uint8_t *start = bytes + where->start;
    unsigned number = where->start ? NO_KEY : NO_RECORD;
    for (unsigned i = 0; i < KEYS && where->start; i++) {
        char key[1000];
        larder_bytes name = key_of(i, key);
        // Behind the optional words.
        for (uint32_t at = RECORD_HEAD; at <= RECORD_HEAD + 32; at += 8) {
            if (memcmp(start + at, name.data, 7) == 0) {
                number = i;
            }
        }
    }
    uint64_t value =
        bad_value(read_field(start + where->offset, where->width), where->width, which);
    memcpy(start + where->offset, &value, where->width);
    uint32_t crc;
    if (where->start) {
        uint64_t length = read_field(start, 4), left = (uint64_t)size - where->start;
        length = length < 8 ? 8 : length > left ? left : length;
        crc = larder_crc32c(0, start + 8, (size_t)length - 8);
        memcpy(start + 4, &crc, sizeof crc);
    } else {
        crc = larder_crc32c(0, start + 12, SEGMENT_HEAD - 12);
        memcpy(start + 8, &crc, sizeof crc);
    }
    return write_file(path, bytes, (size_t)size) ? number : UINT32_MAX;
}

/** Hurts a segment without regard to checksums: bytes flipped, a stretch of zeros, an end cut off,
    a record over another one, or no file at all. */
static bool hurt_log(const records_bench *self, const place *where, rng *random) {
    static uint8_t bytes[FILE_MAX];
    char path[700];
    snprintf(path, sizeof path, "%s/log/%s", self->hurt, where->file);
    int64_t size = read_file(path, bytes, sizeof bytes);
    uint64_t kind = rng_below(random, 16), start = where->start, other;
    if (size <= (int64_t)start + RECORD_HEAD || kind == 0) {
        return size <= 0 || kind > 0 || unlink(path) == 0;
    }
    uint64_t left = (uint64_t)size - start, length = read_field(bytes + start, 4);
    length = length < RECORD_HEAD || length > left ? RECORD_HEAD : length;
    if (kind == 1) {
        return write_file(path, bytes, start + rng_below(random, left));
    } else if (kind < 6) {
        uint64_t zeros = 8 * (1 + rng_below(random, kind < 4 ? 8 : 200));
        memset(bytes + start, 0, zeros < left ? zeros : left);
    } else if (kind < 9) {
        other = start + 8 * rng_below(random, 300);
        length = other + length > (uint64_t)size ? 0 : length;
        memmove(bytes + other, bytes + start, length);
    } else {
        for (uint64_t flips = 1 + rng_below(random, 3); flips > 0; flips--) {
            bytes[start + rng_below(random, kind < 12 ? RECORD_HEAD : length)] ^=
                (uint8_t)(1 + rng_below(random, 255));
        }
    }
    return write_file(path, bytes, (size_t)size);
}

// Trials ------------------------------------------------------------------------------------------

static void use_hurt(torture *run, const records_bench *self, unsigned hurt, unsigned way) {
    larder_store *store = NULL;
    larder_store_report report;
    larder_status status = opened(self->hurt, way == 1 ? LARDER_STORE_READ_ONLY : 0, &store);
    if (!EXPECT(run, status == LARDER_OK || is_damage(status), "open gave %d", status) || status) {
        return;
    }
    read_all(run, store, hurt);
    status = larder_store_check(store, NULL, NULL, &report);
    EXPECT(run, status == LARDER_OK || is_damage(status), "the check gave %d", status);
    if (way != 1) {
        status = write_all(store, 3);
        EXPECT(run, status == LARDER_OK || is_damage(status), "writing gave %d", status);
        status = larder_store_flush(store);
        EXPECT(run, status == LARDER_OK || is_damage(status), "a flush gave %d", status);
    }
    larder_store_close(store);
    if (way == 2) {
        status = larder_store_compact(self->hurt, NULL, NULL, NULL, NULL, NULL);
        EXPECT(run, status == LARDER_OK || is_damage(status), "compacting gave %d", status);
    }
}

/** Of a store that a salvage or a rebuilding made, nothing is damaged. */
static void check_made(torture *run, const char *path, unsigned hurt) {
    larder_store *store = NULL;
    larder_store_report report;
    if (!EXPECT_STATUS(run, opened(path, LARDER_STORE_READ_ONLY, &store), LARDER_OK)) {
        return;
    }
    read_all(run, store, hurt);
    EXPECT_STATUS(run, larder_store_check(store, NULL, NULL, &report), LARDER_OK);
    larder_store_close(store);
}

static void mend_hurt(torture *run, const records_bench *self, unsigned hurt, unsigned way) {
    larder_store_options options;
    larder_store_report report;
    larder_store_options_init(&options);
    options.flags = way & 1 ? (uint32_t)LARDER_STORE_WITH_UNCERTAIN : 0;
    char data[700];
    snprintf(data, sizeof data, "%s/data.mdb", self->hurt);
    if (way & 2) {
        (void)unlink(data);
    }
    remove_tree(self->target);
    larder_status status =
        larder_store_salvage(self->hurt, self->target, &options, NULL, NULL, &report);
    if (EXPECT(run, status == LARDER_OK || is_damage(status), "a salvage gave %d", status) &&
        !status) {
        check_made(run, self->target, hurt);
    }
    status = larder_store_rebuild(self->hurt, &options, NULL, NULL, &report);
    if (EXPECT(run, status == LARDER_OK || is_damage(status), "rebuilding gave %d", status) &&
        !status) {
        larder_store *store = NULL;
        status = opened(self->hurt, 0, &store);
        EXPECT(run, status == LARDER_OK || is_damage(status), "open gave %d", status);
        if (store) {
            read_all(run, store, hurt);
        }
        larder_store_close(store);
    }
}

/** Several segments and records are hurt at once. */
static void hurt_trial(torture *run, const records_bench *self, uint64_t index) {
    static const uint8_t another_boot[16] = {5};
    rng random = {mix2(run->seed, index)};
    bool is_closed = rng_below(&random, 3) == 0, lost_power = rng_below(&random, 3) == 0;
    unsigned way = (unsigned)rng_below(&random, 9);
    torture_note(run, "%s, hurt in several places, %llu, way %u%s", is_closed ? "closed" : "killed",
                 (unsigned long long)index, way, lost_power ? ", without power" : "");
    remove_tree(self->hurt);
    bool good = copy_tree(is_closed ? self->closed : self->killed, self->hurt);
    uint64_t first = is_closed ? 0 : self->of_closed;
    uint64_t count = (is_closed ? self->of_closed : self->count) - first;
    for (uint64_t hits = 1 + rng_below(&random, 6); hits > 0 && good; hits--) {
        good = hurt_log(self, &self->places[first + rng_below(&random, count)], &random);
    }
    if (!EXPECT(run, good, "cannot hurt the store")) {
        return;
    }
    larder_fault_boot_id(lost_power ? another_boot : NULL);
    if (way < 3) {
        use_hurt(run, self, NO_RECORD, way);
    } else {
        mend_hurt(run, self, NO_RECORD, way % 4);
    }
    larder_fault_boot_id(NULL);
}

static void trial(torture *run, void *context, uint64_t index) {
    static const uint8_t another_boot[16] = {5};
    const records_bench *self = context;
    if (index >= self->singles) {
        hurt_trial(run, self, index);
        return;
    }
    uint64_t nth = index * self->stride;
    const place *where = &self->places[nth / VALUES];
    unsigned which = (unsigned)(nth % VALUES);
    bool is_closed = nth / VALUES < self->of_closed;
    unsigned way = (unsigned)(mix2(run->seed, nth) % 7);
    bool lost_power = !is_closed && way % 2;
    torture_note(run, "%s, %s at %u, %u bytes at %u, value %u, way %u%s",
                 is_closed ? "closed" : "killed", where->file, where->start, where->width,
                 where->offset, which, way, lost_power ? ", without power" : "");
    remove_tree(self->hurt);
    if (!EXPECT(run, copy_tree(is_closed ? self->closed : self->killed, self->hurt),
                "cannot copy the store")) {
        return;
    }
    unsigned hurt = set_field(self, where, which);
    if (!EXPECT(run, hurt != UINT32_MAX, "cannot write")) {
        return;
    }
    larder_fault_boot_id(lost_power ? another_boot : NULL);
    if (way < 3) {
        use_hurt(run, self, hurt, way);
    } else {
        mend_hurt(run, self, hurt, way - 3);
    }
    larder_fault_boot_id(NULL);
}

void family_store_records(torture *run) {
    rng random;
    if (!torture_next_case(run, &random)) {
        return;
    }
    char closed[600], killed[600], hurt[600], target[600];
    snprintf(closed, sizeof closed, "%s", torture_path(run, "closed"));
    snprintf(killed, sizeof killed, "%s", torture_path(run, "killed"));
    snprintf(hurt, sizeof hurt, "%s", torture_path(run, "hurt"));
    snprintf(target, sizeof target, "%s", torture_path(run, "target"));
    static records_bench self;
    self = (records_bench){.closed = closed,
                           .killed = killed,
                           .hurt = hurt,
                           .target = target,
                           .stride = run->brief ? 61 : 7};
    torture_trial(run);
    if (make_stores(run, &self) && find_places(run, &self, closed)) {
        self.of_closed = self.count;
        if (find_places(run, &self, killed)) {
            self.singles = self.count * VALUES / self.stride;
            torture_guard_each(run, self.singles + (run->brief ? 40 : 1000), 20, true, trial,
                               &self);
        }
    }
}
