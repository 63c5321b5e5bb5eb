// SPDX-License-Identifier: MIT
// Interception of sync calls, and images of what a disk may hold after a power cut.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "failing_calls.h"
#include "power.h"

vault *power_vault;

vault *vault_make(size_t room) {
    vault *store = shared_memory(sizeof *store);
    store->room = room;
    store->bases[0] = shared_memory(room);
    store->bases[1] = shared_memory(room);
    store->final = shared_memory(room);
    for (unsigned i = 0; i < VAULT_SNAPSHOTS; i++) {
        store->snapshot[i] = shared_memory(room);
    }
    return store;
}

void vault_clear(vault *store) {
    atomic_store(&store->failures, 0);
    atomic_store(&store->base, 0);
    atomic_store(&store->snapshots, 0);
    atomic_store(&store->syncs, 0);
    store->final_size = 0;
}

static size_t read_all(int file, uint8_t *target, size_t room) {
    size_t done = 0;
    while (done < room) {
        ssize_t got = pread(file, target + done, room - done, (off_t)done);
        if (got <= 0) {
            break;
        }
        done += (size_t)got;
    }
    return done;
}

/** A sync in the background and the writer's own thread both change the vault. */
static pthread_mutex_t vault_mutex = PTHREAD_MUTEX_INITIALIZER;

void vault_snapshot(vault *store, int file) {
    pthread_mutex_lock(&vault_mutex);
    uint32_t count = atomic_load(&store->snapshots);
    if (count < VAULT_SNAPSHOTS) {
        store->snapshot_size[count] = read_all(file, store->snapshot[count], store->room);
        atomic_store(&store->snapshots, count + 1);
    }
    pthread_mutex_unlock(&vault_mutex);
}

// Syncs that fail ---------------------------------------------------------------------------------

/** The writable mappings of files in this process. */
typedef struct mapping {
    uint8_t *at;
    size_t size;
    off_t offset;
} mapping;
enum { MAPPINGS = 16 };
static mapping mappings[MAPPINGS];

/** A store to a page that counts as written: from here on it counts as not. The system's page may
    be several of ours. */
static void on_store(int signal_number, siginfo_t *what, void *context) {
    (void)context;
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *page = (uint8_t *)((uintptr_t)what->si_addr & ~(uintptr_t)(page_bytes - 1));
    for (unsigned i = 0; i < MAPPINGS; i++) {
        const mapping *one = &mappings[i];
        if (power_vault && one->at && page >= one->at && page < one->at + one->size) {
            size_t index = (size_t)(page - one->at + one->offset) / VAULT_PAGE_BYTES;
            size_t end = index + page_bytes / VAULT_PAGE_BYTES;
            for (; index < end && index < VAULT_PAGES; index++) {
                atomic_store(&power_vault->stored[index], 1);
            }
            (void)mprotect(page, page_bytes, PROT_READ | PROT_WRITE);
            return;
        }
    }
    (void)signal(signal_number, SIG_DFL);
}

static void protect(const mapping *one) {
    struct sigaction action = {.sa_sigaction = on_store, .sa_flags = SA_SIGINFO | SA_NODEFER};
    (void)sigaction(SIGSEGV, &action, NULL);
    (void)mprotect(one->at, one->size, PROT_READ);
}

void power_mapped(void *at, size_t size, int protection, int flags, int file, off_t offset) {
    if (!power_vault || file < 0 || !(protection & PROT_WRITE) || !(flags & MAP_SHARED)) {
        return;
    }
    pthread_mutex_lock(&vault_mutex);
    for (unsigned i = 0; i < MAPPINGS; i++) {
        if (!mappings[i].at) {
            mappings[i] = (mapping){at, size, offset};
            if (atomic_load(&power_vault->failures)) {
                protect(&mappings[i]);
            }
            break;
        }
    }
    pthread_mutex_unlock(&vault_mutex);
}

void power_unmapped(void *at) {
    if (!power_vault) {
        return;
    }
    pthread_mutex_lock(&vault_mutex);
    for (unsigned i = 0; i < MAPPINGS; i++) {
        if (mappings[i].at == at) {
            mappings[i].at = NULL;
        }
    }
    pthread_mutex_unlock(&vault_mutex);
}

void power_stored(int file) {
    (void)file;
    for (unsigned i = 0; power_vault && i < VAULT_PAGES; i++) {
        atomic_store(&power_vault->stored[i], 1);
    }
}

static void note_failed_sync(int file) {
    struct stat facts;
    vault *store = power_vault;
    if (!store || fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        return;
    }
    pthread_mutex_lock(&vault_mutex);
    for (unsigned i = 0; i < VAULT_PAGES; i++) {
        atomic_store(&store->stored[i], 0);
    }
    atomic_fetch_add(&store->failures, 1);
    for (unsigned i = 0; i < MAPPINGS; i++) {
        if (mappings[i].at) {
            protect(&mappings[i]);
        }
    }
    pthread_mutex_unlock(&vault_mutex);
}

/** Puts back what the device has of pages that it did not get. */
static void take_unstored(vault *store, uint32_t next, uint32_t base) {
    uint8_t *now = store->bases[next - 1];
    size_t had = base ? store->base_size[base - 1] : 0;
    for (size_t at = 0; at < store->base_size[next - 1]; at += VAULT_PAGE_BYTES) {
        size_t size = store->base_size[next - 1] - at;
        size = size < VAULT_PAGE_BYTES ? size : VAULT_PAGE_BYTES;
        size_t old = had < at ? 0 : (had - at < size ? had - at : size);
        if (!atomic_load(&store->stored[at / VAULT_PAGE_BYTES])) {
            memset(now + at, 0, size);
            memcpy(now + at, store->bases[base ? base - 1 : 0] + at, old);
        }
    }
}

static void note_sync(int file) {
    struct stat facts;
    vault *store = power_vault;
    if (!store || fstat(file, &facts) != 0) {
        return;
    }
    if (!S_ISREG(facts.st_mode)) {
        atomic_fetch_add(&store->folder_syncs, 1);
        return;
    }
    pthread_mutex_lock(&vault_mutex);
    // If we are killed before the base changes, the sync had not ended: the old one holds.
    uint32_t base = atomic_load(&store->base), next = base == 1 ? 2 : 1;
    store->base_size[next - 1] = read_all(file, store->bases[next - 1], store->room);
    if (atomic_load(&store->failures)) {
        take_unstored(store, next, base);
    }
    atomic_store(&store->snapshots, 0);
    atomic_store(&store->base, next);
    atomic_fetch_add(&store->syncs, 1);
    pthread_mutex_unlock(&vault_mutex);
}

#ifdef TORTURE_WRAPS_SYNC
// The linker sends the library's calls of fdatasync here (-Wl,--wrap).
int __real_fdatasync(int file);
int __wrap_fdatasync(int file);
int __wrap_fdatasync(int file) {
    int error = call_passes("system fdatasync", NULL);
    if (error) {
        note_failed_sync(file);
        errno = error;
        return -1;
    }
    int result = __real_fdatasync(file);
    if (result == 0) {
        note_sync(file);
    }
    return result;
}
int __real_fsync(int file);
int __wrap_fsync(int file);
int __wrap_fsync(int file) {
    int error = call_passes("system fsync", NULL);
    if (error) {
        errno = error;
        return -1;
    }
    int result = __real_fsync(file);
    if (result == 0) {
        note_sync(file);
    }
    return result;
}
#else
void power_unused(int file);
void power_unused(int file) {
    note_sync(file);
    note_failed_sync(file);
}
#endif

// Images ------------------------------------------------------------------------------------------

typedef struct versions {
    const uint8_t *bytes[VAULT_SNAPSHOTS + 2];
    size_t size[VAULT_SNAPSHOTS + 2];
    unsigned count;
} versions;

static void add_version(versions *all, const uint8_t *bytes, size_t size) {
    all->bytes[all->count] = bytes;
    all->size[all->count] = size;
    all->count++;
}

/** Copies [from, to) of a version; beyond its end a file holds zeros. */
static void take(const versions *all, unsigned which, size_t from, size_t to, uint8_t *target) {
    size_t size = all->size[which];
    size_t there = size < from ? 0 : (size < to ? size - from : to - from);
    memcpy(target + from, all->bytes[which] + from, there);
    memset(target + from + there, 0, to - from - there);
}

size_t power_image(const vault *store, rng *random, uint8_t *target) {
    versions all = {.count = 0};
    uint32_t base = atomic_load(&store->base);
    if (base) {
        add_version(&all, store->bases[base - 1], store->base_size[base - 1]);
    } else {
        add_version(&all, store->final, 0); // Nothing was ever synced: zeros.
    }
    for (unsigned i = 0; i < atomic_load(&store->snapshots); i++) {
        add_version(&all, store->snapshot[i], store->snapshot_size[i]);
    }
    add_version(&all, store->final, store->final_size);
    unsigned newest = all.count - 1;

    size_t size = store->final_size;
    // Without a sync its length need not be there, either; without a header it is nobody's then.
    bool is_short = !base && size > 512 && rng_one_in(random, 4);
    if (is_short) {
        size = (size_t)rng_between(random, 512, size);
    }
    size_t unit = rng_one_in(random, 3) ? 512 : 4096;
    size_t units = (size + unit - 1) / unit;
    uint64_t shape = rng_below(random, 8);
    size_t odd_one = (size_t)rng_below(random, units);
    uint64_t bias = rng_between(random, 1, 15);
    uint64_t tears = rng_one_in(random, 3) ? rng_between(random, 2, 12) : 0;
    for (size_t i = 0; i < units; i++) {
        size_t from = i * unit;
        size_t to = from + unit < size ? from + unit : size;
        unsigned which;
        switch (shape) {
        case 0: which = i == odd_one ? 0 : newest; break; // One page is late.
        case 1: which = i == odd_one ? newest : 0; break; // One page is early.
        case 2: which = i == 0 ? 0 : newest; break;       // The header is late.
        case 3: which = i == 0 ? newest : 0; break;       // The header is early.
        case 4: which = rng_below(random, 16) < bias ? newest : 0; break;
        default: which = (unsigned)rng_below(random, all.count); break;
        }
        which = is_short && i == 0 ? newest : which;
        take(&all, which, from, to, target);
        if (tears && !(is_short && i == 0) && rng_one_in(random, tears)) {
            size_t step = unit == 4096 && rng_one_in(random, 2) ? 512 : 8;
            size_t cut = from + step * (size_t)rng_below(random, (to - from + step - 1) / step);
            take(&all, (unsigned)rng_below(random, all.count), cut, to, target);
        }
    }
    return size;
}
