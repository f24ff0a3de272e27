// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "claims/claims.h"
#include "mesh/link_handler.h"
#include "sync/snapshot_message.h"

namespace postern::agent {

// Between the links and those who talk over them: a message goes to whom it belongs, news of a link to all.
class LinkDispatch final : public mesh::LinkHandler {
 public:
  // All must outlive this.
  LinkDispatch(mesh::LinkHandler& sync, mesh::LinkHandler& claims, mesh::LinkHandler& snapshots)
      : sync_(sync), claims_(claims), snapshots_(snapshots) {}

  void on_up(const mesh::PeerLink& peer) override {
    sync_.on_up(peer);
    claims_.on_up(peer);
    snapshots_.on_up(peer);
  }
  void on_message(std::string_view gateway, ByteView message) override {
    if (sync::is_snapshot_message(message))
      snapshots_.on_message(gateway, message);
    else
      (claims::Claims::is_mine(message) ? claims_ : sync_).on_message(gateway, message);
  }
  void on_down(std::string_view gateway, std::string_view why) override {
    sync_.on_down(gateway, why);
    claims_.on_down(gateway, why);
    snapshots_.on_down(gateway, why);
  }
  void on_room(std::string_view gateway) override {
    sync_.on_room(gateway);
    claims_.on_room(gateway);
    snapshots_.on_room(gateway);
  }

 private:
  mesh::LinkHandler& sync_;
  mesh::LinkHandler& claims_;
  mesh::LinkHandler& snapshots_;
};

}  // namespace postern::agent
