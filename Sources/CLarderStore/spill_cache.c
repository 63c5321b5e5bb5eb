// SPDX-License-Identifier: MIT
/** @file spill_cache.c
    Mappings that are kept. */
#include "spill_cache.h"

#include <stdatomic.h>

// Mappings ----------------------------------------------------------------------------------------

/** What the page before a mapping begins with. */
typedef struct map_lead {
    _Atomic uint32_t users;
} map_lead;

static map_lead *lead_of(uint8_t *map) { return (map_lead *)(void *)file_map_lead(map); }

larder_status spill_map_create(int file, size_t bytes, bool is_read_at_once, uint8_t **out) {
    larder_status status = file_map_led(file, bytes, is_read_at_once, out);
    if (!status) atomic_init(&lead_of(*out)->users, 1);
    return status;
}

void spill_map_release(uint8_t *map, size_t bytes) {
    if (atomic_fetch_sub_explicit(&lead_of(map)->users, 1, memory_order_acq_rel) == 1)
        file_unmap_led(map, bytes);
}

// The cache ---------------------------------------------------------------------------------------

static size_t hash_of(uint64_t number) { return number % CACHED_FILES_MAX; }

void spill_cache_init(spill_cache *cache) {
    memset(cache, 0, sizeof *cache);
    (void)pthread_mutex_init(&cache->lock, NULL);
}

void spill_cache_destroy(spill_cache *cache) {
    for (size_t i = 0; i < CACHED_FILES_MAX; i++) {
        cached_file *file = &cache->files[i];
        if (file->map) spill_map_release(file->map, (size_t)file->reference.length);
    }
    (void)pthread_mutex_destroy(&cache->lock);
}

static cached_file *find(spill_cache *cache, const spill_reference *reference) {
    for (uint16_t at = cache->heads[hash_of(reference->number)]; at;
         at = cache->files[at - 1].next) {
        cached_file *file = &cache->files[at - 1];
        if (file->reference.number == reference->number &&
            file->reference.epoch == reference->epoch)
            return file;
    }
    return NULL;
}

static void forget(spill_cache *cache, cached_file *file) {
    uint16_t place = (uint16_t)(file - cache->files + 1);
    uint16_t *link = &cache->heads[hash_of(file->reference.number)];
    while (*link != place) link = &cache->files[*link - 1].next;
    *link = file->next;
    cache->bytes -= file->reference.length;
    spill_map_release(file->map, (size_t)file->reference.length);
    memset(file, 0, sizeof *file);
}

uint8_t *spill_cache_take(spill_cache *cache, const spill_reference *reference, file_facts *facts,
                          int64_t *verified_ns) {
    uint8_t *map = NULL;
    pthread_mutex_lock(&cache->lock);
    cached_file *file = find(cache, reference);
    if (file && file->reference.crc == reference->crc &&
        file->reference.length == reference->length) {
        map = file->map;
        *facts = file->facts;
        *verified_ns = file->verified_ns;
        file->used = ++cache->clock;
        atomic_fetch_add_explicit(&lead_of(map)->users, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&cache->lock);
    return map;
}

/** A free place, made so by letting go of what was not used for longest. */
static cached_file *make_place(spill_cache *cache, uint64_t bytes) {
    for (;;) {
        cached_file *oldest = NULL, *empty = NULL;
        for (size_t i = 0; i < CACHED_FILES_MAX; i++) {
            cached_file *file = &cache->files[i];
            if (!file->map) empty = file;
            else if (!oldest || file->used < oldest->used) oldest = file;
        }
        if (empty && cache->bytes + bytes <= CACHED_MAX_BYTES) return empty;
        forget(cache, oldest);
    }
}

void spill_cache_keep(spill_cache *cache, const spill_reference *reference, uint8_t *map,
                      const file_facts *facts, int64_t verified_ns) {
    if (reference->length > CACHED_FILE_MAX_BYTES) return;
    pthread_mutex_lock(&cache->lock);
    cached_file *file = find(cache, reference);
    if (file && file->map != map) {
        forget(cache, file);
        file = NULL;
    }
    if (!file) {
        file = make_place(cache, reference->length);
        uint16_t *head = &cache->heads[hash_of(reference->number)];
        file->next = *head;
        *head = (uint16_t)(file - cache->files + 1);
        file->reference = *reference;
        file->map = map;
        cache->bytes += reference->length;
        atomic_fetch_add_explicit(&lead_of(map)->users, 1, memory_order_relaxed);
    }
    file->facts = *facts;
    file->verified_ns = verified_ns;
    file->used = ++cache->clock;
    pthread_mutex_unlock(&cache->lock);
}

void spill_cache_drop(spill_cache *cache, uint32_t epoch, uint64_t number) {
    pthread_mutex_lock(&cache->lock);
    if (number != UINT64_MAX) {
        spill_reference reference = {.number = number, .epoch = epoch};
        cached_file *file = find(cache, &reference);
        if (file) forget(cache, file);
    } else {
        for (size_t i = 0; i < CACHED_FILES_MAX; i++)
            if (cache->files[i].map && cache->files[i].reference.epoch == epoch)
                forget(cache, &cache->files[i]);
    }
    pthread_mutex_unlock(&cache->lock);
}
