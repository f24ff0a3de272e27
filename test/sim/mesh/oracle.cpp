// SPDX-License-Identifier: Apache-2.0
#include "sim/mesh/oracle.h"

#include <algorithm>

#include "claims/timing.h"

namespace postern::sim {
namespace {

std::string words(ResourceNumber resource) {
  return "resource " + std::to_string(resource.value);
}

}  // namespace

std::string Oracle::look() {
  for (const ResourceNumber resource : resources_)
    if (std::string wrong = look_at_service(resource); !wrong.empty()) return wrong;
  for (const auto& gateway : gateways_) {
    if (!gateway->fault().empty()) return gateway->name() + ": " + gateway->fault();
    if (gateway->acts()) note_releases(*gateway);
    for (const ResourceNumber resource : resources_)
      if (std::string wrong = look_at_parting(*gateway, resource); !wrong.empty()) return wrong;
    if (!gateway->runs()) continue;
    if (std::string wrong = look_at_kernel(*gateway); !wrong.empty()) return wrong;
    if (std::string wrong = look_at_verdicts(*gateway); !wrong.empty()) return wrong;
    if (!gateway->acts() || gateway->is_poisoned()) continue;
    if (std::string wrong = look_at_holders(*gateway); !wrong.empty()) return wrong;
  }
  return "";
}

std::string Oracle::look_at_service(ResourceNumber resource) {
  std::vector<const Gateway*> serving;
  for (const auto& gateway : gateways_) {
    if (gateway->is_asleep()) continue;
    const bool serves = gateway->serves(resource);
    const auto row = gateway->kernel().find(resource);
    if (serves) serving.push_back(gateway.get());
    for (auto& [key, service] : served_) {
      if (key.first != gateway->name() || key.second.first != resource) continue;
      const bool same = serves && row->second.fence == key.second.second;
      if (same && !service.now) {
        return gateway->name() + " serves " + words(resource) + " under epoch " +
               std::to_string(key.second.second.value) + " again, after it had stopped";
      }
      service.now = same;
    }
    if (serves) served_[{gateway->name(), {resource, row->second.fence}}].now = true;
  }
  if (serving.size() < 2) return "";
  last_overlap_ns_ = world_.now_ns;
  if (apart_) return "";
  return serving[0]->name() + " and " + serving[1]->name() + " both serve " + words(resource) + ", epochs " +
         std::to_string(serving[0]->kernel().at(resource).fence.value) + " and " +
         std::to_string(serving[1]->kernel().at(resource).fence.value);
}

std::string Oracle::look_at_kernel(const Gateway& gateway) {
  for (const auto& [resource, row] : gateway.kernel()) {
    Epoch& highest = fences_[gateway.name()][resource];
    if (row.fence < highest) return gateway.name() + ": the fence of " + words(resource) + " fell";
    highest = row.fence;
    if (gateway.acts() && row.fence > gateway.replica().fold().claims().fence(resource))
      return gateway.name() + ": the kernel's fence of " + words(resource) + " is above what is on disk";
  }
  return "";
}

std::string Oracle::look_at_verdicts(const Gateway& gateway) const {
  const ledger::ClaimFold& fold = gateway.replica().fold().claims();
  for (const ResourceNumber resource : resources_) {
    for (const ledger::Claim* claim : fold.claims_of(resource)) {
      if (fold.verdict(*claim) != ledger::Verdict::live) continue;
      if (fold.top(resource) == nullptr || fold.top(resource)->token != claim->token)
        return gateway.name() + ": a claim of " + words(resource) + " is live and not on top";
    }
  }
  return "";
}

void Oracle::note_releases(const Gateway& gateway) {
  for (const ResourceNumber resource : resources_) {
    const ledger::Claim* const claim = gateway.replica().fold().claims().released(resource);
    if (claim == nullptr) continue;
    Released& known = released_[gateway.name()][resource];
    if (known.claim == claim->token) continue;
    known = {claim->token, {claim->author, claim->token.epoch}, gateway.boot_ns()};
    if (gateway.serves(resource)) ++partings_;
  }
}

// Whom a kernel lets pass holds by the events that its gateway knows, or has released and nobody has
// followed.
std::string Oracle::look_at_holders(const Gateway& gateway) const {
  const ledger::ClaimFold& fold = gateway.replica().fold().claims();
  for (const ResourceNumber resource : resources_) {
    if (!gateway.lets_pass(resource)) continue;
    const KernelRow& row = gateway.kernel().at(resource);
    const ledger::Claim* claim = fold.live(resource);
    if (claim == nullptr) claim = fold.released(resource);
    if (claim == nullptr || *row.holder != claims::Holder{claim->author, claim->token.epoch}) {
      return gateway.name() + " lets a holder of " + words(resource) + " pass under epoch " +
             std::to_string(row.fence.value) + " without a live claim";
    }
  }
  return "";
}

// Neither its holder nor whoever steers to it goes on for longer than a hand-over takes, agent or not.
std::string Oracle::look_at_parting(const Gateway& gateway, ResourceNumber resource) const {
  const auto known = released_.find(gateway.name());
  if (known == released_.end() || !gateway.lets_pass(resource)) return "";
  const auto released = known->second.find(resource);
  const bool parting =
      released != known->second.end() && released->second.holder == gateway.kernel().at(resource).holder;
  if (!parting || gateway.boot_ns() < released->second.since_boot_ns + claims::kHandOver_ns) return "";
  return gateway.name() + " goes on with " + words(resource) + ", which was released long ago";
}

std::string Oracle::disagreement() const {
  const Hash256 digest = gateways_.front()->replica().fold().digest();
  for (const auto& gateway : gateways_)
    if (gateway->replica().fold().digest() != digest) return gateway->name() + " has another digest";
  for (const ResourceNumber resource : resources_) {
    const ledger::Claim* const live = gateways_.front()->replica().fold().claims().live(resource);
    if (live == nullptr) return words(resource) + " is held by nobody";
    std::size_t serving = 0;
    for (const auto& gateway : gateways_) {
      if (gateway->serves(resource)) ++serving;
      const auto row = gateway->kernel().find(resource);
      if (row == gateway->kernel().end()) return gateway->name() + " knows nothing of " + words(resource);
      const claims::Holder holder{live->author, live->token.epoch};
      if (row->second.holder != holder || row->second.fence != holder.epoch)
        return gateway->name() + "'s kernel has another holder of " + words(resource);
      if (row->second.deadline_boot_ns <= gateway->boot_ns())
        return gateway->name() + "'s kernel does not let the holder of " + words(resource) + " serve";
    }
    if (serving != 1) return std::to_string(serving) + " gateways serve " + words(resource);
    if (std::string missing = untold(resource); !missing.empty()) return missing;
  }
  return "";
}

std::string Oracle::untold(ResourceNumber resource) const {
  const ledger::ClaimFold& fold = gateways_.front()->replica().fold().claims();
  for (const ledger::Conflict& conflict : fold.conflicts(resource)) {
    for (const auto& gateway : gateways_) {
      if (fold.is_announced(resource, conflict.claim.token, gateway->node())) continue;
      return gateway->name() + " has not announced the " + std::string(ledger::word_of(conflict.kind)) +
             " of " + words(resource) + " at epoch " + std::to_string(conflict.claim.token.epoch.value);
    }
  }
  return "";
}

}  // namespace postern::sim
