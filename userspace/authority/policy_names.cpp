// SPDX-License-Identifier: Apache-2.0
#include "authority/policy_names.h"

#include <array>
#include <unordered_set>

#include "authority/errors.h"
#include "config/spelling.h"
#include "config/yaml.h"
#include "core/name.h"

namespace postern::authority {
namespace {

using config::PolicyNameOf;

// The names of one kind, in the order of the policy.
class Names {
 public:
  template <class List>
  explicit Names(const List& list) {
    for (const auto& entry : list)
      add(entry.id);
  }
  void add(std::string_view name) {
    if (set_.insert(name).second) order_.push_back(name);
  }
  bool has(std::string_view name) const { return set_.count(name) != 0; }
  const std::vector<std::string_view>& all() const { return order_; }

 private:
  std::unordered_set<std::string_view> set_;
  std::vector<std::string_view> order_;
};

std::string_view noun_of(PolicyNameOf kind) {
  switch (kind) {
    case PolicyNameOf::segment:
      return "segment";
    case PolicyNameOf::owner_peer:
      return "peer";
    case PolicyNameOf::owner_gateway:
    case PolicyNameOf::gateway:
      return "gateway";
    case PolicyNameOf::owner_resource:
      return "resource";
    case PolicyNameOf::owner_service:
      return "service";
    case PolicyNameOf::declared_class:
      return "class";
  }
  return "name";
}

tl::unexpected<Error> no_such(std::string_view origin, int line, int column, std::string_view noun,
                              std::string_view name, const Names& known) {
  return fail(errc::policy, config::place_of(origin, line, column) + "there is no " + std::string(noun) +
                                " " + in_quotes(name) + config::did_you_mean(name, known.all()));
}

template <class List>
Result<> check_forms(const List& list, std::string_view origin) {
  for (const auto& entry : list) {
    if (is_id(entry.id)) continue;
    return fail(errc::policy, std::string(origin) + ":" + std::to_string(entry.line) + ": the id is " +
                                  in_quotes(entry.id) + ", expected " + std::string(kIdForm));
  }
  return {};
}

}  // namespace

Result<> check_policy_names(const config::PolicyFile& policy, std::string_view origin) {
  for (Result<>& forms :
       std::array{check_forms(policy.segments, origin), check_forms(policy.gateways, origin),
                  check_forms(policy.peers, origin), check_forms(policy.resources, origin),
                  check_forms(policy.classes, origin)}) {
    if (!forms) return std::move(forms);
  }
  const Names segments(policy.segments);
  const Names peers(policy.peers);
  const Names gateways(policy.gateways);
  const Names resources(policy.resources);
  const Names services(policy.services);
  Names classes(policy.classes);
  const auto names_of = [&](PolicyNameOf kind) -> const Names& {
    switch (kind) {
      case PolicyNameOf::segment:
        return segments;
      case PolicyNameOf::owner_peer:
        return peers;
      case PolicyNameOf::owner_resource:
        return resources;
      case PolicyNameOf::owner_service:
        return services;
      case PolicyNameOf::declared_class:
        return classes;
      case PolicyNameOf::owner_gateway:
      case PolicyNameOf::gateway:
        break;
    }
    return gateways;
  };
  for (const config::PolicyReference& used : policy.references) {
    const Names& known = names_of(used.kind);
    if (!known.has(used.name))
      return no_such(origin, used.line, used.column, noun_of(used.kind), used.name, known);
  }
  // Without a list of classes, those that prefixes name are declared by that.
  for (const config::PolicyPrefix& prefix : policy.prefixes) {
    if (!prefix.class_id.empty()) classes.add(prefix.class_id);
  }
  for (const config::PolicyRule& rule : policy.rules) {
    if (!classes.has(rule.from))
      return no_such(origin, rule.line, rule.from_column, "class", rule.from, classes);
    if (!classes.has(rule.to)) return no_such(origin, rule.line, rule.to_column, "class", rule.to, classes);
  }
  return {};
}

}  // namespace postern::authority
