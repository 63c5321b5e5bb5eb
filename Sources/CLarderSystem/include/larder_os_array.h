// SPDX-License-Identifier: MIT
/** @file larder_os_array.h
    Private to Larder: arrays that grow by doubling. */
#ifndef LARDER_OS_ARRAY_H
#define LARDER_OS_ARRAY_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "larder_status.h"

/** Room for one more item behind `count` of them. `items` is the address of the array's pointer,
    NULL for none yet. ENOMEM: nothing has changed. */
LARDER_MUST_CHECK static inline larder_status
larder_os_array_reserve(void *items, size_t count, size_t *capacity, size_t item_bytes) {
    if (count < *capacity) return LARDER_OK;
    size_t wanted = *capacity < 16 ? 16 : 2 * *capacity;
    if (wanted > SIZE_MAX / 2 / item_bytes) return ENOMEM;
    void *array;
    memcpy(&array, items, sizeof array);
    array = realloc(array, wanted * item_bytes);
    if (array == NULL) return ENOMEM;
    memcpy(items, &array, sizeof array);
    *capacity = wanted;
    return LARDER_OK;
}

#endif
