// SPDX-License-Identifier: MIT
/** @file spill_list.c
    Deleting and listing values in files of their own. */
#include <errno.h>
#include <stdlib.h>

#include "spill_internal.h"

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

// Deleting ----------------------------------------------------------------------------------------

larder_status spill_delete(spill *folder, uint32_t epoch, uint64_t number) {
    spill_path path;
    spill_path_of_file(folder, epoch, number, &path);
    // The room on the device is free when nobody maps the file any more.
    spill_cache_drop(&folder->cache, epoch, number);
    larder_status status = spill_check_store(folder);
    if (status) return status;
    status = file_remove(path.text);
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
    spill_path_of_epoch(folder, epoch, &path);
    larder_status status = folder_list(path.text, number_list_add, list);
    if (list->is_out_of_memory) status = ENOMEM;
    return status == ENOENT ? LARDER_OK : status;
}

larder_status spill_delete_epoch(spill *folder, uint32_t epoch, larder_progress progress,
                                 void *context) {
    number_list list;
    spill_cache_drop(&folder->cache, epoch, UINT64_MAX);
    larder_status status = spill_check_store(folder);
    if (status) return status;
    status = number_list_make(folder, epoch, &list);
    if (!status && progress && progress(context, 0, list.count)) status = ECANCELED;
    for (size_t i = 0; i < list.count && !status; i++) {
        status = spill_delete(folder, epoch, list.items[i]);
        if (!status && progress && progress(context, i + 1, list.count) && i + 1 < list.count)
            status = ECANCELED;
    }
    free(list.items);
    if (status) return status;
    status = spill_check_store(folder);
    if (status) return status;
    spill_path path;
    spill_path_of_epoch(folder, epoch, &path);
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
