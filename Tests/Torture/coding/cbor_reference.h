// SPDX-License-Identifier: MIT
/** @file cbor_reference.h
    What larder_cbor.h has to say, found in the simplest way, and random items to ask about. */
#ifndef TORTURE_CBOR_REFERENCE_H
#define TORTURE_CBOR_REFERENCE_H

#include "larder.h"
#include "rng.h"

/** How a reading ended. */
typedef struct cbor_answer {
    larder_cbor_fault fault;
    /** Of the fault; or, without one, the end of the item. */
    size_t offset;
    /** Of a map, how many pairs it has. */
    size_t pairs;
} cbor_answer;

/** Reads the item at `offset`. With `is_full` as a check does, UTF-8 and equal keys included; else
    as a skip does. Bytes behind the item are no fault here. */
cbor_answer cbor_reference_read(const uint8_t *bytes, size_t length, size_t offset,
                                uint32_t depth_limit, bool is_full);

/** The status that belongs to a fault. */
larder_status cbor_reference_status(larder_cbor_fault fault);

/** A good item, but for keys that may be equal, of `size` bytes and up to a few thousand more.
    @return its length. */
size_t cbor_item_make(rng *random, uint8_t *target, size_t size);

/** A map of `count` keys of one kind, of which some may be equal. */
size_t cbor_map_make(rng *random, uint8_t *target, size_t count);

/** An item in `depth` arrays, maps and tags. */
size_t cbor_nest_make(rng *random, uint8_t *target, size_t depth);

/** Does something random to the `length` bytes, of which there may be `capacity`.
    @return how many there are now. */
size_t cbor_item_damage(rng *random, uint8_t *bytes, size_t length, size_t capacity);

#endif
