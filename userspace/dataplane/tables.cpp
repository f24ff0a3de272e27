// SPDX-License-Identifier: Apache-2.0
#include "dataplane/tables.h"

#include "dataplane/errors.h"

namespace postern::dataplane {
namespace {

Result<> fits(std::string_view table, std::size_t need, std::size_t limit, std::string_view remedy) {
  if (need <= limit) return {};
  return fail(errc::capacity, "table " + std::string(table) + " needs " + std::to_string(need) +
                                  " rows and has room for " + std::to_string(limit) + "; " +
                                  std::string(remedy));
}

}  // namespace

Result<> check_capacity(const Tables& tables) {
  const struct {
    std::string_view table;
    std::size_t need;
    std::size_t limit;
    std::string_view remedy;
  } needs[] = {
      {"ports", tables.ports.size(), PT_MAX_PORTS, "configure fewer interfaces"},
      {"segments", tables.segments.size(), PT_MAX_SEGMENTS, "sign fewer segments"},
      {"peers", tables.peers.size(), PT_MAX_PEERS, "sign fewer peers or underlay addresses"},
      {"endpoints", tables.endpoints.size(), std::size_t{PT_MAX_PEERS} * PT_MAX_UNDERLAY_ADDRESSES,
       "sign fewer peers"},
      {"owners4", tables.owners4.size(), 2 * std::size_t{PT_MAX_PREFIXES}, "sign fewer IPv4 prefixes"},
      {"owners6", tables.owners6.size(), 2 * std::size_t{PT_MAX_PREFIXES}, "sign fewer IPv6 prefixes"},
      {"policy", tables.policy.size(), PT_MAX_POLICY_ROWS,
       "sign fewer rules, or rules with fewer port ranges"},
      {"rates", tables.rates.size(), std::size_t{PT_MAX_PEERS} + 1, "sign fewer peers with a rate"},
      {"resources", tables.resources.size(), PT_MAX_RESOURCES, "sign fewer resources"},
      {"services", tables.services.size(), PT_MAX_SERVICES, "sign fewer services"},
      {"backends", tables.backends.size(), std::size_t{PT_MAX_SERVICES} * 2 * (PT_MAX_BACKENDS + 1),
       "sign fewer backends"},
  };
  for (const auto& [table, need, limit, remedy] : needs) {
    if (Result<> checked = fits(table, need, limit, remedy); !checked) return checked;
  }
  if (tables.port_classes.size() == std::size_t{PT_PROTO_COUNT} * PT_PORT_LINES) return {};
  return fail(errc::capacity, "table port_classes has " + std::to_string(tables.port_classes.size()) +
                                  " lines, and exactly " + std::to_string(PT_PROTO_COUNT * PT_PORT_LINES) +
                                  " are one generation");
}

}  // namespace postern::dataplane
