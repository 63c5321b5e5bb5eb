// SPDX-License-Identifier: MIT
// By itself, because names of the store's own headers are those of the harness.
#include "handle/handle.h"

bool feed_sync(const larder_store *store);
bool feed_sync(const larder_store *store) { return larder_feed_sync(&store->feed) == LARDER_OK; }
