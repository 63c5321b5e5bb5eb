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

larder_status larder_os_file_make_beside(const char *path, const char *kind, uint32_t mode,
                                         int *out, char **name) {
    *out = -1;
    size_t bytes = strlen(path) + strlen(kind) + DIGITS + sizeof ".-";
    *name = malloc(bytes);
    if (!*name) return ENOMEM;
    // Whoever wants to be first each time has to make billions of files.
    larder_status status = EEXIST;
    for (int tries = 0; status == EEXIST && tries < TRIES; tries++) {
        (void)snprintf(*name, bytes, "%s.%s-%08x", path, kind, larder_os_random());
        status = larder_os_file_open(
            *name, LARDER_OS_WRITE | LARDER_OS_CREATE | LARDER_OS_EXCLUSIVE, mode, out);
    }
    if (!status) return LARDER_OK;
    free(*name);
    *name = NULL;
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

void larder_os_file_sweep_beside(const char *path, const char *kind) {
    const char *slash = strrchr(path, '/');
    remains of = {-1, slash ? slash + 1 : path, kind};
    if (larder_os_parent_open(path, &of.folder)) return;
    (void)larder_os_folder_list_in(of.folder, remove_remains, &of);
    larder_os_file_close(of.folder);
}
