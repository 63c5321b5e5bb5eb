// SPDX-License-Identifier: MIT
// Stores to be hurt: made by a child, read into memory, written again as often as needed.
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "larder_crc32c.h"
#include "store_specimen.h"

static bool find_records(store_specimen *out);

// Making ------------------------------------------------------------------------------------------

typedef struct making {
    book *book;
    const char *path;
    rng random;
    uint64_t steps;
    bool is_unclosed;
} making;

static void write_store(torture *run, void *context) {
    making *self = context;
    store_plan plan = {.book = self->book,
                       .path = self->path,
                       .random = self->random,
                       .steps = self->steps,
                       .dies_open = self->is_unclosed};
    store_writer_run(&plan);
    EXPECT(run, !atomic_load(&self->book->broken), "the writer: %s", self->book->broken_text);
}

static bool read_folder(store_specimen *out, const char *path, const char *prefix) {
    DIR *entries = opendir(path);
    bool good = entries != NULL;
    for (struct dirent *entry; good && (entry = readdir(entries));) {
        char below[1200], name[400];
        struct stat facts;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
        snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "/" : "", entry->d_name);
        if (stat(below, &facts) != 0) {
            good = false;
        } else if (S_ISDIR(facts.st_mode)) {
            good = read_folder(out, below, name);
        } else {
            good = out->count < SPECIMEN_FILES && strlen(name) < sizeof out->files[0].name;
            if (good) {
                specimen_file *file = &out->files[out->count];
                memcpy(file->name, name, strlen(name) + 1);
                file->size = (size_t)facts.st_size;
                file->bytes = malloc(file->size + 1);
                good =
                    file->bytes && read_file(below, file->bytes, file->size) == (int64_t)file->size;
                out->data = strcmp(name, "data.mdb") == 0 ? out->count : out->data;
                bool is_segment = strncmp(name, "log/", 4) == 0;
                if (is_segment && (out->journal == SPECIMEN_FILES ||
                                   file->size > out->files[out->journal].size)) {
                    out->journal = out->count;
                }
                out->count++;
            }
        }
    }
    if (entries) {
        closedir(entries);
    }
    return good;
}

bool store_specimen_make(torture *run, store_specimen *out, rng *random, uint64_t steps,
                         bool is_unclosed) {
    const char *path = torture_path(run, "made");
    remove_tree(path);
    book *notes = out->book;
    making self = {notes, path, rng_make(rng_next(random)), steps, is_unclosed};
    if (!torture_guard(run, 60, write_store, &self) || atomic_load(&notes->broken)) {
        return false;
    }
    // Only what a flush took along is in the tree.
    memset(out->is_pending, 0, sizeof out->is_pending);
    for (uint32_t i = 0; i < notes->lanes; i++) {
        lane *own = &notes->lane[i];
        uint64_t end = atomic_load(&own->done), flushed = own->first;
        memcpy(out->state[i], own->base, sizeof own->base);
        for (uint64_t n = own->first; n < end; n++) {
            operation what = book_operation(notes, i, n);
            book_apply(i, &what, n, out->state[i]);
            if (what.kind == OPERATION_FLUSH || what.kind == OPERATION_TRIM) {
                flushed = n + 1;
            }
        }
        atomic_store(&own->begun, end);
        atomic_store(&own->synced, is_unclosed ? flushed : end);
        for (uint64_t n = flushed; is_unclosed && n < end; n++) {
            operation what = book_operation(notes, i, n);
            for (uint32_t k = 0; k < what.part_count; k++) {
                out->is_pending[i][what.parts[k].key] = true;
            }
            bool wide = what.kind == OPERATION_REMOVE_ALL || what.kind == OPERATION_REMOVE_PREFIX;
            for (uint32_t key = 0; wide && key < BOOK_KEYS; key++) {
                out->is_pending[i][key] = true;
            }
        }
    }
    out->is_unclosed = is_unclosed;
    out->count = 0;
    out->data = out->journal = SPECIMEN_FILES;
    bool good = read_folder(out, path, "");
    remove_tree(path);
    return EXPECT(run,
                  good && out->data < out->count && out->journal < out->count && find_records(out),
                  "cannot read the store that was made");
}

void store_specimen_free(store_specimen *what) {
    for (uint32_t i = 0; i < what->count; i++) {
        free(what->files[i].bytes);
    }
    free(what->copies);
    what->copies = NULL;
    what->count = what->copy_count = 0;
}

bool store_specimen_write(const store_specimen *what, const char *path) {
    remove_tree(path);
    bool good = mkdir(path, 0700) == 0;
    for (uint32_t i = 0; good && i < what->count; i++) {
        char below[1200];
        snprintf(below, sizeof below, "%s/%s", path, what->files[i].name);
        for (char *slash = below + strlen(path) + 1; (slash = strchr(slash, '/')); slash++) {
            *slash = '\0';
            (void)mkdir(below, 0700);
            *slash = '/';
        }
        good = write_file(below, what->files[i].bytes, what->files[i].size);
    }
    return good;
}

// Records -----------------------------------------------------------------------------------------

// Of the format, as its page in the documentation says.
enum { HEAD_BYTES = 36, CRC_START = 8, SEGMENT_HEAD = 64, PUT = 1, HAS_PARTS = 4 };

static uint32_t u32_at(const uint8_t *bytes) {
    uint32_t value;
    memcpy(&value, bytes, 4);
    return value;
}

static uint64_t u64_at(const uint8_t *bytes) {
    uint64_t value;
    memcpy(&value, bytes, 8);
    return value;
}

static bool find_key(const store_specimen *what, larder_bytes name, specimen_copy *out) {
    uint8_t key[BOOK_KEY_MAX];
    for (out->which = 0; out->which < what->book->lanes; out->which++) {
        for (out->key = 0; out->key < BOOK_KEYS; out->key++) {
            size_t length = book_key(out->which, out->key, key);
            if (length == name.length && (!length || memcmp(key, name.data, length) == 0)) {
                return true;
            }
        }
    }
    return false;
}

/** The record at `at`, if there is one. */
static bool record_at(const store_specimen *what, uint32_t number, size_t at, specimen_copy *out) {
    const specimen_file *file = &what->files[number];
    const uint8_t *bytes = file->bytes + at;
    uint64_t there = file->size - at;
    if (there < HEAD_BYTES) {
        return false;
    }
    uint32_t whole = u32_at(bytes);
    if (whole < HEAD_BYTES || whole > there || bytes[20] != PUT ||
        larder_crc32c(0, bytes + CRC_START, whole - CRC_START) != u32_at(bytes + 4)) {
        return false;
    }
    uint64_t start = HEAD_BYTES;
    for (unsigned optional = 1; optional <= 16; optional *= 2) {
        start += (bytes[21] & optional & (1 | 2 | 16 | HAS_PARTS)) != 0 ? 8u : 0u;
    }
    uint64_t length = u32_at(bytes + 32);
    if (length > BOOK_KEY_MAX || start + length > whole ||
        !find_key(what, bytes_of(bytes + start, length), out)) {
        return false;
    }
    out->file = number;
    out->from = at;
    out->sequence = u64_at(bytes + 8) << 8 | bytes[16]; // A batch has few parts.
    out->to = at + whole;
    return true;
}

static bool find_records(store_specimen *out) {
    uint32_t room = 0;
    out->copy_count = 0;
    memset(out->newest, 0, sizeof out->newest);
    for (uint32_t i = 0; i < out->count; i++) {
        bool is_segment = strncmp(out->files[i].name, "log/", 4) == 0;
        for (size_t at = SEGMENT_HEAD; is_segment && at < out->files[i].size; at += 8) {
            specimen_copy one;
            if (!record_at(out, i, at, &one)) {
                continue;
            }
            if (out->copy_count == room) {
                room = room ? 2 * room : 256;
                specimen_copy *more = realloc(out->copies, room * sizeof *more);
                if (!more) {
                    return false;
                }
                out->copies = more;
            }
            out->copies[out->copy_count++] = one;
            uint64_t *newest = &out->newest[one.which][one.key];
            *newest = one.sequence > *newest ? one.sequence : *newest;
        }
    }
    return true;
}

// Intact ------------------------------------------------------------------------------------------

static bool overlaps(const store_damage *damage, uint32_t file, uint64_t from, uint64_t to) {
    return damage->file == file && damage->from < to && from < damage->to;
}

static bool copy_is_hurt(const specimen_copy *one, const store_damage *damage) {
    return overlaps(damage, one->file, one->from, one->to) ||
           overlaps(damage, one->file, 0, SEGMENT_HEAD);
}

bool store_specimen_is_intact(const store_specimen *what, uint32_t which, uint32_t key,
                              const store_damage *damages, unsigned count) {
    for (uint32_t i = 0; i < what->copy_count; i++) {
        const specimen_copy *one = &what->copies[i];
        if (one->which != which || one->key != key || one->sequence != what->newest[which][key]) {
            continue;
        }
        for (unsigned k = 0; k < count; k++) {
            if (copy_is_hurt(one, &damages[k])) {
                return false;
            }
        }
    }
    return what->newest[which][key] > 0;
}

uint64_t store_specimen_place(const store_specimen *what, uint32_t which, uint32_t key) {
    for (uint32_t i = 0; i < what->copy_count; i++) {
        const specimen_copy *one = &what->copies[i];
        if (one->which == which && one->key == key && one->sequence == what->newest[which][key]) {
            return one->from;
        }
    }
    return 0;
}
