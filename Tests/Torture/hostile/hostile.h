// SPDX-License-Identifier: MIT
/** @file hostile.h
    Stores as somebody would make them who knows the formats: fields set to what they must not be,
    and every checksum mended that covers them. */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "larder_store.h"
#include "rng.h"

enum { IMAGE_FILES = 80, IMAGE_NAME_BYTES = 40, HOSTILE_KEYS = 300 };

/** A file of a store, in memory. */
typedef struct image_file {
    char name[IMAGE_NAME_BYTES];
    uint8_t *bytes;
    size_t size;
    /** How long it is on disk, with a hole behind its bytes. */
    uint64_t apparent;
    /** Another kind of thing lies under the name: 'l' a symbolic link, 'h' a hard link to a file
        outside, 'p' a FIFO, 'd' a folder; 0 for the file. */
    char kind;
} image_file;

/** A whole folder; a mutant has copies of what its base has. */
typedef struct image {
    image_file files[IMAGE_FILES];
    size_t count;
    /** How many keys were put into it. */
    unsigned keys;
} image;

/** Makes one of the kinds of stores there are to begin with. False if it cannot. */
bool image_make(image *out, const char *folder, unsigned kind);
enum { IMAGE_KINDS = 10 };
bool image_copy(image *out, const image *from);
void image_free(image *freed);
/** Writes it to a folder, which is made anew. */
bool image_write(const image *what, const char *folder, const char *outside);
image_file *image_find(image *in, const char *name);

/** Changes from one to five things in it.
    @param told receives what, for people. */
void mutate(image *hurt, rng *random, char *told, size_t room);

/** What data.mdb is changed by. */
void mutate_pages(image_file *data, rng *random, char *told, size_t room);

enum { EXERCISES = 6 };
/** Uses the store of `keys` in `folder`, `target` for a copy; whatever the statuses are. */
void exercise(unsigned which, const char *folder, const char *target, unsigned keys, uint64_t seed);

/** A key and the entry under it, in all stores the same. */
size_t hostile_key(unsigned number, unsigned kind, char *target);
larder_status hostile_put(larder_store *store, unsigned number, unsigned kind, unsigned round);
larder_status hostile_open(const char *path, uint32_t flags, larder_store **out);

#endif
