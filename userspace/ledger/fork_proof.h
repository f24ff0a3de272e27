// SPDX-License-Identifier: Apache-2.0
// A fork: one author signed two events under one (stream, seq), both following on the same event (SPEC 5.4).
// The two signed headers prove it to anybody, whatever the bodies were, in under 5 KiB.
#pragma once

#include <string>
#include <string_view>

#include "core/bytes.h"
#include "core/ids.h"
#include "core/result.h"
#include "ledger/event.h"

namespace postern::ledger {

struct ForkProof {
  std::string mesh;
  Id128 stream{};
  Seq at;          // the events that are two
  Hash256 prev{};  // of the event before, which both follow
  wire::PublicKey author;
  // The signed headers, the lesser text first: whoever proves it, it is the same proof.
  std::string first;
  std::string second;

  friend bool operator==(const ForkProof&, const ForkProof&) = default;
};

// From two headers. errc::event_invalid when they prove nothing: not signed, of different places, keys or
// predecessors, or one and the same.
Result<ForkProof> prove_fork(std::string_view header, std::string_view other);

// {"first","second"}: the body of a StreamForked event, and back; the proof is checked, the event's author is
// not who it is about.
wire::Json body_of(const ForkProof& proof);
Result<ForkProof> read_fork(const Event& event);

}  // namespace postern::ledger
