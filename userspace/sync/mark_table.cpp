// SPDX-License-Identifier: Apache-2.0
#include "sync/mark_table.h"

#include <algorithm>

#include "sync/limits.h"
#include "wire/hash.h"

namespace postern::sync {
namespace {

Fingerprint fingerprint_of(std::vector<StreamMark> marks) {
  const Hash256 hash = wire::blake2b({encode(Marks{false, {}, std::move(marks)})});
  Fingerprint out{};
  std::copy_n(hash.begin(), out.size(), out.begin());
  return out;
}

}  // namespace

StreamMark mark_of(const Id128& stream, const ledger::StreamState& state) {
  const Hash256 head = state.head == Seq() ? Hash256{} : state.head_hash;
  return {stream, state.head, head, state.fork ? state.fork->at : Seq()};
}

bool MarkTable::refresh(const ledger::Fold& fold, const Id128& stream) {
  const ledger::StreamState* const state = fold.find(stream);
  if (state == nullptr) return false;
  return take(mark_of(stream, *state));
}

bool MarkTable::take(const StreamMark& now) {
  StreamMark& told = marks_[now.stream];
  if (told == now) return false;
  told = now;
  return true;
}

std::set<Id128> MarkTable::refresh_all(const ledger::Fold& fold) {
  std::set<Id128> changed;
  for (const auto& [stream, state] : fold.streams()) {
    if (take(mark_of(stream, state))) changed.insert(stream);
  }
  return changed;
}

const StreamMark* MarkTable::find(const Id128& stream) const {
  const auto found = marks_.find(stream);
  return found == marks_.end() ? nullptr : &found->second;
}

std::vector<StreamMark> MarkTable::within(const Span& span) const {
  std::vector<StreamMark> out;
  for (auto at = marks_.upper_bound(span.after); at != marks_.end() && at->first <= span.last; ++at)
    out.push_back(at->second);
  return out;
}

Ranges MarkTable::ranges() const {
  Ranges out;
  std::vector<StreamMark> marks;
  const auto close = [&](const Id128& last) {
    const auto count = static_cast<std::uint32_t>(marks.size());
    out.ranges.push_back({last, count, fingerprint_of(std::exchange(marks, {}))});
  };
  std::size_t left = marks_.size();
  for (const auto& [stream, mark] : marks_) {
    marks.push_back(mark);
    --left;
    if (marks.size() == kMarksPerRange && left > 0) close(stream);
  }
  close(kAllStreams.last);
  return out;
}

bool MarkTable::agrees(const Span& span, const Range& theirs) const {
  std::vector<StreamMark> marks = within(span);
  return marks.size() == theirs.count && fingerprint_of(std::move(marks)) == theirs.fingerprint;
}

}  // namespace postern::sync
