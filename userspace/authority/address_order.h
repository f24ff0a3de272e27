// SPDX-License-Identifier: Apache-2.0
// Addresses as numbers in rising order, families apart: IPv4 addresses are kept v4-mapped and would else lie
// amid the IPv6 ones that a short IPv6 prefix holds. Numbers compare faster than bytes; a mesh has millions.
#pragma once

#include <compare>
#include <cstdint>

#include "core/ip.h"

namespace postern::authority {

struct AddressOrder {
  bool v4 = false;
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend auto operator<=>(const AddressOrder&,
                          const AddressOrder&) = default;  // NOLINT(modernize-use-nullptr)

  static AddressOrder of(const IpAddress& address) {
    AddressOrder out{address.is_v4(), 0, 0};
    for (std::size_t i = 0; i < 8; ++i) {
      out.high = out.high << 8 | address.bytes[i];
      out.low = out.low << 8 | address.bytes[8 + i];
    }
    return out;
  }

  // Whether `other` is of this family and has the same first `length` bits, counted as prefixes count them.
  bool holds(unsigned length, const AddressOrder& other) const {
    const unsigned bits = length + (v4 ? 96 : 0);
    if (v4 != other.v4) return false;
    if (bits == 0) return true;
    if (bits <= 64) return (high ^ other.high) >> (64 - bits) == 0;
    return high == other.high && (low ^ other.low) >> (128 - bits) == 0;
  }
};

}  // namespace postern::authority
