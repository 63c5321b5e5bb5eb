// SPDX-License-Identifier: MIT
// What a writer of a store does, worked out from seeds: keys, values, operations and the states
// that they lead to.
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"

void tuning_draw(larder_store_tuning *out, rng *random) {
    static const uint64_t segments[] = {1 << 10, 2 << 10, 4 << 10, 16 << 10, 64 << 10};
    larder_store_tuning_init(out);
    out->segment_min_bytes = segments[rng_below(random, 5)];
    out->segment_max_bytes = out->segment_min_bytes << rng_below(random, 4);
    out->memtable_max_count = rng_between(random, 8, rng_one_in(random, 2) ? 60 : 2000);
    out->transaction_max_count = rng_between(random, 1, rng_one_in(random, 2) ? 12 : 200);
    out->checkpoint_permille = rng_below(random, 1000);
    out->space_percent = rng_between(random, 100, 200);
    out->clean_max_bytes = rng_between(random, 1, rng_one_in(random, 2) ? 8 << 10 : 1 << 20);
    out->remove_max_count = rng_between(random, 1, rng_one_in(random, 2) ? 6 : 100);
    out->excess_max_bytes = rng_between(random, 1, rng_one_in(random, 2) ? 8 << 10 : 1 << 20);
    out->excess_max_count = rng_between(random, 1, rng_one_in(random, 2) ? 10 : 1000);
}

void book_reset(book *self, rng *random) {
    static const uint64_t journals[] = {64 << 10, 64 << 10, 64 << 10, 128 << 10, 1 << 20};
    static const uint64_t thresholds[] = {0, 60, 200, 700, 1024};
    static const uint32_t longest[] = {200, 2000, 9000, 30000, 200000};
    memset(self, 0, sizeof *self);
    self->lanes = rng_one_in(random, 4) ? (uint32_t)rng_between(random, 2, BOOK_LANES) : 1;
    for (uint32_t i = 0; i < BOOK_LANES; i++) {
        self->lane[i].seed = rng_next(random);
    }
    self->journal_bytes = journals[rng_below(random, 5)] + 4096 * rng_below(random, 8);
    self->threshold_bytes = thresholds[rng_below(random, 5)];
    self->longest = longest[rng_below(random, 5)];
    self->usual =
        (uint32_t)rng_between(random, 10, self->longest < 9000 ? self->longest / 4 : 2250);
    tuning_draw(&self->tuning, random);
    self->flushes = rng_one_in(random, 3) ? 60 : 8;
    self->syncs = rng_one_in(random, 3) ? 80 : 10;
    self->clears = rng_one_in(random, 2) ? 8 : 1;
    self->flags = rng_one_in(random, 4) ? (uint32_t)LARDER_STORE_HOST_MAINTENANCE : 0;
    self->tracks = rng_one_in(random, 3);
    self->flags |= self->tracks ? (uint32_t)LARDER_STORE_TRACK_ACCESS : 0;
}

void book_break(book *self, const char *format, ...) {
    if (atomic_exchange(&self->broken, 1) == 0) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(self->broken_text, sizeof self->broken_text, format, arguments);
        va_end(arguments);
        atomic_store(&self->broken, 2);
    }
}

larder_store_options book_options(const book *self, uint32_t flags) {
    larder_store_options options;
    larder_store_options_init(&options);
    options.flags = flags;
    options.journal_bytes = self->journal_bytes;
    options.inline_threshold_bytes = self->threshold_bytes;
    options.tuning = &self->tuning;
    return options;
}

// Keys and values ---------------------------------------------------------------------------------

size_t book_key(uint32_t which, uint32_t key, uint8_t target[BOOK_KEY_MAX]) {
    if (which == 0 && key == 0) {
        return 0;
    }
    size_t length = 0;
    target[length++] = (uint8_t)('A' + which);
    target[length++] = (uint8_t)('a' + key % BOOK_GROUPS);
    uint64_t shape = mix2(which, key);
    // Most are short. Some are long enough for a hash, alike in all that is stored before it.
    size_t filling = shape % 8 == 0 ? 480 + shape / 8 % 40 : shape % 8 == 1 ? 2000 : shape % 24;
    memset(target + length, shape % 3 ? '.' : 0, filling);
    length += filling;
    target[length++] = (uint8_t)(key >> 8);
    target[length++] = (uint8_t)key;
    return length;
}

size_t book_value_length(const book *self, uint64_t salt) {
    uint64_t choice = mix(salt ^ 0x76616C7565u);
    if (choice % 16 == 0 && self->threshold_bytes + 1 <= self->longest) {
        return self->threshold_bytes + choice / 16 % 3 - (self->threshold_bytes > 0);
    }
    uint32_t most = choice % 16 == 1 ? self->longest : self->usual;
    return choice % 16 == 2 ? 0 : choice / 16 % (most + 1);
}

size_t book_extended_length(uint64_t salt) {
    uint64_t choice = mix(salt ^ 0x6578u);
    return choice % 3 ? 0 : choice / 3 % BOOK_EXTENDED_MAX;
}

size_t book_index_value(uint64_t salt, uint8_t target[BOOK_INDEX_MAX]) {
    if (salt % 4 == 0) {
        return SIZE_MAX;
    }
    uint64_t which = mix(salt ^ 0x69u) % 10;
    memset(target, (int)('0' + which), BOOK_INDEX_MAX);
    // One is empty, one so long that it is cut in the tree.
    return which == 9 ? 0 : which == 8 ? BOOK_INDEX_MAX : 1 + which % 3;
}

static uint64_t cost_of(uint64_t salt) { return salt % 3 ? 0 : mix(salt); }

void book_item(const book *self, uint64_t salt, larder_bytes key, uint8_t *room,
               larder_store_index_entry *index, larder_store_item *item) {
    size_t length = book_value_length(self, salt), extended = book_extended_length(salt);
    message_fill(salt, room, length);
    larder_store_item_init(item, key, bytes_of(room, length));
    message_fill(~salt, room + length, extended);
    item->extended = bytes_of(room + length, extended);
    item->cost = cost_of(salt);
    uint8_t *value = room + length + extended;
    size_t index_length = book_index_value(salt, value);
    if (index_length != SIZE_MAX) {
        *index = (larder_store_index_entry){BOOK_INDEX, {value, index_length}};
        item->indexes = index;
        item->index_count = 1;
    }
}

bool book_matches(const book *self, uint64_t salt, const larder_store_entry *entry) {
    return entry->value_bytes == entry->value.length &&
           entry->value.length == book_value_length(self, salt) &&
           message_equals(salt, entry->value.data, entry->value.length) &&
           entry->extended.length == book_extended_length(salt) &&
           message_equals(~salt, entry->extended.data, entry->extended.length) &&
           entry->cost == cost_of(salt);
}

// Operations --------------------------------------------------------------------------------------

static operation_part make_part(rng *random, uint64_t unique, bool removes) {
    // A few keys are written again and again.
    uint32_t keys = rng_one_in(random, 2) ? BOOK_KEYS / 8 : BOOK_KEYS;
    operation_part part = {(uint32_t)rng_below(random, keys), 0};
    if (!removes) {
        part.salt = mix(unique) | 1;
    }
    return part;
}

/** The most that a part takes in the log. */
static uint64_t part_bytes(const book *self, operation_part part) {
    uint64_t length = part.salt ? book_value_length(self, part.salt) : 0;
    return BOOK_KEY_MAX + BOOK_EXTENDED_MAX + BOOK_INDEX_MAX + 200 + length;
}

operation book_operation(const book *self, uint32_t which, uint64_t number) {
    const lane *own = &self->lane[which];
    rng random = rng_make(mix2(own->seed, number));
    operation what = {.kind = OPERATION_PUT};
    uint64_t unique = mix2(own->seed ^ 0x73616C74u, number);
    uint64_t choice = rng_below(&random, 1000);
    uint32_t limit = self->flushes;
    if (choice < limit) {
        what.kind = OPERATION_FLUSH;
    } else if (choice < (limit += self->syncs)) {
        what.kind = OPERATION_SYNC;
    } else if (choice < (limit += 8)) {
        what.kind = OPERATION_MAINTAIN;
    } else if (choice < (limit += self->clears)) {
        what.kind = self->lanes == 1 ? OPERATION_REMOVE_ALL : OPERATION_SYNC;
    } else if (choice < (limit += self->clears)) {
        bool trims = self->lanes == 1 && !self->tracks;
        what.kind = trims ? OPERATION_TRIM : OPERATION_MAINTAIN;
        what.argument = (uint32_t)rng_below(&random, BOOK_KEYS);
    } else if (choice < (limit += 2 * self->clears)) {
        what.kind = OPERATION_REMOVE_PREFIX;
        what.argument = (uint32_t)rng_below(&random, BOOK_GROUPS);
    } else if (choice < 700) {
        what.parts[what.part_count++] = make_part(&random, unique, false);
    } else if (choice < 850) {
        what.kind = OPERATION_REMOVE;
        what.parts[what.part_count++] = make_part(&random, unique, true);
    } else {
        what.kind = OPERATION_BATCH;
        uint64_t parts = rng_between(&random, 1, BOOK_PARTS), bytes = 0;
        while (what.part_count < parts) {
            bool removes = rng_one_in(&random, 4);
            operation_part part = make_part(&random, unique + what.part_count, removes);
            bytes += part_bytes(self, part);
            if (what.part_count > 0 && bytes > self->journal_bytes / 3) {
                break; // More than half of what may wait is refused.
            }
            what.parts[what.part_count++] = part;
        }
    }
    what.is_synced = rng_one_in(&random, 1000 / (self->syncs / 4 + 1));
    return what;
}

void book_trim(uint32_t limit, held state[BOOK_KEYS]) {
    for (;;) {
        uint32_t count = 0, oldest = 0;
        for (uint32_t key = 0; key < BOOK_KEYS; key++) {
            if (state[key].salt) {
                if (count == 0 || state[key].order < state[oldest].order) {
                    oldest = key;
                }
                count++;
            }
        }
        if (count <= limit) {
            return;
        }
        state[oldest] = (held){0, 0};
    }
}

void book_apply(uint32_t which, const operation *what, uint64_t number, held state[BOOK_KEYS]) {
    for (uint32_t i = 0; i < what->part_count; i++) {
        uint64_t salt = what->parts[i].salt;
        state[what->parts[i].key] = (held){salt, salt ? (number + 1) * BOOK_PARTS + i : 0};
    }
    switch (what->kind) {
    case OPERATION_REMOVE_ALL: memset(state, 0, BOOK_KEYS * sizeof *state); break;
    case OPERATION_REMOVE_PREFIX:
        for (uint32_t key = what->argument; key < BOOK_KEYS; key += BOOK_GROUPS) {
            // The empty key begins with nothing.
            if (key > 0 || which > 0) {
                state[key] = (held){0, 0};
            }
        }
        break;
    case OPERATION_TRIM: book_trim(what->argument, state); break;
    default: break;
    }
}

void book_go_on(book *self, held (*found)[BOOK_KEYS]) {
    for (uint32_t i = 0; i < self->lanes; i++) {
        lane *own = &self->lane[i];
        memcpy(own->base, found[i], sizeof own->base);
        // What was in hand is settled, and its number not used again.
        own->first = atomic_load(&own->begun);
        atomic_store(&own->done, own->first);
        atomic_store(&own->synced, own->first);
    }
    atomic_store(&self->ready, 0);
}
