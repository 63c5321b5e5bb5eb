// SPDX-License-Identifier: MIT
#include "rivals_lmdb.h"
#include "rivals_records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct rivals_records {
    MDB_env *env;
    MDB_txn *reader;
    MDB_cursor *cursor;
    MDB_txn *writer;
    MDB_dbi database;
};

/* LMDB's own codes are negative, and not among Larder's. */
static int32_t status_of(int code) {
    if (code == MDB_NOTFOUND) return ENOENT;
    return code < 0 ? EIO : code;
}

static int make_database(rivals_records *self) {
    MDB_txn *txn;
    int code = mdb_txn_begin(self->env, NULL, 0, &txn);
    if (code != 0) return code;
    code = mdb_dbi_open(txn, NULL, MDB_INTEGERKEY, &self->database);
    if (code == 0) return mdb_txn_commit(txn);
    mdb_txn_abort(txn);
    return code;
}

int32_t rivals_records_open(const char *path, uint64_t map_bytes, rivals_records **out) {
    *out = NULL;
    rivals_records *self = calloc(1, sizeof *self);
    if (self == NULL) return ENOMEM;
    int code = mdb_env_create(&self->env);
    if (code == 0) code = mdb_env_set_mapsize(self->env, (size_t)map_bytes);
    if (code == 0)
        code = mdb_env_open(self->env, path, MDB_NOSYNC | MDB_WRITEMAP | MDB_NOTLS, 0600);
    if (code == 0) code = make_database(self);
    if (code == 0) code = mdb_txn_begin(self->env, NULL, MDB_RDONLY, &self->reader);
    if (code == 0) code = mdb_cursor_open(self->reader, self->database, &self->cursor);
    if (code != 0) {
        rivals_records_close(self);
        return status_of(code);
    }
    mdb_txn_reset(self->reader);
    *out = self;
    return 0;
}

void rivals_records_close(rivals_records *self) {
    if (self == NULL) return;
    if (self->writer != NULL) mdb_txn_abort(self->writer);
    if (self->cursor != NULL) mdb_cursor_close(self->cursor);
    if (self->reader != NULL) mdb_txn_abort(self->reader);
    if (self->env != NULL) mdb_env_close(self->env);
    free(self);
}

// Writing -----------------------------------------------------------------------------------------

int32_t rivals_records_begin(rivals_records *self) {
    return status_of(mdb_txn_begin(self->env, NULL, 0, &self->writer));
}

int32_t rivals_records_commit(rivals_records *self) {
    MDB_txn *txn = self->writer;
    self->writer = NULL;
    return status_of(mdb_txn_commit(txn));
}

int32_t rivals_records_put(rivals_records *self, uint64_t key, const void *bytes, size_t length) {
    MDB_txn *txn = self->writer;
    int code = txn != NULL ? 0 : mdb_txn_begin(self->env, NULL, 0, &txn);
    if (code != 0) return status_of(code);
    MDB_val name = {sizeof key, &key}, value = {length, NULL};
    code = mdb_put(txn, self->database, &name, &value, MDB_RESERVE);
    if (code == 0) memcpy(value.mv_data, bytes, length);
    if (txn == self->writer) return status_of(code);
    if (code == 0) return status_of(mdb_txn_commit(txn));
    mdb_txn_abort(txn);
    return status_of(code);
}

int32_t rivals_records_update(rivals_records *self, uint64_t key, size_t record_length,
                              size_t offset, const void *bytes, size_t length) {
    uint8_t record[4096];
    if (record_length > sizeof record || offset + length > record_length) return EINVAL;
    MDB_txn *txn;
    int code = mdb_txn_begin(self->env, NULL, 0, &txn);
    if (code != 0) return status_of(code);
    MDB_val name = {sizeof key, &key}, value;
    code = mdb_get(txn, self->database, &name, &value);
    if (code == 0 && value.mv_size != record_length) code = EIO;
    if (code == 0) {
        memcpy(record, value.mv_data, record_length);
        memcpy(record + offset, bytes, length);
        value = (MDB_val){record_length, record};
        code = mdb_put(txn, self->database, &name, &value, 0);
    }
    if (code == 0) return status_of(mdb_txn_commit(txn));
    mdb_txn_abort(txn);
    return status_of(code);
}

int32_t rivals_records_sync(rivals_records *self) { return status_of(mdb_env_sync(self->env, 1)); }

// Reading -----------------------------------------------------------------------------------------

int32_t rivals_records_get(rivals_records *self, uint64_t key, larder_bytes *record) {
    MDB_val name = {sizeof key, &key}, value;
    int code = mdb_txn_renew(self->reader);
    if (code == 0) code = mdb_get(self->reader, self->database, &name, &value);
    if (code != 0) return status_of(code);
    *record = (larder_bytes){value.mv_data, value.mv_size};
    return 0;
}

static int32_t move(rivals_records *self, MDB_cursor_op operation, uint64_t *key,
                    larder_bytes *record) {
    MDB_val name = {sizeof *key, key}, value;
    int code = mdb_cursor_get(self->cursor, &name, &value, operation);
    if (code != 0) return status_of(code);
    memcpy(key, name.mv_data, sizeof *key);
    *record = (larder_bytes){value.mv_data, value.mv_size};
    return 0;
}

int32_t rivals_records_seek(rivals_records *self, uint64_t *key, larder_bytes *record) {
    int code = mdb_txn_renew(self->reader);
    if (code == 0) code = mdb_cursor_renew(self->reader, self->cursor);
    return code != 0 ? status_of(code) : move(self, MDB_SET_RANGE, key, record);
}

int32_t rivals_records_next(rivals_records *self, uint64_t *key, larder_bytes *record) {
    return move(self, MDB_NEXT, key, record);
}

void rivals_records_end(rivals_records *self) { mdb_txn_reset(self->reader); }
