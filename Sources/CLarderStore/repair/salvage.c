// SPDX-License-Identifier: MIT
/** @file salvage.c
    Salvage: what is found in the remains of a store, into a new one. */
#include "repair/salvage.h"

#include "repair/copy_target.h"

#include <errno.h>

/** Opens the folder. LARDER_EBUSY if somebody has the store open for writing. */
static larder_status open_source(const char *source, int *folder) {
    larder_status status = folder_open(source, folder);
    int lock;
    // One that is missing, or is something else, locks nothing.
    if (!status && file_open_in(*folder, "lock", 0, 0, &lock) == LARDER_OK) {
        if (file_is_locked(lock)) status = LARDER_EBUSY;
        file_close(lock);
    }
    return status;
}

static larder_status copy_found(salvage *search, copy_target *target) {
    larder_status status = LARDER_OK;
    for (size_t i = 0; i < search->count && !status; i++) {
        location ignored;
        record entry;
        status = salvage_told(search, i, search->count);
        const uint8_t *at = salvage_record(search, &search->findings[i], &ignored);
        // It was read before.
        if (!status) status = record_read(record_bytes(at), false, &entry);
        if (!status) status = copy_target_put(target, &entry, entry.value, LARDER_STORE_NEVER);
        if (status) break;
        search->report->intact++;
        search->report->intact_bytes += entry.value.length;
    }
    return status;
}

larder_status larder_store_salvage(const char *source, const char *target,
                                   const larder_store_options *options, larder_progress progress,
                                   void *context, larder_store_report *report) {
    memset(report, 0, sizeof *report);
    larder_store_options wanted;
    larder_store_options_init(&wanted);
    if (options) wanted = *options;
    if (wanted.flags & LARDER_STORE_READ_ONLY) return LARDER_EINVALID;
    salvage search = {.report = report,
                      .progress = progress,
                      .context = context,
                      .keeps_uncertain = (wanted.flags & LARDER_STORE_WITH_UNCERTAIN) != 0};
    int folder = -1;
    copy_target copy = {0};
    larder_status status = open_source(source, &folder);
    if (!status) status = salvage_find(&search, folder);
    if (!status && search.has_meta && wanted.content_format == 0)
        wanted.content_format = search.meta.content_format;
    if (!status) status = copy_target_open(target, &wanted, &copy);
    if (!status) status = copy_found(&search, &copy);
    salvage_close(&search);
    file_close(folder);
    if (!status) return copy_target_finish(&copy);
    copy_target_abandon(&copy);
    return status;
}
