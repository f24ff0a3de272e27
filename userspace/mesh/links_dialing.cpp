// SPDX-License-Identifier: Apache-2.0
// Links: when and whom to connect to.
#include <algorithm>

#include "mesh/limits.h"
#include "mesh/links.h"

namespace postern::mesh {

void Links::put_off(Row& row, std::uint64_t now_ns) {
  const unsigned doublings = std::min(row.failures, 16U);
  const std::uint64_t longest_ns = std::min(kFirstBackoff_ns << doublings, kLastBackoff_ns);
  const std::uint64_t jittered_ns = longest_ns / 2 + randomness_.below(longest_ns / 2 + 1);
  // One of the two is a little later, so that they seldom connect to each other at once.
  row.next_dial_ns = now_ns + jittered_ns + (dials_first(row) ? 0 : 2 * kFirstBackoff_ns);
}

void Links::dial_due(std::uint64_t now_ns) {
  auto dialing = static_cast<std::size_t>(std::count_if(
      rows_.begin(), rows_.end(), [](const auto& row) { return row.second.dialing.has_value(); }));
  // Round and round, so that all get their turn however many are due.
  auto at = rows_.upper_bound(last_dialed_);
  for (std::size_t left = rows_.size(); left > 0 && dialing < kMaxDialing; --left, ++at) {
    if (at == rows_.end()) at = rows_.begin();
    Row& row = at->second;
    if (row.link || row.dialing || row.peer.links.empty() || row.next_dial_ns > now_ns) continue;
    last_dialed_ = at->first;
    ++dialing;
    dial(row, now_ns);
  }
}

void Links::dial(Row& row, std::uint64_t now_ns) {
  const Endpoint& to = row.peer.links[row.next_address++ % row.peer.links.size()];
  const ConnectionId id = transport_.connect(to);
  Connection connection{LinkSession(parts(), row.peer), to.text(), to.address, false,
                        now_ns + kHandshakeTimeout_ns,  now_ns};
  connections_.emplace(id, std::move(connection));
  row.dialing = id;
}

void Links::connected(ConnectionId id, std::uint64_t /*now_ns*/) {
  const auto found = connections_.find(id);
  if (found != connections_.end()) send_bytes(id, found->second.session.start());
}

}  // namespace postern::mesh
