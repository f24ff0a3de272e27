// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/ip.h"
#include "mesh/links.h"

namespace postern::agent {

// How it stands with the links at a moment; part of status, health and metrics.
struct LinksStatus {
  bool on = false;  // the config does not turn them off
  std::uint64_t made_ns = 0;
  Id128 incarnation{};
  std::vector<Endpoint> listening;
  std::string problem;  // why nobody can connect to here; "" when all is well
  std::vector<mesh::LinkRow> rows;
  mesh::RefusalCounts refusals;
  std::uint64_t timeouts = 0;
  std::uint64_t half_open = 0;
};

std::size_t links_up(const LinksStatus& status);
// One sentence each, with the remedy. A link that is down counts after half a minute.
std::vector<std::string> problems_of(const LinksStatus& status);

}  // namespace postern::agent
