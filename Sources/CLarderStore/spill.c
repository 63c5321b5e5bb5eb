// SPDX-License-Identifier: MIT
/** @file spill.c
    Values in files of their own.

    No temporary name and no rename are needed: nobody refers to a file before the write that names
    its number is in the journal, and that comes after the file is whole. So a file is whole, or
    nobody looks at it; which a number's intent in the journal has deleted at the next open.

    Invariants:
    1. A number is never given twice, so a file that is there under a new number is one whose intent
       a power cut took away, together with everything that could refer to it. It is replaced.
    2. A file's length and checksum are in the reference, not in the file: it holds the value and
       nothing else. */
#include "spill.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "file_io.h"
#include "larder_crc32c.h"
#include "spill_cache.h"

enum {
    EPOCH_DIGITS = 8,
    NUMBER_DIGITS = 16,
    /** A slash before each, and the final NUL. */
    NAME_ROOM = 1 + EPOCH_DIGITS + 1 + NUMBER_DIGITS + 1,
    /** What the system takes as a path at most, everywhere that Larder runs. */
    PATH_ROOM = 4096
};

struct spill {
    uint32_t mode;
    uint32_t folder_mode;
    /** The epoch whose folder's name is on the device, and 1; 0 if that is not known of any. */
    _Atomic uint64_t synced_epoch;
    spill_cache cache;
    size_t root_length;
    /** `<store>/spill`, and its end. */
    char root[];
};

/** The path of a file or folder below the root. */
typedef struct spill_path {
    char text[PATH_ROOM];
} spill_path;

static char *put_hex(char *target, uint64_t value, int digits) {
    for (int i = digits - 1; i >= 0; i--) {
        target[i] = "0123456789abcdef"[value & 15];
        value >>= 4;
    }
    return target + digits;
}

/** Whether `name` is a number of just that many digits, as put_hex writes them, and which. */
static bool get_hex(const char *name, size_t digits, uint64_t *value) {
    *value = 0;
    if (strlen(name) != digits) return false;
    for (; *name; name++) {
        const char *digit = strchr("0123456789abcdef", *name);
        if (!digit) return false;
        *value = *value << 4 | (uint64_t)(digit - "0123456789abcdef");
    }
    return true;
}
_Static_assert(sizeof "0123456789abcdef" == 17, "hexadecimal digits");

static char *path_of_epoch(const spill *folder, uint32_t epoch, spill_path *path) {
    memcpy(path->text, folder->root, folder->root_length);
    char *end = path->text + folder->root_length;
    *end++ = '/';
    end = put_hex(end, epoch, EPOCH_DIGITS);
    *end = 0;
    return end;
}

static void path_of_file(const spill *folder, uint32_t epoch, uint64_t number, spill_path *path) {
    char *end = path_of_epoch(folder, epoch, path);
    *end++ = '/';
    *put_hex(end, number, NUMBER_DIGITS) = 0;
}

// Opening -----------------------------------------------------------------------------------------

larder_status spill_open(const char *store, uint32_t mode, spill **out) {
    *out = NULL;
    size_t length = strlen(store);
    if (length + sizeof "/spill" + NAME_ROOM > PATH_ROOM) return ENAMETOOLONG;
    spill *folder = malloc(sizeof *folder + length + sizeof "/spill");
    if (!folder) return ENOMEM;
    folder->mode = mode;
    // Who may read a folder may search it.
    folder->folder_mode = mode | (mode & 0444) >> 2;
    atomic_init(&folder->synced_epoch, 0);
    spill_cache_init(&folder->cache);
    memcpy(folder->root, store, length);
    memcpy(folder->root + length, "/spill", sizeof "/spill");
    folder->root_length = length + sizeof "/spill" - 1;

    // Something else of that name, a symbolic link for one, is told of now and not at the first
    // value.
    int file;
    larder_status status = file_open(folder->root, 0, 0, &file);
    file_facts facts = {0};
    if (!status) status = file_facts_get(file, &facts);
    if (!status && !facts.is_folder) status = ENOTDIR;
    file_close(file);
    if (status && status != ENOENT) {
        spill_close(folder);
        return status;
    }
    *out = folder;
    return LARDER_OK;
}

void spill_close(spill *folder) {
    if (!folder) return;
    spill_cache_destroy(&folder->cache);
    free(folder);
}

/** Makes the folder of an epoch, and the root above it. */
static larder_status spill_make_folders(const spill *folder, uint32_t epoch) {
    larder_status status = folder_make(folder->root, folder->folder_mode);
    if (status && status != EEXIST) return status;
    spill_path path;
    path_of_epoch(folder, epoch, &path);
    status = folder_make(path.text, folder->folder_mode);
    return status == EEXIST ? LARDER_OK : status;
}

// Writing -----------------------------------------------------------------------------------------

static larder_status spill_create(const spill *folder, uint32_t epoch, const char *path,
                                  int *file) {
    enum { HOW = FILE_WRITE | FILE_CREATE | FILE_EXCLUSIVE };
    larder_status status = file_open(path, HOW, folder->mode, file);
    if (status == ENOENT) {
        status = spill_make_folders(folder, epoch);
        if (!status) status = file_open(path, HOW, folder->mode, file);
    }
    if (status == EEXIST) { // Invariant 1.
        status = file_remove(path);
        if (!status) status = file_open(path, HOW, folder->mode, file);
    }
    return status;
}

larder_status spill_write(spill *folder, larder_bytes value, spill_reference *reference) {
    spill_path path;
    path_of_file(folder, reference->epoch, reference->number, &path);
    larder_status status = file_size_check(value.length);
    if (status) return status;
    int file;
    status = spill_create(folder, reference->epoch, path.text, &file);
    if (status) return status;
    // No usual umask takes away the owner's rights.
    if (folder->mode & 077) status = file_change_mode(file, folder->mode);
    // If we crash here, or before the write ends, the intent's number is all that is known of the
    // file; opening deletes it.
    if (!status) status = file_write_at(file, value.data, value.length, 0);
    file_close(file);
    if (status) {
        (void)file_remove(path.text);
        return status;
    }
    reference->length = value.length;
    reference->crc = larder_crc32c(0, value.data, value.length);
    return LARDER_OK;
}

larder_status spill_move(spill *folder, const spill_reference *from, uint32_t epoch) {
    spill_path source, target;
    path_of_file(folder, from->epoch, from->number, &source);
    path_of_file(folder, epoch, from->number, &target);
    spill_cache_drop(&folder->cache, from->epoch, from->number);
    larder_status status = file_rename(source.text, target.text);
    if (status != ENOENT) return status;
    status = spill_make_folders(folder, epoch);
    return status ? status : file_rename(source.text, target.text);
}

larder_status spill_sync(spill *folder, const spill_reference *reference) {
    spill_path path;
    path_of_file(folder, reference->epoch, reference->number, &path);
    int file;
    larder_status status = file_open(path.text, 0, 0, &file);
    if (status) return status;
    status = file_sync(file);
    file_close(file);
    return status;
}

larder_status spill_sync_folders(spill *folder, uint32_t epoch) {
    spill_path path;
    path_of_file(folder, epoch, 0, &path);
    larder_status status = file_sync_parent(path.text);
    if (status || atomic_load(&folder->synced_epoch) == (uint64_t)epoch + 1) return status;
    path_of_epoch(folder, epoch, &path);
    status = file_sync_parent(path.text);
    if (!status) status = file_sync_parent(folder->root);
    if (!status) atomic_store(&folder->synced_epoch, (uint64_t)epoch + 1);
    return status;
}

larder_status spill_sync_deleted_epoch(spill *folder, uint32_t epoch) {
    spill_path path;
    path_of_epoch(folder, epoch, &path);
    return file_sync_parent(path.text);
}

// Reading -----------------------------------------------------------------------------------------

static bool is_same_file(const file_facts *a, const file_facts *b) {
    return a->inode == b->inode && a->device == b->device && a->bytes == b->bytes &&
           a->changed_ns == b->changed_ns && a->is_regular && b->is_regular;
}

/** Looks whether a mapping that was kept still is the file's, and verifies it again where it is not
    known to be what it was.
    @return LARDER_OK; LARDER_END if it has to be mapped anew. */
static larder_status map_kept(spill *folder, const spill_reference *reference, const char *path,
                              uint8_t **map) {
    file_facts then, now;
    int64_t verified_ns;
    *map = spill_cache_take(&folder->cache, reference, &then, &verified_ns);
    if (!*map) return LARDER_END;
    size_t length = (size_t)reference->length;
    // A file that was cut short must not be touched through the mapping: that would be a signal.
    bool is_same = file_facts_at(path, &now) == LARDER_OK && is_same_file(&then, &now);
    int64_t time = is_same ? system_wall_clock_ns() : 0;
    bool is_trusted = verified_ns - now.changed_ns > SPILL_SETTLE_NS && time >= verified_ns &&
                      time - verified_ns < SPILL_TRUST_NS;
    if (is_same && !is_trusted) {
        is_same = larder_crc32c(0, *map, length) == reference->crc;
        if (is_same) spill_cache_keep(&folder->cache, reference, *map, &now, time);
    }
    if (is_same) return LARDER_OK;
    spill_map_release(*map, length);
    spill_cache_drop(&folder->cache, reference->epoch, reference->number);
    *map = NULL;
    return LARDER_END;
}

/** Maps the file, whatever was mapped before. */
static larder_status map_anew(spill *folder, const spill_reference *reference, const char *path,
                              bool verifies, uint8_t **map) {
    int file;
    larder_status status = file_open(path, 0, 0, &file);
    // A link or a folder in its place is not the file that was written.
    if (status == ELOOP || status == ENXIO) return LARDER_EDAMAGED;
    if (status) return status;
    file_facts facts;
    // The time comes first: what changes from now on has a later one.
    int64_t time = system_wall_clock_ns();
    status = file_facts_get(file, &facts);
    if (!status &&
        (!facts.is_regular || facts.bytes != reference->length || reference->length > PTRDIFF_MAX))
        status = LARDER_EDAMAGED;
    size_t length = (size_t)reference->length;
    if (!status && length > 0) status = spill_map_create(file, length, verifies, map);
    file_close(file);
    if (status || !verifies) return status;
    if (larder_crc32c(0, *map, length) != reference->crc) {
        if (length) spill_map_release(*map, length);
        return LARDER_EDAMAGED;
    }
    if (length) spill_cache_keep(&folder->cache, reference, *map, &facts, time);
    return LARDER_OK;
}

larder_status spill_map(spill *folder, const spill_reference *reference, bool verifies,
                        larder_bytes *mapped) {
    *mapped = (larder_bytes){NULL, 0};
    spill_path path;
    path_of_file(folder, reference->epoch, reference->number, &path);
    uint8_t *map = NULL;
    larder_status status = map_kept(folder, reference, path.text, &map);
    if (status == LARDER_END) status = map_anew(folder, reference, path.text, verifies, &map);
    if (!status) *mapped = (larder_bytes){map, (size_t)reference->length};
    return status;
}

void spill_unmap(larder_bytes mapped) {
    if (mapped.length) spill_map_release((uint8_t *)(uintptr_t)mapped.data, mapped.length);
}

// Deleting ----------------------------------------------------------------------------------------

larder_status spill_delete(spill *folder, uint32_t epoch, uint64_t number) {
    spill_path path;
    path_of_file(folder, epoch, number, &path);
    // The room on the device is free when nobody maps the file any more.
    spill_cache_drop(&folder->cache, epoch, number);
    larder_status status = file_remove(path.text);
    return status == ENOENT ? LARDER_OK : status;
}

/** Numbers of files, found before any is deleted, so that it is known how many there are. */
typedef struct number_list {
    uint64_t *items;
    size_t count;
    size_t capacity;
    bool is_out_of_memory;
} number_list;

static int number_list_add(void *context, const char *name) {
    number_list *list = context;
    uint64_t number;
    if (!get_hex(name, NUMBER_DIGITS, &number)) return 0;
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 256;
        uint64_t *items = realloc(list->items, capacity * sizeof *items);
        if (!items) {
            list->is_out_of_memory = true;
            return 1;
        }
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = number;
    return 0;
}

/** All files of an epoch; none if it has no folder. */
static larder_status number_list_make(const spill *folder, uint32_t epoch, number_list *list) {
    *list = (number_list){0};
    spill_path path;
    path_of_epoch(folder, epoch, &path);
    larder_status status = folder_list(path.text, number_list_add, list);
    if (list->is_out_of_memory) status = ENOMEM;
    return status == ENOENT ? LARDER_OK : status;
}

larder_status spill_delete_epoch(spill *folder, uint32_t epoch, larder_progress progress,
                                 void *context) {
    number_list list;
    spill_cache_drop(&folder->cache, epoch, UINT64_MAX);
    larder_status status = number_list_make(folder, epoch, &list);
    if (!status && progress && progress(context, 0, list.count)) status = ECANCELED;
    for (size_t i = 0; i < list.count && !status; i++) {
        status = spill_delete(folder, epoch, list.items[i]);
        if (!status && progress && progress(context, i + 1, list.count) && i + 1 < list.count)
            status = ECANCELED;
    }
    free(list.items);
    if (status) return status;
    spill_path path;
    path_of_epoch(folder, epoch, &path);
    status = folder_remove(path.text);
    // Something that is not ours keeps the folder.
    return status == ENOENT || status == ENOTEMPTY || status == EEXIST ? LARDER_OK : status;
}

// Listing -----------------------------------------------------------------------------------------

static int epoch_list_add(void *context, const char *name) {
    uint64_t unused;
    // Kept as a number among numbers: a folder's name has fewer digits than a file's.
    if (!get_hex(name, EPOCH_DIGITS, &unused)) return 0;
    char padded[NUMBER_DIGITS + 1] = "00000000";
    memcpy(padded + NUMBER_DIGITS - EPOCH_DIGITS, name, EPOCH_DIGITS + 1);
    return number_list_add(context, padded);
}

larder_status spill_list(spill *folder, int (*body)(void *context, uint32_t epoch, uint64_t number),
                         void *context) {
    number_list epochs = {0};
    larder_status status = folder_list(folder->root, epoch_list_add, &epochs);
    if (epochs.is_out_of_memory) status = ENOMEM;
    if (status == ENOENT) status = LARDER_OK;
    for (size_t i = 0; i < epochs.count && !status; i++) {
        number_list files;
        uint32_t epoch = (uint32_t)epochs.items[i];
        status = number_list_make(folder, epoch, &files);
        for (size_t j = 0; j < files.count && !status; j++)
            if (body(context, epoch, files.items[j])) status = ECANCELED;
        free(files.items);
    }
    free(epochs.items);
    return status;
}
