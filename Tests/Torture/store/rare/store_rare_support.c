// SPDX-License-Identifier: MIT
// What the families of the store share that try what is rare.
#include "store_rare.h"

#include <string.h>
#include <unistd.h>

_Atomic int64_t the_time;

int64_t own_clock(void *context) {
    (void)context;
    return the_time;
}

void rare_each(torture *run, const char *what, bool (*prepare)(torture *run, const char *kept),
               const rare_body *bodies) {
    char path[600], other[600], kept[600];
    rng random;
    if (!torture_next_case(run, &random)) {
        return;
    }
    snprintf(path, sizeof path, "%s", torture_path(run, "here"));
    snprintf(other, sizeof other, "%s", torture_path(run, "other"));
    snprintf(kept, sizeof kept, "%s", torture_path(run, "kept"));
    rare self = {path, other, kept};
    the_time = 1000;
    if (prepare) {
        torture_trial(run);
        if (!prepare(run, kept)) {
            return;
        }
    }
    for (size_t i = 0; bodies[i]; i++) {
        remove_tree(path);
        remove_tree(other);
        (void)unlink(other);
        torture_trial(run);
        torture_note(run, "number %zu of what is rare%s", i, what);
        torture_guard(run, 60, bodies[i], &self);
    }
}

const char *inside(const char *folder, const char *name) {
    static char paths[4][800];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

larder_bytes rare_key(unsigned number) {
    static char text[16];
    return bytes_of(text, (size_t)snprintf(text, sizeof text, "k%06u", number));
}

larder_status rare_put(larder_store *store, unsigned number, const char *value) {
    larder_store_item item;
    larder_store_item_init(&item, rare_key(number), bytes_of_text(value));
    return larder_store_put(store, &item, NULL);
}

uint64_t rare_count(torture *run, larder_store *store) {
    uint64_t count = 0, bytes = 0;
    EXPECT_STATUS(run, larder_store_totals(store, &count, &bytes), LARDER_OK);
    return count;
}

// Rows of the tree --------------------------------------------------------------------------------

bool edit_begin(const char *folder, tree_edit *out) {
    *out = (tree_edit){0};
    return mdb_env_create(&out->env) == 0 && mdb_env_set_mapsize(out->env, 64 << 20) == 0 &&
           mdb_env_open(out->env, folder, 0, 0600) == 0 &&
           mdb_txn_begin(out->env, NULL, 0, &out->txn) == 0 &&
           mdb_dbi_open(out->txn, NULL, 0, &out->tree) == 0;
}

bool edit_seal(tree_edit *edit, const uint64_t *count) {
    uint8_t space = 1, meta[128];
    MDB_val key = {1, &space}, value;
    if (mdb_get(edit->txn, edit->tree, &key, &value) != 0 || value.mv_size != sizeof meta) {
        return false;
    }
    memcpy(meta, value.mv_data, sizeof meta);
    uint64_t transaction = mdb_txn_id(edit->txn);
    memcpy(meta + 16, &transaction, sizeof transaction);
    if (count) {
        memcpy(meta + 32, count, sizeof *count);
    }
    uint32_t crc = larder_crc32c(0, meta + 12, sizeof meta - 12);
    memcpy(meta + 8, &crc, sizeof crc);
    value = (MDB_val){sizeof meta, meta};
    return mdb_put(edit->txn, edit->tree, &key, &value, 0) == 0;
}

bool edit_end(tree_edit *edit) {
    bool good = mdb_txn_commit(edit->txn) == 0;
    mdb_env_close(edit->env);
    return good;
}

larder_status opened_small(const char *path, uint32_t flags, uint64_t space_percent,
                           larder_store **out) {
    larder_store_tuning tuning;
    larder_store_options options;
    larder_store_tuning_init(&tuning);
    tuning.segment_min_bytes = tuning.segment_max_bytes = 4096;
    tuning.space_percent = space_percent;
    larder_store_options_init(&options);
    options.flags = flags | LARDER_STORE_HOST_MAINTENANCE;
    options.clock = own_clock;
    options.tuning = &tuning;
    *out = NULL;
    return larder_store_open(path, &options, NULL, out);
}
