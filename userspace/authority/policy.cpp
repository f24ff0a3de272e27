// SPDX-License-Identifier: Apache-2.0
#include "authority/policy.h"

#include <unordered_set>

#include "authority/errors.h"
#include "authority/policy_classes.h"
#include "authority/policy_names.h"
#include "authority/snapshot_check.h"
#include "authority/snapshot_names.h"
#include "authority/succession.h"

namespace postern::authority {
namespace {

using config::PolicyFile;

std::string at_line(std::string_view origin, int line) {
  std::string out(origin);
  if (line > 0) out.append(":").append(std::to_string(line));
  return out;
}

template <class List>
int line_in(const List& list, std::size_t index) {
  return index < list.size() ? list[index].line : 0;
}

// Lists of the snapshot that are made entry by entry from those of the policy keep their order.
Place place_in_policy(const PolicyFile& policy, std::string_view origin) {
  return [&policy, origin](std::string_view list, std::optional<std::size_t> index) {
    int line = 0;
    if (index) {
      if (list == "gateways") line = line_in(policy.gateways, *index);
      if (list == "segments") line = line_in(policy.segments, *index);
      if (list == "peers") line = line_in(policy.peers, *index);
      if (list == "prefixes") line = line_in(policy.prefixes, *index);
      if (list == "resources") line = line_in(policy.resources, *index);
      if (list == "services") line = line_in(policy.services, *index);
      if (list == "classes") line = line_in(policy.classes, *index);
      if (list == "rules") line = line_in(policy.rules, *index);
    }
    return at_line(origin, line);
  };
}

std::optional<wire::PublicKey> parse_key(const std::string& base64) {
  return wire::PublicKey::parse(base64);
}

tl::unexpected<Error> bad_key(const std::string& where, const std::string& text) {
  return fail(errc::policy,
              where + ": the key is \"" + text.substr(0, 64) +
                  "\", expected base64 of a 32-byte Ed25519 key, as `postern keygen` prints it");
}

Result<Root> compile_root(const PolicyFile& policy, std::string_view origin) {
  Root out;
  out.threshold = policy.threshold;
  for (const std::string& text : policy.root_keys) {
    const std::optional<wire::PublicKey> key = parse_key(text);
    if (!key) return bad_key(std::string(origin) + ": authority", text);
    out.keys.push_back(*key);
  }
  return out;
}

Result<std::vector<Gateway>> compile_gateways(const PolicyFile& policy, std::string_view origin) {
  std::vector<Gateway> out;
  for (const config::PolicyGateway& source : policy.gateways) {
    const std::optional<wire::PublicKey> key = parse_key(source.key);
    if (!key) return bad_key(at_line(origin, source.line), source.key);
    Gateway gateway;
    gateway.id = source.id;
    gateway.key = *key;
    gateway.links = source.links;
    gateway.underlay = source.underlay;
    gateway.mac = source.mac;
    for (const auto& [segment, address] : source.addresses)
      gateway.addresses.push_back({segment, address});
    gateway.state = source.revoked ? State::revoked : State::active;
    out.push_back(std::move(gateway));
  }
  return out;
}

Result<std::vector<Peer>> compile_peers(const PolicyFile& policy, std::string_view origin) {
  std::vector<Peer> out;
  out.reserve(policy.peers.size());
  for (const config::PolicyPeer& source : policy.peers) {
    Peer peer;
    peer.id = source.id;
    peer.addresses = source.addresses;
    peer.segments = source.segments;
    peer.mac = source.mac;
    peer.state = source.revoked ? State::revoked : State::active;
    peer.not_before = source.not_before;
    peer.expires = source.expires;
    peer.via = source.via;
    peer.rate_bytes_per_s = source.rate_bytes_per_s;
    peer.rate_packets_per_s = source.rate_packets_per_s;
    const std::optional<Tunnel> tunnel = tunnel_of(source.tunnel);
    if (!tunnel) {
      return fail(errc::policy, at_line(origin, source.line) + ": the tunnel is \"" +
                                    source.tunnel.substr(0, 64) + "\", expected vxlan or geneve");
    }
    peer.tunnel = *tunnel;
    out.push_back(std::move(peer));
  }
  return out;
}

Result<> compile_prefixes(const PolicyFile& policy, std::string_view origin, Snapshot& out) {
  Result<std::vector<std::string>> class_ids = classes_of_prefixes(policy, origin);
  if (!class_ids) return pass_on(std::move(class_ids));
  std::unordered_set<std::string> classes;
  for (const config::PolicyClass& declared : policy.classes) {
    if (!classes.insert(declared.id).second) {
      return fail(errc::policy, at_line(origin, declared.line) + ": the class " + in_quotes(declared.id) +
                                    " is declared already; declare it once");
    }
    out.classes.push_back(declared.id);
  }
  out.prefixes.reserve(policy.prefixes.size());
  for (std::size_t i = 0; i < policy.prefixes.size(); ++i) {
    const config::PolicyPrefix& source = policy.prefixes[i];
    const std::string& class_id = (*class_ids)[i];
    const std::optional<OwnerKind> kind = owner_kind_of(source.owner_kind);
    if (!kind) {
      return fail(errc::policy, at_line(origin, source.line) + ": the owner is a \"" + source.owner_kind +
                                    "\", expected peer, gateway, resource or service");
    }
    out.prefixes.push_back({source.segment, source.prefix, {*kind, source.owner}, class_id});
    if (!is_id(class_id)) {
      return fail(errc::policy, at_line(origin, source.line) + ": the class is \"" + class_id.substr(0, 64) +
                                    "\", expected " + std::string(kIdForm));
    }
    if (classes.insert(class_id).second) out.classes.push_back(class_id);
  }
  return {};
}

void compile_resources(const PolicyFile& policy, Snapshot& out) {
  for (const config::PolicyResource& source : policy.resources) {
    Resource resource;
    resource.id = source.id;
    resource.number = ResourceNumber(source.number);
    resource.candidates = source.candidates;
    resource.ttl_ms = source.ttl_ms;
    out.resources.push_back(std::move(resource));
    if (source.floor > 0) out.epoch_floors.push_back({source.id, Epoch(source.floor)});
  }
}

Result<std::vector<Service>> compile_services(const PolicyFile& policy, std::string_view origin) {
  std::vector<Service> out;
  for (const config::PolicyService& source : policy.services) {
    const std::optional<Protocol> protocol = protocol_of(source.protocol);
    if (!protocol) {
      return fail(errc::policy, at_line(origin, source.line) + ": the protocol is \"" +
                                    source.protocol.substr(0, 64) + "\", expected tcp or udp");
    }
    Service service{source.id, *protocol, source.port, {}};
    for (const config::PolicyBackend& backend : source.backends)
      service.backends.push_back({backend.address, backend.weight, backend.drain});
    out.push_back(std::move(service));
  }
  return out;
}

Result<std::vector<Rule>> compile_rules(const PolicyFile& policy, std::string_view origin) {
  std::vector<Rule> out;
  out.reserve(policy.rules.size());
  for (const config::PolicyRule& source : policy.rules) {
    const std::optional<Protocol> protocol = protocol_of(source.protocol);
    if (!protocol) {
      return fail(errc::policy, at_line(origin, source.line) + ": the protocol is \"" +
                                    source.protocol.substr(0, 64) +
                                    "\", expected tcp, udp, icmp, icmpv6 or any");
    }
    Rule rule;
    rule.from = source.from;
    rule.to = source.to;
    rule.protocol = *protocol;
    for (const auto& [first, last] : source.ports)
      rule.ports.push_back({first, last});
    rule.types = source.types;
    rule.codes = source.codes;
    rule.fragments = source.fragments;
    rule.strict = source.strict;
    out.push_back(std::move(rule));
  }
  return out;
}

}  // namespace

Result<Snapshot> compile_policy(const PolicyFile& policy, std::string_view origin, const Edition& edition,
                                const Snapshot* before) {
  if (Result<> names = check_policy_names(policy, origin); !names) return pass_on(std::move(names));
  Snapshot out;
  out.mesh = policy.mesh;
  out.serial = edition.serial;
  out.prev = edition.prev;
  out.issued = edition.issued;
  out.expires = edition.expires;
  out.on_expiry = policy.close_on_expiry ? OnExpiry::close : OnExpiry::hold;
  Result<Root> root = compile_root(policy, origin);
  if (!root) return pass_on(std::move(root));
  out.root = std::move(*root);
  Result<std::vector<Gateway>> gateways = compile_gateways(policy, origin);
  if (!gateways) return pass_on(std::move(gateways));
  out.gateways = std::move(*gateways);
  for (const config::PolicySegment& source : policy.segments)
    out.segments.push_back({source.id, source.vni, {}, {}});
  Result<std::vector<Peer>> peers = compile_peers(policy, origin);
  if (!peers) return pass_on(std::move(peers));
  out.peers = std::move(*peers);
  if (Result<> prefixes = compile_prefixes(policy, origin, out); !prefixes)
    return pass_on(std::move(prefixes));
  compile_resources(policy, out);
  Result<std::vector<Service>> services = compile_services(policy, origin);
  if (!services) return pass_on(std::move(services));
  out.services = std::move(*services);
  Result<std::vector<Rule>> rules = compile_rules(policy, origin);
  if (!rules) return pass_on(std::move(rules));
  out.rules = std::move(*rules);
  if (before != nullptr) {
    if (Result<> kept = carry_over(*before, out); !kept) return pass_on(std::move(kept), origin);
  }
  if (Result<> checked = check_snapshot(out, place_in_policy(policy, origin)); !checked) {
    // What would make a signed document untrustworthy is here a mistake in a file that can be edited.
    Error error = std::move(checked).error();
    if (error.code.kind == ErrorKind::authority) error.code = errc::policy;
    return tl::unexpected<Error>(std::move(error));
  }
  return out;
}

}  // namespace postern::authority
