// SPDX-License-Identifier: Apache-2.0
#include "agent/peers_report.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/ip.h"

namespace postern::agent {
namespace {

using wire::Json;

struct PeerRow {
  pt_peer peer{};
  std::vector<IpAddress> addresses;
};

std::string_view state_text(std::uint8_t state) {
  switch (state) {
    case PT_PEER_ACTIVE:
      return "active";
    case PT_PEER_REVOKED:
      return "revoked";
    case PT_PEER_EXPIRED:
      return "expired";
    default:
      return "unknown";
  }
}

std::map<PeerId, PeerRow> group_by_id(const dataplane::Tables& tables) {
  std::map<PeerId, PeerRow> peers;
  for (const auto& [address, peer] : tables.peers) {
    PeerRow& row = peers[PeerId(peer.id)];
    row.peer = peer;
    IpAddress text;
    std::copy(std::begin(address.bytes), std::end(address.bytes), text.bytes.begin());
    row.addresses.push_back(text);
  }
  return peers;
}

Json segments_json(const pt_peer& peer, const dataplane::Tables& tables, const dataplane::Legend& legend) {
  Json names = Json::array();
  for (const auto& [vni, segment] : tables.segments) {
    if ((peer.segments[segment.index / 64] >> (segment.index % 64) & 1) == 0) continue;
    const auto name = legend.segments.find(vni);
    names.push(name == legend.segments.end() ? "#" + std::to_string(vni) : name->second);
  }
  return names;
}

Json mac_json(PeerId id, const dataplane::Tables& tables) {
  const auto endpoint = std::find_if(tables.endpoints.begin(), tables.endpoints.end(),
                                     [&](const auto& row) { return row.first == id.value; });
  if (endpoint == tables.endpoints.end()) return nullptr;
  MacAddress mac;
  std::copy(std::begin(endpoint->second.mac), std::end(endpoint->second.mac), mac.bytes.begin());
  return mac == MacAddress{} ? Json(nullptr) : Json(mac.text());
}

Json count_json(const pt_count& count) {
  return Json::object({{"packets", Json::decimal(count.packets)}, {"bytes", Json::decimal(count.bytes)}});
}

}  // namespace

wire::Json peers_report(const dataplane::Tables& tables, const dataplane::Legend& legend,
                        const std::function<pt_peer_count(PeerId)>& counts) {
  Json list = Json::array();
  for (const auto& [id, row] : group_by_id(tables)) {
    Json addresses = Json::array();
    for (const IpAddress& address : row.addresses)
      addresses.push(address.text());
    const auto name = legend.peers.find(id);
    const pt_peer_count count = counts(id);
    list.push(
        Json::object({{"id", name == legend.peers.end() ? "#" + std::to_string(id.value) : name->second},
                      {"kind", row.peer.kind == PT_PEER_GATEWAY ? "gateway" : "stock"},
                      {"state", state_text(row.peer.state)},
                      {"addresses", std::move(addresses)},
                      {"segments", segments_json(row.peer, tables, legend)},
                      {"mac", mac_json(id, tables)},
                      {"rx", count_json(count.rx)},
                      {"tx", count_json(count.tx)},
                      {"dropped", count_json(count.dropped)}}));
  }
  return Json::object({{"schema", "postern/peers/v1"}, {"peers", std::move(list)}});
}

}  // namespace postern::agent
