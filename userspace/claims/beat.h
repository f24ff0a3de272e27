// SPDX-License-Identifier: Apache-2.0
// What gateways say to each other about leases (SPEC 10.3), and the bytes of it: kind (u8), then its fields,
// little-endian. What is decoded is encoded to the same bytes.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "authority/snapshot.h"
#include "core/bytes.h"
#include "core/ids.h"
#include "core/result.h"
#include "ledger/claim_events.h"
#include "mesh/limits.h"
#include "wire/sign.h"

namespace postern::claims {

// How its sender sees a resource.
struct Row {
  ResourceNumber resource;
  bool has_top = false;  // whether `top` is one
  bool applied = false;  // its kernel enforces this top: an ack, and a promise to wait for its claimant
  bool armed = false;    // the top claim is the sender's own, and the sender serves
  ledger::Token top;     // in its fold
  Epoch fence;           // the lowest that it accepts
  friend bool operator==(const Row&, const Row&) = default;
};

// The newest beat of another node that the sender has heard: what the sender says, it says after that.
struct Echo {
  wire::PublicKey node;
  std::uint64_t boots = 0;
  std::uint64_t beats = 0;
  friend bool operator==(const Echo&, const Echo&) = default;
};

// A node's liveness counter, signed by it, and relayed as it is. (boots, beats) only rises; `boots` counts
// the starts of its agent and is durable there.
struct Beat {
  wire::PublicKey node;
  std::uint64_t boots = 0;
  std::uint64_t beats = 0;
  std::uint64_t made_ms = 0;  // when, by its CLOCK_BOOTTIME
  bool asks = false;          // for an echo: the sender was away, and does not know what the others know
  Hash256 rows_digest{};      // of all its rows
  std::vector<Echo> echoes;   // of nodes that ask, ascending
  wire::Signature signature{};
  friend bool operator==(const Beat&, const Beat&) = default;
};

void sign(Beat& beat, std::string_view mesh, const wire::SecretKey& key);
bool verify(const Beat& beat, std::string_view mesh);

// A beat, and those of its rows that changed since the sender's last message about this node; or all of them.
struct BeatMessage {
  Beat beat;
  bool whole = false;
  std::vector<Row> rows;  // ascending by resource
  friend bool operator==(const BeatMessage&, const BeatMessage&) = default;
};

// Whose beats come to the sender over their own link: those need not be relayed to it.
struct Hears {
  std::vector<wire::PublicKey> nodes;  // ascending
  friend bool operator==(const Hears&, const Hears&) = default;
};

// The rows that the receiver has of this node do not add up to its digest: all of them, please.
struct WantRows {
  wire::PublicKey node;
  friend bool operator==(const WantRows&, const WantRows&) = default;
};

using Message = std::variant<BeatMessage, Hears, WantRows>;

inline constexpr std::size_t kRowBytes = 4 + 1 + 8 + 16 + 16 + 8 + 8;
inline constexpr std::size_t kEchoBytes = 32 + 8 + 8;
inline constexpr std::size_t kMaxRows = 4096;  // resources
inline constexpr std::size_t kBeatHeadBytes = 1 + 32 + 8 + 8 + 8 + 32 + 64 + 1 + 2 + 2;
static_assert(kBeatHeadBytes + kMaxRows * kRowBytes + mesh::kMaxGateways * kEchoBytes <=
                  mesh::kMaxMessagePayload,
              "the largest beat fits a message");

// Whether a link's message is of one of these kinds, which sync does not use.
bool is_beat_message(ByteView message);
Bytes encode(const Message& message);
// errc::malformed says what is wrong with it. Signatures are not looked at.
Result<Message> decode(ByteView bytes);

// Over the rows' bytes, ascending.
Hash256 digest_of(const std::vector<Row>& rows);

}  // namespace postern::claims
