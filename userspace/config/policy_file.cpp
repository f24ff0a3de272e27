// SPDX-License-Identifier: Apache-2.0
#include "config/policy_file.h"

#include <charconv>
#include <map>

#include "config/spelling.h"
#include "config/yaml_map.h"
#include "core/name.h"
#include "core/utc.h"

namespace postern::config {
namespace {

constexpr std::string_view kAddressForm = "an IPv4 or IPv6 address";
constexpr std::string_view kMacForm = "a MAC address like \"02:00:00:00:00:01\", in lower case";
constexpr std::string_view kUtcForm = "a UTC instant like 2026-11-29T13:50:48Z";
constexpr std::uint64_t kMaxVni = 0xffffff;

using PortRange = std::pair<std::uint16_t, std::uint16_t>;

using References = std::vector<PolicyReference>;

// A name that must exist; whether it does is seen when the policy is compiled.
std::string read_reference(YamlMap& map, const YamlNode& node, PolicyNameOf kind, References& into) {
  std::string name = map.text(node);
  if (map.ok()) into.push_back({kind, name, node.line, node.column});
  return name;
}

std::vector<std::string> read_references(YamlMap& map, const YamlNode& list, PolicyNameOf kind,
                                         References& into) {
  std::vector<std::string> out;
  for (const YamlNode& item : map.items(list))
    out.push_back(read_reference(map, item, kind, into));
  return out;
}

std::vector<std::string> read_texts(YamlMap& map, const YamlNode& list) {
  std::vector<std::string> out;
  for (const YamlNode& item : map.items(list))
    out.push_back(map.text(item));
  return out;
}

template <class Parse, class T = typename std::invoke_result_t<Parse, std::string_view>::value_type>
std::vector<T> read_all(YamlMap& map, const YamlNode& list, Parse parse, std::string_view form) {
  std::vector<T> out;
  for (const YamlNode& item : map.items(list))
    out.push_back(map.parsed(item, parse, form));
  return out;
}

bool read_revoked(YamlMap& map) {
  const YamlNode* state = map.optional("state");
  if (state == nullptr) return false;
  const auto parse = [](std::string_view text) {
    return text == "active" || text == "revoked" ? std::optional(text == "revoked") : std::nullopt;
  };
  return map.parsed(*state, parse, "active or revoked");
}

std::vector<std::string> read_tags(YamlMap& map) {
  const YamlNode* tags = map.optional("tags");
  return tags == nullptr ? std::vector<std::string>() : read_texts(map, *tags);
}

PolicySegmentAddress read_segment_address(YamlMap& map, References& names) {
  PolicySegmentAddress out;
  out.segment = read_reference(map, map.required("segment"), PolicyNameOf::segment, names);
  out.address = map.parsed(map.required("address"), IpAddress::parse, kAddressForm);
  return out;
}

PolicyGateway read_gateway(YamlMap& map, References& names) {
  PolicyGateway out;
  out.line = map.line();
  out.id = map.text(map.required("id"));
  out.key = map.text(map.required("key"));
  out.underlay = read_all(map, map.required("underlay"), IpAddress::parse, kAddressForm);
  if (const YamlNode* links = map.optional("links")) {
    out.links = read_all(map, *links, Endpoint::parse, "\"address:port\", or \"[IPv6 address]:port\"");
  }
  out.mac = map.parsed(map.required("mac"), MacAddress::parse, kMacForm);
  if (const YamlNode* addresses = map.optional("addresses")) {
    out.addresses = map.each(*addresses, "a gateway's address",
                             [&names](YamlMap& entry) { return read_segment_address(entry, names); });
  }
  out.revoked = read_revoked(map);
  out.tags = read_tags(map);
  return out;
}

PolicySegment read_segment(YamlMap& map) {
  PolicySegment out;
  out.line = map.line();
  out.id = map.text(map.required("id"));
  out.vni = Vni(static_cast<std::uint32_t>(map.integer(map.required("vni"), 1, kMaxVni)));
  return out;
}

PolicyPeer read_peer(YamlMap& map, References& names) {
  PolicyPeer out;
  out.line = map.line();
  out.id = map.text(map.required("id"));
  out.addresses = read_all(map, map.required("addresses"), IpAddress::parse, kAddressForm);
  out.segments = read_references(map, map.required("segments"), PolicyNameOf::segment, names);
  if (const YamlNode* mac = map.optional("mac")) out.mac = map.parsed(*mac, MacAddress::parse, kMacForm);
  out.revoked = read_revoked(map);
  if (const YamlNode* instant = map.optional("not_before")) {
    out.not_before = map.parsed(*instant, parse_utc, kUtcForm);
  }
  if (const YamlNode* instant = map.optional("expires"))
    out.expires = map.parsed(*instant, parse_utc, kUtcForm);
  if (const YamlNode* via = map.optional("via")) out.via = map.text(*via);
  if (const YamlNode* rate = map.optional("rate")) out.rate_bytes_per_s = map.integer(*rate, 1, UINT64_MAX);
  if (const YamlNode* rate = map.optional("packet_rate")) {
    out.rate_packets_per_s = map.integer(*rate, 1, UINT64_MAX);
  }
  if (const YamlNode* tunnel = map.optional("tunnel")) out.tunnel = map.text(*tunnel);
  out.tags = read_tags(map);
  return out;
}

void read_owner(YamlMap& map, PolicyPrefix& out, References& names) {
  YamlMap owner(map.required("owner"), map.origin(), "an owner");
  int owners = 0;
  for (const auto& [kind, name_of] :
       {std::pair<std::string_view, PolicyNameOf>{"peer", PolicyNameOf::owner_peer},
        {"gateway", PolicyNameOf::owner_gateway},
        {"resource", PolicyNameOf::owner_resource},
        {"service", PolicyNameOf::owner_service}}) {
    const YamlNode* id = owner.optional(kind);
    if (id == nullptr) continue;
    ++owners;
    out.owner_kind = kind;
    out.owner = read_reference(owner, *id, name_of, names);
  }
  if (!map.ok()) return;
  if (Result<> done = owner.finish(); !done) {
    map.adopt(std::move(done).error());
  } else if (owners != 1) {
    map.reject(map.required("owner"),
               "found " + std::to_string(owners) +
                   " owners, expected exactly one of peer, gateway, resource and service");
  }
}

PolicyPrefix read_prefix(YamlMap& map, bool classes_declared, References& names) {
  PolicyPrefix out;
  out.line = map.line();
  out.segment = read_reference(map, map.required("segment"), PolicyNameOf::segment, names);
  out.prefix = map.parsed(map.required("prefix"), IpPrefix::parse,
                          "an address block like 10.1.0.0/24, host bits zero");
  read_owner(map, out, names);
  const YamlNode* class_id = classes_declared ? map.optional("class") : &map.required("class");
  if (class_id != nullptr) {
    out.class_id = classes_declared ? read_reference(map, *class_id, PolicyNameOf::declared_class, names)
                                    : map.text(*class_id);
  }
  out.tags = read_tags(map);
  return out;
}

PolicyResource read_resource(YamlMap& map, References& names) {
  PolicyResource out;
  out.line = map.line();
  out.id = map.text(map.required("id"));
  out.number = static_cast<std::uint32_t>(map.integer(map.required("number"), 0, UINT32_MAX));
  out.candidates = read_references(map, map.required("candidates"), PolicyNameOf::gateway, names);
  out.tags = read_tags(map);
  if (const YamlNode* ttl = map.optional("ttl_ms")) {
    out.ttl_ms = static_cast<std::uint32_t>(map.integer(*ttl, 1, UINT32_MAX));
  }
  if (const YamlNode* floor = map.optional("floor")) out.floor = map.integer(*floor, 0, UINT64_MAX);
  return out;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size() || (text.size() > 1 && text.front() == '0')) {
    return std::nullopt;
  }
  return port;
}

std::optional<PortRange> parse_ports(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = parse_port(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : parse_port(text.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return PortRange(*first, *last);
}

void refuse_empty(YamlMap& map, const YamlNode& list, bool empty) {
  if (empty) map.reject(list, "the list is empty; remove the key to mean all");
}

PolicyBackend read_backend(YamlMap& map) {
  PolicyBackend out;
  out.address = map.parsed(map.required("address"), IpAddress::parse, kAddressForm);
  if (const YamlNode* weight = map.optional("weight")) {
    out.weight = static_cast<std::uint32_t>(map.integer(*weight, 1, UINT32_MAX));
  }
  if (const YamlNode* drain = map.optional("drain")) out.drain = map.flag(*drain);
  return out;
}

PolicyService read_service(YamlMap& map) {
  PolicyService out;
  out.line = map.line();
  out.id = map.text(map.required("id"));
  out.protocol = map.text(map.required("protocol"));
  out.port = static_cast<std::uint16_t>(map.integer(map.required("port"), 1, 65535));
  out.backends = map.each(map.required("backends"), "a backend", read_backend);
  return out;
}

std::vector<std::uint8_t> read_bytes(YamlMap& map, std::string_view key) {
  std::vector<std::uint8_t> out;
  const YamlNode* list = map.optional(key);
  if (list == nullptr) return out;
  for (const YamlNode& item : map.items(*list))
    out.push_back(static_cast<std::uint8_t>(map.integer(item, 0, 255)));
  refuse_empty(map, *list, out.empty());
  return out;
}

PolicyClass read_class(YamlMap& map) {
  PolicyClass out;
  out.line = map.line();
  out.id = map.text(map.required("id"));
  out.tags = read_tags(map);
  return out;
}

using PortSets = std::map<std::string, std::vector<PortRange>, std::less<>>;

constexpr std::string_view kPortForm = "a port, a range like \"8000-8100\", or the name of a port set";

PortSets read_port_sets(YamlMap& map) {
  PortSets out;
  const YamlNode* node = map.optional("port_sets");
  if (node == nullptr) return out;
  YamlMap sets(*node, map.origin(), "port_sets");
  for (const YamlKey& key : node->keys) {
    const YamlNode* list = sets.optional(key.text);
    std::vector<PortRange>& ports = out[key.text];
    if (list != nullptr) ports = read_all(sets, *list, parse_ports, "a port, or a range like \"8000-8100\"");
    if (list != nullptr && ports.empty()) sets.reject(*list, "a port set holds at least one port");
    if (!is_id(key.text) || parse_ports(key.text)) {
      sets.reject(*list, "the port set is named " + in_quotes(key.text) + ", expected a name of the form " +
                             std::string(kIdForm) + " that is no number");
    }
  }
  if (Result<> done = sets.finish(); !done) map.adopt(std::move(done).error());
  return out;
}

std::vector<PortRange> read_rule_ports(YamlMap& map, const YamlNode& list, const PortSets& sets) {
  std::vector<PortRange> out;
  for (const YamlNode& item : map.items(list)) {
    const auto set = sets.find(item.text);
    if (item.kind == YamlNode::Kind::scalar && set != sets.end()) {
      out.insert(out.end(), set->second.begin(), set->second.end());
      continue;
    }
    const bool is_name = item.kind == YamlNode::Kind::scalar && is_id(item.text) &&
                         item.text.find_first_not_of("0123456789-") != std::string::npos;
    if (is_name) {
      std::vector<std::string_view> known;
      for (const auto& [name, ports] : sets)
        known.push_back(name);
      map.reject(item, "there is no port set " + in_quotes(item.text) + did_you_mean(item.text, known));
    }
    out.push_back(map.parsed(item, parse_ports, kPortForm));
  }
  refuse_empty(map, list, out.empty());
  return out;
}

PolicyRule read_rule(YamlMap& map, const PortSets& sets) {
  PolicyRule out;
  out.line = map.line();
  const YamlNode& from = map.required("from");
  const YamlNode& to = map.required("to");
  out.from = map.text(from);
  out.to = map.text(to);
  out.from_column = from.column;
  out.to_column = to.column;
  out.protocol = map.text(map.required("protocol"));
  if (const YamlNode* ports = map.optional("ports")) out.ports = read_rule_ports(map, *ports, sets);
  out.types = read_bytes(map, "types");
  out.codes = read_bytes(map, "codes");
  if (const YamlNode* fragments = map.optional("fragments")) out.fragments = map.flag(*fragments);
  if (const YamlNode* strict = map.optional("strict")) out.strict = map.flag(*strict);
  return out;
}

PolicyTest read_test(YamlMap& map, References& names) {
  PolicyTest out;
  out.line = map.line();
  out.segment = read_reference(map, map.required("segment"), PolicyNameOf::segment, names);
  out.from = map.parsed(map.required("from"), IpAddress::parse, kAddressForm);
  out.to = map.parsed(map.required("to"), IpAddress::parse, kAddressForm);
  const auto parse_protocol = [](std::string_view text) {
    const bool known = text == "tcp" || text == "udp" || text == "icmp" || text == "icmpv6";
    return known ? std::optional<std::string>(text) : std::nullopt;
  };
  out.protocol = map.parsed(map.required("protocol"), parse_protocol, "tcp, udp, icmp or icmpv6");
  const bool has_ports = out.protocol == "tcp" || out.protocol == "udp";
  if (has_ports) {
    out.port = static_cast<std::uint16_t>(map.integer(map.required("port"), 0, 65535));
  } else {
    out.type = static_cast<std::uint8_t>(map.integer(map.required("type"), 0, 255));
    if (const YamlNode* code = map.optional("code"))
      out.code = static_cast<std::uint8_t>(map.integer(*code, 0, 255));
  }
  const auto parse_expect = [](std::string_view text) {
    return text == "allow" || text == "deny" ? std::optional(text == "allow") : std::nullopt;
  };
  out.allow = map.parsed(map.required("expect"), parse_expect, "allow or deny");
  return out;
}

void read_authority(YamlMap& map, PolicyFile& out) {
  YamlMap authority(map.required("authority"), map.origin(), "authority");
  out.threshold =
      static_cast<std::uint32_t>(authority.integer(authority.required("threshold"), 1, UINT32_MAX));
  out.root_keys = read_texts(authority, authority.required("keys"));
  if (!map.ok()) return;
  if (Result<> done = authority.finish(); !done) map.adopt(std::move(done).error());
}

void read_on_expiry(YamlMap& map, PolicyFile& out) {
  const YamlNode* node = map.optional("on_expiry");
  if (node == nullptr) return;
  const auto parse = [](std::string_view text) {
    return text == "hold" || text == "close" ? std::optional(text == "close") : std::nullopt;
  };
  out.close_on_expiry = map.parsed(*node, parse, "hold or close");
}

}  // namespace

Result<PolicyFile> parse_policy_file(std::string_view yaml, std::string_view origin) {
  const Result<YamlNode> root = parse_yaml(yaml, origin, kMaxPolicyBytes);
  if (!root) return tl::unexpected<Error>(root.error());
  YamlMap map(*root, origin, "the policy");
  PolicyFile out;
  out.mesh = map.text(map.required("mesh"));
  read_on_expiry(map, out);
  read_authority(map, out);
  out.segments = map.each(map.required("segments"), "a segment", read_segment);
  References& names = out.references;
  out.gateways = map.each(map.required("gateways"), "a gateway",
                          [&](YamlMap& entry) { return read_gateway(entry, names); });
  if (const YamlNode* peers = map.optional("peers"))
    out.peers = map.each(*peers, "a peer", [&](YamlMap& entry) { return read_peer(entry, names); });
  const YamlNode* classes = map.optional("classes");
  if (classes != nullptr) out.classes = map.each(*classes, "a class", read_class);
  out.prefixes = map.each(map.required("prefixes"), "a prefix",
                          [&](YamlMap& entry) { return read_prefix(entry, classes != nullptr, names); });
  if (const YamlNode* resources = map.optional("resources")) {
    out.resources =
        map.each(*resources, "a resource", [&](YamlMap& entry) { return read_resource(entry, names); });
  }
  if (const YamlNode* services = map.optional("services")) {
    out.services = map.each(*services, "a service", read_service);
  }
  const PortSets sets = read_port_sets(map);
  if (const YamlNode* rules = map.optional("rules"))
    out.rules = map.each(*rules, "a rule", [&](YamlMap& entry) { return read_rule(entry, sets); });
  if (const YamlNode* tests = map.optional("tests"))
    out.tests = map.each(*tests, "a test", [&](YamlMap& entry) { return read_test(entry, names); });
  if (Result<> done = map.finish(); !done) return pass_on(std::move(done));
  return out;
}

}  // namespace postern::config
