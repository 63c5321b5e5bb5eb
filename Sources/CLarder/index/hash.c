// SPDX-License-Identifier: MIT
// Hashes and comparisons for keys that C callers have: integers and bytes.
//
// Words are folded into the hash by a multiplication of 64 by 64 bits whose two halves are combined
// by exclusive or, as wyhash (Wang Yi) and its kin do. The seeds differ from process to process.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "index/table.h"
#include "larder_os_machine.h"

__extension__ typedef unsigned __int128 wide;

enum { SEEDS = 3 };

static uint64_t fold(uint64_t first, uint64_t second) {
    const wide product = (wide)first * second;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

// The seeds are made once; threads that come together may each make some, and agree on the first.
static const uint64_t *seeds(void) {
    static _Atomic uint32_t state; // 0 nothing, 1 somebody is at it, 2 there
    static uint64_t made[SEEDS];
    while (atomic_load_explicit(&state, memory_order_acquire) != 2) {
        uint32_t none = 0;
        if (!atomic_compare_exchange_strong(&state, &none, 1)) continue;
        uint64_t random[SEEDS] = {0};
        larder_os_random_fill((uint8_t *)random, sizeof random);
        const uint64_t more = (uint64_t)(uintptr_t)&none ^ (uint64_t)larder_os_wall_clock_ns()
                                                               << 32;
        for (uint64_t i = 0; i < SEEDS; i++)
            made[i] = fold(random[i] ^ UINT64_C(0x9E3779B97F4A7C15), more + i + 1) | 1;
        atomic_store_explicit(&state, 2, memory_order_release);
    }
    return made;
}

uint64_t larder_index_hash_u64(uint64_t key) {
    const uint64_t *seed = seeds();
    return fold(fold(key ^ seed[0], seed[1]), seed[2]);
}

static uint64_t read_8(const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

// Up to 8 bytes, none of them twice.
static uint64_t read_up_to_8(const uint8_t *bytes, size_t length) {
    uint64_t word = 0;
    memcpy(&word, bytes, length);
    return word;
}

uint64_t larder_index_hash_bytes(const void *data, size_t length) {
    const uint64_t *seed = seeds();
    const uint8_t *bytes = data;
    uint64_t hash = fold(seed[0] ^ length, seed[1]);
    while (length > 16) {
        hash = fold(read_8(bytes) ^ hash, read_8(bytes + 8) ^ seed[1]);
        bytes += 16;
        length -= 16;
    }
    uint64_t first = 0, second = 0;
    if (length >= 8) {
        first = read_8(bytes);
        second = read_up_to_8(bytes + 8, length - 8);
    } else if (length > 0) {
        first = read_up_to_8(bytes, length);
    }
    return fold(fold(first ^ hash, second ^ seed[1]), seed[2]);
}

bool larder_index_equals_u64(const void *payload, const void *key) {
    return memcmp(payload, key, sizeof(uint64_t)) == 0;
}

bool larder_index_equals_bytes(const void *payload, const void *key) {
    const larder_bytes *first = payload, *second = key;
    return first->length == second->length &&
           (first->length == 0 || memcmp(first->data, second->data, first->length) == 0);
}
