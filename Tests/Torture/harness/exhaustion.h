// SPDX-License-Identifier: MIT
/** @file exhaustion.h
    What the two halves of the exhaustion family share. */
#ifndef TORTURE_EXHAUSTION_H
#define TORTURE_EXHAUSTION_H

#include "ledger.h"

/** Makes a new ring with messages that the book knows, and closes it. */
bool make_ring(torture *run, ledger *book, const char *path, uint64_t capacity, uint32_t flags,
               unsigned messages);
/** Appends messages that the book knows, and verifies the ring. */
bool fill_ring(torture *run, ledger *book, larder_ring *ring, unsigned messages);
/** Opens the ring, verifies it up to `newest`, and that it takes more. */
bool ring_is_intact(torture *run, ledger *book, const char *path, uint64_t newest);

#ifdef __linux__
/** Mounts so much memory at `path`, seen by this process only. */
bool mount_small_disk(const char *path, const char *size);
/** Writes a file until there is no room. */
void fill_disk(const char *path);
#endif

/** Makes every system call of the library fail once, in every operation. */
void exhaustion_faults(torture *run, ledger *book);

#endif
