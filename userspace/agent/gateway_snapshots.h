// SPDX-License-Identifier: Apache-2.0
// Snapshots over the links of a running gateway: joins sync/snapshot_exchange.h to the links, the served
// snapshot's file, a place on the disk for one that comes, and the door of `postern apply`.
#pragma once

#include <asio/io_context.hpp>
#include <functional>
#include <optional>
#include <string>

#include "agent/gateway.h"
#include "agent/repeating_timer.h"
#include "agent/snapshot_exchange_status.h"
#include "agent/state_directory.h"
#include "core/clock.h"
#include "core/unique_fd.h"
#include "mesh/links.h"
#include "sync/snapshot_exchange.h"

namespace spdlog {
class logger;
}

namespace postern::agent {

class GatewaySnapshots final : private sync::SnapshotShelf, private sync::Carrier {
 public:
  // Takes a signed snapshot as `apply` does. An order.
  using Door = std::function<Result<>(std::string_view text)>;

  // All must outlive this.
  GatewaySnapshots(asio::io_context& io, Gateway& gateway, const Clock& clock, spdlog::logger& log,
                   Door door);
  GatewaySnapshots(const GatewaySnapshots&) = delete;
  GatewaySnapshots& operator=(const GatewaySnapshots&) = delete;

  // What the links carry goes here.
  mesh::LinkHandler& handler() { return exchange_; }
  // From now on over these, which must outlive this.
  void carry_over(mesh::Links& links) { links_ = &links; }
  SnapshotExchangeStatus status() const;

 private:
  std::optional<sync::SnapshotOffer> served() override;
  Serial adopted() const override;
  Result<Bytes> read(const sync::SnapshotOffer& offer, std::uint64_t offset, std::size_t bytes) override;
  Result<> begin() override;
  Result<> append(ByteView bytes) override;
  void drop() override;
  void take(const sync::SnapshotOffer& offer, std::string_view gateway, Done done) override;
  Result<> send(std::string_view gateway, ByteView message) override;
  void hold(std::string_view) override {}
  void resume(std::string_view) override {}

  void look_at(const ledger::SnapshotId& id);
  void use(const ledger::SnapshotId& id, UniqueFd file, const std::optional<sync::SnapshotOffer>& offer);
  std::filesystem::path incoming() const;

  Gateway& gateway_;
  const Clock& clock_;
  spdlog::logger& log_;
  Door door_;
  mesh::Links* links_ = nullptr;
  std::optional<ledger::SnapshotId> known_;  // whose file `offer_` and `file_` are
  std::optional<sync::SnapshotOffer> offer_;
  UniqueFd file_;
  UniqueFd spool_;
  sync::SnapshotExchange exchange_;
  RepeatingTimer each_tick_;
};

}  // namespace postern::agent
