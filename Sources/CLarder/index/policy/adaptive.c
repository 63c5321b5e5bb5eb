// SPDX-License-Identifier: MIT
/** @file adaptive.c
    W-TinyLFU with a window whose size two ghost lists adapt.

        new --> window --> used oftener than the last of probation?
                 1..90 %      | yes: that one goes         no: this one goes, unless by chance
                              v                            |
        +-> protected --> probation --> gone               v
        |   80 % of main     |           |                gone
        +------ used --------+           +-> ghosts of      +-> ghosts of
                                             main               the window

    Entries come into the window, an LRU list. Its last one gets into the main part only if a sketch
    of how often everything was used lately says that it was used oftener than the one that would
    have to go for it (Einziger, Friedman and Manes, "TinyLFU: A Highly Efficient Cache Admission
    Policy", ACM TOS 2017). The main part is a segmented LRU: probation, and for what is used there
    a protected part. So a scan passes through the window and leaves the rest alone.

    How large the window should be depends on the work: small where the same entries are used again
    and again, large where what is new is what is used. Two lists remember the hashes of what went,
    each of up to a quarter of the capacity: of what left the window and was not admitted, and of
    what went from main. What comes back and is found in the first would have needed a larger
    window; if found in the second, a larger main part. Each moves the border by as many entries as
    the other list is longer, 1 to 8 times: the idea is that of ARC (Megiddo and Modha, FAST 2003).
    A hill climber in its place needs long samples and makes few steps; on recorded traces the
    ghosts keep more hits than it, and than any fixed window.

    Details that matter:
    - To grow, the window takes nothing from main: as long as it has less than its share, what goes
      is main's last one, and the window keeps what comes. To take over main's last one would make
      it the next candidate, and when it lost, a ghost of the window that the window never had: a
      reason to grow further, out of nothing.
    - The sketch counts from when the cache is half full. What is used while it fills says little
      about what to keep when it is full, and would only wear the counters out.
    - A candidate that loses with six uses or more is still admitted once in 128 times. Otherwise
      what was used much, and never will be again, could keep all others out; and somebody who knows
      the hashes could arrange that.
    - The window is kept as a share, not as a number, so it follows the number of entries where only
      the cost is limited, and pinned entries do not count.

    It remembers up to 23 bytes for each entry that fits in: 12 of the sketch, 11 of the ghosts. */
#include <errno.h>
#include <stdlib.h>

#include "index/policy/policy.h"
#include "index/policy/sketch.h"

enum {
    LIST_WINDOW = 1,
    LIST_PROBATION = 2,
    LIST_PROTECTED = 3,
    GHOST_DIVISOR = 4,
    STEPS_MAX = 8,
    /** The most entries that one call moves from the window to main. */
    MOVES_MAX = 16,
    CHANCE_USES = 6,
    CHANCE_BITS = 7,
};

/** Shares of all entries, in units of 2^-32. */
static const uint64_t SHARE_ONE = UINT64_C(1) << 32;
static const uint64_t SHARE_MIN = (UINT64_C(1) << 32) / 100;
static const uint64_t SHARE_MAX = (UINT64_C(1) << 32) / 10 * 9;

typedef struct adaptive_state {
    index_sketch sketch;
    /** Hashes of what went from the window, and from main. */
    index_ghost window_ghost;
    index_ghost main_ghost;
    uint64_t window_share;
    uint64_t chance;
} adaptive_state;

// Starting ----------------------------------------------------------------------------------------

static larder_status adaptive_start(larder_index *index, bool forget) {
    adaptive_state *state = index->policy_state;
    if (state == NULL) {
        state = calloc(1, sizeof *state);
        if (state == NULL) return ENOMEM;
        index->policy_state = state;
        index->policy_bytes += sizeof *state;
        forget = true;
    }
    if (forget) {
        larder_index_sketch_free(index, &state->sketch);
        larder_index_ghost_free(index, &state->window_ghost);
        larder_index_ghost_free(index, &state->main_ghost);
        state->window_share = SHARE_MIN;
        state->chance = 1;
        return LARDER_OK;
    }
    // Lower limits give memory back. For higher ones it comes with the entries.
    const uint64_t ghosts = index->count_limit / GHOST_DIVISOR;
    if (index->count_limit < state->sketch.entries)
        larder_index_sketch_resize(index, &state->sketch, index->count_limit);
    if (ghosts < state->window_ghost.room)
        larder_index_ghost_resize(index, &state->window_ghost, ghosts);
    if (ghosts < state->main_ghost.room)
        larder_index_ghost_resize(index, &state->main_ghost, ghosts);
    return LARDER_OK;
}

static void adaptive_stop(larder_index *index) {
    adaptive_state *state = index->policy_state;
    if (state == NULL) return;
    larder_index_sketch_free(index, &state->sketch);
    larder_index_ghost_free(index, &state->window_ghost);
    larder_index_ghost_free(index, &state->main_ghost);
    index->policy_bytes -= sizeof *state;
    free(state);
    index->policy_state = NULL;
}

// The border between window and main --------------------------------------------------------------

static uint64_t adaptive_total(const larder_index *index) {
    return index->lists[LIST_WINDOW].count + index->lists[LIST_PROBATION].count +
           index->lists[LIST_PROTECTED].count;
}

/** How many entries the window should have. */
static uint64_t window_target(const larder_index *index) {
    const adaptive_state *state = index->policy_state;
    const uint64_t target = adaptive_total(index) * state->window_share >> 32;
    return target > 0 ? target : 1;
}

static void shrink_window(larder_index *index, uint64_t target) {
    for (int i = 0; i < MOVES_MAX && index->lists[LIST_WINDOW].count > target; i++)
        index_list_move_first(index, LIST_PROBATION, index->lists[LIST_WINDOW].last);
}

/** The share of one entry, times how much longer the other list of ghosts is than the one where the
    hash was found. `own` is at least 1. */
static uint64_t share_step(uint64_t total, uint64_t own, uint64_t other) {
    if (other <= own) return SHARE_ONE / total;
    if (other >= own * STEPS_MAX) return SHARE_ONE * STEPS_MAX / total;
    return SHARE_ONE * other / own / total;
}

/** Moves the border if the hash is one of those that went lately. */
static void adapt(larder_index *index, uint32_t hash) {
    adaptive_state *state = index->policy_state;
    const uint64_t in_window = state->window_ghost.count, in_main = state->main_ghost.count;
    const uint64_t total = adaptive_total(index);
    if (total == 0) return;
    if (index_ghost_take(&state->window_ghost, hash)) {
        state->window_share += share_step(total, in_window, in_main);
        if (state->window_share > SHARE_MAX) state->window_share = SHARE_MAX;
    } else if (index_ghost_take(&state->main_ghost, hash)) {
        const uint64_t step = share_step(total, in_main, in_window);
        const uint64_t rest = state->window_share - SHARE_MIN;
        state->window_share = SHARE_MIN + (rest > step ? rest - step : 0);
        shrink_window(index, window_target(index));
    }
}

// Coming, being used, going -----------------------------------------------------------------------

static bool is_half_full(const larder_index *index) {
    return index->count >= index->count_limit / 2 || index->total_cost >= index->cost_limit / 2;
}

/** The sketch grows with the entries; where only the cost is limited, doubling. */
static void fit_sketch(larder_index *index, index_sketch *sketch) {
    if (sketch->entries == 0 && !is_half_full(index)) return;
    const uint64_t twice = index->count * 2;
    larder_index_sketch_resize(index, sketch,
                               twice < index->count_limit ? twice : index->count_limit);
}

/** Something will have to go: brings nearer what the choice will look at. */
static void approach_contest(const larder_index *index, const adaptive_state *state) {
    const larder_index_slot candidate = index->lists[LIST_WINDOW].last;
    const larder_index_slot victim = index->lists[LIST_PROBATION].last;
    if (candidate != LARDER_INDEX_NONE) {
        const uint32_t hash = index_hash_of(index, candidate);
        index_sketch_approach(&state->sketch, hash);
        // What loses is the usual case.
        index_ghost_approach(&state->window_ghost, hash);
    }
    if (victim != LARDER_INDEX_NONE)
        index_sketch_approach(&state->sketch, index_hash_of(index, victim));
}

static void adaptive_inserted(larder_index *index, larder_index_slot slot) {
    adaptive_state *state = index->policy_state;
    const uint32_t hash = index_hash_of(index, slot);
    index_sketch_approach(&state->sketch, hash);
    index_ghost_approach(&state->window_ghost, hash);
    index_ghost_approach(&state->main_ghost, hash);
    if (index->count > index->count_limit) approach_contest(index, state);
    if (index->count > state->sketch.entries) fit_sketch(index, &state->sketch);
    index_sketch_add(&state->sketch, hash);
    adapt(index, hash);
    index_list_put_first(index, LIST_WINDOW, slot);
    // One more than it should have stays until it is clear whether something has to go.
    shrink_window(index, window_target(index) + 1);
}

static void adaptive_approach(const larder_index *index, larder_index_slot slot) {
    const adaptive_state *state = index->policy_state;
    index_sketch_approach(&state->sketch, index_hash_of(index, slot));
}

static void adaptive_touched(larder_index *index, larder_index_slot slot) {
    adaptive_state *state = index->policy_state;
    index_sketch_add(&state->sketch, index_hash_of(index, slot));
    const uint32_t list = index_list_of(index, slot);
    if (list == LIST_WINDOW) {
        index_list_move_first(index, list, slot);
        return;
    }
    index_list_move_first(index, LIST_PROTECTED, slot);
    const index_list *protected = &index->lists[LIST_PROTECTED];
    const uint64_t main = protected->count + index->lists[LIST_PROBATION].count;
    if (protected->count * 5 > main * 4)
        index_list_move_first(index, LIST_PROBATION, protected->last);
}

/** Whether the window's last one gets into main, and main's last one goes for it. */
static bool is_admitted(adaptive_state *state, uint32_t candidate, uint32_t victim) {
    const uint32_t uses = index_sketch_estimate(&state->sketch, candidate);
    if (uses > index_sketch_estimate(&state->sketch, victim)) return true;
    if (uses < CHANCE_USES) return false;
    // Knuth's linear congruential generator; its high bits are good.
    state->chance = state->chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return state->chance >> (64 - CHANCE_BITS) == 0;
}

static larder_index_slot adaptive_victim(larder_index *index) {
    adaptive_state *state = index->policy_state;
    const uint64_t ghosts = policy_capacity(index) / GHOST_DIVISOR;
    larder_index_slot victim = policy_last(index, LIST_PROBATION);
    if (victim == LARDER_INDEX_NONE) victim = policy_last(index, LIST_PROTECTED);
    larder_index_slot candidate = LARDER_INDEX_NONE;
    if (victim == LARDER_INDEX_NONE || index->lists[LIST_WINDOW].count > window_target(index))
        candidate = policy_last(index, LIST_WINDOW);
    if (victim == LARDER_INDEX_NONE)
        return candidate != LARDER_INDEX_NONE ? candidate : index->newest;
    const uint32_t victim_hash = index_hash_of(index, victim);
    if (candidate != LARDER_INDEX_NONE) {
        const uint32_t hash = index_hash_of(index, candidate);
        if (!is_admitted(state, hash, victim_hash)) {
            policy_remember(index, &state->window_ghost, hash, ghosts);
            return candidate;
        }
        index_list_move_first(index, LIST_PROBATION, candidate);
    }
    policy_remember(index, &state->main_ghost, victim_hash, ghosts);
    return victim;
}

/** What was read goes into the protected part, as far as it fits; the newest into the window. */
static void adaptive_adopt(larder_index *index, const larder_index_slot *slots, const bool *read,
                           size_t count) {
    const adaptive_state *state = index->policy_state;
    const size_t window = (size_t)((uint64_t)count * state->window_share >> 32);
    for (size_t i = 0; i < count; i++) {
        const bool is_new = count - i <= window;
        index_list_put_first(index,
                             is_new    ? LIST_WINDOW
                             : read[i] ? LIST_PROTECTED
                                       : LIST_PROBATION,
                             slots[i]);
    }
    const index_list *protected = &index->lists[LIST_PROTECTED];
    while (protected->count * 5 > (protected->count + index->lists[LIST_PROBATION].count) * 4)
        index_list_move_first(index, LIST_PROBATION, protected->last);
}

static const char *adaptive_check(const larder_index *index) {
    const adaptive_state *state = index->policy_state;
    if (state->window_share < SHARE_MIN || state->window_share > SHARE_MAX)
        return "the share of the window is out of bounds";
    const char *reason = larder_index_ghost_check(&state->window_ghost);
    return reason != NULL ? reason : larder_index_ghost_check(&state->main_ghost);
}

const index_policy larder_index_policy_adaptive = {
    .hears_reads = true,
    .lists = {LIST_PROBATION, LIST_WINDOW, LIST_PROTECTED},
    .start = adaptive_start,
    .stop = adaptive_stop,
    .inserted = adaptive_inserted,
    .approach = adaptive_approach,
    .touched = adaptive_touched,
    .victim = adaptive_victim,
    .adopt = adaptive_adopt,
    .check = adaptive_check,
};
