// SPDX-License-Identifier: Apache-2.0
#include "agent/gateway_sync.h"

#include <spdlog/logger.h>

#include <asio/post.hpp>
#include <utility>

#include "mesh/errors.h"

namespace postern::agent {
namespace {

constexpr std::chrono::milliseconds kTick{100};

}  // namespace

GatewaySync::GatewaySync(asio::io_context& io, ledger::Replica& replica, const wire::PublicKey& own,
                         const Clock& clock, spdlog::logger& log)
    : io_(io),
      replica_(replica),
      clock_(clock),
      log_(log),
      own_(own),
      pool_([this](std::function<void()> task) { asio::post(io_, std::move(task)); }),
      sync_(replica, own, *this, pool_),
      each_tick_(io, kTick, [this] { tick(); }) {
  replica_.take_from_others([this](const wire::PublicKey& author) { return authors_.count(author) != 0; },
                            [&io](std::function<void()> task) { asio::post(io, std::move(task)); });
  replica_.on_durable([this](const ledger::VerifiedEvent& event, Lseq) {
    sync_.durable(event);
    if (event.event.key == own_) wake();
  });
  sync_.tick(clock_.monotonic_ns());
}

GatewaySync::~GatewaySync() {
  replica_.on_durable({});
  replica_.take_from_others({}, {});
}

void GatewaySync::follow(const std::map<wire::PublicKey, std::string>& nodes) {
  std::set<wire::PublicKey> authors;
  for (const auto& [key, name] : nodes)
    authors.insert(key);
  if (authors == authors_) return;
  authors_ = std::move(authors);
  sync_.authors_changed();
}

Result<> GatewaySync::send(std::string_view gateway, ByteView message) {
  if (links_ == nullptr) return fail(mesh::errc::link_down, "links are not open yet");
  return links_->send(gateway, message);
}

void GatewaySync::hold(std::string_view gateway) {
  if (links_ != nullptr) links_->hold(gateway);
}

void GatewaySync::resume(std::string_view gateway) {
  if (links_ != nullptr) links_->resume(gateway);
}

void GatewaySync::tick() {
  sync_.tick(clock_.monotonic_ns());
  log_changes();
}

void GatewaySync::wake() {
  if (std::exchange(awake_, true)) return;
  asio::post(io_, [this] {
    awake_ = false;
    sync_.flush();
  });
}

void GatewaySync::log_changes() {
  for (const sync::SyncRow& row : sync_.rows()) {
    std::uint64_t& said = penalties_said_[row.gateway];
    if (row.penalties > said) {
      log_.warn("sync with gateway {}: nothing is taken from it for {} ms: {}", row.gateway,
                row.penalty_left_ns / mesh::kMillisecond_ns, row.why);
    }
    said = row.penalties;
  }
  if (replica_.own_lost() == own_lost_said_) return;
  own_lost_said_ = replica_.own_lost();
  log_.error("journal: {}", own_lost_said_);
}

}  // namespace postern::agent
