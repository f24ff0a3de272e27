// SPDX-License-Identifier: Apache-2.0
// The links of a running gateway: joins mesh/links.h to sockets, the clock, the served snapshot and the log.
#pragma once

#include <asio/io_context.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/link_sockets.h"
#include "agent/links_status.h"
#include "agent/repeating_timer.h"
#include "config/config.h"
#include "core/clock.h"
#include "mesh/links.h"
#include "wire/sign.h"

namespace spdlog {
class logger;
}

namespace postern::agent {

class GatewayLinks final : public mesh::LinkHandler {
 public:
  // `io`, `clock` and `log` must outlive this. `carried` gets what links carry, and hears of them coming and
  // going; null for nobody.
  GatewayLinks(asio::io_context& io, const std::string& mesh, const wire::SecretKey& key, const Clock& clock,
               spdlog::logger& log, mesh::LinkHandler* carried = nullptr);
  GatewayLinks(const GatewayLinks&) = delete;
  GatewayLinks& operator=(const GatewayLinks&) = delete;

  // The snapshot that is served now, and where to listen; `at`: none for the gateway's signed link addresses.
  // To be called after each flip, and now and then: an address may come later.
  void follow(const mesh::Members& members, const std::optional<std::vector<Endpoint>>& at);
  void stop();
  LinksStatus status() const;
  mesh::Links& links() { return links_; }

 private:
  void on_up(const mesh::PeerLink& peer) override;
  void on_message(std::string_view gateway, ByteView message) override;
  void on_down(std::string_view gateway, std::string_view why) override;
  void on_room(std::string_view gateway) override;
  void on_refused(mesh::Refusal refusal, std::string_view address, std::string_view gateway) override;

  const Clock& clock_;
  spdlog::logger& log_;
  mesh::LinkHandler* carried_;
  mesh::SystemRandomness randomness_;
  LinkSockets sockets_;
  mesh::Links links_;
  RepeatingTimer each_tick_;
  std::string problem_;
  std::map<mesh::Refusal, std::uint64_t> next_log_ns_;
};

}  // namespace postern::agent
