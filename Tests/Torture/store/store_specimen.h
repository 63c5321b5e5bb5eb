// SPDX-License-Identifier: MIT
/** @file store_specimen.h
    A store in memory, file by file, to be hurt in many ways. */
#ifndef TORTURE_STORE_SPECIMEN_H
#define TORTURE_STORE_SPECIMEN_H

#include "store.h"

enum { SPECIMEN_FILES = 600 };

typedef struct specimen_file {
    char name[64];
    uint8_t *bytes;
    size_t size;
} specimen_file;

/** A record in a segment. `sequence` has its place in a batch, too. */
typedef struct specimen_copy {
    uint32_t which, key;
    uint32_t file;
    uint64_t from, to;
    uint64_t sequence;
} specimen_copy;

typedef struct store_specimen {
    book *book;
    specimen_file files[SPECIMEN_FILES];
    uint32_t count;
    /** Index of data.mdb and of the largest segment. */
    uint32_t data, journal;
    /** What it holds; and which keys operations concerned that may lie in the log alone. */
    held state[BOOK_LANES][BOOK_KEYS];
    bool is_pending[BOOK_LANES][BOOK_KEYS];
    /** Every record there is, those of older states too, and the newest version of each key. */
    specimen_copy *copies;
    uint32_t copy_count;
    uint64_t newest[BOOK_LANES][BOOK_KEYS];
    /** Its writer died, so that the log is read when it is opened. */
    bool is_unclosed;
} store_specimen;

/** Makes a store by `steps` operations a lane; it lies in memory then, and nowhere else. */
bool store_specimen_make(torture *run, store_specimen *out, rng *random, uint64_t steps,
                         bool is_unclosed);
void store_specimen_free(store_specimen *what);
/** Writes it anew to `path`. */
bool store_specimen_write(const store_specimen *what, const char *path);

/** Where something was done to it. */
typedef struct store_damage {
    uint32_t file;
    uint64_t from, to;
} store_damage;

/** Whether every copy of the key's newest record and the heads of their segments are outside of it,
    so that a salvage must bring it back. */
bool store_specimen_is_intact(const store_specimen *what, uint32_t which, uint32_t key,
                              const store_damage *damages, unsigned count);

/** Where the newest record of the key begins. */
uint64_t store_specimen_place(const store_specimen *what, uint32_t which, uint32_t key);

#endif
