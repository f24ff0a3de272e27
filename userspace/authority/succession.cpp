// SPDX-License-Identifier: Apache-2.0
#include "authority/succession.h"

#include <algorithm>
#include <map>

#include "core/name.h"

namespace postern::authority {
namespace {

template <class List>
auto* find_by_id(List& list, const std::string& id) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&id](const auto& entry) { return entry.id == id; });
  return found == list.end() ? nullptr : &*found;
}

Result<> bury(const std::string& id, const wire::PublicKey& key, Snapshot& next) {
  const Gateway* alive = find_by_id(next.gateways, id);
  if (alive == nullptr) {
    if (find_by_id(next.tombstones, id) == nullptr) next.tombstones.push_back({id, key});
    return {};
  }
  if (alive->key == key) return {};
  return fail(errc::policy, "gateway " + in_quotes(id) + " has another key than before (" + key.text() +
                                "); a new key makes a new gateway, so give it a new name");
}

bool contains(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

void keep_former(const Resource& before, Resource& next) {
  for (const std::vector<std::string>* list : {&before.former, &before.candidates}) {
    for (const std::string& id : *list) {
      if (!contains(next.candidates, id) && !contains(next.former, id)) next.former.push_back(id);
    }
  }
}

Result<> check_numbers(const Snapshot& before, const Snapshot& next) {
  std::map<ResourceNumber, std::string_view> numbers;
  for (const Resource& resource : before.resources)
    numbers.emplace(resource.number, resource.id);
  for (const Resource& resource : next.resources) {
    const auto taken = numbers.find(resource.number);
    if (taken == numbers.end() || taken->second == resource.id) continue;
    return fail(errc::policy, "resource " + in_quotes(resource.id) + " has the number " +
                                  std::to_string(resource.number.value) + ", which was " +
                                  in_quotes(taken->second) +
                                  "'s; numbers are never reused, give it a free one");
  }
  return {};
}

}  // namespace

Result<> carry_over(const Snapshot& before, Snapshot& next) {
  for (const Tombstone& tombstone : before.tombstones) {
    if (Result<> r = bury(tombstone.id, tombstone.key, next); !r) return r;
  }
  for (const Gateway& gateway : before.gateways) {
    if (Result<> r = bury(gateway.id, gateway.key, next); !r) return r;
  }
  if (Result<> r = check_numbers(before, next); !r) return r;
  for (const Resource& resource : before.resources) {
    if (Resource* kept = find_by_id(next.resources, resource.id)) keep_former(resource, *kept);
  }
  for (const EpochFloor& floor : before.epoch_floors) {
    const bool named =
        std::any_of(next.epoch_floors.begin(), next.epoch_floors.end(),
                    [&floor](const EpochFloor& other) { return other.resource == floor.resource; });
    if (!named) next.epoch_floors.push_back(floor);
  }
  return {};
}

}  // namespace postern::authority
