// SPDX-License-Identifier: Apache-2.0
#include "ledger/stream.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ledger/event_kinds.h"

namespace postern::ledger {
namespace {

wire::Json opened_after(const std::optional<StreamEnd>& predecessor) {
  if (!predecessor)
    return wire::Json::object({{"head", nullptr}, {"last_seq", nullptr}, {"predecessor", nullptr}});
  return wire::Json::object({{"head", to_hex(predecessor->hash)},
                             {"last_seq", static_cast<std::int64_t>(predecessor->seq.value)},
                             {"predecessor", to_hex(predecessor->stream)}});
}

}  // namespace

Stream::Stream(Journal& journal, const wire::SecretKey& key, const Clock& clock, std::string mesh)
    : journal_(&journal), key_(&key), clock_(&clock), mesh_(std::move(mesh)) {}

Result<Stream> Stream::open(Journal& journal, const wire::SecretKey& key, const Clock& clock,
                            std::string mesh, const StreamHistory& history, const Continuation& continuation,
                            Durable told) {
  Stream stream(journal, key, clock, std::move(mesh));
  stream.durable_ = std::move(told);
  stream.lamport_ = history.lamport();
  const std::optional<StreamEnd>& own = history.own();
  if (own && continuation.same_stream) {
    stream.id_ = own->stream;
    stream.seq_ = own->seq;
    stream.prev_ = own->hash;
    stream.skeleton_ = history.own_skeleton();
    return stream;
  }
  if (Result<> opened = stream.begin(own); !opened) return pass_on(std::move(opened));
  return stream;
}

Result<> Stream::begin(const std::optional<StreamEnd>& predecessor) {
  const Id128 given_up = std::exchange(id_, new_stream_id(key_->public_key()));
  const Seq last = std::exchange(seq_, Seq());
  const Hash256 head = std::exchange(prev_, Hash256{});
  const OwnSkeleton skeleton = std::exchange(skeleton_, {});
  const std::vector<Draft> opened = {{std::string(kStreamOpened), opened_after(predecessor)}};
  Result<> written = write(opened);
  if (!written) {
    id_ = given_up;
    seq_ = last;
    prev_ = head;
    skeleton_ = skeleton;
  }
  return written;
}

Result<> Stream::renew() {
  return begin(StreamEnd{id_, seq_, prev_, Lseq(), false});
}

struct Stream::Batch {
  Event event;  // the last one
  OwnSkeleton skeleton;
  std::vector<Event> events;
  std::vector<std::string> sealed;
};

void Stream::seal_into(Batch& batch, const Draft& draft) const {
  Event& event = batch.event;
  event.kind = draft.kind;
  event.body = draft.body;
  event.seq = event.seq.next();
  event.lamport = event.lamport.next();
  batch.sealed.push_back(seal_event(event, *key_));
  batch.events.push_back(event);
  event.prev = event_hash(batch.sealed.back());
  batch.skeleton.add(event.kind, event.seq, event.prev, batch.sealed.back().size());
}

Result<> Stream::write(std::span<const Draft> drafts) {
  Batch batch;
  batch.skeleton = skeleton_;
  batch.event.mesh = mesh_;
  batch.event.stream = id_;
  batch.event.seq = seq_;
  batch.event.prev = prev_;
  batch.event.lamport = lamport_;
  batch.event.at_ms = std::max<std::int64_t>(clock_->wall_ms(), 0);
  batch.event.key = key_->public_key();
  for (const Draft& draft : drafts) {
    seal_into(batch, draft);
    if (batch.skeleton.due())
      seal_into(batch, {std::string(kStreamCondensed), body_of(batch.skeleton.skeleton)});
  }
  // A failed append leaves seq where it was: either nothing was written, or the journal is poisoned and takes
  // no more.
  Result<Lseq> last = journal_->append(batch.sealed);
  if (!last) return pass_on(std::move(last));
  seq_ = batch.event.seq;
  prev_ = batch.event.prev;
  lamport_ = batch.event.lamport;
  skeleton_ = batch.skeleton;
  if (durable_) {
    for (std::size_t i = 0; i < batch.events.size(); ++i)
      durable_(batch.events[i], batch.sealed[i], Lseq(last->value - (batch.events.size() - 1 - i)));
  }
  return {};
}

}  // namespace postern::ledger
