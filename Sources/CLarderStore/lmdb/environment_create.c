// SPDX-License-Identifier: MIT
/** @file environment_create.c
    A new data.mdb is three pages: the meta page of no transaction, that of the first one, and a
    leaf that holds the meta record. LMDB would write the same, but under the file's final name, so
    that a kill could leave a file that is no store and not nothing either. Here it gets its name
    when it is whole. Nothing is synced: the first sync of the log does that
    (larder_environment_settle). */
#include <stdio.h>

#include "lmdb/environment_internal.h"
#include "pages/tree_page.h"

char *larder_environment_path(file_path out, const char *folder, const char *name) {
    (void)snprintf(out, sizeof(file_path), "%s/%s", folder, name);
    return out;
}

const char *larder_environment_folder_path(const environment *env) {
    file_path path;
    larder_os_facts facts;
    const folder_path *first = atomic_load(&env->folder);
    for (const folder_path *at = first; first->before != NULL && at != NULL; at = at->before)
        if (!larder_os_file_facts_at(larder_environment_path(path, at->path, "data.mdb"), &facts) &&
            environment_is_of(env, &facts))
            return at->path;
    return first->path;
}

/** As larder_environment_file, by any way to the file. */
static larder_status keep_if_same(const environment *env, int *file, larder_os_facts *facts) {
    larder_status status = larder_os_file_facts_get(*file, facts);
    if (!status && !environment_is_of(env, facts)) status = LARDER_EREPLACED;
    if (status) larder_os_file_close(*file);
    return status;
}

larder_status larder_environment_file(const environment *env, int flags, int *file,
                                      larder_os_facts *facts) {
    file_path path;
    larder_status status = larder_os_file_open(
        larder_environment_path(path, larder_environment_folder_path(env), "data.mdb"), flags, 0,
        file);
    if (status == ENOENT || status == ENOTDIR) return LARDER_EREPLACED;
    return status ? status : keep_if_same(env, file, facts);
}

larder_status larder_environment_folder(const environment *env, int *folder) {
    int file = -1;
    file_path path;
    larder_os_facts facts;
    // With a dot the folder's own name may be a symbolic link, as in the paths of its files.
    larder_status status = larder_os_folder_open(
        larder_environment_path(path, larder_environment_folder_path(env), "."), folder);
    if (!status) status = larder_os_file_open_in(*folder, "data.mdb", 0, 0, &file);
    if (status == ENOENT || status == ENOTDIR) status = LARDER_EREPLACED;
    if (!status) status = keep_if_same(env, &file, &facts);
    if (!status) larder_os_file_close(file);
    if (!status) return LARDER_OK;
    larder_os_file_close(*folder);
    *folder = -1;
    return status;
}

bool larder_environment_is_there(const environment *env) {
    int file;
    larder_os_facts facts;
    if (larder_environment_file(env, 0, &file, &facts) != LARDER_OK) return false;
    larder_os_file_close(file);
    return true;
}

static void store16(uint8_t *target, uint32_t value) { memcpy(target, &value, 2); }

enum { CREATE_PAGES = 3, CREATE_BYTES = CREATE_PAGES * NEW_PAGE_BYTES, CREATE_LEAF = 2 };

static void create_image(uint8_t *image, const store_meta *fresh) {
    meta_page meta = {.kind = PAGE_META,
                      .magic = LMDB_MAGIC,
                      .version = LMDB_DATA_VERSION,
                      // Each new process sets its own; this is LMDB's default.
                      .map_bytes = 1 << 20,
                      .free_list = {NEW_PAGE_BYTES, FREE_LIST_FLAGS, 0, {0}, TREE_NO_PAGE},
                      .main = {0, MAIN_FLAGS, 0, {0}, TREE_NO_PAGE},
                      .last_page = TREE_META_PAGES - 1};
    memcpy(image, &meta, sizeof meta);
    meta.number = meta.transaction = 1;
    meta.main = (tree_head){0, MAIN_FLAGS, 1, {.leaf_pages = 1, .entries = 1}, CREATE_LEAF};
    meta.last_page = CREATE_LEAF;
    memcpy(image + NEW_PAGE_BYTES, &meta, sizeof meta);

    uint8_t *leaf = image + CREATE_LEAF * NEW_PAGE_BYTES;
    uint32_t node_bytes = NODE_HEAD_BYTES + 1 + META_BYTES;
    uint32_t upper = NEW_PAGE_BYTES - ((node_bytes + 1) & ~1u);
    leaf[0] = CREATE_LEAF;
    store16(leaf + 10, PAGE_LEAF);
    store16(leaf + 12, PAGE_HEAD_BYTES + 2);
    store16(leaf + 14, upper);
    store16(leaf + PAGE_HEAD_BYTES, upper);
    uint8_t *node = leaf + upper;
    store16(node, META_BYTES);
    store16(node + 6, 1);
    node[NODE_HEAD_BYTES] = SPACE_META;
    store_meta first = *fresh;
    first.transaction = 1;
    first.page_bytes = NEW_PAGE_BYTES;
    larder_store_meta_write(node + NODE_HEAD_BYTES + 1, &first);
}

larder_status larder_environment_settle(environment *env) {
    uint8_t image[CREATE_BYTES];
    file_path path;
    larder_os_facts ignored;
    size_t got = 0;
    int file;
    larder_status status = larder_environment_file(env, LARDER_OS_WRITE, &file, &ignored);
    if (status) return status;
    pthread_mutex_lock(&env->lmdb_lock);
    // An earlier sync may have failed, here or in another process: its pages count as clean then,
    // and only what is written again is sure to reach the device. What LMDB has committed since is
    // there.
    if (!env->lmdb) {
        status = larder_os_file_read_at(file, image, sizeof image, 0, &got);
        if (!status) status = larder_os_file_write_at(file, image, got, 0);
    }
    pthread_mutex_unlock(&env->lmdb_lock);
    if (!status) status = larder_os_file_sync(file);
    larder_os_file_close(file);
    if (!status)
        status = larder_os_file_sync_parent(
            larder_environment_path(path, larder_environment_folder_path(env), "data.mdb"));
    return status ? status : larder_os_file_sync_parent(larder_environment_folder_path(env));
}

/** What a power cut may leave of a file that was just made: it is no longer, and where a meta page
    begins there is one or nothing. Somebody else's file is not so. */
bool larder_environment_is_unmade(const char *folder) {
    file_path path;
    larder_os_facts facts;
    int file;
    larder_status status =
        larder_os_file_open(larder_environment_path(path, folder, "data.mdb"), 0, 0, &file);
    if (status) return status == ENOENT;
    bool is_remnant =
        !larder_os_file_facts_get(file, &facts) && facts.is_regular && facts.bytes <= CREATE_BYTES;
    for (uint64_t which = 0; which < TREE_META_PAGES && is_remnant; which++) {
        meta_page head = {0};
        size_t got;
        is_remnant =
            !larder_os_file_read_at(file, &head, sizeof head, which * NEW_PAGE_BYTES, &got) &&
            (!head.number || head.number == which) && (!head.magic || head.magic == LMDB_MAGIC);
    }
    larder_os_file_close(file);
    return is_remnant;
}

larder_status larder_environment_create(const char *folder, const store_meta *meta, uint32_t mode) {
    file_path unfinished, path;
    uint8_t image[CREATE_BYTES] = {0};
    create_image(image, meta);
    int file = -1;
    larder_status status = larder_os_file_size_check(CREATE_BYTES);
    // Of an attempt that a crash ended; nothing that is there is written to.
    if (!status)
        status = larder_os_file_remove(larder_environment_path(unfinished, folder, "data.new"));
    if (!status || status == ENOENT)
        status = larder_os_file_open(
            unfinished, LARDER_OS_WRITE | LARDER_OS_CREATE | LARDER_OS_EXCLUSIVE, mode, &file);
    if (!status) status = larder_os_file_change_mode(file, mode);
    if (!status) status = larder_os_file_write_at(file, image, CREATE_BYTES, 0);
    // If we crash here, there is no data.mdb yet, and the next open creates it.
    if (!status)
        status =
            larder_os_file_rename(unfinished, larder_environment_path(path, folder, "data.mdb"));
    if (status && file >= 0) (void)larder_os_file_remove(unfinished);
    larder_os_file_close(file);
    return status;
}
