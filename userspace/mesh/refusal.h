// SPDX-License-Identifier: Apache-2.0
// Why this gateway refuses a connection or what comes by it (SPEC 8.4). The closed list of reasons, with
// labels that are an interface.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace postern::mesh {

enum class Refusal : std::uint8_t {
  malformed = 1,             // bytes that are no frame, hello or message of a link
  oversized = 2,             // a frame or message above its bound
  signature = 3,             // what was sealed does not open, or a key of the handshake is no good
  replay = 4,                // a handshake that was seen before, or an incarnation that was superseded
  protocol_unsupported = 5,  // no version that both sides know
  self_link = 6,             // the other side has this gateway's own identity
  mesh_mismatch = 7,
  untrusted = 8,     // no active gateway of the served snapshot, or not the key that it has there
  capacity = 9,      // too many connections that are not links yet
  unknown_link = 10  // sealed bytes of a link that this process never had
};

inline constexpr std::size_t kRefusalCount = 10;
inline constexpr std::array<Refusal, kRefusalCount> kRefusals = {Refusal::malformed,
                                                                 Refusal::oversized,
                                                                 Refusal::signature,
                                                                 Refusal::replay,
                                                                 Refusal::protocol_unsupported,
                                                                 Refusal::self_link,
                                                                 Refusal::mesh_mismatch,
                                                                 Refusal::untrusted,
                                                                 Refusal::capacity,
                                                                 Refusal::unknown_link};

std::string_view refusal_label(Refusal refusal);
// Of the number in a refusal frame; none for one of a later version.
std::optional<Refusal> refusal_of(std::uint8_t number);

// How often each was given, since the start.
class RefusalCounts {
 public:
  void count(Refusal refusal) { ++counts_[static_cast<std::size_t>(refusal) - 1]; }
  std::uint64_t of(Refusal refusal) const { return counts_[static_cast<std::size_t>(refusal) - 1]; }

 private:
  std::array<std::uint64_t, kRefusalCount> counts_{};
};

}  // namespace postern::mesh
