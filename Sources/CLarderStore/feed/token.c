// SPDX-License-Identifier: MIT
/** @file token.c
    Where a feed is, as a consumer keeps it:

        0   u64  store id
        8   u64  sequence
        16  u32  epoch
        20  u32  0
        24  u32  "LTK1"
        28  u32  CRC-32C of bytes 0 to 27 */
#include "feed/feed.h"

#include "larder_crc32c.h"
#include "read/cursor.h"

typedef struct token_bytes {
    uint64_t store_id;
    uint64_t sequence;
    uint32_t epoch;
    uint32_t zero;
    char magic[4];
    uint32_t crc;
} token_bytes;

_Static_assert(sizeof(token_bytes) == LARDER_STORE_TOKEN_BYTES, "token");

static const char magic[4] = {'L', 'T', 'K', '1'};

static uint32_t token_crc(const token_bytes *of) {
    return larder_crc32c(0, of, offsetof(token_bytes, crc));
}

static bool token_is_whole(const larder_store_token *token, token_bytes *out) {
    memcpy(out, token, sizeof *out);
    return out->crc == token_crc(out) && memcmp(out->magic, magic, sizeof magic) == 0 &&
           out->sequence <= SEQUENCE_MAX;
}

void larder_feed_token_write(const larder_store *store, feed_place place, larder_store_token *out) {
    token_bytes bytes = {
        .store_id = store->pending.log.store_id, .sequence = place.sequence, .epoch = place.epoch};
    memcpy(bytes.magic, magic, sizeof magic);
    bytes.crc = token_crc(&bytes);
    memcpy(out, &bytes, sizeof bytes);
}

larder_status larder_feed_token_read(const larder_store *store, const larder_store_token *token,
                                     feed_place *out, bool *is_other) {
    token_bytes bytes;
    if (!token_is_whole(token, &bytes)) return LARDER_EINVALID;
    *out = (feed_place){bytes.epoch, bytes.sequence};
    *is_other = bytes.store_id != store->pending.log.store_id;
    return LARDER_OK;
}

uint64_t larder_store_token_sequence(const larder_store_token *token) {
    token_bytes bytes;
    return token_is_whole(token, &bytes) ? bytes.sequence : 0;
}

larder_status larder_store_token_now(larder_store *store, larder_store_token *token) {
    snapshot *seen;
    feed_place place;
    memset(token, 0, sizeof *token);
    pthread_mutex_lock(&store->pending.lock);
    larder_status status = larder_store_look(store, false, &seen);
    if (!status) {
        status = larder_store_newest(store, seen, &place);
        larder_environment_release(store->index.environment, seen);
    }
    pthread_mutex_unlock(&store->pending.lock);
    if (!status) larder_feed_token_write(store, place, token);
    return status;
}

larder_status larder_store_snapshot_open(larder_store *store, const larder_store_query *query,
                                         larder_store_token *token, larder_store_cursor **out) {
    memset(token, 0, sizeof *token);
    larder_status status = larder_store_cursor_open(store, query, out);
    if (!status) larder_feed_token_write(store, (*out)->newest, token);
    return status;
}
