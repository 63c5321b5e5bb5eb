// SPDX-License-Identifier: MIT
/** @file specimen.h
    A closed ring file whose every message and its place are known, to be damaged. */
#ifndef TORTURE_SPECIMEN_H
#define TORTURE_SPECIMEN_H

#include "ledger.h"

typedef struct specimen_record {
    uint64_t sequence;
    /** The record's bytes in the file, with head and padding. */
    uint64_t from;
    uint64_t to;
} specimen_record;

typedef struct specimen {
    ledger *book;
    uint64_t capacity;
    uint32_t flags;
    uint32_t cursor_slots;
    uint64_t cursor;
    uint8_t *bytes;
    size_t size;
    specimen_record *records;
    size_t count;
} specimen;

/** A range of bytes that was damaged. */
typedef struct damage {
    uint64_t from;
    uint64_t to;
} damage;

/** Makes a ring of `messages` live messages at `path` after `laps` rounds of overwriting, closes it
    and learns where everything is. */
bool specimen_make(torture *run, specimen *what, const char *path, uint64_t capacity,
                   uint32_t cursor_slots, message_profile profile, unsigned laps, unsigned most,
                   uint64_t seed);

/** What one look at a damaged file found. */
typedef struct finding {
    uint64_t found;
    uint64_t missing;
    uint64_t newest;
} finding;

/** Reads all of a damaged ring, forwards and backwards. Every value must be exact and the numbers
    must rise; of those missing each must touch one of the `damages`, and `most_missing` is the most
    there may be. */
bool specimen_read(torture *run, const specimen *what, larder_ring *ring, const damage *damages,
                   unsigned damage_count, uint64_t most_missing, finding *out);

/** Opens the file at `path` in every way, verifies what is left, appends and looks again. */
void specimen_verify(torture *run, const specimen *what, const char *path, const char *target,
                     const damage *damages, unsigned damage_count, uint64_t most_missing);

/** Salvages `path` into `target`; nothing may be missing but what touches `damages`. */
bool specimen_salvage(torture *run, const specimen *what, const char *path, const char *target,
                      const damage *damages, unsigned damage_count, uint64_t most_missing);

#endif
