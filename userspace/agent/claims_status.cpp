// SPDX-License-Identifier: Apache-2.0
#include "agent/claims_status.h"

#include <algorithm>

#include "claims/timing.h"

namespace postern::agent {

std::string ClaimsStatus::name(const wire::PublicKey& node) const {
  const auto found = names.find(node);
  return found == names.end() ? "key " + node.id() : found->second;
}

const claims::ResourceView* ClaimsStatus::find(ResourceNumber resource) const {
  const auto found = std::lower_bound(
      resources.begin(), resources.end(), resource,
      [](const claims::ResourceView& view, ResourceNumber number) { return view.resource < number; });
  return found == resources.end() || found->resource != resource ? nullptr : &*found;
}

bool is_announced(const ledger::Conflict& conflict, const ClaimsStatus& status) {
  return status.announced.count({conflict.claim.resource, conflict.claim.token}) != 0;
}

bool stands(const ledger::Conflict& conflict, const ClaimsStatus& status) {
  const claims::ResourceView* const view = status.find(conflict.claim.resource);
  return view != nullptr && view->top && view->top->token == conflict.rival.token &&
         is_announced(conflict, status);
}

std::string waits_for_words(const claims::ResourceView& resource, const ClaimsStatus& status) {
  std::string out;
  for (const claims::WaitsFor& other : resource.waits_for) {
    out += (out.empty() ? "" : "; ") + status.name(other.node);
    if (!other.why.empty()) out += ": " + other.why;
  }
  return out;
}

std::vector<std::string> problems_of(const ClaimsStatus& status) {
  std::vector<std::string> problems;
  if (!status.problem.empty()) problems.push_back(status.problem);
  for (const ledger::Conflict& conflict : status.conflicts) {
    if (!stands(conflict, status)) continue;
    const claims::ResourceView& view = *status.find(conflict.claim.resource);
    problems.push_back(
        "two gateways owned resource " + view.id + " at once: " + status.name(conflict.claim.author) +
        " under epoch " + std::to_string(conflict.claim.token.epoch.value) + ", and " +
        status.name(conflict.rival.author) + " under epoch " +
        std::to_string(conflict.rival.token.epoch.value) +
        ", who has it now; they could not reach each other: see to the links, and to what both "
        "wrote meanwhile. The next claim of it ends this notice");
  }
  for (const claims::NodeView& node : status.nodes) {
    if (!node.clock_beyond_rho) continue;
    problems.push_back(
        "the clocks of this gateway and of gateway " + status.name(node.node) +
        " run apart: a minute here is " + std::to_string(60 * node.clock_permille.value_or(0) / 1000) +
        " s there. Leases allow each clock an error of 11 %: beyond that two gateways may serve one "
        "resource at once; see to the machine whose clock is wrong");
  }
  for (const auto& [resource, since_ns] : status.waiting_since_boot_ns) {
    const claims::ResourceView* const view = status.find(resource);
    if (view == nullptr || !view->top) continue;
    if (status.made_boot_ns < since_ns + claims::silence_ns(view->top->ttl_ms)) continue;
    problems.push_back("this gateway's claim of resource " + view->id + " has been waiting for " +
                       std::to_string((status.made_boot_ns - since_ns) / claims::kSecond_ns) + " s, for " +
                       waits_for_words(*view, status) +
                       "; bring the links to those up, or release it with `postern release " + view->id +
                       "`");
  }
  return problems;
}

}  // namespace postern::agent
