// SPDX-License-Identifier: Apache-2.0
// Signed streams for tests: event after event, as a gateway writes them.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ledger/event.h"
#include "ledger/event_kinds.h"

namespace postern::ledger {

struct SealedEvent {
  Event event;
  std::string sealed;
  Hash256 hash{};
};

class StreamWriter {
 public:
  explicit StreamWriter(const wire::SecretKey& key) : key_(&key) {
    next_.mesh = "blue";
    next_.stream = new_stream_id(key.public_key());
    next_.key = key.public_key();
    next_.seq = Seq(1);
  }

  SealedEvent write(std::string kind, wire::Json body = wire::Json::object(),
                    std::uint64_t lamport_step = 1) {
    next_.kind = std::move(kind);
    next_.body = std::move(body);
    next_.lamport = Lamport(next_.lamport.value + lamport_step);
    SealedEvent out{next_, seal_event(next_, *key_), {}};
    out.hash = event_hash(out.sealed);
    next_.seq = next_.seq.next();
    next_.prev = out.hash;
    return out;
  }
  // StreamOpened, then events of a kind that nobody knows, `n` in all.
  std::vector<SealedEvent> write_all(std::size_t n, const std::string& word = "a") {
    std::vector<SealedEvent> out;
    for (std::size_t i = 0; i < n; ++i) {
      const bool first = next_.seq == Seq(1);
      out.push_back(write(first ? std::string(kStreamOpened) : "Note", wire::Json::object({{"word", word}})));
    }
    return out;
  }
  void witness(Lamport lamport) { next_.lamport = std::max(next_.lamport, lamport); }
  const Id128& stream() const { return next_.stream; }
  Seq next_seq() const { return next_.seq; }

 private:
  const wire::SecretKey* key_;
  Event next_;
};

}  // namespace postern::ledger
