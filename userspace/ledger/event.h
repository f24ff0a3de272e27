// SPDX-License-Identifier: Apache-2.0
// The signed envelope that every event has (SPEC 5.1): {at_ms, body, critical, key, kind, lamport, mesh,
// prev, seq, sig, stream, v} in canonical JSON. Signed is the event's header: the same object without `sig`,
// and with the hash of the body in the place of the body. So a header proves what was signed without its
// body, and two of them prove a fork (fork_proof.h).
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "core/bytes.h"
#include "core/ids.h"
#include "core/result.h"
#include "ledger/errors.h"
#include "wire/json.h"
#include "wire/sign.h"

namespace postern::ledger {

// Identity of an event.
struct EventId {
  Id128 stream{};
  Seq seq;

  friend auto operator<=>(const EventId&, const EventId&) = default;  // NOLINT(modernize-use-nullptr)
};

struct Event {
  std::string mesh;
  Id128 stream{};  // a journal lineage, not a process
  Seq seq;         // dense from 1
  Hash256 prev{};  // hash of the stream's event seq-1; zero for the first
  Lamport lamport;
  std::int64_t at_ms = 0;  // wall clock of the author; for people, never folded
  wire::PublicKey key;     // the author's node key
  std::string kind;        // "AuthorityAdopted", ...
  bool critical = false;   // refuse rather than store uninterpreted
  wire::Json body;         // an object
  friend bool operator==(const Event&, const Event&) = default;
};

// Identity of an event's content: BLAKE2b-256 of its signed bytes (the whole envelope). The next `prev`.
Hash256 event_hash(std::string_view sealed);

// Signs and encodes. `event.key` must be the key's own.
std::string seal_event(const Event& event, const wire::SecretKey& key);

// The same without looking at the signature: for bytes that were verified before they were journaled.
Result<Event> read_event(std::string_view sealed);

// Strict inverse: canonical bytes, known fields, valid signature by `key`, at most kMaxEventBytes.
Result<Event> open_event(std::string_view sealed);

// The signed header of an event that was opened before: canonical JSON, `sig` included, `body` the hex of its
// BLAKE2b-256.
inline constexpr std::size_t kMaxEventHeaderBytes = 2048;
Result<std::string> header_of(std::string_view sealed);

// Strict as open_event, signature included; the event's body is the string that stands for it.
Result<Event> open_event_header(std::string_view header);

// A stream's id begins with the first eight bytes of its author's key id; so nobody can write under another
// node's stream, nor two nodes under one (SPEC 5.1).
Id128 new_stream_id(const wire::PublicKey& author);
bool stream_belongs_to(const Id128& stream, const wire::PublicKey& author);

}  // namespace postern::ledger
