// SPDX-License-Identifier: MIT
/** @file mutate.h
    What the two files of mutations share. */
#ifndef HOSTILE_MUTATE_H
#define HOSTILE_MUTATE_H

#include "hostile.h"

/** Adds to what people are told. */
void tell(char *told, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));
/** A number that may be one too many, or far too many. */
uint64_t odd_number(rng *random, uint64_t now, uint64_t near);
/** Changes a field of a record, of at most `room_bytes`, and mends its checksum. */
void mutate_record(uint8_t *at, size_t room_bytes, rng *random, char *told, size_t room);

#endif
