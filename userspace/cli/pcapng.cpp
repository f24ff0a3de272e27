// SPDX-License-Identifier: Apache-2.0
#include "cli/pcapng.h"

#include <limits>

namespace postern::cli {
namespace {

constexpr std::uint32_t kSectionHeader = 0x0a0d0d0a;
constexpr std::uint32_t kByteOrder = 0x1a2b3c4d;
constexpr std::uint32_t kInterfaceBlock = 1;
constexpr std::uint32_t kStatisticsBlock = 5;
constexpr std::uint32_t kPacketBlock = 6;
constexpr std::uint16_t kEthernet = 1;
constexpr std::uint16_t kOptionEnd = 0;
constexpr std::uint16_t kOptionComment = 1;
constexpr std::uint16_t kOptionName = 2;         // of an interface
constexpr std::uint16_t kOptionFlags = 2;        // of a packet
constexpr std::uint16_t kOptionApplication = 4;  // of a section
constexpr std::uint16_t kOptionReceived = 4;     // of statistics
constexpr std::uint16_t kOptionDropped = 5;
constexpr std::uint16_t kOptionResolution = 9;
constexpr std::uint8_t kNanoseconds = 9;  // 10^-9
constexpr std::uint32_t kInbound = 1;

template <class T>
void put(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    out.push_back(static_cast<char>(value >> (8 * i)));
}

void put_padded(std::string& out, std::string_view bytes) {
  out.append(bytes);
  out.append((4 - bytes.size() % 4) % 4, '\0');
}

void put_option(std::string& out, std::uint16_t code, std::string_view value) {
  value = value.substr(0, std::numeric_limits<std::uint16_t>::max());
  put(out, code);
  put(out, static_cast<std::uint16_t>(value.size()));
  put_padded(out, value);
}

template <class T>
void put_number(std::string& out, std::uint16_t code, T value) {
  std::string bytes;
  put(bytes, value);
  put_option(out, code, bytes);
}

void put_time(std::string& out, std::uint64_t time_ns) {
  put(out, static_cast<std::uint32_t>(time_ns >> 32));
  put(out, static_cast<std::uint32_t>(time_ns));
}

std::string block(std::uint32_t type, std::string body) {
  const auto size = static_cast<std::uint32_t>(body.size() + 12);
  std::string out;
  put(out, type);
  put(out, size);
  out += body;
  put(out, size);
  return out;
}

}  // namespace

std::string Pcapng::begin() const {
  std::string body;
  put(body, kByteOrder);
  put(body, std::uint16_t{1});
  put(body, std::uint16_t{0});
  put(body, ~std::uint64_t{0});  // the section's length is not known
  put_option(body, kOptionApplication, "postern " POSTERN_VERSION);
  put_option(body, kOptionEnd, "");
  return block(kSectionHeader, std::move(body));
}

std::uint32_t Pcapng::interface_number(std::string_view name, std::string& out) {
  if (const auto known = interfaces_.find(name); known != interfaces_.end()) return known->second.number;
  const auto number = static_cast<std::uint32_t>(interfaces_.size());
  interfaces_.emplace(name, Interface{number, 0});
  std::string body;
  put(body, kEthernet);
  put(body, std::uint16_t{0});
  put(body, snap_bytes_);
  put_option(body, kOptionName, name);
  put_number(body, kOptionResolution, kNanoseconds);
  put_option(body, kOptionEnd, "");
  out += block(kInterfaceBlock, std::move(body));
  return number;
}

std::string Pcapng::add(const Frame& frame) {
  std::string out;
  std::string body;
  put(body, interface_number(frame.interface, out));
  ++interfaces_.find(frame.interface)->second.frames;
  put_time(body, frame.time_ns);
  put(body, static_cast<std::uint32_t>(frame.bytes.size()));
  put(body, frame.length_bytes);
  put_padded(body, as_text(frame.bytes));
  put_option(body, kOptionComment, frame.comment);
  put_number(body, kOptionFlags, kInbound);
  put_option(body, kOptionEnd, "");
  return out + block(kPacketBlock, std::move(body));
}

std::string Pcapng::end(std::uint64_t time_ns, std::uint64_t lost) {
  std::string out;
  if (interfaces_.empty() && lost != 0) interface_number("any", out);
  for (const auto& [name, interface] : interfaces_) {
    std::string body;
    put(body, interface.number);
    put_time(body, time_ns);
    put_number(body, kOptionReceived, interface.frames);
    // What was lost is not known by interface: the first one bears it.
    put_number(body, kOptionDropped, interface.number == 0 ? lost : std::uint64_t{0});
    put_option(body, kOptionEnd, "");
    out += block(kStatisticsBlock, std::move(body));
  }
  return out;
}

}  // namespace postern::cli
