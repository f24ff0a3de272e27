// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>

#include "core/bytes.h"

namespace postern::wire {

// BLAKE2b-256 over the parts one after another (RFC 7693).
Hash256 blake2b(std::initializer_list<ByteView> parts);

// XXH3-64: against accidents, not against anybody.
std::uint64_t checksum(ByteView bytes, std::uint64_t salt);

// Unpredictable bytes for identifiers and salts.
Id128 random_id();

}  // namespace postern::wire
