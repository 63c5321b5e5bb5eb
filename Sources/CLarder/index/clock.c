// SPDX-License-Identifier: MIT
// What time it is.
#include "index/table.h"
#include "larder_os_machine.h"

int64_t larder_index_now(const larder_index *index) {
    if (index->options.clock != NULL) return index->options.clock(index->options.context);
    return larder_os_coarse_ns();
}

int64_t larder_index_fine_now(const larder_index *index) {
    return index->options.clock != NULL ? larder_index_now(index) : larder_os_fine_ns();
}

bool larder_index_is_over(const larder_index *index, int64_t deadline) {
    return index->options.clock == NULL && deadline <= larder_os_fine_ns();
}
