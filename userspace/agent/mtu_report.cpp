// SPDX-License-Identifier: Apache-2.0
#include "agent/mtu_report.h"

#include <algorithm>
#include <optional>

#include "agent/errors.h"
#include "agent/explainer.h"
#include "agent/sample_report.h"
#include "dataplane/counters.h"
#include "wire/fields.h"

namespace postern::agent {
namespace {

using wire::Json;

constexpr std::uint32_t kTcp4_bytes = 40;  // IPv4 and TCP headers
constexpr std::uint32_t kTcp6_bytes = 60;
constexpr std::uint32_t kFenceOption_bytes = 16;
constexpr std::uint64_t kNsInSecond = 1'000'000'000;

std::uint32_t less(std::uint32_t from, std::uint32_t what) {
  return from > what ? from - what : 0;
}

std::optional<PeerId> peer_named(const dataplane::Legend& legend, const std::string& name) {
  for (const auto& [id, known] : legend.peers)
    if (known == name) return id;
  return std::nullopt;
}

// What a router of the underlay reported, while it is believed.
Json learnt_json(const pt_path_mtu& row, std::uint64_t now_monotonic_ns) {
  const auto age_s = static_cast<std::uint32_t>(now_monotonic_ns / kNsInSecond) - row.learnt_s;
  if (row.mtu == 0 || age_s >= PT_PATH_MTU_FORGET_S) return nullptr;
  return Json::object(
      {{"mtu", row.mtu}, {"learnt_s_ago", age_s}, {"forgotten_in_s", PT_PATH_MTU_FORGET_S - age_s}});
}

Json overhead_json(const TunnelOverhead& overhead, bool geneve) {
  return Json::object({{"ip", overhead.ip},
                       {"udp", overhead.udp},
                       {"tunnel", overhead.tunnel},
                       {"ethernet", overhead.ethernet},
                       {"total", overhead.total()},
                       {"fence_option", geneve ? Json(kFenceOption_bytes) : Json(nullptr)}});
}

Json way_json(Gateway& gateway, const pt_endpoint& endpoint, const pt_path_mtu& learnt) {
  const IpAddress remote = address_of(endpoint.remote);
  const bool geneve = endpoint.tunnel == PT_TUNNEL_GENEVE;
  const TunnelOverhead overhead = overhead_over(remote.is_v4());
  Json way = Json::object({{"remote", remote.text()},
                           {"local", address_of(endpoint.local).text()},
                           {"tunnel", geneve ? "geneve" : "vxlan"},
                           {"overhead", overhead_json(overhead, geneve)},
                           {"problem", nullptr}});
  const Result<dataplane::NextHop> hop = gateway.netdev().route(remote);
  const auto& states = gateway.interfaces().states();
  const auto egress = std::find_if(states.begin(), states.end(), [&](const InterfaceState& state) {
    return hop && state.ifindex == hop->ifindex && state.configured.role == config::Role::underlay;
  });
  if (!hop || egress == states.end()) {
    way.set("problem",
            hop ? "the route leaves by no underlay interface of this gateway" : hop.error().context);
    return way;
  }
  const Json known = learnt_json(learnt, gateway.clock().monotonic_ns());
  std::uint32_t mtu = egress->mtu;
  std::string_view from = "interface";
  if (hop->mtu != 0 && hop->mtu < mtu) {
    mtu = hop->mtu;
    from = "route";
  }
  if (!known.is_null() && learnt.mtu < mtu) {
    mtu = learnt.mtu;
    from = "path";
  }
  const std::uint32_t inner = less(mtu, overhead.total());
  way.set("interface", Json::object({{"name", egress->configured.name}, {"mtu", egress->mtu}}));
  way.set("route_mtu", hop->mtu == 0 ? Json(nullptr) : Json(hop->mtu));
  way.set("path", known);
  way.set("mtu", mtu);
  way.set("mtu_from", from);
  way.set("inner_mtu", inner);
  way.set("segment_size", Json::object({{"ipv4", less(inner, kTcp4_bytes)},
                                        {"ipv6", less(inner, kTcp6_bytes)},
                                        {"lowered", gateway.config().clamp_mss}}));
  return way;
}

}  // namespace

TunnelOverhead overhead_over(bool v4) {
  TunnelOverhead overhead;
  if (!v4) overhead.ip = 40;
  return overhead;
}

Result<wire::Json> mtu_report(Gateway& gateway, const wire::Json& arguments) {
  wire::Fields fields(arguments, "arguments");
  const std::string name = fields.text("peer");
  const Names names = names_of(gateway);
  const std::optional<PeerId> peer = fields.ok() ? peer_named(names.legend(), name) : std::nullopt;
  if (!peer) fields.reject("peer", "there is no peer or gateway \"" + name + "\"");
  if (Result<> done = fields.finish(); !done) return fail(errc::control_bad_argument, done.error().context);
  const Foundation& base = gateway.foundation();
  Result<dataplane::Tables> tables = base.generations->read_active();
  if (!tables) return pass_on(std::move(tables));
  const Result<pt_path_mtu> learnt = dataplane::read_path_mtu(*base.plane, *peer);
  if (!learnt) return fail(learnt.error().code, learnt.error().context);
  Json ways = Json::array();
  Json via = nullptr;
  for (const auto& [key, endpoint] : tables->endpoints) {
    if ((key & 0xffffff) != peer->value) continue;
    if (endpoint.via != 0) via = names.peer(endpoint.via);
    ways.push(way_json(gateway, endpoint, *learnt));
  }
  return Json::object(
      {{"schema", "postern/mtu/v1"}, {"peer", name}, {"via", std::move(via)}, {"ways", std::move(ways)}});
}

}  // namespace postern::agent
