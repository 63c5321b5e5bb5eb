// SPDX-License-Identifier: MIT
/** @file resident.c
    Which mapped pages are in memory. To ask costs more than to read, so answers are remembered: by
    groups of pages, each for as long as a page that is in use is sure to stay. What is remembered
    of a mapping that ended is wrong for that long, and then somebody waits for a device once. */
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "larder_os_machine.h"
#ifdef LARDER_FAULTS
#include "larder_os_faults.h"
#endif

enum {
    GROUP_SHIFT = 16,
    GROUP_BYTES = 1 << GROUP_SHIFT,
    /** Of the smallest kind. */
    GROUP_PAGES = GROUP_BYTES / 4096,
    /** Groups that are remembered: 256 MiB. */
    SLOT_BITS = 12,
    /** A tick is about 67 ms, and a second has 15 of them. */
    TICK_SHIFT = 26,
    TICK_BITS = 20,
    KNOWN_TICKS = 15
};

/** What was seen of a group: a bit for each of its pages that was in memory, and above them when,
    and above that which group of those that share the slot, as far as there is room. */
static _Atomic uint64_t known[1 << SLOT_BITS];

static uint64_t tick_now(void) {
    return ((uint64_t)larder_os_coarse_ns() >> TICK_SHIFT) & ((1u << TICK_BITS) - 1);
}

static uint64_t word_of(uintptr_t group, uint64_t now, uint32_t pages) {
    uint64_t name = (uint64_t)group >> SLOT_BITS;
    return (name << TICK_BITS | now) << GROUP_PAGES | pages;
}

/** The pages of the group that are known to be in memory. */
static uint32_t recall(uintptr_t group, uint64_t now) {
    uint64_t word = atomic_load_explicit(&known[group % (1 << SLOT_BITS)], memory_order_relaxed);
    uint64_t then = (word >> GROUP_PAGES) & ((1u << TICK_BITS) - 1);
    bool is_fresh = ((now - then) & ((1u << TICK_BITS) - 1)) <= KNOWN_TICKS;
    uint32_t pages = (uint32_t)(word & ((1u << GROUP_PAGES) - 1));
    return is_fresh && word == word_of(group, then, pages) ? pages : 0;
}

/** Asks for those between two addresses of the group; none if something there is not mapped. */
static uint32_t ask(uintptr_t from, uintptr_t until) {
#if defined(__APPLE__)
    char pages[GROUP_PAGES];
#else
    unsigned char pages[GROUP_PAGES];
#endif
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = from % GROUP_BYTES / page, count = (until - from + page - 1) / page;
    uint32_t found = 0;
    if (count > GROUP_PAGES || mincore((void *)from, count * page, pages) != 0) return 0;
    for (uintptr_t i = 0; i < count; i++) found |= (uint32_t)(pages[i] & 1) << (first + i);
    return found;
}

bool larder_os_is_in_memory(const void *at, size_t length) {
#ifdef LARDER_FAULTS
    if (larder_fault_at("mincore") != 0) return false;
#endif
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t start = (uintptr_t)at / page * page, end = (uintptr_t)at + length;
    const uint64_t now = tick_now();
    if (page > GROUP_BYTES) return false;
    for (uintptr_t from = start, until; from < end; from = until) {
        const uintptr_t group = from >> GROUP_SHIFT, base = group << GROUP_SHIFT;
        until = end < base + GROUP_BYTES ? end : base + GROUP_BYTES;
        const uintptr_t behind = (until - base + page - 1) / page;
        const uint32_t wanted =
            ((1u << behind) - 1) & ~(((uint32_t)1 << ((from - base) / page)) - 1);
        if ((wanted & ~recall(group, now)) == 0) continue;
        // At the end of a mapping the whole group cannot be asked for.
        uint32_t pages = ask(base, base + GROUP_BYTES);
        if (pages == 0) pages = ask(from, until);
        atomic_store_explicit(&known[group % (1 << SLOT_BITS)], word_of(group, now, pages),
                              memory_order_relaxed);
        if ((wanted & ~pages) != 0) return false;
    }
    return true;
}
