// SPDX-License-Identifier: Apache-2.0
// Bare Ed25519 (RFC 8032), under the domains of sign.h. Documents and events never use it directly.
#pragma once

#include "core/bytes.h"

namespace postern::wire {

// True only for 64 bytes that are the one signature with a canonical R and an S below the group's order, by a
// key that is canonically encoded and not of small order. Sizes are judged too.
bool ed25519_verify(ByteView public_key, ByteView message, ByteView signature);

}  // namespace postern::wire
