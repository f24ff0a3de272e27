// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "claims/view.h"
#include "core/ids.h"
#include "wire/sign.h"

namespace postern::agent {

// How it stands with claims at a moment; part of status, health and metrics.
struct ClaimsStatus {
  bool on = false;      // claims are made and heard
  std::string problem;  // why they are not, though a snapshot is served; "" otherwise
  bool automatic = true;
  std::uint64_t made_boot_ns = 0;
  std::vector<claims::ResourceView> resources;  // ascending by number
  std::vector<claims::NodeView> nodes;
  std::vector<ledger::Conflict> conflicts;
  // Claims that lost, as this gateway has told all. That another one took over from a silent holder is told
  // when that one comes back.
  std::set<std::pair<ResourceNumber, ledger::Token>> announced;
  std::uint64_t discontinuities = 0;
  std::uint64_t malformed = 0;  // messages of other gateways
  std::uint64_t forged = 0;     // beats whose signature is not their node's
  std::map<ResourceNumber, std::uint64_t>
      waiting_since_boot_ns;                     // this gateway's claims that are not agreed to
  std::map<wire::PublicKey, std::string> names;  // of gateways, removed ones too

  // By name, or by the id of its key where the served snapshot has none.
  std::string name(const wire::PublicKey& node) const;
  const claims::ResourceView* find(ResourceNumber resource) const;
};

bool is_announced(const ledger::Conflict& conflict, const ClaimsStatus& status);
// A conflict that was announced stands as long as the claim that won is the resource's last one.
bool stands(const ledger::Conflict& conflict, const ClaimsStatus& status);
// "gw2, of which ...; gw3": those that it waits for.
std::string waits_for_words(const claims::ResourceView& resource, const ClaimsStatus& status);
// One sentence each, with the remedy: a conflict that stands, a claim of this gateway that waits for longer
// than any silence takes.
std::vector<std::string> problems_of(const ClaimsStatus& status);

}  // namespace postern::agent
