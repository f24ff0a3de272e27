// SPDX-License-Identifier: Apache-2.0
#include "agent/gateway_links.h"

#include <spdlog/logger.h>

#include "mesh/limits.h"

namespace postern::agent {
namespace {

constexpr std::chrono::milliseconds kTick{100};
// Strangers must not fill the log: one line of a reason in so much time.
constexpr std::uint64_t kBetweenLines_ns = 10 * mesh::kSecond_ns;

mesh::LinkIdentity identity_of(const std::string& mesh, const wire::SecretKey& key,
                               mesh::Randomness& randomness) {
  mesh::LinkIdentity out;
  out.mesh = mesh;
  out.node = mesh::node_id(key.public_key());
  randomness.fill(out.incarnation);
  out.key = mesh::link_key(key);
  return out;
}

}  // namespace

GatewayLinks::GatewayLinks(asio::io_context& io, const std::string& mesh, const wire::SecretKey& key,
                           const Clock& clock, spdlog::logger& log, mesh::LinkHandler* carried)
    : clock_(clock),
      log_(log),
      carried_(carried),
      sockets_(io, clock),
      links_(identity_of(mesh, key, randomness_), randomness_, sockets_, *this),
      each_tick_(io, kTick, [this] { links_.tick(clock_.monotonic_ns()); }) {
  sockets_.serve(links_);
}

void GatewayLinks::follow(const mesh::Members& members, const std::optional<std::vector<Endpoint>>& at) {
  links_.set_members(members, clock_.monotonic_ns());
  const mesh::Member* const self = members.find(links_.identity().node);
  // Without a place in the snapshot nobody could link here.
  std::vector<Endpoint> wanted;
  if (self != nullptr) wanted = at ? *at : self->links;
  problem_ = sockets_.listen(wanted);
}

void GatewayLinks::stop() {
  links_.stop(clock_.monotonic_ns());
  sockets_.stop();
}

LinksStatus GatewayLinks::status() const {
  LinksStatus out;
  out.on = true;
  out.made_ns = clock_.monotonic_ns();
  out.incarnation = links_.identity().incarnation;
  out.listening = sockets_.listening();
  out.problem = problem_;
  out.rows = links_.rows();
  out.refusals = links_.refusals();
  out.timeouts = links_.timeouts();
  out.half_open = links_.half_open();
  return out;
}

void GatewayLinks::on_up(const mesh::PeerLink& peer) {
  log_.info("link to gateway {}: up, protocol {}", peer.gateway, peer.protocol);
  if (carried_ != nullptr) carried_->on_up(peer);
}

void GatewayLinks::on_message(std::string_view gateway, ByteView message) {
  if (carried_ != nullptr) carried_->on_message(gateway, message);
}

void GatewayLinks::on_down(std::string_view gateway, std::string_view why) {
  log_.warn("link to gateway {}: down: {}", gateway, why);
  if (carried_ != nullptr) carried_->on_down(gateway, why);
}

void GatewayLinks::on_room(std::string_view gateway) {
  if (carried_ != nullptr) carried_->on_room(gateway);
}

void GatewayLinks::on_refused(mesh::Refusal refusal, std::string_view address, std::string_view gateway) {
  const std::uint64_t now_ns = clock_.monotonic_ns();
  std::uint64_t& next_ns = next_log_ns_[refusal];
  if (now_ns < next_ns) return;
  next_ns = now_ns + kBetweenLines_ns;
  log_.warn("link refused: {}: from {}{}{}; further ones of this reason are counted, and said every {} s",
            mesh::refusal_label(refusal), address, gateway.empty() ? "" : ", as gateway ", gateway,
            kBetweenLines_ns / mesh::kSecond_ns);
}

}  // namespace postern::agent
