// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "claims/claims.h"
#include "claims/timing.h"

namespace postern::claims {

using ledger::Claim;

std::string_view standing_name(Standing standing) {
  constexpr std::array<std::string_view, kStandings> kNames{"unheld", "waiting", "held", "expired",
                                                            "parting"};
  return kNames[static_cast<std::size_t>(standing)];
}

std::string Claims::name_of(const wire::PublicKey& node) const {
  const auto found = names_.find(node);
  return found == names_.end() ? "with key id " + node.id().substr(0, 16) : found->second;
}

Standing Claims::standing_of(ResourceNumber resource, const Claim* live) const {
  if (live == nullptr) return partings_.count(resource) != 0 ? Standing::parting : Standing::unheld;
  if (live->author == own_) {
    const auto tenure = tenures_.find(resource);
    if (tenure == tenures_.end()) return Standing::expired;
    return tenure->second.armed ? Standing::held : Standing::waiting;
  }
  if (is_silent(live->author, live->ttl_ms)) return Standing::expired;
  const Node* const node = nodes_.find(live->author);
  const Row* const row = node == nullptr ? nullptr : node->rows.find(resource);
  return row != nullptr && row->armed && row->top == live->token ? Standing::held : Standing::waiting;
}

std::vector<ResourceView> Claims::resources() const {
  std::vector<ResourceView> out;
  for (const auto& [resource, entry] : fold().roster().resources) {
    ResourceView view;
    view.resource = resource;
    view.id = entry.id;
    const Claim* const live = fold().live(resource);
    const Claim* const top = fold().top(resource);
    view.standing = standing_of(resource, live);
    if (top != nullptr) {
      view.top = *top;
      view.verdict = fold().verdict(*top);
    }
    view.floor = fold().floor(resource);
    if (const Result<Lease> lease = ground_.lease(resource)) {
      view.fence = lease->fence;
      view.deadline_boot_ns = lease->deadline_boot_ns;
    }
    view.own = top != nullptr && top->author == own_;
    const auto wish = wishes_.find(resource);
    view.candidate = wish != wishes_.end();
    if (view.candidate) {
      view.yields = now_ns_ < wish->second.yields_until_boot_ns;
      const auto tenure = tenures_.find(resource);
      if (tenure != tenures_.end() && !tenure->second.armed)
        view.waits_for = missing_acks(resource, tenure->second.token);
      if (tenure == tenures_.end() && (live == nullptr || live->author == own_))
        view.waits_for = missing_rounds(resource);
      if (tenure == tenures_.end()) view.why = obstacle(resource);
      if (tenure == tenures_.end() && view.why.empty() && view.yields)
        view.why = "it was released here by hand";
      if (tenure == tenures_.end() && view.why.empty() && !automatic_ && !wish->second.asked)
        view.why = "it is not claimed automatically";
    }
    out.push_back(std::move(view));
  }
  return out;
}

std::vector<NodeView> Claims::nodes() const {
  std::vector<NodeView> out;
  for (const auto& [key, node] : nodes_.all())
    out.push_back({key, node.beat.boots, node.beat.beats, silent_ns(key), node.clock.permille(),
                   node.clock.is_beyond_rho(), node.round});
  return out;
}

std::vector<ledger::Conflict> Claims::conflicts() const {
  std::vector<ledger::Conflict> out;
  for (const ResourceNumber resource : fold().resources())
    for (ledger::Conflict& conflict : fold().conflicts(resource))
      out.push_back(std::move(conflict));
  return out;
}

}  // namespace postern::claims
