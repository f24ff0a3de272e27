// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "claims/claims.h"
#include "mesh/link_handler.h"

namespace postern::agent {

// Between the links and those who talk over them: a message goes to whom it belongs, news of a link to both.
class LinkDispatch final : public mesh::LinkHandler {
 public:
  // Both must outlive this.
  LinkDispatch(mesh::LinkHandler& sync, mesh::LinkHandler& claims) : sync_(sync), claims_(claims) {}

  void on_up(const mesh::PeerLink& peer) override {
    sync_.on_up(peer);
    claims_.on_up(peer);
  }
  void on_message(std::string_view gateway, ByteView message) override {
    (claims::Claims::is_mine(message) ? claims_ : sync_).on_message(gateway, message);
  }
  void on_down(std::string_view gateway, std::string_view why) override {
    sync_.on_down(gateway, why);
    claims_.on_down(gateway, why);
  }
  void on_room(std::string_view gateway) override {
    sync_.on_room(gateway);
    claims_.on_room(gateway);
  }

 private:
  mesh::LinkHandler& sync_;
  mesh::LinkHandler& claims_;
};

}  // namespace postern::agent
