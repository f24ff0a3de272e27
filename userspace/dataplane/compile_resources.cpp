// SPDX-License-Identifier: Apache-2.0
// Who holds a resource. A resource without a row is held by nobody, and its addresses are dropped even inside
// of a prefix that somebody owns (SPEC 1.5).
#include "dataplane/compile_parts.h"

namespace postern::dataplane {
namespace {

bool may_hold(const authority::Resource& resource, const std::string& gateway) {
  for (const auto* list : {&resource.candidates, &resource.former}) {
    if (std::find(list->begin(), list->end(), gateway) != list->end()) return true;
  }
  return false;
}

}  // namespace

Result<> compile_resources(const SnapshotIndex& index, const Site& site, Tables& tables) {
  for (const auto& [number, holding] : site.holders) {
    const authority::Resource* resource = index.resource_of(number);
    if (resource == nullptr) continue;  // of a snapshot to come, or gone: there is no prefix to hold
    const std::string where = "resource " + resource->id;
    if (!may_hold(*resource, holding.holder)) {
      return fail(errc::unknown_name,
                  where + " is claimed by " + holding.holder + ", which is none of its candidates");
    }
    pt_resource row{};
    row.epoch = holding.epoch.value;
    row.holder = PT_HOLDER_LOCAL;
    if (holding.holder != index.own().id) {
      const Result<PeerId> holder = index.peer(holding.holder, where);
      if (!holder) return fail(holder.error().code, holder.error().context);
      row.holder = holder->value;
    }
    tables.resources.emplace_back(number.value, row);
  }
  sort_rows(tables.resources);
  return {};
}

}  // namespace postern::dataplane
