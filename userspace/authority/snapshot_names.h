// SPDX-License-Identifier: Apache-2.0
// What the parts of a snapshot call each other by: the form of names, the words of the document, and an index
// of the names that a snapshot defines.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "authority/errors.h"
#include "authority/snapshot.h"
#include "core/name.h"
#include "core/result.h"

namespace postern::authority {

// "active", "hold", "tcp", "peer": the spelling in documents and policies.
std::string_view word_of(State state);
std::string_view word_of(OnExpiry on_expiry);
std::string_view word_of(Protocol protocol);
std::string_view word_of(OwnerKind kind);
std::string_view word_of(Tunnel tunnel);
std::optional<State> state_of(std::string_view word);
std::optional<OnExpiry> on_expiry_of(std::string_view word);
std::optional<Protocol> protocol_of(std::string_view word);
std::optional<OwnerKind> owner_kind_of(std::string_view word);
std::optional<Tunnel> tunnel_of(std::string_view word);

// Says where an entry of a list stands, for an error text: "peers[3]", or "policy.yaml:17". No index: the
// field itself.
using Place = std::function<std::string(std::string_view list, std::optional<std::size_t> index)>;
std::string place_in_document(std::string_view list, std::optional<std::size_t> index);

enum class NodeKind { gateway, peer, tombstone };

// Views into the snapshot, which must outlive this and stay as it is.
class SnapshotNames {
 public:
  // Fails when a name is malformed or taken twice. Gateways, peers and tombstones share one set of names.
  static Result<SnapshotNames> of(const Snapshot& snapshot, const Place& place);

  const Segment* segment(std::string_view id) const;
  std::optional<NodeKind> node(std::string_view id) const;
  bool has_gateway(std::string_view id) const { return node(id) == NodeKind::gateway; }
  bool has_resource(std::string_view id) const { return resources_.count(id) != 0; }
  bool has_service(std::string_view id) const { return services_.count(id) != 0; }
  bool has_class(std::string_view id) const { return classes_.count(id) != 0; }
  bool has_owner(const Owner& owner) const;

 private:
  template <class Value>
  using Names = std::unordered_map<std::string_view, Value>;

  template <class List, class Value, class Name>
  static Result<> index(Names<Value>& names, const List& list, std::string_view title, const Place& place,
                        Name name_and_value);

  Names<const Segment*> segments_;
  Names<NodeKind> nodes_;
  Names<bool> resources_;
  Names<bool> services_;
  Names<bool> classes_;
};

}  // namespace postern::authority
