// SPDX-License-Identifier: MIT
/** @file owner.c
    The lock of the process that writes, and what it left in the lock's file. */
#include "handle/owner.h"

#include <stdio.h>
#include <unistd.h>

#include "larder_os_machine.h"

enum { OWNER_TEXT_BYTES = 64 };

void larder_owner_boot(char out[33]) {
    uint8_t id[16];
    larder_os_boot_id(id);
    for (int at = 0; at < 16; at++) snprintf(out + 2 * at, 3, "%02x", id[at]);
}

static owner_text owner_text_read(int file) {
    char bytes[OWNER_TEXT_BYTES + 1] = {0}, boot[33];
    owner_text text = {.pid = 0};
    size_t got;
    long long pid;
    if (larder_os_file_read_at(file, bytes, OWNER_TEXT_BYTES, 0, &got) == LARDER_OK &&
        sscanf(bytes, "%19lld %32s", &pid, text.boot) >= 1)
        text.pid = pid;
    larder_owner_boot(boot);
    text.is_other_boot = strcmp(text.boot, boot) != 0;
    return text;
}

larder_status larder_owner_write(const larder_store *store, int64_t pid) {
    char bytes[OWNER_TEXT_BYTES + 1];
    int length = snprintf(bytes, sizeof bytes, "%lld %s", (long long)pid, store->boot);
    for (int at = length; at < OWNER_TEXT_BYTES; at++) bytes[at] = '\n';
    return larder_os_file_write_at(store->lock_file, bytes, OWNER_TEXT_BYTES, 0);
}

void larder_owner_release(larder_store *store, bool is_clean) {
    if (store->lock_file < 0) return;
    // The number of a process that is gone may stay: then the next one syncs once more.
    if (is_clean) (void)!larder_owner_write(store, 0);
    larder_os_file_unlock(store->lock_file);
    larder_os_file_close(store->lock_file);
    store->lock_file = -1;
}

larder_status larder_owner_take(larder_store *store, owner_text *past,
                                larder_store_detail *detail) {
    file_path path;
    detail->part = LARDER_STORE_PART_LOCK;
    larder_status status = larder_os_file_open(larder_environment_path(path, store->path, "lock"),
                                               LARDER_OS_WRITE | LARDER_OS_CREATE,
                                               store->options.mode, &store->lock_file);
    if (status) return status;
    status = larder_os_file_lock(store->lock_file);
    *past = owner_text_read(store->lock_file);
    if (status == LARDER_EBUSY) detail->holder_pid = past->pid;
    if (status) return status;
    // The new start of the machine is noted when the store is whole again: an open that fails in
    // between must not hide it from the next one.
    memcpy(store->boot, past->boot, sizeof store->boot);
    return larder_owner_write(store, (int64_t)getpid());
}

bool larder_store_was_cut(const larder_store *store, int64_t *holder_pid) {
    file_path path;
    int file;
    // One that cannot be read says nothing.
    (void)!larder_os_file_open(larder_environment_path(path, store->path, "lock"), 0, 0, &file);
    owner_text text = owner_text_read(file);
    *holder_pid = larder_os_file_is_locked(file) ? text.pid : 0;
    larder_os_file_close(file);
    return text.is_other_boot;
}
