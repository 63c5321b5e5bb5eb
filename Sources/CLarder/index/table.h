// SPDX-License-Identifier: MIT
/** @file table.h
    Private: how an index is laid out, and what its source files share.

    The entries lie in segments of up to 256 groups of 15. A group is what a search reads:

        0               15 16                                        16 + 15 * payload
        +----------------+--+------------+------------+---   ---+-------------+
        | 15 tags        |o | payload 0  | payload 1  |   ...   | payload 14  |   256 bytes for
        +----------------+--+------------+------------+---   ---+-------------+   an Int -> Int

    A tag is 0 for a free place, else 7 bits of the hash; its top bit says that the entry was read
    (see "without limits"), or told (see "lists"). `o` counts the entries whose home this group is,
    or on whose way it lies, and that found it full: a search goes on to the next group only if it
    is not 0. It sticks at 255. What a search does not read lies in arrays of its own beside the
    groups.

    The directory leads from the hash's top bits to a segment (Fagin et al., "Extendible hashing",
    ACM TODS 1979). A full segment moves into a larger one, or, at full size, into two that are two
    thirds full; with a limit of entries, into up to eight of the size that they will want at the
    limit. So no insertion moves more than 3,840 entries, and with a limit few entries ever move.

    A slot is `segment id << 12 | group * 15 + place`. It changes when a segment is replaced.

    **Lists.** With a limit, each entry is in one of a few lists, which are links between slots, in
    the order the policy wants. What readers did is noted in small buffers, one for each
    processor, and told to the policy when a buffer is full or a writer comes. A policy may count
    turns: then what it heard of an entry in this turn is in the entry's tag, and it need not hear
    of it again before the next one. So where little comes and goes, little is told.
    **Without limits** nothing has to go, and there are no lists: a stamp per entry, of its
    insertion, or of its last use with LRU, is enough to make them when the first limit
    comes. Beside it a read only marks the tag of what was read. This is what keeps a read at the
    price of a look into a hash table.

    Invariants, which larder_index_check walks:
    1. An entry's tag is not 0, and its hash leads to its segment and group, by way of groups whose
       `o` is not 0.
    2. `used` of a segment is its number of tags that are not 0; all of them are `count`.
    3. With limits each entry is in exactly one list, pinned ones in LIST_PINNED, and the list's
       number is in its mark; a list's `count` and `cost` are those of its entries. Without, none is
       in a list.
    4. Entries with a deadline are in the heap, under a time that is not later than it. */
#ifndef LARDER_TABLE_H
#define LARDER_TABLE_H

#include <stdatomic.h>
#include <stdlib.h>

#include "include/larder_index.h"

enum {
    GROUP_PLACES = 15,
    SEGMENT_SHIFT = 12,
    SEGMENT_GROUPS_MAX = 256,
    READER_NOTES = 64,
    READERS_MAX = 64,
    /** Lists of one index; a mark has three bits for the number. */
    LISTS = 8,
    LIST_NONE = 0,
    LIST_PINNED = 7,
    /** The mark's bits beside the list: two for a policy's own use, and one each. */
    MARK_LIST = 7,
    MARK_USES_SHIFT = 3,
    MARK_USES = 3 << MARK_USES_SHIFT,
    MARK_PINNED = 1 << 5,
    MARK_OWN_EXPIRY = 1 << 6,
    /** With lists, unless tags are marked: read since larder_index_take_reads last gave it.
        Without: it has been given, and its tag does not say any more that it was read. */
    MARK_READ = 1 << 7,
};

/** Wide enough for the costs of all entries, whatever they are. */
__extension__ typedef unsigned __int128 index_total;

/** Memory for so many items, or NULL: also where their size is more than a size_t can say, which
    with pointers of 32 bits is less than an index may hold. */
static inline void *index_memory(uint64_t count, size_t item_bytes) {
    return count > SIZE_MAX / item_bytes ? NULL : malloc((size_t)count * item_bytes);
}

/** A place in a list. `newer` leads to the list's first entry, `older` to its last. */
typedef struct index_link {
    larder_index_slot newer;
    larder_index_slot older;
} index_link;

typedef struct index_list {
    larder_index_slot first;
    larder_index_slot last;
    uint64_t count;
    index_total cost;
} index_list;

/** What an entry's life depends on, beside its deadline. */
typedef struct index_times {
    int64_t written;
    larder_index_expiry expiry;
    /** Its place in the heap, or INDEX_NOT_IN_HEAP. */
    uint32_t heap_position;
} index_times;

#define INDEX_NOT_IN_HEAP UINT32_MAX

typedef struct index_deadline {
    int64_t at;
    larder_index_slot slot;
} index_deadline;

/** What every place has beside its tag and payload. */
typedef struct index_entry {
    /** The hash's upper half. */
    uint32_t hash;
    /** Says when, without limits; see above. */
    _Atomic uint32_t stamp;
} index_entry;

typedef struct index_segment {
    uint8_t *groups;
    uint32_t group_count;
    uint32_t used;
    uint32_t id;
    /** Leading bits of the hash that all its entries have in common. */
    uint32_t depth;
    /** The turn that its tags speak of when they say that an entry was told. */
    uint32_t turn;
    /** Where a search goes on when the hashes cannot be told apart any further; else NULL. */
    struct index_segment *next;
    index_entry *entries;
    uint8_t *marks;
    /** With limits; else NULL. */
    index_link *links;
    /** Once an entry has a cost that is not 0; NULL before. */
    uint64_t *costs;
    /** Once an entry can expire; NULL before. A read looks at the deadline, and moves it where the
        expiry says so; all else is for writers. */
    _Atomic int64_t *deadlines;
    index_times *times;
} index_segment;

/** What the directory says of a segment: all that a search needs. */
typedef struct index_way {
    uint8_t *groups;
    uint32_t id;
    uint16_t group_count;
    uint8_t depth;
    bool is_chained;
} index_way;

/** One of the places where readers announce themselves: a cache line, and what they noted. */
typedef struct index_reader {
    _Alignas(64) _Atomic uint32_t busy;
    uint32_t noted;
    uint64_t hits;
    uint64_t misses;
    /** What the hits cost together. */
    uint64_t hit_cost;
    /** Stamps that this reader has to give: from `stamp`, so many. */
    uint32_t stamp;
    uint32_t stamps_left;
    larder_index_slot notes[READER_NOTES];
} index_reader;

/** What a policy is. All calls come while the index is held for writing, and only while it has
    limits; `start` also at creation, with no entries. */
typedef struct index_policy {
    /** Whether it wants to hear of reads. */
    bool hears_reads;
    /** The lists, in the order in which they would be emptied; LIST_NONE ends them. */
    uint8_t lists[LISTS];
    /** Makes ready for the index's limits, new or changed; remembers nothing of before if
        `forget`. The lists are as they were. On failure nothing changed. */
    larder_status (*start)(larder_index *index, bool forget);
    void (*stop)(larder_index *index);
    /** Puts a new entry into a list. */
    void (*inserted)(larder_index *index, larder_index_slot slot);
    /** Brings nearer what `touched` will want. May be NULL. */
    void (*approach)(const larder_index *index, larder_index_slot slot);
    /** An entry was read or written again. Only if it hears of reads. */
    void (*touched)(larder_index *index, larder_index_slot slot);
    /** Chooses what to evict; may move entries between lists, and remember the one evicted. There
        is an entry that is not pinned. The caller removes the chosen one from its list. */
    larder_index_slot (*victim)(larder_index *index);
    /** Puts entries that are in no list, the first to go first, into lists, after `start`. `read`
        says for each if it was read since it was inserted. */
    void (*adopt)(larder_index *index, const larder_index_slot *slots, const bool *read,
                  size_t count);
    /** A contradiction in what the policy keeps, or NULL. May be NULL. */
    const char *(*check)(const larder_index *index);
} index_policy;

extern const index_policy larder_index_policy_lru, larder_index_policy_fifo,
    larder_index_policy_s3fifo, larder_index_policy_adaptive;

struct larder_index {
    // What a read needs.
    index_way *directory;
    index_segment **segments;
    uint32_t directory_depth;
    /** Bytes from group to group, to the first payload, and from payload to payload. */
    uint32_t group_stride;
    uint32_t payload_offset;
    uint32_t payload_stride;
    index_reader *readers;
    uint32_t reader_mask;
    /** Some entry may have a deadline: searches look at the clock. */
    bool is_timed;
    /** Some entry may live on after an access; once true, it stays so. */
    bool extends_lives;
    /** There are lists. */
    bool is_limited;
    /** Reads that hold the index for reading are noted for the policy. */
    bool notes_reads;
    /** Reads of an index without limits leave a stamp, where it is LRU. */
    bool stamps_reads;
    /** Reads mark the tag: unless they are noted. */
    bool marks_reads;
    /** Segments have costs: entries cost different things, or a limit asks. */
    bool has_costs;
    /** The policy's, from 1 on; 0 if it wants to hear of all that is noted. */
    uint32_t turn;
    /** Reads hold the index for writing: LRU, and few entries. */
    _Atomic bool reads_exclusively;
    /** Taken when the index was held, if it is timed: searches of one hold agree. */
    _Atomic int64_t now;
    /** 0 open, 1 held for writing, 2 and somebody waits. */
    _Alignas(64) _Atomic uint32_t gate;

    // What a writer needs.
    _Alignas(64) uint64_t count;
    index_total total_cost;
    /** What each entry costs, unless segments have costs. */
    uint64_t unit_cost;
    uint64_t count_limit;
    uint64_t cost_limit;
    const index_policy *policy;
    void *policy_state;
    index_list lists[LISTS];
    /** The last stamp that was given; see INDEX_STAMPS_END. */
    _Atomic uint64_t stamp;
    /** `segments` by id, NULL where an id is free; the free ones are in `free_ids`. */
    uint32_t segment_count;
    uint32_t segment_capacity;
    uint32_t *free_ids;
    uint32_t free_id_count;
    larder_index_slot newest;
    /** As larder_index_left_use says. */
    int64_t left_use_ns;
    /** For searches, which go by the finer clock where nobody may have to agree with them. */
    bool is_held_for_writing;
    larder_index_options options;
    larder_index_expiry expiry;
    /** How long entries stay after their deadlines, for writers alone. */
    int64_t grace_ns;
    index_deadline *heap;
    uint32_t heap_count;
    uint32_t heap_capacity;
    /** Segments have times and deadlines. */
    bool has_times;
    uint64_t insertions;
    uint64_t gone[LARDER_INDEX_CAUSES];
    /** Memory that the policy has; it keeps this itself. */
    uint64_t policy_bytes;
};

// Places ------------------------------------------------------------------------------------------

static inline index_segment *index_segment_of(const larder_index *index, larder_index_slot slot) {
    return index->segments[slot >> SEGMENT_SHIFT];
}

static inline uint32_t index_place_of(larder_index_slot slot) {
    return slot & ((1u << SEGMENT_SHIFT) - 1);
}

static inline uint32_t index_hash_of(const larder_index *index, larder_index_slot slot) {
    return index_segment_of(index, slot)->entries[index_place_of(slot)].hash;
}

static inline _Atomic uint32_t *index_stamp_of(const larder_index *index, larder_index_slot slot) {
    return &index_segment_of(index, slot)->entries[index_place_of(slot)].stamp;
}

static inline uint8_t *index_mark_of(const larder_index *index, larder_index_slot slot) {
    return &index_segment_of(index, slot)->marks[index_place_of(slot)];
}
static inline bool index_is_pinned(const larder_index *index, larder_index_slot slot) {
    return (*index_mark_of(index, slot) & MARK_PINNED) != 0;
}

/** The cost of an entry of an index that has costs. */
static inline uint64_t *index_cost_at(const larder_index *index, larder_index_slot slot) {
    return &index_segment_of(index, slot)->costs[index_place_of(slot)];
}

static inline index_link *index_link_of(const larder_index *index, larder_index_slot slot) {
    return &index_segment_of(index, slot)->links[index_place_of(slot)];
}

/** The two bits that a policy has for itself in each entry: 0 in a new one. (An entry that is not
    pinned any more is handed to `inserted` as it is.) */
static inline uint32_t index_uses_of(const larder_index *index, larder_index_slot slot) {
    return (*index_mark_of(index, slot) & MARK_USES) >> MARK_USES_SHIFT;
}

static inline void index_set_uses(const larder_index *index, larder_index_slot slot,
                                  uint32_t uses) {
    uint8_t *mark = index_mark_of(index, slot);
    *mark = (uint8_t)((*mark & ~(unsigned)MARK_USES) | uses << MARK_USES_SHIFT);
}

static inline uint32_t index_list_of(const larder_index *index, larder_index_slot slot) {
    return *index_mark_of(index, slot) & MARK_LIST;
}

/** Brings nearer what looking at an entry in its list will want. */
static inline void index_approach(const larder_index *index, larder_index_slot slot) {
    const index_segment *segment = index_segment_of(index, slot);
    const uint32_t place = index_place_of(slot);
    __builtin_prefetch(&segment->entries[place]);
    __builtin_prefetch(&segment->links[place], 1);
    __builtin_prefetch(&segment->marks[place], 1);
}

// Limits ------------------------------------------------------------------------------------------

static inline bool index_is_over_count(const larder_index *index) {
    return index->count > index->count_limit;
}

static inline bool index_is_over_cost(const larder_index *index) {
    return index->total_cost > index->cost_limit && index->cost_limit != LARDER_INDEX_UNLIMITED;
}

// Lists -------------------------------------------------------------------------------------------

static inline void index_list_link_first(larder_index *index, uint32_t list,
                                         larder_index_slot slot) {
    index_list *at = &index->lists[list];
    index_link *link = index_link_of(index, slot);
    uint8_t *mark = index_mark_of(index, slot);
    *mark = (uint8_t)((*mark & ~(unsigned)MARK_LIST) | list);
    link->newer = LARDER_INDEX_NONE;
    link->older = at->first;
    if (at->first == LARDER_INDEX_NONE) at->last = slot;
    else index_link_of(index, at->first)->newer = slot;
    at->first = slot;
    at->count++;
}

static inline void index_list_unlink(larder_index *index, larder_index_slot slot) {
    uint8_t *mark = index_mark_of(index, slot);
    index_list *from = &index->lists[*mark & MARK_LIST];
    const index_link link = *index_link_of(index, slot);
    *mark &= (uint8_t) ~(unsigned)MARK_LIST;
    if (link.newer == LARDER_INDEX_NONE) from->first = link.older;
    else index_link_of(index, link.newer)->older = link.older;
    if (link.older == LARDER_INDEX_NONE) from->last = link.newer;
    else index_link_of(index, link.older)->newer = link.newer;
    from->count--;
}

/** Puts an entry that is in no list first, which is the most recent end. */
static inline void index_list_put_first(larder_index *index, uint32_t list,
                                        larder_index_slot slot) {
    index_list_link_first(index, list, slot);
    if (index->has_costs) index->lists[list].cost += *index_cost_at(index, slot);
}

/** Takes an entry out of the list it is in. */
static inline void index_list_remove(larder_index *index, larder_index_slot slot) {
    if (index->has_costs)
        index->lists[index_list_of(index, slot)].cost -= *index_cost_at(index, slot);
    index_list_unlink(index, slot);
}

/** Within a list, its cost is not looked at: it lies further away in memory. */
static inline void index_list_move_first(larder_index *index, uint32_t list,
                                         larder_index_slot slot) {
    if (index->lists[list].first == slot) return;
    const uint32_t from = index_list_of(index, slot);
    index_list_unlink(index, slot);
    index_list_link_first(index, list, slot);
    if (from == list || !index->has_costs) return;
    index->lists[from].cost -= *index_cost_at(index, slot);
    index->lists[list].cost += *index_cost_at(index, slot);
}

/** Stamps are 32 bits wide: before they run out, entries are numbered afresh. A new index starts
    shortly before that, so that it happens in every test and not once in a long life. */
#define INDEX_STAMPS_END UINT64_C(0xF0000000)
#define INDEX_STAMPS_BEGIN (INDEX_STAMPS_END - 50000)
/** How many stamps a reader takes at once. */
#define INDEX_STAMPS_TAKEN 64
/** LRU indexes of up to so many entries are read exclusively: the order is exact whatever the
    threads do. */
#define INDEX_EXCLUSIVE_MAX 1024

// index/memory.c, index/segment.c, index/growth.c -------------------------------------------------

/** A segment with no entries and no number; NULL for want of memory. */
index_segment *larder_index_segment_create(const larder_index *index, uint32_t group_count,
                                           uint32_t depth);
void larder_index_segment_destroy(index_segment *segment);
/** Has so many numbers free. */
larder_status larder_index_reserve_ids(larder_index *index, uint32_t count);
/** Gives a segment a number, for which there is room. */
void larder_index_segment_register(larder_index *index, index_segment *segment);
void larder_index_segment_unregister(larder_index *index, const index_segment *segment);
index_way larder_index_directory_entry(const index_segment *segment);
/** The place that is free for an entry with this hash; makes segments as needed. */
larder_status larder_index_place(larder_index *index, uint64_t hash, larder_index_slot *slot);
/** What segments have only when it is needed: links with limits, costs once there is one that is
    not 0, times once an entry can expire. */
typedef enum index_array {
    ARRAY_LINKS,
    ARRAY_COSTS,
    ARRAY_DEADLINES,
    ARRAY_TIMES,
} index_array;
/** Gives the array to every segment; or to none, if memory runs out. */
larder_status larder_index_add_array(larder_index *index, index_array array);
void larder_index_drop_array(larder_index *index, index_array array);
larder_status larder_index_segments_create(larder_index *index);
void larder_index_segments_destroy(larder_index *index);
/** Whether the entry was read since it was inserted, as its tag says. */
bool larder_index_was_read(const larder_index *index, larder_index_slot slot);
/** Whether it was used since larder_index_take_reads listed it last. */
bool larder_index_is_unlisted(const larder_index *index, larder_index_slot slot);
/** Has each entry keep a cost of its own. O(n), and O(1) if they do. */
larder_status larder_index_make_costly(larder_index *index);
/** As larder_index_left_use, of an entry that is there. */
int64_t larder_index_unlisted_use(const larder_index *index, larder_index_slot slot);
/** With the first limit: what says that an entry was read since that was taken comes where lists
    have it. */
void larder_index_move_read_mark(const larder_index *index, larder_index_slot slot);
/** The policy heard of a use, and need not hear of another one in this turn. */
void larder_index_set_told(const larder_index *index, larder_index_slot slot);
/** It has to hear of the next one. */
void larder_index_clear_told(const larder_index *index, larder_index_slot slot);
bool larder_index_was_told(const larder_index *index, larder_index_slot slot);
/** Steps over all entries: from LARDER_INDEX_NONE to the first, from the last to it. */
larder_index_slot larder_index_step(const larder_index *index, larder_index_slot slot);
/** Frees all places, or all memory. */
void larder_index_segments_clear(larder_index *index, bool keep_capacity);
uint64_t larder_index_segments_bytes(const larder_index *index);
/** Invariants 1 and 2; NULL if they hold. */
const char *larder_index_segments_check(const larder_index *index);

// index/lock.c ------------------------------------------------------------------------------------

larder_status larder_index_readers_create(larder_index *index);
void larder_index_readers_destroy(larder_index *index);
/** A stamp later than all that were given, for one who holds the index for writing. */
static inline uint32_t index_next_stamp(larder_index *index) {
    const uint64_t stamp = atomic_load_explicit(&index->stamp, memory_order_relaxed) + 1;
    atomic_store_explicit(&index->stamp, stamp, memory_order_relaxed);
    return (uint32_t)stamp;
}

// index.c -----------------------------------------------------------------------------------------

/** Tells the policy of a use, or stamps the entry. */
void larder_index_used(larder_index *index, larder_index_slot slot);

/** No list has entries. */
void larder_index_empty_lists(larder_index *index);
void larder_index_stamp(larder_index *index, larder_index_slot slot);

// index/limits.c ----------------------------------------------------------------------------------

/** What readers do with a hit follows from the policy and from whether there are lists. */
void larder_index_set_limited(larder_index *index, bool is_limited);

// index/order.c -----------------------------------------------------------------------------------

/** Entries in the order in which they would go, pinned ones last. `slots` has room for all.
    @return LARDER_OK; ENOMEM, for an index without limits. */
larder_status larder_index_sort(larder_index *index, larder_index_slot *slots);
/** Stamps the entries by their rank, before stamps run out. */
void larder_index_renumber(larder_index *index);

// index/expiry.c ----------------------------------------------------------------------------------

/** Has the arrays that an entry's expiry wants. */
larder_status larder_index_make_timed(larder_index *index);
/** An entry was written: its life begins. Has room in the heap: larder_index_make_timed saw to it.
    */
void larder_index_begin_life(larder_index *index, larder_index_slot slot);
/** An entry goes. */
void larder_index_end_life(larder_index *index, larder_index_slot slot);
/** An entry was read. */
void larder_index_extend_life(const larder_index *index, larder_index_slot slot);
/** The time as larder_index_now has it, but not late. */
int64_t larder_index_fine_now(const larder_index *index);
/** Whether a deadline that the coarse clock comes to next has passed. */
bool larder_index_is_over(const larder_index *index, int64_t deadline);

/** More than the system's coarse clock is ever late, which is one tick: 1 to 10 ms. */
#define INDEX_CLOCK_LATE_NS UINT64_C(50000000)
/** Whether the clock may say that a deadline has not passed although it has. */
static inline bool index_is_near(int64_t deadline, int64_t now) {
    return deadline > now && (uint64_t)deadline - (uint64_t)now <= INDEX_CLOCK_LATE_NS;
}

/** Whether a time has passed, to the moment. */
static inline bool index_has_passed(const larder_index *index, int64_t time) {
    const int64_t now = atomic_load_explicit(&index->now, memory_order_relaxed);
    return time <= now || (index_is_near(time, now) && larder_index_is_over(index, time));
}

/** Whoever holds the index for writing goes by the time of that moment alone: what is not found has
    left then. With a grace, it finds all that has not left. */
static inline bool index_is_expired(const larder_index *index, const index_segment *segment,
                                    uint32_t place) {
    const int64_t deadline = atomic_load_explicit(&segment->deadlines[place], memory_order_relaxed);
    const int64_t now = atomic_load_explicit(&index->now, memory_order_relaxed);
    if (index->is_held_for_writing) return deadline <= now && index->grace_ns == 0;
    return index_has_passed(index, deadline);
}

#endif
