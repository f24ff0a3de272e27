// SPDX-License-Identifier: Apache-2.0
#include "mesh/hello.h"

#include <algorithm>

#include "core/name.h"
#include "mesh/limits.h"

namespace postern::mesh {
namespace {

constexpr std::string_view kMagic = "postern-link";
constexpr std::size_t kFixedBytes = 2 + 2 + sizeof(NodeId) + 2 * sizeof(Id128);
constexpr std::size_t kMaxName = 63;
static_assert(kMagic.size() + 1 + kMaxName + kFixedBytes <= kMaxPlainFrame);

template <std::size_t N>
void take(ByteView& rest, std::array<std::uint8_t, N>& into) {
  std::copy_n(rest.begin(), N, into.begin());
  rest = rest.subspan(N);
}

std::uint16_t take_u16(ByteView& rest) {
  const auto value = load_le<std::uint16_t>(rest, 0);
  rest = rest.subspan(2);
  return value;
}

}  // namespace

std::optional<std::uint16_t> common_protocol(const ProtocolRange& one, const ProtocolRange& other) {
  const std::uint16_t highest = std::min(one.highest, other.highest);
  if (highest < std::max(one.lowest, other.lowest)) return std::nullopt;
  return highest;
}

Bytes encode_hello(const Hello& hello) {
  Bytes out(kMagic.begin(), kMagic.end());
  out.push_back(static_cast<std::uint8_t>(hello.mesh.size()));
  out.insert(out.end(), hello.mesh.begin(), hello.mesh.end());
  const std::size_t at = out.size();
  out.resize(at + 4);
  store_le<std::uint16_t>(out, at, hello.protocols.lowest);
  store_le<std::uint16_t>(out, at + 2, hello.protocols.highest);
  out.insert(out.end(), hello.node.begin(), hello.node.end());
  out.insert(out.end(), hello.incarnation.begin(), hello.incarnation.end());
  out.insert(out.end(), hello.nonce.begin(), hello.nonce.end());
  return out;
}

std::optional<Hello> parse_hello(ByteView bytes) {
  if (bytes.size() > kMaxPlainFrame || bytes.size() < kMagic.size() + 1) return std::nullopt;
  if (as_text(bytes.first(kMagic.size())) != kMagic) return std::nullopt;
  const std::size_t name_bytes = bytes[kMagic.size()];
  ByteView rest = bytes.subspan(kMagic.size() + 1);
  if (rest.size() < name_bytes + kFixedBytes) return std::nullopt;
  Hello out;
  out.mesh = as_text(rest.first(name_bytes));
  rest = rest.subspan(name_bytes);
  out.protocols.lowest = take_u16(rest);
  out.protocols.highest = take_u16(rest);
  take(rest, out.node);
  take(rest, out.incarnation);
  take(rest, out.nonce);
  if (!is_mesh_name(out.mesh) || out.protocols.lowest > out.protocols.highest || out.protocols.lowest == 0)
    return std::nullopt;
  return out;
}

}  // namespace postern::mesh
