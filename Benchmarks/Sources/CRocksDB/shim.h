// SPDX-License-Identifier: MIT
#include <rocksdb/c.h>
