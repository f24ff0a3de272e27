// SPDX-License-Identifier: Apache-2.0
// Links: how it stands with them.
#include <algorithm>

#include "mesh/links.h"

namespace postern::mesh {

std::string_view link_state_label(LinkState state) {
  switch (state) {
    case LinkState::up:
      return "up";
    case LinkState::connecting:
      return "connecting";
    case LinkState::waiting:
      return "waiting";
    case LinkState::unreachable:
      return "unreachable";
  }
  return "";
}

std::vector<LinkRow> Links::rows() const {
  std::vector<LinkRow> out;
  const Member* const self = members_.find(identity_.node);
  for (const auto& [node, row] : rows_) {
    LinkRow shown = row.shown;
    shown.gateway = row.peer.gateway;
    shown.twin = row.twin_seen_ns.has_value();
    if (row.link) {
      shown.state = LinkState::up;
      shown.queued_bytes = connections_.at(*row.link).queued_bytes;
    } else {
      shown.address.clear();
      const bool impossible = row.peer.links.empty() && (self == nullptr || self->links.empty());
      shown.state = row.dialing  ? LinkState::connecting
                    : impossible ? LinkState::unreachable
                                 : LinkState::waiting;
    }
    out.push_back(std::move(shown));
  }
  std::sort(out.begin(), out.end(), [](const LinkRow& a, const LinkRow& b) { return a.gateway < b.gateway; });
  return out;
}

}  // namespace postern::mesh
