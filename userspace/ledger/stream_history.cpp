// SPDX-License-Identifier: Apache-2.0
#include "ledger/stream_history.h"

#include <algorithm>

namespace postern::ledger {
namespace {

tl::unexpected<Error> gap_before(const Id128& stream, Seq seq) {
  return fail(errc::event_invalid,
              "own stream " + to_hex(stream) + " has a gap before seq " + std::to_string(seq.value) +
                  "; this journal cannot be continued: `postern journal verify` tells what "
                  "is missing");
}

}  // namespace

Result<> StreamHistory::add(const Event& event, const Record& record) {
  lamport_ = std::max(lamport_, event.lamport);
  const OwnLineage::Origin origin = lineage_.take(event, record.from_base);
  if (origin == OwnLineage::Origin::fetched) return {};
  if (origin == OwnLineage::Origin::opened) {
    const wire::Json* predecessor = event.body.find("predecessor");
    const bool has_predecessor = predecessor != nullptr && !predecessor->is_null();
    own_ = StreamEnd{event.stream, event.seq, event_hash(record.payload), record.lseq, has_predecessor};
    own_skeleton_ = {};
    own_skeleton_.add(event.kind, event.seq, own_->hash, record.payload.size());
    from_base_ = record.from_base;
    return {};
  }
  if (origin == OwnLineage::Origin::found) {
    if (!record.from_base) return gap_before(event.stream, event.seq);
    // A repair lost the stream's beginning, and kept what stood behind it.
    own_ = StreamEnd{event.stream, event.seq, event_hash(record.payload), Lseq(), false};
    from_base_ = true;
    return {};
  }
  if (!record.from_base) {
    if (from_base_)
      seam_ = Seam{event.stream, event.seq, event.prev};
    else if (event.seq != own_->seq.next())
      return gap_before(event.stream, event.seq);
  }
  own_->seq = event.seq;
  own_->hash = event_hash(record.payload);
  own_skeleton_.add(event.kind, event.seq, own_->hash, record.payload.size());
  from_base_ = record.from_base;
  return {};
}

Result<> StreamHistory::finish(const Base* base) {
  if (base == nullptr) return seam_ ? gap_before(seam_->stream, seam_->seq) : Result<>();
  for (const auto& [stream, head] : base->state.streams)
    lamport_ = std::max(lamport_, head.lamport);
  if (seam_) {
    const auto head = base->state.streams.find(seam_->stream);
    const bool follows = head != base->state.streams.end() && head->second.seq.next() == seam_->seq &&
                         head->second.hash == seam_->prev;
    if (!follows) return gap_before(seam_->stream, seam_->seq);
  }
  if (!own_ || !from_base_) return {};
  const auto head = base->state.streams.find(own_->stream);
  if (head == base->state.streams.end() || head->second.seq < own_->seq) {
    // A repair keeps events behind the ones that it lost. Their stream is not gone on with.
    if (!base->state.gaps.empty()) return {};
    return gap_before(own_->stream, own_->seq.next());
  }
  own_->seq = head->second.seq;
  own_->hash = head->second.hash;
  return {};
}

}  // namespace postern::ledger
