// SPDX-License-Identifier: Apache-2.0
#include "claims/courier.h"

#include <tuple>

#include "claims/timing.h"

namespace postern::claims {

void Courier::up(std::string_view gateway) {
  links_.insert_or_assign(std::string(gateway), Link{});
}

void Courier::down(std::string_view gateway) {
  if (const auto found = links_.find(gateway); found != links_.end()) links_.erase(found);
}

void Courier::hears(std::string_view gateway, const Hears& list) {
  const auto found = links_.find(gateway);
  if (found != links_.end()) found->second.hears = {list.nodes.begin(), list.nodes.end()};
}

void Courier::heard(std::string_view gateway, std::uint64_t now_boot_ns) {
  const auto found = links_.find(gateway);
  if (found != links_.end()) found->second.heard_boot_ns = now_boot_ns;
}

void Courier::wants(std::string_view gateway, const wire::PublicKey& node) {
  const auto found = links_.find(gateway);
  if (found != links_.end()) found->second.sent.erase(node);
}

void Courier::ask(std::string_view gateway, const wire::PublicKey& node) {
  // One that is lost is asked again, at the next beat that does not add up.
  [[maybe_unused]] const bool sent = send_(gateway, encode(WantRows{node}));
}

void Courier::send_beat(const std::string& gateway, Link& link, const Beat& beat, const RowTable& rows) {
  std::uint64_t sent_beats = 0;
  if (const auto sent = link.sent.find(beat.node); sent != link.sent.end()) {
    if (sent->second >= std::pair(beat.boots, beat.beats)) return;
    if (sent->second.first == beat.boots) sent_beats = sent->second.second;
  }
  const BeatMessage message{beat, sent_beats == 0, rows.since(sent_beats)};
  if (send_(gateway, encode(message))) link.sent[beat.node] = {beat.boots, beat.beats};
}

void Courier::send_own(const Beat& beat, const RowTable& rows) {
  for (auto& [gateway, link] : links_)
    send_beat(gateway, link, beat, rows);
}

void Courier::relay(const Beat& beat, const RowTable& rows, std::string_view from) {
  const auto author = names_.find(beat.node);
  for (auto& [gateway, link] : links_) {
    const bool has_it = gateway == from || link.hears.count(beat.node) != 0 ||
                        (author != names_.end() && author->second == gateway);
    if (!has_it) send_beat(gateway, link, beat, rows);
  }
}

void Courier::tell_heard(std::uint64_t now_boot_ns) {
  Hears list;
  for (const auto& [node, name] : names_) {
    const auto found = links_.find(name);
    if (found == links_.end() || found->second.heard_boot_ns == 0) continue;
    if (now_boot_ns < found->second.heard_boot_ns + kHeardFor_ns) list.nodes.push_back(node);
  }
  for (auto& [gateway, link] : links_)
    if (link.told != list && send_(gateway, encode(list))) link.told = list;
}

}  // namespace postern::claims
