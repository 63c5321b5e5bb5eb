// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rivals.h"
#include "rivals_disk.h"
#include "rivals_lmdb.h"

struct rivals_lmdb {
    MDB_env *env;
    MDB_txn *reader;
    MDB_dbi database;
};

/* LMDB's own codes are negative, and not among Larder's. */
static int32_t status_of(int code) { return code < 0 ? EIO : code; }

void rivals_lmdb_version(char *text, size_t capacity) {
    int major, minor, patch;
    mdb_version(&major, &minor, &patch);
    snprintf(text, capacity, "%d.%d.%d", major, minor, patch);
}

static int fill(rivals_lmdb *self, const int64_t *keys, size_t count, const void *value,
                size_t value_length) {
    MDB_txn *txn;
    int code = mdb_txn_begin(self->env, NULL, 0, &txn);
    if (code != 0) return code;
    code = mdb_dbi_open(txn, NULL, MDB_INTEGERKEY, &self->database);
    for (size_t i = 0; i < count && code == 0; i++) {
        int64_t key = keys[i], number = (int64_t)((uint64_t)key + 1);
        MDB_val name = {sizeof key, &key};
        MDB_val bytes = {sizeof number, &number};
        if (value != NULL) {
            // LMDB only reads it; its type does not say so.
            memcpy(&bytes.mv_data, &value, sizeof value);
            bytes.mv_size = value_length;
        }
        code = mdb_put(txn, self->database, &name, &bytes, 0);
    }
    if (code != 0) {
        mdb_txn_abort(txn);
        return code;
    }
    return mdb_txn_commit(txn);
}

int32_t rivals_lmdb_create(const char *path, const int64_t *keys, size_t count, const void *value,
                           size_t value_length, rivals_lmdb **out) {
    *out = NULL;
    rivals_lmdb *self = calloc(1, sizeof *self);
    if (self == NULL) return ENOMEM;
    int code = mdb_env_create(&self->env);
    if (code == 0) code = mdb_env_set_mapsize(self->env, (size_t)8 << 30);
    if (code == 0) code = mdb_env_open(self->env, path, MDB_NOSYNC | MDB_NOTLS, 0600);
    if (code == 0) code = fill(self, keys, count, value, value_length);
    if (code == 0) code = mdb_env_sync(self->env, 1);
    if (code == 0) code = mdb_txn_begin(self->env, NULL, MDB_RDONLY, &self->reader);
    if (code != 0) {
        rivals_lmdb_close(self);
        return status_of(code);
    }
    mdb_txn_reset(self->reader);
    *out = self;
    return 0;
}

void rivals_lmdb_close(rivals_lmdb *self) {
    if (self == NULL) return;
    if (self->reader != NULL) mdb_txn_abort(self->reader);
    if (self->env != NULL) mdb_env_close(self->env);
    free(self);
}

int32_t rivals_loop_lmdb_get(rivals_lmdb *self, const int64_t *keys, size_t count, int64_t *sum) {
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t key = keys[i];
        MDB_val name = {sizeof key, &key}, bytes;
        int code = mdb_txn_renew(self->reader);
        if (code == 0) code = mdb_get(self->reader, self->database, &name, &bytes);
        if (code != 0) return status_of(code);
        uint64_t number;
        memcpy(&number, bytes.mv_data, sizeof number);
        total += number;
        mdb_txn_reset(self->reader);
        rivals_barrier();
    }
    *sum = (int64_t)total;
    return 0;
}

int32_t rivals_lmdb_copy(rivals_lmdb *self, int64_t key, void *target, size_t length) {
    MDB_val name = {sizeof key, &key}, bytes;
    int code = mdb_txn_renew(self->reader);
    if (code == 0) code = mdb_get(self->reader, self->database, &name, &bytes);
    if (code == 0) memcpy(target, bytes.mv_data, bytes.mv_size < length ? bytes.mv_size : length);
    mdb_txn_reset(self->reader);
    return status_of(code);
}

int32_t rivals_loop_lmdb_miss(rivals_lmdb *self, const int64_t *keys, size_t count) {
    for (size_t i = 0; i < count; i++) {
        int64_t key = keys[i];
        MDB_val name = {sizeof key, &key}, bytes;
        int code = mdb_txn_renew(self->reader);
        if (code == 0) code = mdb_get(self->reader, self->database, &name, &bytes);
        if (code != MDB_NOTFOUND) return code == 0 ? EEXIST : status_of(code);
        mdb_txn_reset(self->reader);
        rivals_barrier();
    }
    return 0;
}

int32_t rivals_lmdb_time_open(const char *path, uint64_t map_bytes, uint64_t *elapsed_ns) {
    MDB_env *env;
    uint64_t start = rivals_now_ns();
    int code = mdb_env_create(&env);
    if (code != 0) return status_of(code);
    code = mdb_env_set_mapsize(env, (size_t)map_bytes);
    if (code == 0) code = mdb_env_open(env, path, MDB_NOTLS, 0600);
    *elapsed_ns = rivals_now_ns() - start;
    mdb_env_close(env);
    return status_of(code);
}
