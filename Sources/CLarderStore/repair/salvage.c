// SPDX-License-Identifier: MIT
/** @file salvage.c
    Salvage: what is found in the remains of a store, into a new one. */
#include "repair/salvage.h"

#include "read/read.h"
#include "repair/copy_target.h"

/** LARDER_EBUSY if somebody has the store open for writing. */
static larder_status source_is_free(const char *source) {
    int folder, lock;
    larder_status status = larder_os_folder_open(source, &folder);
    // A lock that is missing, or is something else, locks nothing.
    if (!status && !larder_os_file_open_in(folder, "lock", 0, 0, &lock)) {
        if (larder_os_file_is_locked(lock)) status = LARDER_EBUSY;
        larder_os_file_close(lock);
    }
    larder_os_file_close(folder);
    return status;
}

/** What the tree knows of reads and renewals of an entry, where it is sound: when it expires. */
static int64_t deadline_found(const salvage *search, larder_bytes bytes) {
    record entry;
    if (!search->has_tree || larder_record_read(bytes, false, &entry) ||
        (entry.flags & RECORD_IDLES) == 0)
        return LARDER_STORE_NEVER;
    int64_t idle = larder_idle_deadline(search->newest, &entry);
    return record_is_renewable(&entry) ? idle : earlier(entry.expires_ns, idle);
}

static larder_status copy_found(salvage *search, copy_target *target) {
    larder_status status = LARDER_OK;
    for (size_t i = 0; i < search->count; i++) {
        const uint8_t *at = search->findings[i].bytes;
        larder_bytes found = record_bytes(at);
        status = larder_salvage_told(search, i, search->count);
        if (!status) status = larder_copy_target_put(target, found, deadline_found(search, found));
        if (status) break;
        search->report->intact++;
        search->report->intact_bytes += larder_record_value_length(at);
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
    copy_target copy;
    larder_status status = source_is_free(source);
    if (!status) status = larder_salvage_find(&search, source);
    if (!status && wanted.content_format == 0) wanted.content_format = search.form.content_format;
    if (!status && wanted.key_form == 0) wanted.key_form = search.form.key_form;
    if (!status) status = larder_copy_target_open(target, &wanted, &copy);
    if (!status) status = larder_copy_target_finish(&copy, copy_found(&search, &copy));
    larder_salvage_close(&search);
    return status;
}
