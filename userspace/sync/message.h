// SPDX-License-Identifier: Apache-2.0
// What gateways say to each other over a link about events (SPEC 9.1): kind (u8), then its fields,
// little-endian. What is decoded is encoded to the same bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "core/bytes.h"
#include "core/ids.h"
#include "core/result.h"

namespace postern::sync {

// How far somebody's durable copy of a stream reaches.
struct StreamMark {
  Id128 stream{};
  Seq seq;         // of the last event that counts; 0: none
  Hash256 head{};  // its hash; zeros for none
  Seq fork;        // from here on nothing counts: a fork is proven; 0: none is known
  friend bool operator==(const StreamMark&, const StreamMark&) = default;
};

// Streams with ids above `after`, up to and including `last`.
struct Span {
  Id128 after{};
  Id128 last{};
  friend bool operator==(const Span&, const Span&) = default;
};
constexpr Id128 all_ones() {
  Id128 id{};
  for (std::uint8_t& byte : id)
    byte = 0xff;
  return id;
}
inline constexpr Span kAllStreams{Id128{}, all_ones()};

// Begins a session, by a number that was not used on this link before, or raises the bytes of `events` that
// its sender may be sent in it.
struct Credit {
  std::uint32_t session = 0;
  std::uint64_t total_bytes = 0;  // since the session began
  friend bool operator==(const Credit&, const Credit&) = default;
};

// Those that changed; or all there are of a span.
struct Marks {
  bool whole = false;
  Span span{};                    // when whole
  std::vector<StreamMark> marks;  // ascending by stream
  friend bool operator==(const Marks&, const Marks&) = default;
};

// All marks in short: the spans between one range's `last` and the next one's, the last up to the end.
using Fingerprint = std::array<std::uint8_t, 16>;
struct Range {
  Id128 last{};
  std::uint32_t count = 0;
  Fingerprint fingerprint{};
  friend bool operator==(const Range&, const Range&) = default;
};
struct Ranges {
  std::vector<Range> ranges;
  friend bool operator==(const Ranges&, const Ranges&) = default;
};

// Asks for the marks of spans.
struct Expand {
  std::vector<Span> spans;
  friend bool operator==(const Expand&, const Expand&) = default;
};

// Events of a stream one after another. The views are into what was decoded.
struct Events {
  std::uint32_t session = 0;  // of the receiver's credit
  Id128 stream{};
  Seq first;
  std::vector<std::string_view> sealed;
  friend bool operator==(const Events&, const Events&) = default;
};

// Asks for events of a stream, from `first` to `last`: to find where it forks.
struct Want {
  Id128 stream{};
  Seq first;
  Seq last;
  friend bool operator==(const Want&, const Want&) = default;
};

// The events of a stream before `available` were compacted away here.
struct Skip {
  Id128 stream{};
  Seq available;
  friend bool operator==(const Skip&, const Skip&) = default;
};

// A part of a step over events that were compacted away (SPEC 5.7): of the events of a stream that are kept
// for good, up to the StreamCondensed at `to`, which is the last event of the last part.
struct Step {
  std::uint32_t session = 0;  // of the receiver's credit
  Id128 stream{};
  Seq to;
  bool first = false;
  bool last = false;
  std::vector<std::string_view> sealed;
  friend bool operator==(const Step&, const Step&) = default;
};

using Message = std::variant<Credit, Marks, Ranges, Expand, Events, Want, Skip, Step>;

Bytes encode(const Message& message);
// errc::malformed says what is wrong with it; errc::unknown_kind: it is of a later version. `bytes` must
// outlive the views of Events and Step.
Result<Message> decode(ByteView bytes);

}  // namespace postern::sync
