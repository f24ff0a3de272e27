// SPDX-License-Identifier: Apache-2.0
// The timestamp (SPEC 3.6): a small signed document that says which snapshot was the newest at a moment. Its
// source may refresh it often; a gateway that sees it go stale knows that its feed is frozen. In the same
// envelope as snapshots, under a domain of its own.
#pragma once

#include <string>
#include <string_view>

#include "authority/errors.h"
#include "authority/snapshot.h"
#include "core/result.h"

namespace postern::authority {

// Payload and envelope together: it is journaled whole.
inline constexpr std::size_t kMaxTimestampBytes = 32U << 10;

// {"expires","hash","issued","mesh","serial","v":1}
struct Timestamp {
  std::string mesh;
  Serial serial;   // of the newest snapshot
  Hash256 hash{};  // of its payload
  UtcSeconds issued;
  UtcSeconds expires;  // after it, nobody vouches that the snapshot is still the newest
  friend bool operator==(const Timestamp&, const Timestamp&) = default;
};

// The canonical payload: what is signed under wire::domain::timestamp.
std::string encode_timestamp(const Timestamp& timestamp);

// Of a payload whose signatures are somebody else's to judge: the signer's side.
Result<Timestamp> parse_timestamp(std::string_view payload);

// Verifies the file's signatures with `trusted`, and only then parses it: known fields only, canonical bytes,
// issued before expires, and of this mesh. Says nothing of its place in history.
Result<Timestamp> verify_timestamp(std::string_view file, const Root& trusted, std::string_view mesh);

}  // namespace postern::authority
