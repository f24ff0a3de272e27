// SPDX-License-Identifier: Apache-2.0
#include "agent/gateway_claims.h"

#include <spdlog/logger.h>

#include <asio/post.hpp>
#include <utility>

#include "agent/errors.h"
#include "agent/start_count.h"
#include "agent/state_directory.h"

namespace postern::agent {
namespace {

constexpr std::chrono::milliseconds kTick{100};
// Thousands of resources are not looked through at each event, nor ten times a second while nothing changes.
constexpr std::uint64_t kLookAtChanges_ns = 100'000'000;
constexpr std::uint64_t kLook_ns = 1'000'000'000;

}  // namespace

GatewayClaims::GatewayClaims(asio::io_context& io, Gateway& gateway, const Clock& clock, spdlog::logger& log)
    : io_(io),
      gateway_(gateway),
      clock_(clock),
      log_(log),
      announcer_(io, gateway, log),
      hook_(io, log),
      news_(log,
            [this](const claims::ResourceView& view, bool held, Epoch epoch) {
              hook_.tell(held, view.id, epoch);
              if (!held) announcer_.withdraw(view.resource);
            }),
      claims_(gateway.replica(), *gateway.foundation().key, clock, *this, gateway.config().claims.automatic),
      each_tick_(io, kTick, [this] { tick(); }) {}

void GatewayClaims::follow() {
  const config::ClaimsConfig& config = gateway_.config().claims;
  hook_.use(config.hook);
  claims_.set_automatic(config.automatic);
  status_.automatic = config.automatic;
  const std::optional<Served>& served = gateway_.adoption().served();
  if (!served) return;
  if (followed_ != served->hash) {
    status_.names = served->node_names;
    claims_.follow(served->roster, served->node_names);
    followed_ = served->hash;
    if (status_.on) observe();
  }
  if (!status_.on) start();
}

void GatewayClaims::start() {
  const Result<> started = claims_.start();
  status_.on = started.has_value();
  status_.problem.clear();
  if (!started) {
    status_.problem = "this gateway neither claims nor hears of claims: " + started.error().message() +
                      "; the agent tries again";
    return;
  }
  tick();
}

void GatewayClaims::tick() {
  if (!status_.on) return;
  claims_.tick();
  const bool changed = claims_.changes() != seen_changes_;
  if (clock_.boot_ns() >= status_.made_boot_ns + (changed ? kLookAtChanges_ns : kLook_ns)) observe();
}

void GatewayClaims::wake() {
  if (std::exchange(awake_, true)) return;
  asio::post(io_, [this] {
    awake_ = false;
    tick();
  });
}

void GatewayClaims::observe() {
  seen_changes_ = claims_.changes();
  status_.made_boot_ns = clock_.boot_ns();
  status_.resources = claims_.resources();
  status_.nodes = claims_.nodes();
  status_.conflicts = claims_.conflicts();
  status_.announced.clear();
  const wire::PublicKey& own = gateway_.foundation().key->public_key();
  const ledger::ClaimFold& fold = gateway_.foundation().lineage.replica.fold().claims();
  for (const ledger::Conflict& conflict : status_.conflicts)
    if (fold.is_announced(conflict.claim.resource, conflict.claim.token, own))
      status_.announced.emplace(conflict.claim.resource, conflict.claim.token);
  status_.discontinuities = claims_.discontinuities();
  status_.malformed = claims_.malformed();
  status_.forged = claims_.forged();
  std::map<ResourceNumber, std::uint64_t> waiting;
  for (const claims::ResourceView& view : status_.resources) {
    if (!view.own || view.standing != claims::Standing::waiting) continue;
    const auto since = status_.waiting_since_boot_ns.find(view.resource);
    waiting.emplace(view.resource,
                    since == status_.waiting_since_boot_ns.end() ? status_.made_boot_ns : since->second);
  }
  status_.waiting_since_boot_ns = std::move(waiting);
  news_.tell(status_);
}

Result<> GatewayClaims::claim(ResourceNumber resource) {
  if (!status_.on) return fail(errc::claims_closed, "no snapshot is served, so there is nothing to claim");
  return ordered(claims_.claim(resource));
}

Result<> GatewayClaims::release(ResourceNumber resource) {
  if (!status_.on) return fail(errc::claims_closed, "no snapshot is served, so there is nothing to release");
  return ordered(claims_.release(resource));
}

Result<> GatewayClaims::revoke(ResourceNumber resource, const std::string& document) {
  if (!status_.on) return fail(errc::claims_closed, "no snapshot is served, so there is nothing to revoke");
  return ordered(claims_.revoke(resource, document));
}

// Whoever ordered it sees in the answer what came of it.
Result<> GatewayClaims::ordered(Result<> done) {
  tick();
  observe();
  return done;
}

Result<> GatewayClaims::write(std::span<const ledger::Draft> drafts, Lamport lowest) {
  ledger::Stream& stream = gateway_.stream();
  if (lowest.value > 0) stream.witness(Lamport(lowest.value - 1));
  return stream.write(drafts);
}

bool GatewayClaims::is_poisoned() const {
  return gateway_.foundation().lineage.journal->status().poisoned;
}

std::string GatewayClaims::may_have_forgotten() const {
  const std::string& own_lost = gateway_.foundation().lineage.replica.own_lost();
  if (own_lost != own_lost_settled_) return own_lost;
  const ledger::Restraint& restraint = gateway_.foundation().restraint;
  return restraint.may_claim() ? "" : restraint.why();
}

void GatewayClaims::forgot_nothing() {
  own_lost_settled_ = gateway_.foundation().lineage.replica.own_lost();
  gateway_.restraint().round_done();
}

Result<std::uint64_t> GatewayClaims::count_start(std::uint64_t least) {
  const StateDirectory state{gateway_.config().state};
  const Result<StartCount> counted = agent::count_start(state.starts(), least, clock_.now_utc());
  if (!counted) return tl::unexpected(counted.error());
  if (!counted->trouble.empty())
    log_.warn("claims: {}; starts are counted on from {}", counted->trouble, counted->starts);
  if (counted->first)
    log_.info("claims: no start of this gateway is known; they are counted from {}", counted->starts);
  return counted->starts;
}

Result<claims::Lease> GatewayClaims::lease(ResourceNumber resource) const {
  const Result<Epoch> fence = leases().fence(resource);
  if (!fence) return tl::unexpected(fence.error());
  const Result<std::uint64_t> deadline = leases().deadline_boot_ns(resource);
  if (!deadline) return tl::unexpected(deadline.error());
  return claims::Lease{*fence, *deadline};
}

std::map<ResourceNumber, claims::Holder> GatewayClaims::holders() const {
  std::map<ResourceNumber, claims::Holder> out;
  const std::optional<Served>& served = gateway_.adoption().served();
  if (!served) return out;
  for (const auto& [resource, holding] : gateway_.adoption().holders()) {
    const auto entry = served->roster.resources.find(resource);
    if (entry == served->roster.resources.end()) continue;
    // By the candidates: a gateway that came back under its old name has another key.
    for (const wire::PublicKey& candidate : entry->second.candidates) {
      const auto name = served->node_names.find(candidate);
      if (name != served->node_names.end() && name->second == holding.holder)
        out.emplace(resource, claims::Holder{candidate, holding.epoch});
    }
  }
  return out;
}

Result<> GatewayClaims::raise_fence(ResourceNumber resource, Epoch epoch) {
  return leases().raise_fence(resource, epoch);
}

Result<> GatewayClaims::extend(ResourceNumber resource, Epoch epoch, std::uint64_t deadline_boot_ns) {
  return leases().extend(resource, epoch, deadline_boot_ns);
}

Result<> GatewayClaims::shorten(ResourceNumber resource, Epoch epoch, std::uint64_t deadline_boot_ns) {
  return leases().shorten(resource, epoch, deadline_boot_ns);
}

Result<> GatewayClaims::stop(ResourceNumber resource) {
  announcer_.withdraw(resource);
  return leases().stop(resource);
}

Result<> GatewayClaims::hold(const std::map<ResourceNumber, claims::Holder>& holders) {
  dataplane::Holders named;
  for (const auto& [resource, holder] : holders) {
    const auto name = status_.names.find(holder.node);
    if (name != status_.names.end()) named[resource] = {name->second, holder.epoch};
  }
  return gateway_.hold(std::move(named));
}

bool GatewayClaims::send(std::string_view gateway, ByteView message) {
  return links_ != nullptr && links_->send(gateway, message).has_value();
}

void GatewayClaims::announce(ResourceNumber resource) {
  announcer_.announce(resource);
}

}  // namespace postern::agent
