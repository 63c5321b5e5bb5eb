// SPDX-License-Identifier: MIT
#include "feed_model.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

feed_write feed_write_of(const feed_truth *truth, uint32_t number) {
    rng random = rng_make(mix2(truth->seed, number));
    feed_write out = {.count = 1, .clears = rng_one_in(&random, 150)};
    if (out.clears) return out;
    if (rng_one_in(&random, 3)) out.count = (uint32_t)rng_between(&random, 2, FEED_PARTS);
    for (uint32_t n = 0; n < out.count; n++) {
        out.parts[n].key = (uint32_t)rng_below(&random, FEED_KEYS);
        out.parts[n].salt = rng_one_in(&random, 5) ? 0 : number * 8 + n + 1;
    }
    return out;
}

size_t feed_key(uint32_t key, uint8_t target[16]) {
    return (size_t)snprintf((char *)target, 16, "key %u", key);
}

size_t feed_value(uint32_t salt, uint8_t target[FEED_VALUE_MAX]) {
    rng random = rng_make(salt);
    size_t length = 4 + (size_t)rng_below(&random, rng_one_in(&random, 6) ? 2900 : 200);
    memcpy(target, &salt, sizeof salt);
    for (size_t at = 4; at < length; at++) target[at] = (uint8_t)(salt + at * 7);
    return length;
}

uint32_t feed_salt_of(larder_bytes value) {
    uint8_t wanted[FEED_VALUE_MAX];
    uint32_t salt;
    if (value.length < sizeof salt) return 0;
    memcpy(&salt, value.data, sizeof salt);
    size_t length = feed_value(salt, wanted);
    return length == value.length && memcmp(wanted, value.data, length) == 0 ? salt : 0;
}

void feed_apply(const feed_truth *truth, uint32_t number, uint32_t mirror[FEED_KEYS]) {
    feed_write what = feed_write_of(truth, number);
    if (number == 0) return;
    if (what.clears) {
        memset(mirror, 0, FEED_KEYS * sizeof *mirror);
        return;
    }
    for (uint32_t n = 0; n < what.count; n++) mirror[what.parts[n].key] = what.parts[n].salt;
}

void feed_break(feed_truth *truth, const char *format, ...) {
    uint32_t none = 0;
    if (!atomic_compare_exchange_strong(&truth->broken, &none, 1)) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(truth->broken_text, sizeof truth->broken_text, format, arguments);
    va_end(arguments);
    atomic_store(&truth->broken, 2);
}

static bool verify_one(torture *run, feed_truth *truth, unsigned which) {
    const feed_consumer *consumer = &truth->consumers[which];
    uint32_t kept = atomic_load(&consumer->kept);
    if (kept == 0) return true;
    const feed_state *state = &consumer->states[(kept - 1) % FEED_STATES];
    const uint32_t *writes = truth->writes[state->generation];
    uint32_t mirror[FEED_KEYS] = {0};
    for (uint64_t s = 1; s <= state->sequence; s++) {
        // What was begun when the writer was killed may be there.
        bool was_begun = writes[s] == 0 && s == atomic_load(&truth->last) + 1 &&
                         state->generation == atomic_load(&truth->generation);
        feed_apply(truth, was_begun ? atomic_load(&truth->begun) : writes[s], mirror);
    }
    for (uint32_t key = 0; key < FEED_KEYS; key++) {
        bool is_right =
            state->mirror[key] == mirror[key] || (state->may_lack && state->mirror[key] == 0);
        if (!EXPECT(run, is_right,
                    "consumer %u at %" PRIu64 " of generation %u, from a %s: key %u is %u, not %u",
                    which, state->sequence, state->generation,
                    state->is_snapshot ? "snapshot" : "feed", key, state->mirror[key], mirror[key]))
            return false;
    }
    return true;
}

bool feed_verify(torture *run, feed_truth *truth) {
    torture_trial(run);
    if (!EXPECT(run, !atomic_load(&truth->broken), "%s", truth->broken_text)) return false;
    for (unsigned which = 0; which < FEED_CONSUMERS; which++)
        if (!verify_one(run, truth, which)) return false;
    return true;
}
