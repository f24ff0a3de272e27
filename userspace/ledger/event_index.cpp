// SPDX-License-Identifier: Apache-2.0
#include "ledger/event_index.h"

#include <algorithm>

namespace postern::ledger {

void EventIndex::add(const Id128& stream, Seq seq, Lseq lseq) {
  Places& places = places_[stream];
  if (!places.dense.empty() && seq.value != places.first.value + places.dense.size()) {
    for (std::size_t i = 0; i < places.dense.size(); ++i)
      places.kept[Seq(places.first.value + i)] = places.dense[i];
    places.dense.clear();
  }
  if (places.dense.empty()) places.first = seq;
  places.dense.push_back(lseq);
}

void EventIndex::cut(const Id128& stream, Seq first) {
  const auto found = places_.find(stream);
  if (found == places_.end()) return;
  Places& places = found->second;
  places.kept.erase(places.kept.lower_bound(first), places.kept.end());
  places.steps.erase(places.steps.lower_bound(first), places.steps.end());
  if (places.dense.empty() || first.value >= places.first.value + places.dense.size()) return;
  places.dense.resize(first > places.first ? first.value - places.first.value : 0);
}

void EventIndex::compacted(Lseq last) {
  for (auto& [stream, places] : places_) {
    const auto gone = std::upper_bound(places.dense.begin(), places.dense.end(), last);
    places.first = Seq(places.first.value + static_cast<std::uint64_t>(gone - places.dense.begin()));
    places.dense.erase(places.dense.begin(), gone);
    std::erase_if(places.kept, [&](const auto& kept) { return kept.second <= last; });
    std::erase_if(places.steps,
                  [&](Seq step) { return step < places.first && places.kept.count(step) == 0; });
  }
}

std::optional<Lseq> EventIndex::find(const Id128& stream, Seq seq) const {
  const auto found = places_.find(stream);
  if (found == places_.end()) return std::nullopt;
  const Places& places = found->second;
  if (!places.dense.empty() && seq >= places.first) {
    const std::uint64_t at = seq.value - places.first.value;
    return at < places.dense.size() ? std::optional(places.dense[at]) : std::nullopt;
  }
  const auto kept = places.kept.find(seq);
  return kept == places.kept.end() ? std::nullopt : std::optional(kept->second);
}

Seq EventIndex::dense_from(const Id128& stream) const {
  const auto found = places_.find(stream);
  return found == places_.end() ? Seq(1) : std::max(found->second.first, Seq(1));
}

std::optional<Seq> EventIndex::step_behind(const Id128& stream, Seq seq, Seq last) const {
  const auto found = places_.find(stream);
  if (found == places_.end()) return std::nullopt;
  const auto step = found->second.steps.upper_bound(seq);
  return step == found->second.steps.end() || *step > last ? std::nullopt : std::optional(*step);
}

std::optional<Seq> EventIndex::next_at(const Id128& stream, Seq seq) const {
  const auto found = places_.find(stream);
  if (found == places_.end()) return std::nullopt;
  const Places& places = found->second;
  const auto kept = places.kept.lower_bound(seq);
  if (kept != places.kept.end() && (places.dense.empty() || kept->first < places.first)) return kept->first;
  if (places.dense.empty() || seq.value >= places.first.value + places.dense.size()) return std::nullopt;
  return std::max(seq, places.first);
}

}  // namespace postern::ledger
