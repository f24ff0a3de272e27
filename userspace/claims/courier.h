// SPDX-License-Identifier: Apache-2.0
// Brings beats to the linked gateways (SPEC 10.3): the own ones to each, and those of others on to whoever
// has no link of its own to their author. Each link has its memory of what went over it, so rows are sent
// once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "claims/beat.h"
#include "claims/row_table.h"

namespace postern::claims {

class Courier {
 public:
  // Whole or not at all.
  using Send = std::function<bool(std::string_view gateway, ByteView message)>;

  explicit Courier(Send send) : send_(std::move(send)) {}

  void up(std::string_view gateway);
  void down(std::string_view gateway);
  // By which names the gateways' keys go.
  void follow(const std::map<wire::PublicKey, std::string>& nodes) { names_ = nodes; }

  void hears(std::string_view gateway, const Hears& list);
  // A beat of its own came over its link.
  void heard(std::string_view gateway, std::uint64_t now_boot_ns);
  // All rows of the node are to be sent with its next beat.
  void wants(std::string_view gateway, const wire::PublicKey& node);
  void ask(std::string_view gateway, const wire::PublicKey& node);

  // To everybody who is linked.
  void send_own(const Beat& beat, const RowTable& rows);
  // To those that do not hear its author themselves. `from`: who brought it.
  void relay(const Beat& beat, const RowTable& rows, std::string_view from);
  // Tells everybody whose own beats come over their links, where that has changed. A link that is up and
  // carries nothing does not count.
  void tell_heard(std::uint64_t now_boot_ns);

 private:
  struct Link {
    std::set<wire::PublicKey> hears;
    std::map<wire::PublicKey, std::pair<std::uint64_t, std::uint64_t>> sent;  // node -> boots, beats
    std::uint64_t heard_boot_ns = 0;                                          // 0: not since it came up
    std::optional<Hears> told;
  };

  void send_beat(const std::string& gateway, Link& link, const Beat& beat, const RowTable& rows);

  Send send_;
  std::map<std::string, Link, std::less<>> links_;
  std::map<wire::PublicKey, std::string> names_;
};

}  // namespace postern::claims
