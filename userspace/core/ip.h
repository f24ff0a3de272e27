// SPDX-License-Identifier: Apache-2.0
// IP addresses, prefixes and MAC addresses as values, with strict text forms.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/bytes.h"

namespace postern {

// IPv4 or IPv6. Bytes are in network order; IPv4 is kept v4-mapped (::ffff:a.b.c.d), as the kernel tables
// have it.
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};

  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;  // NOLINT(modernize-use-nullptr)

  bool is_v4() const;
  bool is_unspecified() const;  // 0.0.0.0 or ::
  bool is_multicast() const;
  bool is_loopback() const;
  bool is_link_local() const;
  std::string text() const;

  // Dotted quad or RFC 4291 text. A v4-mapped IPv6 text is refused: one address has one spelling.
  static std::optional<IpAddress> parse(std::string_view text);
};

// An address block. `length` counts bits of its own family: 0..32 or 0..128.
struct IpPrefix {
  IpAddress address;
  std::uint8_t length = 0;

  friend auto operator<=>(const IpPrefix&, const IpPrefix&) = default;  // NOLINT(modernize-use-nullptr)

  bool is_v4() const { return address.is_v4(); }
  int max_length() const { return is_v4() ? 32 : 128; }
  // Same family only: 0.0.0.0/0 holds no IPv6 address.
  bool contains(const IpAddress& other) const;
  bool contains(const IpPrefix& other) const { return other.length >= length && contains(other.address); }
  bool is_default() const { return length == 0; }
  std::string text() const;

  // "a.b.c.d/n" or "v6/n"; host bits must be zero.
  static std::optional<IpPrefix> parse(std::string_view text);
};

struct MacAddress {
  std::array<std::uint8_t, 6> bytes{};

  friend auto operator<=>(const MacAddress&, const MacAddress&) = default;  // NOLINT(modernize-use-nullptr)

  bool is_unicast() const { return (bytes[0] & 1) == 0 && *this != MacAddress{}; }
  std::string text() const;
  // "aa:bb:cc:dd:ee:ff", lower case.
  static std::optional<MacAddress> parse(std::string_view text);
};

// "address:port", "[v6]:port".
struct Endpoint {
  IpAddress address;
  std::uint16_t port = 0;

  friend auto operator<=>(const Endpoint&, const Endpoint&) = default;  // NOLINT(modernize-use-nullptr)

  std::string text() const;
  static std::optional<Endpoint> parse(std::string_view text);
};

// RFC 1071 over big-endian words; an odd last byte counts as if a zero followed.
std::uint16_t internet_checksum(ByteView bytes);

}  // namespace postern
