// SPDX-License-Identifier: MIT
// Puts every contradiction into an index that larder_index_check knows, one at a time, and takes it
// out again: the check has to find it, to name it, and to find nothing afterwards.
#include <string.h>

#include "index/group.h"
#include "index/policy/ghost.h"
#include "index/policy/sketch.h"
#include "memory.h"

enum { PATCHES = 2 };

/** What was changed, and what was there. */
typedef struct patch {
    void *at;
    size_t bytes;
    uint8_t was[16];
} patch;

typedef struct wound {
    larder_index *index;
    size_t count;
    patch patches[PATCHES];
} wound;

static void poke(wound *self, void *at, const void *bytes, size_t count) {
    patch *to = &self->patches[self->count++];
    *to = (patch){at, count, {0}};
    memcpy(to->was, at, count);
    memcpy(at, bytes, count);
}

#define POKE(self, place, value)                                                                   \
    do {                                                                                           \
        __typeof__(place) poked = (__typeof__(place))(value);                                      \
        poke((self), &(place), &poked, sizeof poked);                                              \
    } while (0)

static void heal(wound *self) {
    while (self->count > 0) {
        const patch *last = &self->patches[--self->count];
        memcpy(last->at, last->was, last->bytes);
    }
}

// What is hurt ------------------------------------------------------------------------------------

static larder_index_slot any(const wound *self) {
    return larder_index_step(self->index, LARDER_INDEX_NONE);
}

static index_segment *segment_of_any(const wound *self) {
    return index_segment_of(self->index, any(self));
}

static index_entry *entry_of_any(const wound *self) {
    return &segment_of_any(self)->entries[index_place_of(any(self))];
}

/** A list with two entries and more. */
static uint32_t long_list(const wound *self) {
    uint32_t list = 0;
    while (list + 1 < LISTS && self->index->lists[list].count < 2) {
        list++;
    }
    return list;
}

static void hurt_number(wound *self) { POKE(self, segment_of_any(self)->id, 1000); }

static void hurt_directory(wound *self) {
    POKE(self, entry_of_any(self)->hash, ~entry_of_any(self)->hash);
}

/** An entry whose search starts in another group, from which nothing overflowed. */
static void hurt_reach(wound *self) {
    index_segment *segment = segment_of_any(self);
    for (uint32_t bit = 0; bit < 32; bit++) {
        uint32_t hash = entry_of_any(self)->hash ^ 1u << bit;
        uint32_t home = home_group(segment, hash);
        if (directory_at(self->index, hash) == segment &&
            home != index_place_of(any(self)) / GROUP_PLACES &&
            tag_get(group_at(self->index, segment, home), OVERFLOW) == 0) {
            POKE(self, entry_of_any(self)->hash, hash);
            return;
        }
    }
}

static void hurt_used(wound *self) {
    POKE(self, segment_of_any(self)->used, segment_of_any(self)->used + 1);
}

static void hurt_overflow(wound *self) {
    uint8_t *tag = group_at(self->index, segment_of_any(self), 0) + OVERFLOW;
    POKE(self, *tag, *tag + 1);
}

static void hurt_count(wound *self) { POKE(self, self->index->count, self->index->count + 1); }

static void hurt_list_short(wound *self) {
    index_list *list = &self->index->lists[long_list(self)];
    POKE(self, list->count, list->count - 1);
}

static void hurt_list_long(wound *self) {
    index_list *list = &self->index->lists[long_list(self)];
    POKE(self, list->count, list->count + 1);
}

static void hurt_list_cost(wound *self) {
    index_list *list = &self->index->lists[long_list(self)];
    POKE(self, list->cost, list->cost + 1);
}

static void hurt_neighbours(wound *self) {
    index_list *list = &self->index->lists[long_list(self)];
    POKE(self, index_link_of(self->index, list->last)->newer, list->last);
}

static void hurt_list_mark(wound *self) {
    uint8_t *mark = index_mark_of(self->index, self->index->lists[long_list(self)].first);
    POKE(self, *mark, *mark ^ 7);
}

static void hurt_last(wound *self) {
    index_list *list = &self->index->lists[long_list(self)];
    POKE(self, list->last, list->first);
}

static void hurt_lists(wound *self) { POKE(self, self->index->lists[1].count, 1); }

static void hurt_first_of_list(wound *self) { POKE(self, self->index->lists[1].first, 0); }

static void hurt_last_of_list(wound *self) { POKE(self, self->index->lists[1].last, 0); }

static void hurt_other_list(wound *self) { POKE(self, self->index->lists[LISTS - 2].count, 1); }

static void hurt_heap_order(wound *self) {
    POKE(self, self->index->heap[1].at, self->index->heap[0].at - 1);
}

static void hurt_heap_place(wound *self) {
    larder_index_slot slot = self->index->heap[0].slot;
    POKE(self, index_segment_of(self->index, slot)->times[index_place_of(slot)].heap_position, 9);
}

static void hurt_heap_due(wound *self) {
    index_deadline *last = &self->index->heap[self->index->heap_count - 1];
    POKE(self, last->at, last->at + 1);
}

static void hurt_unlisted(wound *self) {
    uint8_t *mark = index_mark_of(self->index, any(self));
    POKE(self, *mark, *mark | 1);
}

static void hurt_pinned(wound *self) {
    uint8_t *mark = index_mark_of(self->index, any(self));
    POKE(self, *mark, *mark ^ MARK_PINNED);
}

static void hurt_cost(wound *self) {
    POKE(self, self->index->total_cost, self->index->total_cost + 1);
}

/** One that the heap does not have. */
static void hurt_deadline(wound *self) {
    larder_index_slot slot = any(self);
    while (larder_index_deadline(self->index, slot) != LARDER_INDEX_NEVER) {
        slot = larder_index_step(self->index, slot);
    }
    int64_t soon = 5;
    poke(self, (void *)&index_segment_of(self->index, slot)->deadlines[index_place_of(slot)], &soon,
         sizeof soon);
}

/** As larder_index_policy_adaptive.c has it. */
typedef struct adaptive_state {
    index_sketch sketch;
    index_ghost window_ghost;
    index_ghost main_ghost;
    uint64_t window_share;
} adaptive_state;

static adaptive_state *adaptive(const wound *self) { return self->index->policy_state; }

static void hurt_share_low(wound *self) { POKE(self, adaptive(self)->window_share, 0); }

static void hurt_share_high(wound *self) {
    POKE(self, adaptive(self)->window_share, UINT64_C(1) << 33);
}

static void hurt_ghost_room(wound *self) { POKE(self, adaptive(self)->window_ghost.room, 0); }

static void hurt_ghost_span(wound *self) {
    index_ghost *ghost = &adaptive(self)->main_ghost;
    POKE(self, ghost->horizon, ghost->stamp);
}

static void hurt_ghost_taken(wound *self) {
    index_ghost *ghost = &adaptive(self)->window_ghost;
    uint32_t bit = ghost->stamp & ghost->taken_mask;
    POKE(self, ghost->taken[bit / 64], ghost->taken[bit / 64] ^ UINT64_C(1) << bit % 64);
}

static void hurt_ghost_hash(wound *self) {
    index_ghost *ghost = &adaptive(self)->window_ghost;
    for (uint32_t at = 0; at < ghost->bucket_count; at++) {
        for (uint32_t i = 0; i < GHOST_BUCKET; i++) {
            if (ghost_is_there(ghost, ghost->buckets[at].stamps[i])) {
                POKE(self, ghost->buckets[at].hashes[i], ~ghost->buckets[at].hashes[i]);
                return;
            }
        }
    }
}

static void hurt_ghost_count(wound *self) {
    index_ghost *ghost = &adaptive(self)->main_ghost;
    POKE(self, ghost->count, ghost->count - 1);
}

typedef struct contradiction {
    void (*hurt)(wound *self);
    const char *reason;
    larder_index_policy policy;
    bool is_limited;
} contradiction;

static const contradiction contradictions[] = {
    {hurt_number, "a segment does not know its number", LARDER_INDEX_LRU, false},
    {hurt_directory, "the directory does not lead to an entry", LARDER_INDEX_LRU, false},
    {hurt_reach, "a search does not reach an entry", LARDER_INDEX_LRU, false},
    {hurt_used, "a segment has another number of entries than it says", LARDER_INDEX_LRU, false},
    {hurt_overflow, "groups count other displaced entries than there are", LARDER_INDEX_LRU, false},
    {hurt_count, "the segments hold another number of entries", LARDER_INDEX_LRU, false},
    {hurt_list_short, "a list has more entries than it says, or goes in a circle", LARDER_INDEX_LRU,
     true},
    {hurt_list_long, "a list has fewer entries than it says", LARDER_INDEX_FIFO, true},
    {hurt_list_cost, "the cost of a list is not the sum of its entries' costs",
     LARDER_INDEX_ADAPTIVE, true},
    {hurt_neighbours, "two neighbours in a list do not agree", LARDER_INDEX_LRU, true},
    {hurt_list_mark, "an entry is marked for another list than it is in", LARDER_INDEX_S3FIFO,
     true},
    {hurt_last, "a list's last entry is another one", LARDER_INDEX_ADAPTIVE, true},
    {hurt_lists, "an index without limits has lists", LARDER_INDEX_LRU, false},
    {hurt_first_of_list, "an index without limits has lists", LARDER_INDEX_LRU, false},
    {hurt_last_of_list, "an index without limits has lists", LARDER_INDEX_LRU, false},
    {hurt_other_list, "entries are in a list that the policy does not have", LARDER_INDEX_LRU,
     true},
    {hurt_heap_order, "the heap of deadlines is out of order", LARDER_INDEX_LRU, false},
    {hurt_heap_place, "an entry does not know its place in the heap", LARDER_INDEX_LRU, false},
    {hurt_heap_due, "an entry is due before the heap says so", LARDER_INDEX_LRU, false},
    {hurt_unlisted, "an entry of an index without limits is marked for a list", LARDER_INDEX_FIFO,
     false},
    {hurt_pinned, "pinned entries are others than those in the list of pinned ones",
     LARDER_INDEX_FIFO, true},
    {hurt_cost, "the total cost is not the sum of costs", LARDER_INDEX_LRU, true},
    {hurt_deadline, "the heap has others than those with a deadline", LARDER_INDEX_LRU, true},
    {hurt_share_low, "the share of the window is out of bounds", LARDER_INDEX_ADAPTIVE, true},
    {hurt_share_high, "the share of the window is out of bounds", LARDER_INDEX_ADAPTIVE, true},
    {hurt_ghost_room, "a ghost list holds more than it has room for", LARDER_INDEX_ADAPTIVE, true},
    {hurt_ghost_span, "a ghost list holds more than it has room for", LARDER_INDEX_ADAPTIVE, true},
    {hurt_ghost_taken, "a ghost is there that was taken out", LARDER_INDEX_ADAPTIVE, true},
    {hurt_ghost_hash, "a ghost is not found from its hash", LARDER_INDEX_ADAPTIVE, true},
    {hurt_ghost_count, "the number of ghosts is wrong", LARDER_INDEX_ADAPTIVE, true},
};

// The index ---------------------------------------------------------------------------------------

static larder_index *whole_index(torture *run, const contradiction *what) {
    enum { KEYS = 9000 };
    larder_index_options options;
    larder_index_options_init(&options);
    options.policy = what->policy;
    options.count_limit = what->is_limited ? KEYS / 2 : LARDER_INDEX_UNLIMITED;
    larder_index *index = NULL;
    if (!EXPECT_STATUS(run, larder_index_create(&options, &index), LARDER_OK)) {
        return NULL;
    }
    for (uint64_t key = 0; key < KEYS && torture_unhurt(run); key++) {
        // Some come twice, and are used, so that both kinds of ghosts are there.
        uint64_t hash = larder_index_hash_u64(key % 3 ? key : key / 2);
        larder_index_probe probe;
        larder_index_cause cause;
        (void)larder_index_write_first(index, hash, &probe);
        EXPECT_STATUS(run, larder_index_write_insert(index, key % 4, &probe), LARDER_OK);
        memcpy(probe.payload, &key, sizeof key);
        larder_index_slot slot = probe.slot;
        if (key % 10 == 0) {
            larder_index_expiry far = {INT64_MAX / 2 + (int64_t)key, LARDER_INDEX_NEVER,
                                       LARDER_INDEX_NEVER};
            EXPECT_STATUS(run, larder_index_set_entry_expiry(index, slot, &far), LARDER_OK);
        }
        for (uint64_t uses = key % 7; uses > 0; uses--) {
            larder_index_touch(index, slot);
        }
        while (larder_index_write_settle(index, &probe, &cause)) {
        }
    }
    return index;
}

static void contradict(torture *run, const contradiction *what) {
    const char *reason = NULL;
    torture_note(run, "an index in which %s", what->reason);
    wound self = {.index = whole_index(run, what)};
    if (!self.index) {
        return;
    }
    larder_index_write_begin(self.index);
    EXPECT(run, larder_index_check(self.index, &reason) == LARDER_OK, "%s, before", reason);
    what->hurt(&self);
    EXPECT(run, self.count > 0, "nothing to hurt");
    larder_status status = larder_index_check(self.index, &reason);
    EXPECT(run, status == LARDER_EDAMAGED && reason && strcmp(reason, what->reason) == 0,
           "the check says %d: %s", status, reason ? reason : "nothing");
    EXPECT(run, larder_index_check(self.index, NULL) == LARDER_EDAMAGED, "without a reason");
    heal(&self);
    EXPECT(run, larder_index_check(self.index, &reason) == LARDER_OK, "%s, after", reason);
    larder_index_write_end(self.index);
    larder_index_destroy(self.index);
}

/** An entry that no list has, in an index that counts it. */
static void unlisted(torture *run) {
    torture_trial(run);
    const contradiction what = {NULL, "an entry is in no list, or in two", LARDER_INDEX_LRU, true};
    const char *reason = NULL;
    larder_index *index = whole_index(run, &what);
    if (!index) {
        return;
    }
    larder_index_write_begin(index);
    index_list_remove(index, larder_index_step(index, LARDER_INDEX_NONE));
    EXPECT(run,
           larder_index_check(index, &reason) == LARDER_EDAMAGED &&
               strcmp(reason, what.reason) == 0,
           "the check says %s", reason ? reason : "nothing");
    larder_index_write_end(index);
    larder_index_destroy(index);
}

void memory_contradictions(torture *run, void *context) {
    (void)context;
    for (size_t i = 0; i < sizeof contradictions / sizeof *contradictions; i++) {
        torture_trial(run);
        contradict(run, &contradictions[i]);
    }
    unlisted(run);
}
