// SPDX-License-Identifier: Apache-2.0
// Looks at all gateways after each step and says what must never be (SPEC 10.8).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/mesh/gateway.h"

namespace postern::sim {

class Oracle {
 public:
  using Gateways = std::vector<std::unique_ptr<Gateway>>;

  // `apart`: gateways may be cut off from each other, so two may serve one resource until they meet.
  Oracle(const World& world, const Gateways& gateways, std::vector<ResourceNumber> resources, bool apart)
      : world_(world), gateways_(gateways), resources_(std::move(resources)), apart_(apart) {}

  // What is wrong, or "".
  std::string look();
  // The host started anew: its kernel's memory began again.
  void forget_kernel(const std::string& gateway) {
    fences_.erase(gateway);
    released_.erase(gateway);
  }
  // Its disk forgot what it claimed: it may come by an epoch once more, in another claim.
  void forget_claims(const std::string& gateway) {
    std::erase_if(served_, [&](const auto& served) { return served.first.first == gateway; });
  }
  std::uint64_t last_overlap_ns() const { return last_overlap_ns_; }
  std::uint64_t takeovers() const { return served_.size(); }
  // Claims under which their holder served on after it had released them.
  std::uint64_t partings() const { return partings_; }
  // After a quiet phase: one holder each, all agree, and each conflict was announced by all. What is missing,
  // or "".
  std::string disagreement() const;

 private:
  struct Service {
    bool now = false;
  };
  // The claim on top, and since when its release is known there, by that gateway's own clock.
  struct Released {
    ledger::Token claim;
    claims::Holder holder;
    std::uint64_t since_boot_ns = 0;
  };
  using Key = std::pair<std::string, std::pair<ResourceNumber, Epoch>>;

  std::string look_at_service(ResourceNumber resource);
  std::string look_at_kernel(const Gateway& gateway);
  std::string look_at_verdicts(const Gateway& gateway) const;
  void note_releases(const Gateway& gateway);
  std::string look_at_holders(const Gateway& gateway) const;
  std::string look_at_parting(const Gateway& gateway, ResourceNumber resource) const;
  std::string untold(ResourceNumber resource) const;

  const World& world_;
  const Gateways& gateways_;
  std::vector<ResourceNumber> resources_;
  bool apart_;
  std::uint64_t last_overlap_ns_ = 0;
  std::map<Key, Service> served_;
  std::map<std::string, std::map<ResourceNumber, Epoch>> fences_;
  std::map<std::string, std::map<ResourceNumber, Released>> released_;
  std::uint64_t partings_ = 0;
};

}  // namespace postern::sim
