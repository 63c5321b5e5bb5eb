// SPDX-License-Identifier: MIT
/** @file identity.c
    The lock's file: whose the store is, and whether the machine ran on since it was written to. */
#include "handle/identity.h"

#include <stdio.h>
#include <unistd.h>

#include "larder_crc32c.h"
#include "larder_os_machine.h"

enum { LOCK_TEXT_BYTES = 64 };

static void boot_text(char out[33]) {
    uint8_t id[16];
    larder_os_boot_id(id);
    for (int at = 0; at < 16; at++) snprintf(out + 2 * at, 3, "%02x", id[at]);
}

/** Of a location in the log of that store: a power cut may leave a part of one text in another, and
    the text of a store in the folder of the next one. */
static uint32_t sum_of(location synced, uint64_t store_id) {
    const uint64_t parts[] = {synced.segment, synced.offset, store_id};
    return larder_crc32c(0, parts, sizeof parts);
}

location larder_lock_text_synced(const lock_text *text, uint64_t store_id) {
    bool is_of_it = text->synced_sum == sum_of(text->synced, store_id);
    return is_of_it ? text->synced : (location){0, 0};
}

static lock_text lock_text_read(int file) {
    char bytes[LOCK_TEXT_BYTES + 1] = {0}, boot[33];
    lock_text text = {.pid = 0};
    size_t got;
    long long pid = 0;
    unsigned segment = 0, sum = 0;
    unsigned long long offset = 0;
    if (larder_os_file_read_at(file, bytes, LOCK_TEXT_BYTES, 0, &got) == LARDER_OK &&
        sscanf(bytes, "%19lld %32s %8x %16llx %8x", &pid, text.boot, &segment, &offset, &sum) >= 1)
        text.pid = pid;
    text.synced = (location){segment, offset};
    text.synced_sum = sum;
    boot_text(boot);
    text.is_other_boot = strcmp(text.boot, boot) != 0;
    return text;
}

/** `pid boot segment offset sum`, the last three hexadecimal; `-` for a start that nobody noted. */
static larder_status lock_text_write(const store_identity *identity, int64_t pid) {
    char bytes[LOCK_TEXT_BYTES + 1];
    const char *boot = identity->boot[0] != 0 ? identity->boot : "-";
    int length = snprintf(bytes, sizeof bytes, "%lld %s %x %llx %08x", (long long)pid, boot,
                          identity->synced.segment, (unsigned long long)identity->synced.offset,
                          identity->synced_sum);
    // Without room, nothing is said of it.
    if (length > LOCK_TEXT_BYTES)
        length = snprintf(bytes, sizeof bytes, "%lld %s", (long long)pid, boot);
    for (int at = length; at < LOCK_TEXT_BYTES; at++) bytes[at] = '\n';
    return larder_os_file_write_at(identity->lock_file, bytes, LOCK_TEXT_BYTES, 0);
}

void larder_identity_unlock(store_identity *identity, bool is_clean) {
    if (identity->lock_file < 0) return;
    // The number of a process that is gone may stay: then the next one syncs once more.
    if (is_clean) (void)!lock_text_write(identity, 0);
    larder_os_file_unlock(identity->lock_file);
    larder_os_file_close(identity->lock_file);
    identity->lock_file = -1;
}

/** Opens the lock's file and locks it.
    @return LARDER_OK; LARDER_EBUSY; EAGAIN if another file has come into its place. */
static larder_status open_lock(store_identity *identity, uint32_t mode) {
    file_path path;
    larder_os_facts facts, there;
    (void)larder_environment_path(path, identity->path, "lock");
    larder_os_file_close(identity->lock_file);
    larder_status status = larder_os_file_open(path, LARDER_OS_WRITE, 0, &identity->lock_file);
    identity->made_lock = status == ENOENT;
    if (identity->made_lock)
        status = larder_os_file_open(path, LARDER_OS_WRITE | LARDER_OS_CREATE | LARDER_OS_EXCLUSIVE,
                                     larder_lock_mode(mode), &identity->lock_file);
    if (status == EEXIST) return EAGAIN;
    if (!status) status = larder_os_file_lock(identity->lock_file);
    // Whoever has the lock owns the file.
    if (status) identity->made_lock = false;
    if (status) return status;
    // Whoever made it may have removed it again meanwhile.
    status = larder_os_file_facts_get(identity->lock_file, &facts);
    if (!status) status = larder_os_file_facts_at(path, &there);
    if (status == ENOENT || (!status && facts.inode != there.inode)) return EAGAIN;
    if (!status && facts.mode != larder_lock_mode(facts.mode))
        (void)larder_os_file_change_mode(identity->lock_file, larder_lock_mode(facts.mode));
    return status;
}

larder_status larder_identity_folder(const store_identity *identity, int *folder) {
    file_path path;
    larder_os_facts held;
    larder_os_identity there;
    *folder = -1;
    larder_status status = larder_os_file_facts_get(identity->lock_file, &held);
    // With a dot the folder's own name may be a symbolic link, as in the paths of its files.
    if (!status)
        status = larder_os_folder_open(larder_environment_path(path, identity->path, "."), folder);
    if (!status) status = larder_os_file_identify_in(*folder, "lock", &there);
    bool is_gone = status == ENOENT || status == ENOTDIR;
    if (is_gone || (!status && (there.device != held.device || there.inode != held.inode)))
        status = LARDER_EREPLACED;
    if (!status) return LARDER_OK;
    larder_os_file_close(*folder);
    *folder = -1;
    return status;
}

bool larder_identity_is_foreign(const store_identity *identity) {
    char bytes[LOCK_TEXT_BYTES + 1];
    size_t got = 0;
    int file = -1;
    file_path path;
    larder_status status =
        larder_os_file_open(larder_environment_path(path, identity->path, "lock"), 0, 0, &file);
    if (!status) status = larder_os_file_read_at(file, bytes, sizeof bytes, 0, &got);
    larder_os_file_close(file);
    // What cannot be read, whoever opens it to write will see.
    if (status) return false;
    // Ours has always had this length, or none. Zeros are what a power cut leaves, and strchr finds
    // them.
    bool is_ours = got == 0 || got == LOCK_TEXT_BYTES;
    for (size_t at = 0; is_ours && at < got; at++)
        is_ours = strchr("0123456789abcdef -\n", bytes[at]) != NULL;
    return !is_ours;
}

void larder_identity_undo(store_identity *identity) {
    int folder;
    bool has_made = identity->made_lock && identity->lock_file >= 0;
    if (has_made && larder_identity_folder(identity, &folder) == LARDER_OK) {
        (void)!larder_os_file_remove_in(folder, "lock");
        larder_os_file_close(folder);
    }
    if (has_made) larder_identity_unlock(identity, false);
}

larder_status larder_identity_lock(store_identity *identity, uint32_t mode, lock_text *past,
                                   larder_store_detail *detail) {
    enum { OPEN_ATTEMPTS = 16 };
    larder_status status = EAGAIN;
    detail->part = LARDER_STORE_PART_LOCK;
    for (int attempt = 0; status == EAGAIN && attempt < OPEN_ATTEMPTS; attempt++)
        status = open_lock(identity, mode);
    if (status == EAGAIN) status = LARDER_EBUSY;
    if (identity->lock_file >= 0) *past = lock_text_read(identity->lock_file);
    if (status == LARDER_EBUSY) detail->holder_pid = past->pid;
    if (status == LARDER_ELOCKED) detail->holder_pid = larder_os_file_lock_pid(identity->lock_file);
    if (status) return status;
    // The new start of the machine is noted when the store is whole again: an open that fails in
    // between must not hide it from the next one.
    memcpy(identity->boot, past->boot, sizeof identity->boot);
    identity->synced = past->synced;
    identity->synced_sum = past->synced_sum;
    return lock_text_write(identity, (int64_t)getpid());
}

larder_status larder_identity_note_boot(store_identity *identity) {
    boot_text(identity->boot);
    return lock_text_write(identity, (int64_t)getpid());
}

void larder_identity_note_synced(store_identity *identity, location synced, uint64_t store_id) {
    identity->synced = synced;
    identity->synced_sum = sum_of(synced, store_id);
    // Without it the next one takes less for granted.
    if (identity->lock_file >= 0) (void)!lock_text_write(identity, (int64_t)getpid());
}

lock_text larder_identity_look(const store_identity *identity, int64_t *holder_pid) {
    file_path path;
    int file;
    // One that cannot be read says nothing.
    (void)!larder_os_file_open(larder_environment_path(path, identity->path, "lock"), 0, 0, &file);
    lock_text text = lock_text_read(file);
    *holder_pid = larder_os_file_is_locked(file) ? text.pid : 0;
    larder_os_file_close(file);
    return text;
}

// A file of its own: a page of the index may be what is damaged.
static const char damage_name[] = "damaged";

void larder_identity_note_damage(const store_identity *identity, uint32_t mode) {
    int folder, file = -1;
    // Where that fails, the next handle runs into the damage as this one did.
    if (larder_identity_folder(identity, &folder)) return;
    (void)!larder_os_file_open_in(folder, damage_name, LARDER_OS_WRITE | LARDER_OS_CREATE, mode,
                                  &file);
    larder_os_file_close(file);
    (void)!larder_os_folder_sync(folder);
    larder_os_file_close(folder);
}

bool larder_identity_has_damage(const store_identity *identity) {
    int folder;
    larder_os_facts facts;
    if (larder_identity_folder(identity, &folder)) return false;
    larder_status status = larder_os_file_facts_in(folder, damage_name, &facts);
    larder_os_file_close(folder);
    return !status && facts.is_regular;
}

void larder_identity_forget_damage(const store_identity *identity) {
    int folder;
    if (larder_identity_folder(identity, &folder)) return;
    (void)!larder_os_file_remove_in(folder, damage_name);
    larder_os_file_close(folder);
}
