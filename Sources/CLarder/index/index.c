// SPDX-License-Identifier: MIT
// What programs call all the time: to search, to read, to write, to make room. It is one file so
// that a compiler sees it all; what happens seldom is elsewhere.
#include <errno.h>

#include "index/group.h"
#include "index/lock.h"

enum { ENTRIES_MAX = 1 << 30 };

// Searching ---------------------------------------------------------------------------------------

static inline void probe_group(larder_index_probe *probe, const uint8_t *group, uint32_t number) {
    probe->group = number;
    probe->tags = group;
    probe->matches = (uint16_t)group_matches(group, hash_tag(probe->hash));
}

// Leaves the probe at the next group to look at; false if there is none.
static bool probe_further(const larder_index *index, larder_index_probe *probe) {
    const index_segment *segment = index->segments[probe->segment];
    uint32_t group;
    if (tag_get(probe->tags, OVERFLOW) != 0 && --probe->groups_left != 0) {
        group = next_group(segment, probe->group);
    } else {
        segment = segment->next;
        if (segment == NULL) return false;
        group = home_group(segment, hash_word(probe->hash));
        probe->segment = segment->id;
        probe->groups_left = (uint16_t)segment->group_count;
    }
    probe_group(probe, group_at(index, segment, group), group);
    return true;
}

void larder_index_next(larder_index *index, larder_index_probe *probe) {
    for (;;) {
        while (probe->matches != 0) {
            const uint32_t in_group = (uint32_t)__builtin_ctz(probe->matches);
            const uint32_t place = probe->group * GROUP_PLACES + in_group;
            probe->matches &= (uint16_t)(probe->matches - 1);
            if (index->is_timed && index_is_expired(index, index->segments[probe->segment], place))
                continue;
            probe->slot = probe->segment << SEGMENT_SHIFT | place;
            probe->payload = (uint8_t *)(uintptr_t)probe->tags + index->payload_offset +
                             (size_t)in_group * index->payload_stride;
            return;
        }
        // Most misses end here, without a look at the segment.
        const index_way *way = way_of(index, hash_word(probe->hash));
        if ((tag_get(probe->tags, OVERFLOW) == 0 && !way->is_chained) ||
            !probe_further(index, probe))
            break;
    }
    probe->slot = LARDER_INDEX_NONE;
    probe->payload = NULL;
}

// Brings nearer what lies beside the payload and will be wanted: by a writer all that it changes,
// by a reader what it leaves or looks at.
static inline void approach_rest(const larder_index *index, const index_segment *segment,
                                 uint32_t place) {
    const bool writes = atomic_load_explicit(&index->gate, memory_order_relaxed) != GATE_OPEN;
    if (writes || index->stamps_reads) __builtin_prefetch(&segment->entries[place], 1);
    if (index->is_timed) __builtin_prefetch(&segment->deadlines[place], 1);
    // The cost of a hit counts in the statistics; of one that is noted, later.
    if (index->has_costs && (writes || !index->notes_reads))
        __builtin_prefetch(&segment->costs[place], 1);
    if (!writes) return;
    if (index->is_limited) {
        __builtin_prefetch(&segment->marks[place], 1);
        __builtin_prefetch(&segment->links[place], 1);
    }
    if (index->has_times) {
        __builtin_prefetch(&segment->marks[place], 1);
        __builtin_prefetch(&segment->times[place], 1);
    }
}

void larder_index_first(larder_index *index, uint64_t hash, larder_index_probe *probe) {
    const index_way *way = way_of(index, hash_word(hash));
    const uint32_t group = group_of(hash_word(hash), way->depth, way->group_count);
    const uint8_t *tags = way->groups + (size_t)group * index->group_stride;
    const uint32_t wanted = wanted_place(hash_tag(hash));
    // The entry most likely lies where it was wanted: it comes while the tags do.
    __builtin_prefetch(tags + index->payload_offset + (size_t)wanted * index->payload_stride);
    approach_rest(index, index->segments[way->id], group * GROUP_PLACES + wanted);
    probe->hash = hash;
    probe->segment = way->id;
    probe->groups_left = way->group_count;
    probe_group(probe, tags, group);
    larder_index_next(index, probe);
}

larder_index_slot larder_index_find(larder_index *index, uint64_t hash, larder_index_equals equals,
                                    const void *key) {
    larder_index_probe probe;
    larder_index_first(index, hash, &probe);
    while (probe.payload != NULL && !equals(probe.payload, key)) larder_index_next(index, &probe);
    return probe.slot;
}

void *larder_index_payload(const larder_index *index, larder_index_slot slot) {
    return index_payload_at(index, index_segment_of(index, slot), index_place_of(slot));
}

// Coming and going --------------------------------------------------------------------------------

larder_status larder_index_make_costly(larder_index *index) {
    if (index->has_costs) return LARDER_OK;
    const larder_status status = larder_index_add_array(index, ARRAY_COSTS);
    if (status) return status;
    larder_index_slot slot = LARDER_INDEX_NONE;
    while ((slot = larder_index_step(index, slot)) != LARDER_INDEX_NONE)
        *index_cost_at(index, slot) = index->unit_cost;
    for (uint32_t list = 0; list < LISTS; list++)
        index->lists[list].cost = (index_total)index->lists[list].count * index->unit_cost;
    index->has_costs = true;
    return LARDER_OK;
}

// To be called before an entry has this cost: most often all have the same, which takes no memory.
static larder_status admit_cost(larder_index *index, uint64_t cost) {
    if (index->has_costs) return LARDER_OK;
    if (index->count == 0)
        index->unit_cost = index->cost_limit == LARDER_INDEX_UNLIMITED ? cost : 0;
    return cost == index->unit_cost ? LARDER_OK : larder_index_make_costly(index);
}

static void set_cost(larder_index *index, larder_index_slot slot, uint64_t cost) {
    if (!index->has_costs) return;
    uint64_t *at = index_cost_at(index, slot);
    index->total_cost = index->total_cost - *at + cost;
    const uint32_t list = index_list_of(index, slot);
    if (list != LIST_NONE) index->lists[list].cost = index->lists[list].cost - *at + cost;
    *at = cost;
}

void larder_index_stamp(larder_index *index, larder_index_slot slot) {
    atomic_store_explicit(index_stamp_of(index, slot), index_next_stamp(index),
                          memory_order_relaxed);
}

void larder_index_used(larder_index *index, larder_index_slot slot) {
    if (index->marks_reads) segment_mark_read(index, slot);
    else *index_mark_of(index, slot) |= MARK_READ;
    if (index->stamps_reads) larder_index_stamp(index, slot);
    else if (index->notes_reads && index_list_of(index, slot) != LIST_PINNED)
        index->policy->touched(index, slot);
}

// Most often there is room in the segment that the hash leads to.
static inline larder_status place_entry(larder_index *index, uint64_t hash,
                                        larder_index_slot *slot) {
    index_segment *segment = directory_at(index, hash_word(hash));
    if (segment->used >= segment_room(segment)) return larder_index_place(index, hash, slot);
    const uint32_t place = segment_place(index, segment, hash_word(hash), hash_tag(hash));
    *slot = segment->id << SEGMENT_SHIFT | place;
    return LARDER_OK;
}

larder_status larder_index_insert(larder_index *index, uint64_t hash, uint64_t cost,
                                  larder_index_slot *slot) {
    *slot = LARDER_INDEX_NONE;
    if (index->count >= ENTRIES_MAX || admit_cost(index, cost) != LARDER_OK ||
        (index->has_times && larder_index_make_timed(index) != LARDER_OK) ||
        place_entry(index, hash, slot) != LARDER_OK)
        return ENOMEM;
    index->count++;
    index->insertions++;
    index->newest = *slot;
    if (index->has_costs) {
        *index_cost_at(index, *slot) = 0;
        set_cost(index, *slot, cost);
    } else {
        index->total_cost += cost;
    }
    if (index->has_times) {
        index_segment_of(index, *slot)->times[index_place_of(*slot)].heap_position =
            INDEX_NOT_IN_HEAP;
        larder_index_begin_life(index, *slot);
    }
    if (index->is_limited) index->policy->inserted(index, *slot);
    else larder_index_stamp(index, *slot);
    return LARDER_OK;
}

void larder_index_rewrite(larder_index *index, larder_index_slot slot, uint64_t cost) {
    if (admit_cost(index, cost) == LARDER_OK) set_cost(index, slot, cost);
    index->gone[LARDER_INDEX_REPLACED]++;
    index->newest = slot;
    larder_index_begin_life(index, slot);
    larder_index_used(index, slot);
}

void larder_index_touch(larder_index *index, larder_index_slot slot) {
    if (index->is_timed) larder_index_extend_life(index, slot);
    larder_index_used(index, slot);
}

void larder_index_take(larder_index *index, larder_index_slot slot, larder_index_cause cause) {
    index->left_use_ns = larder_index_unlisted_use(index, slot);
    if (index->is_limited) index_list_remove(index, slot);
    larder_index_end_life(index, slot);
    if (index->has_costs) set_cost(index, slot, 0);
    else index->total_cost -= index->unit_cost;
    segment_vacate(index, slot);
    index->count--;
    index->gone[cause < LARDER_INDEX_CAUSES ? cause : LARDER_INDEX_REMOVED]++;
    if (index->newest == slot) index->newest = LARDER_INDEX_NONE;
}

int64_t larder_index_left_use(const larder_index *index) { return index->left_use_ns; }

// Whether the entry that was written just now is heavier than the limit, all alone.
static bool is_newest_too_heavy(const larder_index *index) {
    return index->has_costs && index->newest != LARDER_INDEX_NONE &&
           *index_cost_at(index, index->newest) > index->cost_limit &&
           index_list_of(index, index->newest) != LIST_PINNED;
}

larder_index_slot larder_index_evict(larder_index *index, larder_index_cause *cause) {
    if (!index->is_limited) return LARDER_INDEX_NONE;
    const bool is_over_count = index_is_over_count(index);
    if (!is_over_count && !index_is_over_cost(index)) return LARDER_INDEX_NONE;
    larder_index_slot slot = index->newest;
    larder_index_cause reason = LARDER_INDEX_EVICTED_COST;
    if (!is_newest_too_heavy(index)) {
        if (index->count == index->lists[LIST_PINNED].count) return LARDER_INDEX_NONE;
        slot = index->policy->victim(index);
        reason = is_over_count ? LARDER_INDEX_EVICTED_COUNT : LARDER_INDEX_EVICTED_COST;
    }
    larder_index_take(index, slot, reason);
    if (cause != NULL) *cause = reason;
    return slot;
}

// Holding -----------------------------------------------------------------------------------------

uint32_t larder_index_read_begin(larder_index *index) { return lock_read(index); }

// The stamp of a read: later than all that were given to earlier reads of this thread.
static uint32_t reader_stamp(larder_index *index, index_reader *reader) {
    if (reader->stamps_left == 0) {
        reader->stamp = (uint32_t)atomic_fetch_add_explicit(&index->stamp, INDEX_STAMPS_TAKEN,
                                                            memory_order_relaxed);
        reader->stamps_left = INDEX_STAMPS_TAKEN;
    }
    reader->stamps_left--;
    return ++reader->stamp;
}

// Of a note it is added when the policy is told: then many costs come from memory at a time.
static inline void reader_add_cost(const larder_index *index, index_reader *reader,
                                   larder_index_slot slot) {
    reader->hit_cost += larder_index_cost(index, slot);
}

// Whether a writer has to come: a buffer is full, or stamps run out. `group` has the entry's tag.
static bool reader_note(larder_index *index, index_reader *reader, larder_index_slot slot,
                        const uint8_t *group) {
    const bool notes =
        index->notes_reads && !tag_was_told(index, index_segment_of(index, slot),
                                            tag_get(group, index_place_of(slot) % GROUP_PLACES));
    if (notes && reader->noted < READER_NOTES) {
        reader->notes[reader->noted++] = slot;
        return reader->noted == READER_NOTES;
    }
    reader_add_cost(index, reader, slot);
    if (index->notes_reads) return notes;
    if (index->stamps_reads) {
        const uint32_t stamp = reader_stamp(index, reader);
        atomic_store_explicit(index_stamp_of(index, slot), stamp, memory_order_relaxed);
        return stamp >= INDEX_STAMPS_END;
    }
    return false;
}

static void read_end_exclusive(larder_index *index, larder_index_slot outcome) {
    if (outcome == LARDER_INDEX_NONE) {
        index->readers[0].misses++;
    } else if (outcome != LARDER_INDEX_QUIET) {
        index->readers[0].hits++;
        reader_add_cost(index, &index->readers[0], outcome);
        larder_index_touch(index, outcome);
    }
    unlock_write(index);
}

// Releases a reader's slot, and has a writer apply what was recorded if need be.
static void leave_reader(larder_index *index, index_reader *reader, bool wants_writer) {
    atomic_store_explicit(&reader->busy, 0, memory_order_release);
    if (wants_writer) {
        lock_write(index);
        unlock_write(index);
    }
}

void larder_index_read_end(larder_index *index, uint32_t token, larder_index_slot outcome) {
    if (token == TOKEN_EXCLUSIVE) {
        read_end_exclusive(index, outcome);
        return;
    }
    index_reader *reader = &index->readers[token];
    bool wants_writer = false;
    if (outcome == LARDER_INDEX_NONE) {
        reader->misses++;
    } else if (outcome != LARDER_INDEX_QUIET) {
        reader->hits++;
        if (index->is_timed) larder_index_extend_life(index, outcome);
        const index_segment *segment = index_segment_of(index, outcome);
        wants_writer =
            reader_note(index, reader, outcome,
                        group_at(index, segment, index_place_of(outcome) / GROUP_PLACES));
        if (index->marks_reads) segment_mark_read(index, outcome);
    }
    leave_reader(index, reader, wants_writer);
}

void larder_index_read_hit(larder_index *index, uint32_t token, const larder_index_probe *probe) {
    if (token == TOKEN_EXCLUSIVE) {
        read_end_exclusive(index, probe->slot);
        return;
    }
    index_reader *reader = &index->readers[token];
    reader->hits++;
    if (index->is_timed) larder_index_extend_life(index, probe->slot);
    // The way to the segment can be a miss of the cache; the probe knows the tag without it.
    bool wants_writer = false;
    if (index->marks_reads)
        tag_mark_read((uint8_t *)(uintptr_t)probe->tags,
                      index_place_of(probe->slot) - probe->group * GROUP_PLACES);
    if (!index->marks_reads || index->stamps_reads || index->has_costs)
        wants_writer = reader_note(index, reader, probe->slot, probe->tags);
    else reader->hit_cost += index->unit_cost;
    leave_reader(index, reader, wants_writer);
}

void larder_index_write_begin(larder_index *index) { lock_write(index); }

void larder_index_write_end(larder_index *index) { unlock_write(index); }

// In one call -------------------------------------------------------------------------------------

uint32_t larder_index_read_first(larder_index *index, uint64_t hash, larder_index_probe *probe) {
    const uint32_t token = lock_read(index);
    larder_index_first(index, hash, probe);
    return token;
}

bool larder_index_write_first(larder_index *index, uint64_t hash, larder_index_probe *probe) {
    lock_write(index);
    if (index->heap_count > 0 && larder_index_is_due(index)) return true;
    larder_index_first(index, hash, probe);
    return false;
}

larder_status larder_index_write_insert(larder_index *index, uint64_t cost,
                                        larder_index_probe *probe) {
    const larder_status status = larder_index_insert(index, probe->hash, cost, &probe->slot);
    probe->payload = !status ? larder_index_payload(index, probe->slot) : NULL;
    return status;
}

bool larder_index_write_settle(larder_index *index, larder_index_probe *probe,
                               larder_index_cause *cause) {
    probe->slot = LARDER_INDEX_NONE;
    if (index->heap_count > 0) {
        probe->slot = larder_index_expire(index);
        *cause = LARDER_INDEX_EXPIRED;
    }
    if (probe->slot == LARDER_INDEX_NONE) probe->slot = larder_index_evict(index, cause);
    if (probe->slot == LARDER_INDEX_NONE) {
        unlock_write(index);
        return false;
    }
    probe->payload = larder_index_payload(index, probe->slot);
    return true;
}

// Asking ------------------------------------------------------------------------------------------

uint64_t larder_index_count(const larder_index *index) { return index->count; }

uint64_t larder_index_total_cost(const larder_index *index) {
    return index->total_cost > UINT64_MAX ? UINT64_MAX : (uint64_t)index->total_cost;
}

uint64_t larder_index_cost(const larder_index *index, larder_index_slot slot) {
    return index->has_costs ? *index_cost_at(index, slot) : index->unit_cost;
}
