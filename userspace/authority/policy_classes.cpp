// SPDX-License-Identifier: Apache-2.0
#include "authority/policy_classes.h"

#include <algorithm>
#include <map>
#include <set>

#include "authority/errors.h"
#include "core/name.h"

namespace postern::authority {
namespace {

using Tags = std::set<std::string_view>;

std::string at_line(std::string_view origin, int line) {
  return std::string(origin) + ":" + std::to_string(line) + ": ";
}

// Tags of owners by {kind, id}.
class OwnerTags {
 public:
  explicit OwnerTags(const config::PolicyFile& policy) {
    for (const config::PolicyPeer& peer : policy.peers)
      tags_.emplace(Owner("peer", peer.id), &peer.tags);
    for (const config::PolicyGateway& gateway : policy.gateways)
      tags_.emplace(Owner("gateway", gateway.id), &gateway.tags);
    for (const config::PolicyResource& resource : policy.resources)
      tags_.emplace(Owner("resource", resource.id), &resource.tags);
  }

  Tags of(const config::PolicyPrefix& prefix) const {
    Tags out(prefix.tags.begin(), prefix.tags.end());
    const auto found = tags_.find(Owner(prefix.owner_kind, prefix.owner));
    if (found != tags_.end()) out.insert(found->second->begin(), found->second->end());
    return out;
  }

 private:
  using Owner = std::pair<std::string_view, std::string_view>;

  std::map<Owner, const std::vector<std::string>*> tags_;
};

bool has_all(const Tags& tags, const config::PolicyClass& wanted) {
  return !wanted.tags.empty() &&
         std::all_of(wanted.tags.begin(), wanted.tags.end(),
                     [&tags](const std::string& tag) { return tags.count(tag) != 0; });
}

Result<std::string> class_by_tags(const config::PolicyFile& policy, const config::PolicyPrefix& prefix,
                                  const Tags& tags, std::string_view origin) {
  const config::PolicyClass* best = nullptr;
  const config::PolicyClass* rival = nullptr;
  for (const config::PolicyClass& candidate : policy.classes) {
    if (!has_all(tags, candidate) || (best != nullptr && candidate.tags.size() < best->tags.size())) continue;
    rival = best != nullptr && candidate.tags.size() == best->tags.size() ? best : nullptr;
    best = &candidate;
  }
  if (best == nullptr) {
    return fail(errc::policy,
                at_line(origin, prefix.line) + "the prefix " + prefix.prefix.text() +
                    " names no class, and its tags and its owner's lead to none; give it a class, or "
                    "tags that one of the classes asks for");
  }
  if (rival != nullptr) {
    return fail(errc::policy, at_line(origin, prefix.line) + "the tags of " + prefix.prefix.text() +
                                  " lead to " + in_quotes(rival->id) + " (line " +
                                  std::to_string(rival->line) + ") as well as " + in_quotes(best->id) +
                                  " (line " + std::to_string(best->line) +
                                  "); name the class at the prefix, or make one ask for more tags");
  }
  return best->id;
}

}  // namespace

Result<std::vector<std::string>> classes_of_prefixes(const config::PolicyFile& policy,
                                                     std::string_view origin) {
  const OwnerTags owners(policy);
  std::vector<std::string> out;
  out.reserve(policy.prefixes.size());
  for (const config::PolicyPrefix& prefix : policy.prefixes) {
    if (!prefix.class_id.empty()) {
      out.push_back(prefix.class_id);
      continue;
    }
    Result<std::string> found = class_by_tags(policy, prefix, owners.of(prefix), origin);
    if (!found) return pass_on(std::move(found));
    out.push_back(std::move(*found));
  }
  return out;
}

}  // namespace postern::authority
