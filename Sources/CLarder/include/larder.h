// SPDX-License-Identifier: MIT
/** @file larder.h
    Larder's C core: everything in one include. Declares nothing of its own. */
#ifndef LARDER_H
#define LARDER_H

#include "larder_base.h"
#include "larder_cbor.h"
#include "larder_crc32c.h"
#include "larder_frame.h"
#include "larder_index.h"
#include "larder_ring.h"
#include "larder_status.h"

#endif
