// SPDX-License-Identifier: MIT
/** @file salvage.c
    Salvage: what salvage_find.c found, into a new store. */
#include "salvage.h"

#include <errno.h>
#include <stdlib.h>

/** LARDER_EBUSY if somebody has the store open for writing. */
static larder_status source_is_idle(const char *source) {
    int folder;
    larder_status status = file_open(source, 0, 0, &folder);
    file_facts facts = {0};
    if (!status) status = file_facts_get(folder, &facts);
    file_close(folder);
    if (status) return status;
    if (!facts.is_folder) return ENOTDIR;
    char *path = path_joined(source, "/lock");
    if (!path) return ENOMEM;
    int lock;
    // One that is missing, or is something else, locks nothing.
    if (file_open(path, 0, 0, &lock) == LARDER_OK && file_is_locked(lock)) status = LARDER_EBUSY;
    file_close(lock);
    free(path);
    return status;
}

/** Numbers of the files that entries refer to. */
typedef struct file_set {
    spill_reference *items;
    size_t count;
    uint64_t orphans;
} file_set;

static int compare_files(const void *a, const void *b) {
    const spill_reference *left = a, *right = b;
    if (left->epoch != right->epoch) return left->epoch < right->epoch ? -1 : 1;
    return (left->number > right->number) - (left->number < right->number);
}

static int count_orphan(void *context, uint32_t epoch, uint64_t number) {
    file_set *files = context;
    spill_reference file = {.epoch = epoch, .number = number};
    if (!files->count || !bsearch(&file, files->items, files->count, sizeof file, compare_files))
        files->orphans++;
    return 0;
}

/** One entry into the target. A damaged value is counted, and left out. */
static larder_status copy_one(salvage *search, spill *files, copy_target *target,
                              const record *entry) {
    larder_bytes value = entry->value, mapped = {NULL, 0};
    bool is_spilled = (entry->flags & RECORD_SPILLED) != 0;
    if (is_spilled) {
        larder_status status = spill_map(files, &entry->spill, true, &mapped);
        if (status == ENOENT || status == LARDER_EDAMAGED) {
            search->report->damaged++;
            return LARDER_OK;
        }
        if (status) return status;
        value = mapped;
    }
    larder_status status = copy_target_put(target, entry, value, LARDER_STORE_NEVER);
    spill_unmap(mapped);
    if (status) return status;
    search->report->intact++;
    search->report->intact_bytes += value.length;
    return LARDER_OK;
}

static larder_status copy_found(salvage *search, copy_target *target) {
    spill *files;
    larder_status status = spill_open(search->source, 0600, &files);
    // Something else in the folder's place: then no file is there.
    if (status == ELOOP || status == ENOTDIR) status = spill_open("/dev/null", 0600, &files);
    if (status) return status;
    file_set set = {.items = malloc((search->write_count + 1) * sizeof *set.items)};
    if (!set.items) status = ENOMEM;
    for (size_t i = 0; i < search->write_count && !status; i++) {
        record entry;
        if (search->progress && search->progress(search->context, i, search->write_count))
            status = ECANCELED;
        if (!status) status = record_read(search->writes[i].bytes, false, &entry);
        if (!status && (entry.flags & RECORD_SPILLED)) set.items[set.count++] = entry.spill;
        if (!status) status = copy_one(search, files, target, &entry);
    }
    if (!status) {
        if (set.count) qsort(set.items, set.count, sizeof *set.items, compare_files);
        status = spill_list(files, count_orphan, &set);
        if (status == ENOTDIR) status = LARDER_OK;
        search->report->orphans = set.orphans;
    }
    free(set.items);
    spill_close(files);
    return status;
}

static larder_status salvage_into(salvage *search, copy_target *target) {
    larder_status status = salvage_read_journal(search, target->working_path);
    if (!status) status = salvage_scan_data(search);
    if (!status && !search->has_meta && !search->has_journal && !search->write_count &&
        !search->damage_count)
        status = LARDER_EFOREIGN;
    if (status) return status;
    salvage_choose(search);
    return copy_found(search, target);
}

/** As larder_store_salvage, of a source from the root on. */
static larder_status salvage_at(const char *source, const char *target,
                                const larder_store_options *options, larder_progress progress,
                                void *context, larder_store_report *report) {
    larder_store_options wanted;
    larder_store_options_init(&wanted);
    if (options) wanted = *options;
    if (wanted.flags & LARDER_STORE_READ_ONLY) return LARDER_EINVALID;
    larder_status status = source_is_idle(source);
    if (status) return status;
    salvage search = {
        .source = source, .report = report, .progress = progress, .context = context, .file = -1};
    status = salvage_open_data(&search);
    copy_target copy = {0};
    if (!status) {
        if (search.has_meta && wanted.content_format == 0)
            wanted.content_format = search.meta.content_format;
        status = copy_target_open(target, &wanted, &copy);
    }
    if (!status) status = salvage_into(&search, &copy);
    salvage_close(&search);
    if (status) {
        copy_target_abandon(&copy);
        return status;
    }
    return copy_target_finish(&copy);
}

larder_status larder_store_salvage(const char *source, const char *target,
                                   const larder_store_options *options, larder_progress progress,
                                   void *context, larder_store_report *report) {
    char *whole = NULL;
    memset(report, 0, sizeof *report);
    larder_status status = source[0] ? path_from_root(source, &whole) : ENOENT;
    if (status) return status;
    status = salvage_at(whole, target, options, progress, context, report);
    free(whole);
    return status;
}
