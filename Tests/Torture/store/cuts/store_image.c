// SPDX-License-Identifier: MIT
// Images of what a disk may hold after a power cut: names and contents, each as old or new as the
// syncs allow.
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "larder_os_faults.h"
#include "store_disk.h"

// The beginning -----------------------------------------------------------------------------------

static bool scan(disk *self, const char *folder, uint64_t inode) {
    DIR *entries = opendir(folder);
    bool good = entries != NULL;
    for (struct dirent *entry; good && (entry = readdir(entries));) {
        char path[1200], kept[700];
        struct stat facts;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        good = lstat(path, &facts) == 0 && self->name_count < DISK_NAMES &&
               strlen(entry->d_name) < DISK_NAME_MAX;
        if (!good) {
            break;
        }
        disk_name *name = &self->names[self->name_count++];
        *name = (disk_name){.folder = inode, .inode = facts.st_ino};
        name->is_folder = S_ISDIR(facts.st_mode);
        memcpy(name->name, entry->d_name, strlen(entry->d_name) + 1);
        if (name->is_folder) {
            good = scan(self, path, facts.st_ino);
        } else {
            snprintf(kept, sizeof kept, "%s/live-%" PRIu64, self->vault, name->inode);
            good = link(path, kept) == 0;
            snprintf(kept, sizeof kept, "%s/base-%" PRIu64, self->vault, name->inode);
            good = good && copy_file(path, kept);
        }
    }
    if (entries) {
        closedir(entries);
    }
    return good;
}

bool disk_begin(disk *self, const char *root, const char *vault) {
    struct stat facts;
    snprintf(self->root, sizeof self->root, "%s", root);
    snprintf(self->vault, sizeof self->vault, "%s", vault);
    remove_tree(vault);
    // What the vault keeps has another name there.
    larder_fault_hide_links(true);
    self->name_count = 0;
    atomic_store(&self->event_count, 0);
    atomic_store(&self->overflow, 0);
    atomic_store(&self->syncs, 0);
    atomic_store(&self->is_noting, 0);
    if (!make_directory(vault) || stat(root, &facts) != 0) {
        return false;
    }
    self->root_inode = facts.st_ino;
    return scan(self, root, facts.st_ino);
}

// Names -------------------------------------------------------------------------------------------

typedef struct names {
    disk_name *all;
    uint32_t count;
} names;

static void forget(names *all, uint64_t folder, const char *name) {
    for (uint32_t i = 0; i < all->count; i++) {
        if (all->all[i].folder == folder && strcmp(all->all[i].name, name) == 0) {
            all->all[i] = all->all[--all->count];
            return;
        }
    }
}

static void apply(names *all, const disk_event *event) {
    if (event->kind == DISK_MOVED) {
        forget(all, event->from.folder, event->from.name);
    }
    forget(all, event->what.folder, event->what.name);
    if (event->kind != DISK_GONE) {
        all->all[all->count++] = event->what;
    }
}

/** Which of the names that no sync covers are there: all, none, a beginning, or any. */
static void choose_names(const disk *self, rng *random, disk_shape wanted, names *out) {
    memcpy(out->all, self->names, self->name_count * sizeof *out->all);
    out->count = self->name_count;
    uint32_t count = atomic_load(&self->event_count);
    uint64_t shape = rng_below(random, 5), cut = rng_below(random, count + 1);
    shape = wanted == DISK_EVERYTHING ? 0 : wanted == DISK_NOTHING ? 1 : shape;
    uint64_t odd_one = rng_below(random, count ? count : 1);
    for (uint32_t i = 0; i < count; i++) {
        const disk_event *event = &self->events[i];
        bool is_there = false;
        switch (shape) {
        case 0: is_there = true; break;
        case 1: break;
        case 2: is_there = i < cut; break;
        case 3: is_there = i != odd_one; break;
        default: is_there = rng_one_in(random, 2); break;
        }
        if (is_there || atomic_load(&event->is_durable)) {
            apply(out, event);
        }
    }
}

// Contents ----------------------------------------------------------------------------------------

enum { VERSIONS = DISK_SNAPSHOTS + 2 };

typedef struct versions {
    uint8_t *bytes[VERSIONS];
    size_t size[VERSIONS];
    unsigned count;
} versions;

static void add(versions *all, const char *path, bool even_if_missing) {
    int64_t size = size_of_file(path);
    if (size < 0 && !even_if_missing) {
        return;
    }
    uint8_t *bytes = malloc(size > 0 ? (size_t)size : 1);
    if (!bytes || (size > 0 && read_file(path, bytes, (size_t)size) < size)) {
        size = 0;
    }
    all->bytes[all->count] = bytes;
    all->size[all->count++] = size > 0 ? (size_t)size : 0;
}

/** Copies [from, to) of a version; beyond its end a file holds zeros. */
static void take(const versions *all, unsigned which, size_t from, size_t to, uint8_t *target) {
    size_t size = all->size[which];
    size_t there = size < from ? 0 : (size < to ? size - from : to - from);
    if (there) {
        memcpy(target + from, all->bytes[which] + from, there);
    }
    memset(target + from + there, 0, to - from - there);
}

/** @param name LMDB's meta pages are written by one call within a sector each, and LMDB takes it
    that a device writes a sector whole or not at all. The same goes for positions of feeds'
    cursors. */
static void mix_pages(const versions *all, rng *random, const char *name, uint8_t *target,
                      size_t size) {
    enum { PAGE = 4096, META_BYTES = 512, META_PAGES = 2 };
    bool is_index = name && strcmp(name, "/data.mdb") == 0;
    bool is_feed = name && strcmp(name, "/feed") == 0;
    size_t unit = rng_one_in(random, 3) ? 512 : 4096;
    size_t units = (size + unit - 1) / unit;
    uint64_t shape = rng_below(random, 8), bias = rng_between(random, 1, 15);
    size_t odd_one = (size_t)rng_below(random, units);
    uint64_t tears = rng_one_in(random, 3) ? rng_between(random, 2, 12) : 0;
    unsigned newest = all->count - 1;
    for (size_t i = 0; i < units; i++) {
        size_t from = i * unit, to = from + unit < size ? from + unit : size;
        unsigned which;
        switch (shape) {
        case 0: which = i == odd_one ? 0 : newest; break; // One page is late.
        case 1: which = i == odd_one ? newest : 0; break; // One page is early.
        case 2: which = i < 2 ? 0 : newest; break;        // Headers are late.
        case 3: which = i < 2 ? newest : 0; break;        // Headers are early.
        case 4: which = rng_below(random, 16) < bias ? newest : 0; break;
        default: which = (unsigned)rng_below(random, all->count); break;
        }
        take(all, which, from, to, target);
        if (tears && rng_one_in(random, tears)) {
            size_t step = unit == 4096 && rng_one_in(random, 2) ? 512 : 8;
            size_t cut = from + step * (size_t)rng_below(random, (to - from + step - 1) / step);
            if (is_index && cut < META_PAGES * PAGE && cut % PAGE < META_BYTES) {
                cut -= cut % PAGE;
            }
            if (is_feed) cut -= cut % META_BYTES;
            take(all, (unsigned)rng_below(random, all->count), cut, to, target);
        }
    }
}

static bool make_content(const disk *self, rng *random, disk_shape shape, uint64_t inode,
                         const char *path) {
    versions all = {.count = 0};
    char kept[760];
    snprintf(kept, sizeof kept, "%s/base-%" PRIu64, self->vault, inode);
    add(&all, kept, true); // Never synced: empty.
    for (unsigned i = 0; i < DISK_SNAPSHOTS; i++) {
        snprintf(kept, sizeof kept, "%s/snap-%" PRIu64 "-%u", self->vault, inode, i);
        add(&all, kept, false);
    }
    snprintf(kept, sizeof kept, "%s/live-%" PRIu64, self->vault, inode);
    add(&all, kept, true);
    unsigned newest = all.count - 1;
    // A size is one of those it had; never less than what was synced.
    size_t size = all.size[rng_one_in(random, 3) ? rng_below(random, all.count) : newest];
    if (size < all.size[0] && all.size[newest] >= all.size[0]) {
        size = all.size[0];
    }
    uint64_t way = rng_below(random, 4);
    if (shape != DISK_SOME) {
        way = shape == DISK_EVERYTHING;
        size = all.size[way ? newest : 0];
    }
    const char *name = strrchr(path, '/');
    uint8_t *bytes = malloc(size ? size : 1);
    if (bytes) {
        switch (way) {
        case 0: take(&all, 0, 0, size, bytes); break;
        case 1: take(&all, newest, 0, size, bytes); break;
        default: mix_pages(&all, random, name, bytes, size); break;
        }
    }
    bool good = bytes && write_file(path, bytes, size);
    free(bytes);
    for (unsigned i = 0; i < all.count; i++) {
        free(all.bytes[i]);
    }
    return good;
}

static bool make_folder(const disk *self, rng *random, disk_shape shape, const names *all,
                        uint64_t inode, const char *path, unsigned depth) {
    bool good = mkdir(path, 0700) == 0;
    for (uint32_t i = 0; good && i < all->count; i++) {
        const disk_name *name = &all->all[i];
        char below[1400];
        if (name->folder != inode) {
            continue;
        }
        snprintf(below, sizeof below, "%s/%s", path, name->name);
        good = name->is_folder ? depth > 6 || make_folder(self, random, shape, all, name->inode,
                                                          below, depth + 1)
                               : make_content(self, random, shape, name->inode, below);
    }
    return good;
}

bool disk_image(const disk *self, rng *random, disk_shape shape, const char *target) {
    // Each event adds one name at most.
    names all = {calloc(DISK_NAMES + DISK_EVENTS, sizeof(disk_name)), 0};
    if (!all.all) {
        return false;
    }
    choose_names(self, random, shape, &all);
    remove_tree(target);
    bool good = make_folder(self, random, shape, &all, self->root_inode, target, 0);
    free(all.all);
    return good;
}
