// SPDX-License-Identifier: Apache-2.0
#include "agent/owners_report.h"

#include <algorithm>
#include <vector>

#include "agent/owner_lookup.h"

namespace postern::agent {
namespace {

using wire::Json;

std::string numbered(std::uint64_t number) {
  return "#" + std::to_string(number);
}

template <class Map, class Key>
std::string name_in(const Map& names, const Key& key, std::uint64_t number) {
  const auto found = names.find(key);
  return found == names.end() ? numbered(number) : found->second;
}

void keep_longest(std::vector<OwnedPrefix>& rows, const IpAddress& address) {
  std::map<std::uint32_t, OwnedPrefix> longest;
  for (const OwnedPrefix& row : rows) {
    if (!row.prefix.contains(address)) continue;
    const auto [held, is_first] = longest.emplace(row.vni, row);
    if (!is_first && held->second.prefix.length < row.prefix.length) held->second = row;
  }
  rows.clear();
  for (const auto& [vni, row] : longest)
    rows.push_back(row);
}

Json row_json(const OwnedPrefix& row, const dataplane::Legend& legend, const std::string& own_gateway) {
  const char* kind = "local";
  std::string owner = own_gateway;
  if (row.owner.kind == PT_OWNER_PEER) {
    kind = "peer";
    owner = name_in(legend.peers, PeerId(row.owner.id), row.owner.id);
  } else if (row.owner.kind == PT_OWNER_RESOURCE) {
    kind = "resource";
    owner = name_in(legend.resources, row.owner.id, row.owner.id);
  } else if (row.owner.kind == PT_OWNER_SERVICE) {
    kind = "service";
    owner = row.owner.id < legend.services.size() ? legend.services[row.owner.id] : numbered(row.owner.id);
  }
  const std::uint16_t class_id = row.owner.class_id;
  return Json::object(
      {{"segment", name_in(legend.segments, row.vni, row.vni)},
       {"prefix", row.prefix.text()},
       {"kind", kind},
       {"owner", std::move(owner)},
       {"class", class_id < legend.classes.size() ? legend.classes[class_id] : numbered(class_id)}});
}

}  // namespace

wire::Json owners_report(const dataplane::Tables& tables, const dataplane::Legend& legend,
                         const std::string& own_gateway, const OwnersQuestion& question) {
  std::vector<OwnedPrefix> rows = owned_prefixes(tables);
  if (question.segment) {
    std::erase_if(rows, [&](const OwnedPrefix& row) {
      return name_in(legend.segments, row.vni, row.vni) != *question.segment;
    });
  }
  if (question.address) keep_longest(rows, *question.address);
  std::sort(rows.begin(), rows.end(), [](const OwnedPrefix& a, const OwnedPrefix& b) {
    return std::tie(a.vni, a.prefix) < std::tie(b.vni, b.prefix);
  });
  Json list = Json::array();
  for (const OwnedPrefix& row : rows)
    list.push(row_json(row, legend, own_gateway));
  return Json::object({{"schema", "postern/owners/v1"}, {"owners", std::move(list)}});
}

}  // namespace postern::agent
