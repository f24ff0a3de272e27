// SPDX-License-Identifier: Apache-2.0
#include "ledger/stream.h"

#include <algorithm>

#include "wire/hash.h"

namespace postern::ledger {

Stream::Stream(Journal& journal, const wire::SecretKey& key, const Clock& clock, std::string mesh)
    : journal_(&journal), key_(&key), clock_(&clock), mesh_(std::move(mesh)) {}

Result<Stream> Stream::open(Journal& journal, const wire::SecretKey& key, const Clock& clock,
                            std::string mesh, const std::vector<Event>& own, Continuity continuity) {
  Stream stream(journal, key, clock, std::move(mesh));
  const Event* last = nullptr;
  for (const Event& event : own) {
    if (event.mesh != stream.mesh_) {
      return fail(errc::event_invalid, "the journal holds events of mesh \"" + event.mesh +
                                           "\", the config says \"" + stream.mesh_ +
                                           "\"; one journal serves one mesh: correct the config");
    }
    // Events of others count too: what happens after they were seen is later than they are.
    stream.lamport_ = std::max(stream.lamport_, event.lamport);
    if (event.key != key.public_key()) continue;
    const bool goes_on = last != nullptr && event.stream == last->stream && event.seq == last->seq.next();
    if (!goes_on && event.seq != Seq(1)) {
      return fail(errc::event_invalid, "own stream " + to_hex(event.stream) + " has a gap before seq " +
                                           std::to_string(event.seq.value) +
                                           "; this journal cannot be continued");
    }
    last = &event;
  }
  wire::Json predecessor = nullptr;
  if (last != nullptr) {
    // Ed25519 is deterministic: sealing it again gives the journaled bytes.
    const Hash256 head = event_hash(seal_event(*last, key));
    if (continuity == Continuity::proven) {
      stream.id_ = last->stream;
      stream.seq_ = last->seq;
      stream.prev_ = head;
      return stream;
    }
    predecessor = wire::Json::object({{"head", to_hex(head)},
                                      {"seq", wire::Json::decimal(last->seq.value)},
                                      {"stream", to_hex(last->stream)}});
  }
  stream.id_ = wire::random_id();
  const std::vector<Draft> opened = {
      {"StreamOpened", wire::Json::object({{"predecessor", std::move(predecessor)}})}};
  if (Result<> written = stream.write(opened); !written) return pass_on(std::move(written));
  return stream;
}

Result<> Stream::write(std::span<const Draft> drafts) {
  Event event;
  event.mesh = mesh_;
  event.stream = id_;
  event.seq = seq_;
  event.prev = prev_;
  event.lamport = lamport_;
  event.at_ms = std::max<std::int64_t>(clock_->wall_ms(), 0);
  event.key = key_->public_key();
  std::vector<std::string> sealed;
  for (const Draft& draft : drafts) {
    event.kind = draft.kind;
    event.body = draft.body;
    event.seq = event.seq.next();
    event.lamport = event.lamport.next();
    sealed.push_back(seal_event(event, *key_));
    event.prev = event_hash(sealed.back());
  }
  // A failed append leaves seq where it was: either nothing was written, or the journal is poisoned and takes
  // no more.
  if (Result<Lseq> appended = journal_->append(sealed); !appended) return pass_on(std::move(appended));
  seq_ = event.seq;
  prev_ = event.prev;
  lamport_ = event.lamport;
  return {};
}

}  // namespace postern::ledger
