// SPDX-License-Identifier: MIT
#include "handle/trust.h"

#include "log/segment.h"

typedef struct trust {
    const larder_store_options *options;
    const char *folder;
    larder_store_detail *detail;
    larder_status status;
} trust;

enum { ANYONE_WRITES = 0002, STICKY = 01000 };

static larder_status judge(const larder_store_options *options, larder_os_facts facts) {
    // In a sticky folder others can make files, but not in the place of ours.
    if ((facts.is_folder && (facts.mode & STICKY) != 0) || (options->mode & ANYONE_WRITES) != 0)
        facts.mode &= ~(uint32_t)ANYONE_WRITES;
    return larder_os_trust_check(&facts, (options->flags & LARDER_STORE_TRUST_OTHERS) != 0);
}

/** @return as larder_os_trust_check, or an errno. */
static larder_status look_at(const trust *of, const char *name, larder_store_part part,
                             uint32_t number) {
    file_path path;
    larder_os_facts facts;
    larder_status status =
        larder_os_file_facts_at(larder_environment_path(path, of->folder, name), &facts);
    if (status == ENOENT || status == ENOTDIR) return LARDER_OK;
    if (status) return status;
    // LMDB is given that one by its name, and only at the first checkpoint.
    const bool is_file = facts.is_regular || part != LARDER_STORE_PART_READERS;
    if (is_file && !facts.is_regular && !facts.is_folder) return LARDER_OK;
    status = is_file ? judge(of->options, facts) : LARDER_EFOREIGN;
    if (status) *of->detail = (larder_store_detail){.part = part, .segment = number};
    return status;
}

static int look_at_segment(void *context, const char *name) {
    trust *of = context;
    uint32_t number;
    char inside[8 + SEGMENT_NAME_BYTES] = "log/";
    if (!larder_segment_number_of(name, &number)) return 0;
    larder_segment_name(number, inside + 4);
    of->status = look_at(of, inside, LARDER_STORE_PART_JOURNAL, number);
    return of->status ? 1 : 0;
}

larder_status larder_store_trust(const char *folder, const larder_store_options *options,
                                 larder_store_detail *detail) {
    static const struct {
        const char *name;
        larder_store_part part;
    } parts[] = {{".", LARDER_STORE_PART_FOLDER},      {"lock", LARDER_STORE_PART_LOCK},
                 {"data.mdb", LARDER_STORE_PART_DATA}, {"lock.mdb", LARDER_STORE_PART_READERS},
                 {"feed", LARDER_STORE_PART_READERS},  {"log", LARDER_STORE_PART_JOURNAL}};
    trust of = {.options = options, .folder = folder, .detail = detail};
    file_path log;
    for (size_t at = 0; at < sizeof parts / sizeof *parts && !of.status; at++)
        of.status = look_at(&of, parts[at].name, parts[at].part, 0);
    if (of.status) return of.status;
    larder_status status =
        larder_os_folder_list(larder_environment_path(log, folder, "log"), look_at_segment, &of);
    if (of.status) return of.status;
    // Whoever needs the folder says what is wrong with it.
    return status == ENOENT || status == ENOTDIR || status == ELOOP ? LARDER_OK : status;
}
