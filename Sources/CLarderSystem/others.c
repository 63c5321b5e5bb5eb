// SPDX-License-Identifier: MIT
/** @file others.c
    What other users of the machine may have prepared: files that were there before, and names in a
    folder in which they may make files, too. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "descriptor.h"
#include "larder_os_machine.h"

enum { OTHERS_MAY_WRITE = 0002, DIGITS = 8, TRIES = 64 };

larder_status larder_os_trust_check(const larder_os_facts *facts, bool trusts_others) {
    if (!trusts_others && facts->owner != 0 && facts->owner != larder_os_user())
        return LARDER_EOWNER;
    if (!trusts_others && (facts->mode & OTHERS_MAY_WRITE)) return LARDER_EWRITABLE;
    return facts->links > 1 && !facts->is_folder ? LARDER_ELINKED : LARDER_OK;
}

larder_status larder_os_file_make_beside(int folder, const char *name, const char *kind,
                                         uint32_t mode, int *out, char **made) {
    *out = -1;
    size_t bytes = strlen(name) + strlen(kind) + DIGITS + sizeof ".-";
    *made = malloc(bytes);
    if (!*made) return ENOMEM;
    // Whoever wants to be first each time has to make billions of files.
    larder_status status = EEXIST;
    for (int tries = 0; status == EEXIST && tries < TRIES; tries++) {
        (void)snprintf(*made, bytes, "%s.%s-%08x", name, kind, larder_os_random());
        status = larder_os_file_open_in(
            folder, *made, LARDER_OS_WRITE | LARDER_OS_CREATE | LARDER_OS_EXCLUSIVE, mode, out);
    }
    if (!status) return LARDER_OK;
    free(*made);
    *made = NULL;
    return status;
}

/** What may be swept from a folder. */
typedef struct remains {
    int folder;
    const char *name, *kind;
} remains;

static bool is_made_beside(const remains *of, const char *name) {
    const char *const parts[] = {of->name, ".", of->kind};
    for (int i = 0; i < 3; i++) {
        for (const char *part = parts[i]; *part; part++)
            if (*name++ != *part) return false;
    }
    if (!*name) return true;
    if (*name++ != '-' || strlen(name) != DIGITS) return false;
    for (; *name; name++) {
        bool is_digit = (*name >= '0' && *name <= '9') || (*name >= 'a' && *name <= 'f');
        if (!is_digit) return false;
    }
    return true;
}

static int remove_remains(void *context, const char *name) {
    const remains *of = context;
    struct stat facts;
    if (is_made_beside(of, name) && fstatat(of->folder, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(facts.st_mode) && facts.st_nlink == 1 && facts.st_uid == geteuid())
        (void)larder_os_file_remove_in(of->folder, name);
    return 0;
}

void larder_os_file_sweep_beside(int folder, const char *name, const char *kind) {
    remains of = {folder, name, kind};
    (void)larder_os_folder_list_in(folder, remove_remains, &of);
}

larder_status larder_os_file_find(const larder_os_facts *file, const char *path) {
    larder_os_facts found;
    if (larder_os_file_facts_at(path, &found)) return LARDER_ENOTFOUND;
    return larder_os_is_same_file(file, &found) ? LARDER_OK : LARDER_EREPLACED;
}

larder_status larder_os_file_check_place(int file, const larder_os_facts *facts, const char *path) {
    larder_os_facts now;
    larder_status status = larder_os_file_find(facts, path);
    if (status != LARDER_ENOTFOUND) return status;
    status = larder_os_file_facts_get(file, &now);
    return !status && now.links == 0 ? LARDER_EREPLACED : status;
}

larder_status larder_os_file_folder_open(const larder_os_facts *file, const char *path, int *folder,
                                         const char **name) {
    larder_os_facts found;
    larder_status status = larder_os_parent_open(path, folder, name);
    if (!status) status = larder_os_file_facts_in(*folder, *name, &found);
    if (!status && larder_os_is_same_file(file, &found)) return LARDER_OK;
    larder_os_file_close(*folder);
    *folder = -1;
    return !status || status == ENOENT || status == ENOTDIR ? LARDER_EREPLACED : status;
}
