// SPDX-License-Identifier: Apache-2.0
#include "authority/snapshot_names.h"

#include <array>

namespace postern::authority {
namespace {

template <class Enum, std::size_t N>
using Words = std::array<std::pair<Enum, std::string_view>, N>;

constexpr Words<State, 2> kStates{{{State::active, "active"}, {State::revoked, "revoked"}}};
constexpr Words<OnExpiry, 2> kOnExpiry{{{OnExpiry::hold, "hold"}, {OnExpiry::close, "close"}}};
constexpr Words<Protocol, 5> kProtocols{{{Protocol::tcp, "tcp"},
                                         {Protocol::udp, "udp"},
                                         {Protocol::icmp, "icmp"},
                                         {Protocol::icmpv6, "icmpv6"},
                                         {Protocol::any, "any"}}};
constexpr Words<Tunnel, 2> kTunnels{{{Tunnel::vxlan, "vxlan"}, {Tunnel::geneve, "geneve"}}};
constexpr Words<OwnerKind, 4> kOwnerKinds{{{OwnerKind::peer, "peer"},
                                           {OwnerKind::gateway, "gateway"},
                                           {OwnerKind::resource, "resource"},
                                           {OwnerKind::service, "service"}}};

template <class Enum, std::size_t N>
std::string_view word_in(const Words<Enum, N>& words, Enum value) {
  for (const auto& [candidate, word] : words) {
    if (candidate == value) return word;
  }
  return {};
}

template <class Enum, std::size_t N>
std::optional<Enum> value_in(const Words<Enum, N>& words, std::string_view text) {
  for (const auto& [value, word] : words) {
    if (word == text) return value;
  }
  return std::nullopt;
}

}  // namespace

std::string_view word_of(State state) {
  return word_in(kStates, state);
}
std::string_view word_of(OnExpiry on_expiry) {
  return word_in(kOnExpiry, on_expiry);
}
std::string_view word_of(Protocol protocol) {
  return word_in(kProtocols, protocol);
}
std::string_view word_of(OwnerKind kind) {
  return word_in(kOwnerKinds, kind);
}
std::string_view word_of(Tunnel tunnel) {
  return word_in(kTunnels, tunnel);
}
std::optional<Tunnel> tunnel_of(std::string_view word) {
  return value_in(kTunnels, word);
}
std::optional<State> state_of(std::string_view word) {
  return value_in(kStates, word);
}
std::optional<OnExpiry> on_expiry_of(std::string_view word) {
  return value_in(kOnExpiry, word);
}
std::optional<Protocol> protocol_of(std::string_view word) {
  return value_in(kProtocols, word);
}
std::optional<OwnerKind> owner_kind_of(std::string_view word) {
  return value_in(kOwnerKinds, word);
}

std::string place_in_document(std::string_view list, std::optional<std::size_t> index) {
  std::string out(list);
  if (index) out.append("[").append(std::to_string(*index)).append("]");
  return out;
}

template <class List, class Value, class Name>
Result<> SnapshotNames::index(Names<Value>& names, const List& list, std::string_view title,
                              const Place& place, Name name_and_value) {
  names.reserve(names.size() + list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::pair<std::string_view, Value> entry = name_and_value(list[i]);

    if (!is_id(entry.first)) {
      return fail(errc::field, place(title, i) + ": the id is " + in_quotes(entry.first) + ", expected " +
                                   std::string(kIdForm));
    }
    if (!names.insert(entry).second) {
      return fail(errc::field,
                  place(title, i) + ": the id " + in_quotes(entry.first) +
                      " is taken already; ids are unique, across gateways, tombstones and peers too");
    }
  }
  return {};
}

Result<SnapshotNames> SnapshotNames::of(const Snapshot& snapshot, const Place& place) {
  SnapshotNames out;
  const auto segment = [](const Segment& s) { return std::pair<std::string_view, const Segment*>(s.id, &s); };
  const auto node = [](NodeKind kind) {
    return [kind](const auto& n) { return std::pair<std::string_view, NodeKind>(n.id, kind); };
  };
  const auto resource = [](const Resource& r) { return std::pair<std::string_view, bool>(r.id, true); };
  const auto class_id = [](const std::string& c) { return std::pair<std::string_view, bool>(c, true); };
  if (Result<> r = index(out.segments_, snapshot.segments, "segments", place, segment); !r) {
    return pass_on(std::move(r));
  }
  if (Result<> r = index(out.nodes_, snapshot.gateways, "gateways", place, node(NodeKind::gateway)); !r) {
    return pass_on(std::move(r));
  }
  if (Result<> r = index(out.nodes_, snapshot.tombstones, "tombstones", place, node(NodeKind::tombstone));
      !r) {
    return pass_on(std::move(r));
  }
  if (Result<> r = index(out.nodes_, snapshot.peers, "peers", place, node(NodeKind::peer)); !r) {
    return pass_on(std::move(r));
  }
  if (Result<> r = index(out.resources_, snapshot.resources, "resources", place, resource); !r) {
    return pass_on(std::move(r));
  }
  const auto service = [](const Service& s) { return std::pair<std::string_view, bool>(s.id, true); };
  if (Result<> r = index(out.services_, snapshot.services, "services", place, service); !r) {
    return pass_on(std::move(r));
  }
  if (Result<> r = index(out.classes_, snapshot.classes, "classes", place, class_id); !r) {
    return pass_on(std::move(r));
  }
  return out;
}

const Segment* SnapshotNames::segment(std::string_view id) const {
  const auto found = segments_.find(id);
  return found == segments_.end() ? nullptr : found->second;
}

std::optional<NodeKind> SnapshotNames::node(std::string_view id) const {
  const auto found = nodes_.find(id);
  return found == nodes_.end() ? std::nullopt : std::optional(found->second);
}

bool SnapshotNames::has_owner(const Owner& owner) const {
  switch (owner.kind) {
    case OwnerKind::peer:
      return node(owner.id) == NodeKind::peer;
    case OwnerKind::gateway:
      return has_gateway(owner.id);
    case OwnerKind::resource:
      return has_resource(owner.id);
    case OwnerKind::service:
      return has_service(owner.id);
  }
  return false;
}

}  // namespace postern::authority
