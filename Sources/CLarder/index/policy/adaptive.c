// SPDX-License-Identifier: MIT
/** @file adaptive.c
    W-TinyLFU by weight, with a window whose size two ghost lists adapt.

        new --> window --> used oftener, for its weight, than the last of probation?
                 1..90 %      | yes: those go              no: this one goes
                              v                            |
        +-> protected --> probation --> gone               v
        |   80 % of main     |           |                gone
        +------ used --------+           +-> ghosts of      +-> ghosts of
                                             main               the window

    Entries come into the window, an LRU list. Its last one, the candidate, gets into the main part
    only if a sketch of how often everything was used lately says that it was used oftener than what
    would have to go for it (Einziger, Friedman and Manes, "TinyLFU: A Highly Efficient Cache
    Admission Policy", ACM TOS 2017). The main part is a segmented LRU: probation, and for what is
    used there a protected part. So a scan passes through the window and leaves the rest alone.

    **Weights.** With a limit of cost, an entry weighs its cost and one more, so that what costs
    nothing counts too; else all weigh 1. The parts have shares of the weight. A candidate contends
    with as many entries, from probation's last on, as weigh as much as it does, and needs more uses
    per weight than they have together. (The measure is that of GDSF: Cherkasova, "Improving WWW
    Proxies Performance with Greedy-Dual-Size-Frequency Caching Policy", HP Labs 1998; the contest
    with several: Einziger, Eytan, Friedman and Manes, "Lightweight Robust Size Aware Cache
    Management", ACM TOS 2022.) So many small entries that are used outlast a large one.

    **The newest entry** stays if it fits into the window, as what was just written is likely to be
    read. A heavier one has the contest at once, but easier: it stays as well if one entry makes
    room for it, the window's last one if that was not used, and what was not used again since it
    was stored has no say. If it stays it is the window's guest, and a candidate as soon as
    something else is written. If it loses, it goes.

    **The window's share** depends on the work: small where the same entries are used again and
    again, large where what is new is what is used. Two lists remember the hashes of what went, each
    of up to a quarter of the capacity: of what left the window and was not admitted, and of what
    went from main. What comes back and is found in the first would have needed a larger window; if
    found in the second, a larger main part. Each moves the border by the share of as many entries
    as the other list is longer, 1 to 8 times: the idea is that of ARC (Megiddo and Modha, FAST
    2003). A hill climber in its place needs long samples and makes few steps; on recorded traces
    the ghosts keep more hits than it, and than any fixed window.

    Details that matter:
    - What wins against a candidate moves to probation's front, one time in four, so the next ones
      meet another one. Otherwise one entry that was used much keeps all others out until the sketch
      forgets it. To do it each time keeps few more hits, and each set waits for other memory.
    - A small cache begins with a window of a tenth: a hundredth would be an entry or two. A window
      of more than 1,000 entries has to prove itself, as its last ones are far away in memory.
    - What comes back while it is a ghost, and would win the contest now, goes into the protected
      part at once: it has shown that it is used over longer times than the cache remembers.
    - To grow, the window takes nothing from main: as long as it has less than its share, what goes
      is main's last one, and the window keeps what comes. To take over main's last one would make
      it the next candidate, and when it lost, a ghost of the window that the window never had: a
      reason to grow further, out of nothing.
    - What was used in the main part is not told of again in the same turn, which ends when an
      eighth of the capacity has come. Its place in the list is as old as that at most, and how
      often it was used counts when it is to go, many turns later. On recorded traces turns of a
      64th to a quarter of the capacity keep as many hits as none at all.
    - The sketch counts from when the cache is half full. What is used while it fills says little
      about what to keep when it is full, and would only wear the counters out.
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
    /** The protected part weighs up to so many times what probation does. */
    PROTECTED_TIMES = 4,
    STEPS_MAX = 8,
    /** The most entries that one call moves across a border. */
    MOVES_MAX = 16,
    /** What wins moves on for one candidate in so many that it was refused for. */
    REFUSALS_TO_MOVE = 4,
    /** A turn is so much of the capacity. */
    TURNS = 8,
    /** The most entries that a window begins with, unless that is less than its least share. */
    WINDOW_START_MAX = 1000,
    /** In an entry's mark: it was used again, here or since it was a ghost. */
    USED_AGAIN = 1,
    /** The most entries that one candidate contends with; those behind them are taken to be like
        them. */
    RIVALS_MAX = 16,
};

/** Shares of all entries' weight, in units of 2^-32. */
static const uint64_t SHARE_ONE = UINT64_C(1) << 32;
static const uint64_t SHARE_STEP_MAX = (UINT64_C(1) << 32) / 400;
static const uint64_t SHARE_MIN = (UINT64_C(1) << 32) / 100;
static const uint64_t SHARE_MAX = (UINT64_C(1) << 32) / 10 * 9;

typedef struct adaptive_state {
    index_sketch sketch;
    /** Hashes of what went from the window, and from main. */
    index_ghost window_ghost;
    index_ghost main_ghost;
    uint64_t window_share;
    /** What came in this turn. */
    uint64_t came;
    uint32_t refused;
} adaptive_state;

// Starting ----------------------------------------------------------------------------------------

static uint64_t share_at_start(uint64_t count_limit) {
    const uint64_t entries = count_limit < SHARE_ONE ? count_limit : SHARE_ONE;
    if (entries < 10 * WINDOW_START_MAX) return SHARE_ONE / 10;
    const uint64_t share = SHARE_ONE * WINDOW_START_MAX / entries;
    return share > SHARE_MIN ? share : SHARE_MIN;
}

static void begin_turn(larder_index *index, adaptive_state *state) {
    state->came = 0;
    if (++index->turn == 0) index->turn = 1;
}

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
        state->window_share = share_at_start(index->count_limit);
        state->refused = 0;
        begin_turn(index, state);
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

// Weights -----------------------------------------------------------------------------------------

static bool weighs_costs(const larder_index *index) {
    return index->has_costs && index->cost_limit != LARDER_INDEX_UNLIMITED;
}

static index_total weight_of(const larder_index *index, larder_index_slot slot) {
    return weighs_costs(index) ? (index_total)*index_cost_at(index, slot) + 1 : 1;
}

static index_total list_weight(const larder_index *index, uint32_t list) {
    const index_list *at = &index->lists[list];
    return weighs_costs(index) ? at->cost + at->count : at->count;
}

// The borders -------------------------------------------------------------------------------------

/** What the window should weigh. */
static index_total window_target(const larder_index *index) {
    const adaptive_state *state = index->policy_state;
    const index_total total = list_weight(index, LIST_WINDOW) + list_weight(index, LIST_PROBATION) +
                              list_weight(index, LIST_PROTECTED);
    const index_total target = total * state->window_share >> 32;
    return target > 0 ? target : 1;
}

static void shrink_window(larder_index *index, index_total target) {
    for (int i = 0; i < MOVES_MAX && list_weight(index, LIST_WINDOW) > target; i++)
        index_list_move_first(index, LIST_PROBATION, index->lists[LIST_WINDOW].last);
}

static void shrink_protected(larder_index *index) {
    for (int i = 0; i < MOVES_MAX && list_weight(index, LIST_PROTECTED) >
                                         PROTECTED_TIMES * list_weight(index, LIST_PROBATION);
         i++)
        index_list_move_first(index, LIST_PROBATION, index->lists[LIST_PROTECTED].last);
}

/** The share of one entry, times how much longer the other list of ghosts is than the one where the
    hash was found; of few entries, one has a smaller say. `own` is at least 1. */
static uint64_t share_step(uint64_t total, uint64_t own, uint64_t other) {
    uint64_t step = SHARE_ONE * STEPS_MAX / total;
    if (other <= own) step = SHARE_ONE / total;
    else if (other < own * STEPS_MAX) step = SHARE_ONE * other / own / total;
    return step < SHARE_STEP_MAX ? step : SHARE_STEP_MAX;
}

/** Moves the border if the hash is one of those that went lately. @return whether it is. */
static bool adapt(larder_index *index, uint32_t hash) {
    adaptive_state *state = index->policy_state;
    const uint64_t in_window = state->window_ghost.count, in_main = state->main_ghost.count;
    const uint64_t total = index->lists[LIST_WINDOW].count + index->lists[LIST_PROBATION].count +
                           index->lists[LIST_PROTECTED].count;
    if (total == 0) return false;
    if (index_ghost_take(&state->window_ghost, hash)) {
        state->window_share += share_step(total, in_window, in_main);
        if (state->window_share > SHARE_MAX) state->window_share = SHARE_MAX;
        return true;
    }
    if (!index_ghost_take(&state->main_ghost, hash)) return false;
    const uint64_t step = share_step(total, in_main, in_window);
    const uint64_t rest = state->window_share - SHARE_MIN;
    state->window_share = SHARE_MIN + (rest > step ? rest - step : 0);
    shrink_window(index, window_target(index));
    return true;
}

// The contest -------------------------------------------------------------------------------------

static uint32_t uses_lately(const larder_index *index, larder_index_slot slot) {
    const adaptive_state *state = index->policy_state;
    return index_sketch_estimate(&state->sketch, index_hash_of(index, slot));
}

/** Whether an entry was used oftener, for its weight, than those from `rival` on that weigh as much
    as it does. */
static bool beats(const larder_index *index, larder_index_slot candidate, larder_index_slot rival) {
    const uint32_t own = uses_lately(index, candidate);
    if (!weighs_costs(index)) return own > uses_lately(index, rival);
    const index_total needed = weight_of(index, candidate);
    index_total weight = 0;
    uint32_t uses = 0;
    for (int i = 0; i < RIVALS_MAX && rival != LARDER_INDEX_NONE && weight < needed; i++) {
        weight += weight_of(index, rival);
        uses += uses_lately(index, rival);
        rival = index_link_of(index, rival)->newer;
    }
    return weight * own > needed * uses;
}

/** Whether the entry that was just written stays, although it makes the index too heavy. */
static bool newest_stays(const larder_index *index, larder_index_slot rival) {
    const larder_index_slot newest = index->newest;
    const index_total needed = index->total_cost - index->cost_limit;
    index_total weight = 0;
    uint32_t uses = 0;
    for (int i = 0; i < RIVALS_MAX && rival != LARDER_INDEX_NONE && weight <= needed; i++) {
        if (rival != newest) {
            const uint32_t own = uses_lately(index, rival);
            weight += weight_of(index, rival);
            if (weight > needed && i == 0) return true;
            uses += index_uses_of(index, rival) == 0 ? 0 : own;
        }
        rival = index_link_of(index, rival)->newer;
    }
    return uses == 0 || weight * uses_lately(index, newest) > weight_of(index, newest) * uses;
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
    if (victim != LARDER_INDEX_NONE) {
        index_sketch_approach(&state->sketch, index_hash_of(index, victim));
        const larder_index_slot newer = index_link_of(index, victim)->newer;
        if (newer != LARDER_INDEX_NONE) __builtin_prefetch(index_link_of(index, newer), 1);
    }
}

static void adaptive_inserted(larder_index *index, larder_index_slot slot) {
    adaptive_state *state = index->policy_state;
    const uint32_t hash = index_hash_of(index, slot);
    const bool is_over = index_is_over_count(index) || index_is_over_cost(index);
    if (++state->came >= policy_capacity(index) / TURNS) begin_turn(index, state);
    index_sketch_approach(&state->sketch, hash);
    index_ghost_approach(&state->window_ghost, hash);
    index_ghost_approach(&state->main_ghost, hash);
    if (is_over) approach_contest(index, state);
    if (index->count > state->sketch.entries && state->sketch.entries < index->count_limit)
        fit_sketch(index, &state->sketch);
    index_sketch_add(&state->sketch, hash);
    const larder_index_slot rival = index->lists[LIST_PROBATION].last;
    const bool comes_back = adapt(index, hash);
    if (comes_back) index_set_uses(index, slot, USED_AGAIN);
    if (comes_back && rival != LARDER_INDEX_NONE && beats(index, slot, rival)) {
        index_list_put_first(index, LIST_PROTECTED, slot);
        shrink_protected(index);
        return;
    }
    index_list_put_first(index, LIST_WINDOW, slot);
    // If something has to go, the window's last one has the contest first.
    if (!is_over) shrink_window(index, window_target(index) + weight_of(index, slot));
}

static void adaptive_approach(const larder_index *index, larder_index_slot slot) {
    const adaptive_state *state = index->policy_state;
    index_sketch_approach(&state->sketch, index_hash_of(index, slot));
}

static void adaptive_touched(larder_index *index, larder_index_slot slot) {
    if (larder_index_was_told(index, slot)) return;
    adaptive_state *state = index->policy_state;
    index_sketch_add(&state->sketch, index_hash_of(index, slot));
    if (index_uses_of(index, slot) == 0) index_set_uses(index, slot, USED_AGAIN);
    const uint32_t list = index_list_of(index, slot);
    if (list == LIST_WINDOW) {
        index_list_move_first(index, list, slot);
        return;
    }
    larder_index_set_told(index, slot);
    index_list_move_first(index, LIST_PROTECTED, slot);
    shrink_protected(index);
}

/** An entry lost to `rival`, and goes. From time to time the next one meets another. */
static larder_index_slot adaptive_refuse(larder_index *index, larder_index_slot slot,
                                         larder_index_slot rival) {
    adaptive_state *state = index->policy_state;
    policy_remember(index, &state->window_ghost, index_hash_of(index, slot),
                    policy_capacity(index) / GHOST_DIVISOR);
    if (++state->refused % REFUSALS_TO_MOVE != 0 || index_list_of(index, rival) != LIST_PROBATION)
        return slot;
    index_list_move_first(index, LIST_PROBATION, rival);
    index_approach(index, index->lists[LIST_PROBATION].last);
    return slot;
}

/** Whether the newest entry is too heavy for the window, and for all. */
static bool is_newest_heavy(const larder_index *index, index_total target) {
    return index->newest != LARDER_INDEX_NONE && weighs_costs(index) && index_is_over_cost(index) &&
           !index_is_pinned(index, index->newest) && weight_of(index, index->newest) > target;
}

static larder_index_slot adaptive_victim(larder_index *index) {
    adaptive_state *state = index->policy_state;
    const index_total target = window_target(index);
    index_total window = list_weight(index, LIST_WINDOW);
    larder_index_slot victim = policy_last(index, LIST_PROBATION);
    if (victim == LARDER_INDEX_NONE) victim = policy_last(index, LIST_PROTECTED);
    larder_index_slot candidate = policy_last(index, LIST_WINDOW);
    if (is_newest_heavy(index, target)) {
        // A guest that nobody has used makes room for the next one.
        if (candidate != LARDER_INDEX_NONE && candidate != index->newest &&
            index_uses_of(index, candidate) == 0 &&
            weight_of(index, candidate) > index->total_cost - index->cost_limit)
            return adaptive_refuse(index, candidate, candidate);
        const larder_index_slot rival = victim != LARDER_INDEX_NONE ? victim : candidate;
        if (rival == LARDER_INDEX_NONE) return index->newest;
        if (!newest_stays(index, rival)) return adaptive_refuse(index, index->newest, rival);
        // It is a guest that the others need not make room for.
        if (index_list_of(index, index->newest) == LIST_WINDOW)
            window -= weight_of(index, index->newest);
    }
    if (victim == LARDER_INDEX_NONE)
        return candidate != LARDER_INDEX_NONE ? candidate : index->newest;
    if (candidate != LARDER_INDEX_NONE && window > target) {
        if (!beats(index, candidate, victim)) return adaptive_refuse(index, candidate, victim);
        index_list_move_first(index, LIST_PROBATION, candidate);
    }
    policy_remember(index, &state->main_ghost, index_hash_of(index, victim),
                    policy_capacity(index) / GHOST_DIVISOR);
    return victim;
}

/** What was read goes into the protected part, as far as it fits; the newest into the window. */
static void adaptive_adopt(larder_index *index, const larder_index_slot *slots, const bool *read,
                           size_t count) {
    const adaptive_state *state = index->policy_state;
    const size_t window = (size_t)((uint64_t)count * state->window_share >> 32);
    for (size_t i = 0; i < count; i++) {
        if (read[i]) index_set_uses(index, slots[i], USED_AGAIN);
        const bool is_new = count - i <= window;
        index_list_put_first(index,
                             is_new    ? LIST_WINDOW
                             : read[i] ? LIST_PROTECTED
                                       : LIST_PROBATION,
                             slots[i]);
    }
    const index_list *protected = &index->lists[LIST_PROTECTED];
    while (list_weight(index, LIST_PROTECTED) >
           PROTECTED_TIMES * list_weight(index, LIST_PROBATION))
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
