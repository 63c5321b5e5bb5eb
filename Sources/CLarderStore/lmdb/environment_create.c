// SPDX-License-Identifier: MIT
/** @file environment_create.c
    A new data.mdb is three pages: the meta page of no transaction, that of the first one, and a
    leaf that holds the meta record. LMDB would write the same, but under the file's final name, so
    that a kill could leave a file that is no store and not nothing either. Here it gets its name
    when it is whole. Nothing is synced: the first sync of the log does that (environment_settle).
    */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <stdlib.h>

#include "file_io.h"
#include "lmdb/environment_internal.h"
#include "pages/tree_page.h"

char *environment_path(const char *folder, const char *name) {
    size_t folder_bytes = strlen(folder);
    size_t name_bytes = strlen(name);
    char *path = malloc(folder_bytes + name_bytes + 2);
    if (!path) return NULL;
    memcpy(path, folder, folder_bytes);
    path[folder_bytes] = '/';
    memcpy(path + folder_bytes + 1, name, name_bytes + 1);
    return path;
}

static void store16(uint8_t *target, uint16_t value) { memcpy(target, &value, sizeof value); }
static void store32(uint8_t *target, uint32_t value) { memcpy(target, &value, sizeof value); }
static void store64(uint8_t *target, uint64_t value) { memcpy(target, &value, sizeof value); }

enum { CREATE_PAGES = 3, CREATE_BYTES = CREATE_PAGES * NEW_PAGE_BYTES, CREATE_LEAF = 2 };

static void create_meta_page(uint8_t *page, uint64_t which) {
    // Each new process sets its own; this is LMDB's default.
    const uint64_t map_bytes = 1 << 20;
    store64(page, which);
    store16(page + 10, PAGE_META);
    store32(page + META_MAGIC_OFFSET, LMDB_MAGIC);
    store32(page + META_MAGIC_OFFSET + 4, LMDB_DATA_VERSION);
    store64(page + META_MAGIC_OFFSET + 16, map_bytes);
    store32(page + META_FREE_OFFSET, NEW_PAGE_BYTES);
    store16(page + META_FREE_OFFSET + 4, 0x08);
    store64(page + META_FREE_OFFSET + 40, TREE_NO_PAGE);
    store64(page + META_TREE_OFFSET + 40, TREE_NO_PAGE);
    store64(page + META_LAST_PAGE_OFFSET, TREE_META_PAGES - 1);
}

static void create_image(uint8_t *image, const store_meta *fresh) {
    create_meta_page(image, 0);
    uint8_t *meta = image + NEW_PAGE_BYTES;
    create_meta_page(meta, 1);
    store16(meta + META_TREE_OFFSET + 6, 1);
    store64(meta + META_TREE_OFFSET + 16, 1);
    store64(meta + META_TREE_OFFSET + 32, 1);
    store64(meta + META_TREE_OFFSET + 40, CREATE_LEAF);
    store64(meta + META_LAST_PAGE_OFFSET, CREATE_LEAF);
    store64(meta + META_TRANSACTION_OFFSET, 1);

    uint8_t *leaf = image + CREATE_LEAF * NEW_PAGE_BYTES;
    uint32_t node_bytes = NODE_HEAD_BYTES + 1 + META_BYTES;
    uint32_t upper = NEW_PAGE_BYTES - ((node_bytes + 1) & ~1u);
    store64(leaf, CREATE_LEAF);
    store16(leaf + 10, PAGE_LEAF);
    store16(leaf + 12, PAGE_HEAD_BYTES + 2);
    store16(leaf + 14, (uint16_t)upper);
    store16(leaf + PAGE_HEAD_BYTES, (uint16_t)upper);
    uint8_t *node = leaf + upper;
    store32(node, META_BYTES);
    store16(node + 6, 1);
    node[NODE_HEAD_BYTES] = SPACE_META;
    store_meta first = *fresh;
    first.transaction = 1;
    first.page_bytes = NEW_PAGE_BYTES;
    store_meta_write(node + NODE_HEAD_BYTES + 1, &first);
}

/** An earlier sync may have failed, here or in another process: its pages count as clean then, and
    only what is written anew is sure to get to the device. */
static larder_status write_anew(environment *env, int file) {
    uint8_t image[CREATE_BYTES];
    size_t got = 0;
    larder_status status = LARDER_OK;
    pthread_mutex_lock(&env->lmdb_lock);
    // What LMDB has committed since is on the device.
    if (!env->lmdb) {
        status = file_read_at(file, image, sizeof image, 0, &got);
        if (!status) status = file_write_at(file, image, got, 0);
    }
    pthread_mutex_unlock(&env->lmdb_lock);
    return status;
}

larder_status environment_settle(environment *env) {
    int file;
    larder_status status = environment_file(env, FILE_WRITE, &file);
    if (status) return status;
    status = write_anew(env, file);
    if (!status) status = file_sync(file);
    file_close(file);
    char *path = environment_path(env->folder, "data.mdb");
    if (!path) return ENOMEM;
    if (!status) status = file_sync_parent(path);
    if (!status) status = file_sync_parent(env->folder);
    free(path);
    return status;
}

/** Whether a file may be what a power cut left of one that was just made: no longer, and where a
    meta page begins there is one or nothing. Somebody else's file is not. */
static bool is_remnant(int file) {
    file_facts facts;
    if (file_facts_get(file, &facts) || !facts.is_regular || facts.bytes > CREATE_BYTES)
        return false;
    for (uint64_t which = 0; which < TREE_META_PAGES; which++) {
        uint8_t head[META_MAGIC_OFFSET + 4] = {0};
        size_t got;
        if (file_read_at(file, head, sizeof head, which * NEW_PAGE_BYTES, &got)) return false;
        uint64_t number;
        memcpy(&number, head, sizeof number);
        uint32_t magic = load32(head + META_MAGIC_OFFSET);
        if ((number != 0 && number != which) || (magic != 0 && magic != LMDB_MAGIC)) return false;
    }
    return true;
}

bool environment_is_unmade(const char *folder) {
    char *path = environment_path(folder, "data.mdb");
    int file;
    larder_status status = path ? file_open(path, 0, 0, &file) : ENOMEM;
    free(path);
    if (status) return status == ENOENT;
    bool is_unmade = is_remnant(file);
    file_close(file);
    return is_unmade;
}

larder_status environment_create(const char *folder, const store_meta *fresh, uint32_t mode) {
    char *unfinished = environment_path(folder, "data.new");
    char *path = environment_path(folder, "data.mdb");
    uint8_t *image = calloc(1, CREATE_BYTES);
    int file = -1;
    larder_status status = unfinished && path && image ? LARDER_OK : ENOMEM;
    bool was_hushed = environment_hush();
    if (!status) {
        create_image(image, fresh);
        status = file_open(unfinished, FILE_WRITE | FILE_CREATE, mode, &file);
    }
    // An earlier attempt may have left a longer one.
    if (!status) status = file_truncate(file, 0);
    if (!status) status = file_change_mode(file, mode);
    if (!status) status = file_write_at(file, image, CREATE_BYTES, 0);
    // If we crash here, there is no data.mdb yet, and the next open makes it anew.
    if (!status) status = file_rename(unfinished, path);
    if (status && file >= 0) (void)file_remove(unfinished);
    file_close(file);
    environment_unhush(was_hushed);
    free(image);
    free(path);
    free(unfinished);
    return status;
}
