// SPDX-License-Identifier: Apache-2.0
#include "core/ip.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace postern {
namespace {

constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

template <class T>
std::optional<T> parse_number(std::string_view text, T max) {
  if (text.empty() || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > max) return std::nullopt;
  return static_cast<T>(value);
}

// Four numbers 0 to 255 without leading zeros.
std::optional<IpAddress> parse_v4(std::string_view text) {
  IpAddress out;
  std::copy(kMapped.begin(), kMapped.end(), out.bytes.begin());
  for (std::size_t i = 12; i < 16; ++i) {
    const std::size_t size = i < 15 ? text.find('.') : text.size();
    if (size == std::string_view::npos || size == 0 || size > 3 || (size > 1 && text[0] == '0'))
      return std::nullopt;
    unsigned value = 0;
    for (const char c : text.substr(0, size)) {
      if (c < '0' || c > '9') return std::nullopt;
      value = value * 10 + static_cast<unsigned>(c - '0');
    }
    if (value > 255) return std::nullopt;
    out.bytes[i] = static_cast<std::uint8_t>(value);
    text.remove_prefix(std::min(text.size(), size + 1));
  }
  return out;
}

// As RFC 5952 has it: the first longest run of two or more zero groups becomes "::".
std::string v6_text(const std::array<std::uint8_t, 16>& bytes) {
  std::array<unsigned, 8> groups{};
  for (std::size_t i = 0; i < 8; ++i)
    groups[i] = static_cast<unsigned>(bytes[2 * i] << 8 | bytes[2 * i + 1]);
  std::size_t run = 8;
  std::size_t run_size = 1;
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t end = i;
    while (end < 8 && groups[end] == 0)
      ++end;
    if (end - i > run_size) {
      run = i;
      run_size = end - i;
    }
  }
  char out[INET6_ADDRSTRLEN];
  char* at = out;
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == run) {
      *at++ = ':';
      i += run_size - 1;
      if (i == 7) *at++ = ':';
      continue;
    }
    if (i > 0) *at++ = ':';
    at = std::to_chars(at, out + sizeof out, groups[i], 16).ptr;
  }
  return {out, at};
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

bool IpAddress::is_v4() const {
  return std::equal(kMapped.begin(), kMapped.end(), bytes.begin());
}

bool IpAddress::is_unspecified() const {
  return std::all_of(bytes.begin() + (is_v4() ? 12 : 0), bytes.end(), [](std::uint8_t b) { return b == 0; });
}

bool IpAddress::is_multicast() const {
  return is_v4() ? bytes[12] >= 224 : bytes[0] == 0xff;
}

bool IpAddress::is_loopback() const {
  if (is_v4()) return bytes[12] == 127;
  return std::all_of(bytes.begin(), bytes.end() - 1, [](std::uint8_t b) { return b == 0; }) && bytes[15] == 1;
}

bool IpAddress::is_link_local() const {
  if (is_v4()) return bytes[12] == 169 && bytes[13] == 254;
  return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

std::string IpAddress::text() const {
  // Twelve leading zero bytes call for the form with a dotted tail, which the library knows.
  const bool dotted = std::all_of(bytes.begin(), bytes.begin() + 12, [](std::uint8_t b) { return b == 0; });
  if (!is_v4() && !dotted) return v6_text(bytes);
  char buffer[INET6_ADDRSTRLEN] = {};
  if (is_v4()) {
    ::inet_ntop(AF_INET, bytes.data() + 12, buffer, sizeof buffer);
  } else {
    ::inet_ntop(AF_INET6, bytes.data(), buffer, sizeof buffer);
  }
  return buffer;
}

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  if (text.find(':') == std::string_view::npos) return parse_v4(text);
  char z[INET6_ADDRSTRLEN] = {};
  if (text.size() >= sizeof z || text.find('\0') != std::string_view::npos) return std::nullopt;
  std::copy(text.begin(), text.end(), z);
  IpAddress out;
  if (::inet_pton(AF_INET6, z, out.bytes.data()) != 1 || out.is_v4()) return std::nullopt;
  return out;
}

bool IpPrefix::contains(const IpAddress& other) const {
  if (is_v4() != other.is_v4()) return false;
  const int bits = length + (is_v4() ? 96 : 0);
  const int whole = bits / 8;
  if (!std::equal(other.bytes.begin(), other.bytes.begin() + whole, address.bytes.begin())) return false;
  if (bits % 8 == 0) return true;
  const auto mask = static_cast<std::uint8_t>(0xff << (8 - bits % 8));
  return (other.bytes[whole] & mask) == (address.bytes[whole] & mask);
}

std::string IpPrefix::text() const {
  return address.text() + "/" + std::to_string(length);
}

std::optional<IpPrefix> IpPrefix::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::optional<IpAddress> address = IpAddress::parse(text.substr(0, slash));
  if (!address) return std::nullopt;
  const auto length = parse_number<std::uint8_t>(text.substr(slash + 1),
                                                 address->is_v4() ? std::uint8_t{32} : std::uint8_t{128});
  if (!length) return std::nullopt;
  const int first_host_bit = *length + (address->is_v4() ? 96 : 0);
  const auto host_bytes = address->bytes.begin() + (first_host_bit + 7) / 8;
  const bool within_byte =
      first_host_bit % 8 != 0 &&
      (address->bytes[static_cast<std::size_t>(first_host_bit) / 8] & (0xff >> first_host_bit % 8)) != 0;
  if (within_byte || std::any_of(host_bytes, address->bytes.end(), [](std::uint8_t b) { return b != 0; })) {
    return std::nullopt;
  }
  return IpPrefix{*address, *length};
}

std::string MacAddress::text() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const std::uint8_t b : bytes) {
    if (!out.empty()) out += ':';
    out += kDigits[b >> 4];
    out += kDigits[b & 15];
  }
  return out;
}

std::optional<MacAddress> MacAddress::parse(std::string_view text) {
  if (text.size() != 17) return std::nullopt;
  MacAddress out;
  for (std::size_t i = 0; i < 6; ++i) {
    const int high = hex_digit(text[i * 3]);
    const int low = hex_digit(text[i * 3 + 1]);
    if (high < 0 || low < 0 || (i < 5 && text[i * 3 + 2] != ':')) return std::nullopt;
    out.bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return out;
}

std::string Endpoint::text() const {
  const std::string host = address.is_v4() ? address.text() : "[" + address.text() + "]";
  return host + ":" + std::to_string(port);
}

std::optional<Endpoint> Endpoint::parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  const std::optional<IpAddress> address = IpAddress::parse(host);
  const auto port = parse_number<std::uint16_t>(text.substr(colon + 1), std::uint16_t{65535});
  if (!address || !port || address->is_v4() == bracketed) return std::nullopt;
  return Endpoint{*address, *port};
}

std::uint16_t internet_checksum(ByteView bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 2)
    sum += static_cast<std::uint32_t>(bytes[i] << 8 | (i + 1 < bytes.size() ? bytes[i + 1] : 0));
  while (sum >> 16 != 0)
    sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

}  // namespace postern
