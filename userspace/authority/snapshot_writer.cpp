// SPDX-License-Identifier: Apache-2.0
#include "authority/root_codec.h"
#include "authority/snapshot_codec.h"
#include "authority/snapshot_names.h"
#include "core/utc.h"
#include "wire/json.h"

namespace postern::authority {
namespace {

using wire::Json;

// Members are listed in the order of their keys, so that the encoder has nothing to sort.
template <class List, class Write>
Json write_list(const List& list, Write write) {
  Json::Array out;
  out.reserve(list.size());
  for (const auto& element : list)
    out.push_back(write(element));
  return Json(std::move(out));
}

Json write_text(const std::string& text) {
  return Json(text);
}

Json write_address(const IpAddress& address) {
  return Json(address.text());
}

Json write_gateway(const Gateway& gateway) {
  const auto segment_address = [](const SegmentAddress& a) {
    return Json::object({{"address", a.address.text()}, {"segment", a.segment}});
  };
  return Json::object({{"addresses", write_list(gateway.addresses, segment_address)},
                       {"id", gateway.id},
                       {"key", gateway.key.text()},
                       {"links", write_list(gateway.links, [](const Endpoint& e) { return Json(e.text()); })},
                       {"mac", gateway.mac.text()},
                       {"state", word_of(gateway.state)},
                       {"underlay", write_list(gateway.underlay, write_address)}});
}

Json write_tombstone(const Tombstone& tombstone) {
  return Json::object({{"id", tombstone.id}, {"key", tombstone.key.text()}});
}

Json write_segment(const Segment& segment) {
  Json out = Json::object();
  if (segment.gateway) out.set("gateway", segment.gateway->text());
  out.set("id", segment.id);
  if (segment.mac) out.set("mac", segment.mac->text());
  out.set("vni", segment.vni.value);
  return out;
}

Json write_peer(const Peer& peer) {
  Json out = Json::object();
  out.set("addresses", write_list(peer.addresses, write_address));
  if (peer.expires) out.set("expires", utc_text(*peer.expires));
  out.set("id", peer.id);
  if (peer.mac) out.set("mac", peer.mac->text());
  if (peer.not_before) out.set("not_before", utc_text(*peer.not_before));
  if (peer.rate_packets_per_s) out.set("packet_rate", Json::decimal(*peer.rate_packets_per_s));
  if (peer.rate_bytes_per_s) out.set("rate", Json::decimal(*peer.rate_bytes_per_s));
  out.set("segments", write_list(peer.segments, write_text));
  out.set("state", word_of(peer.state));
  if (peer.tunnel != Tunnel::vxlan) out.set("tunnel", word_of(peer.tunnel));
  if (peer.via) out.set("via", *peer.via);
  return out;
}

Json write_prefix(const Prefix& prefix) {
  Json owner = Json::object();
  owner.set(std::string(word_of(prefix.owner.kind)), prefix.owner.id);
  Json out = Json::object();
  out.set("class", prefix.class_id);
  out.set("owner", std::move(owner));
  out.set("prefix", prefix.prefix.text());
  out.set("segment", prefix.segment);
  return out;
}

Json write_resource(const Resource& resource) {
  return Json::object({{"candidates", write_list(resource.candidates, write_text)},
                       {"former", write_list(resource.former, write_text)},
                       {"id", resource.id},
                       {"number", resource.number.value},
                       {"ttl_ms", resource.ttl_ms}});
}

Json write_backend(const Backend& backend) {
  Json out = Json::object();
  out.set("address", backend.address.text());
  if (backend.drain) out.set("drain", true);
  out.set("weight", backend.weight);
  return out;
}

Json write_service(const Service& service) {
  return Json::object({{"backends", write_list(service.backends, write_backend)},
                       {"id", service.id},
                       {"port", int{service.port}},
                       {"protocol", word_of(service.protocol)}});
}

Json write_rule(const Rule& rule) {
  const auto range = [](const PortRange& r) {
    return Json(Json::Array{Json(int{r.first}), Json(int{r.last})});
  };
  const auto number = [](std::uint8_t value) { return Json(int{value}); };
  Json out = Json::object();
  if (!rule.codes.empty()) out.set("codes", write_list(rule.codes, number));
  if (rule.fragments) out.set("fragments", true);
  out.set("from", rule.from);
  if (!rule.ports.empty()) out.set("ports", write_list(rule.ports, range));
  out.set("protocol", word_of(rule.protocol));
  if (rule.strict) out.set("strict", true);
  out.set("to", rule.to);
  if (!rule.types.empty()) out.set("types", write_list(rule.types, number));
  return out;
}

Json write_class(const std::string& id) {
  return Json::object({{"id", id}});
}

Json write_floor(const EpochFloor& floor) {
  return Json::object({{"epoch", Json::decimal(floor.epoch.value)}, {"resource", floor.resource}});
}

Json write_root(const Root& root) {
  return Json::object({{"keys", root_keys(root)}, {"threshold", root.threshold}});
}

}  // namespace

std::string encode_snapshot(const Snapshot& snapshot) {
  Json out = Json::object();
  out.set("classes", write_list(snapshot.classes, write_class));
  out.set("epoch_floors", write_list(snapshot.epoch_floors, write_floor));
  out.set("expires", utc_text(snapshot.expires));
  out.set("gateways", write_list(snapshot.gateways, write_gateway));
  out.set("grants", Json::array());
  out.set("issued", utc_text(snapshot.issued));
  out.set("mesh", snapshot.mesh);
  out.set("on_expiry", word_of(snapshot.on_expiry));
  out.set("peers", write_list(snapshot.peers, write_peer));
  out.set("prefixes", write_list(snapshot.prefixes, write_prefix));
  out.set("prev", to_hex(snapshot.prev));
  out.set("resources", write_list(snapshot.resources, write_resource));
  out.set("root", write_root(snapshot.root));
  out.set("rules", write_list(snapshot.rules, write_rule));
  out.set("segments", write_list(snapshot.segments, write_segment));
  out.set("serial", static_cast<std::int64_t>(snapshot.serial.value));
  out.set("services", write_list(snapshot.services, write_service));
  out.set("tombstones", write_list(snapshot.tombstones, write_tombstone));
  out.set("v", 1);
  return wire::encode_canonical(out);
}

}  // namespace postern::authority
