// SPDX-License-Identifier: MIT
// Messages whose length, flags and bytes all follow from one 64-bit key: whoever knows the key can
// tell whether a message is exact, and no two keys give messages that could be mistaken.
#include <string.h>

#include "torture.h"

size_t message_length(const message_profile *profile, uint64_t key) {
    uint64_t choice = mix(key ^ 0x6C656E677468u);
    uint32_t top = (choice & 15) == 0 ? profile->longest : profile->usual;
    if (((choice >> 4) & 15) == 0) {
        return profile->shortest;
    }
    return profile->shortest + (size_t)((choice >> 8) % (top - profile->shortest + 1));
}

uint32_t message_flags(uint64_t key) {
    return (mix(key ^ 0x666C616773u) & 7) == 0 ? LARDER_MESSAGE_PARTIAL : 0;
}

static uint64_t next_word(uint64_t *state) {
    // xorshift64*: short enough not to hide the time of what is being tested.
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1Du;
}

void message_fill(uint64_t key, void *bytes, size_t length) {
    uint8_t *target = bytes;
    uint64_t state = mix(key) | 1;
    for (; length >= 8; target += 8, length -= 8) {
        uint64_t word = next_word(&state);
        memcpy(target, &word, 8);
    }
    if (length) {
        uint64_t word = next_word(&state);
        memcpy(target, &word, length);
    }
}

bool message_equals(uint64_t key, const void *bytes, size_t length) {
    const uint8_t *source = bytes;
    uint64_t state = mix(key) | 1;
    for (; length >= 8; source += 8, length -= 8) {
        uint64_t word = next_word(&state);
        if (memcmp(source, &word, 8) != 0) {
            return false;
        }
    }
    uint64_t word = length ? next_word(&state) : 0;
    return length == 0 || memcmp(source, &word, length) == 0;
}
