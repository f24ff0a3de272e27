// SPDX-License-Identifier: Apache-2.0
#include "agent/names.h"

namespace postern::agent {
namespace {

std::string numbered(std::uint64_t number) {
  return "#" + std::to_string(number);
}

template <class Map, class Key>
std::string in_map(const Map& names, const Key& key, std::uint64_t number) {
  const auto found = names.find(key);
  return found == names.end() ? numbered(number) : found->second;
}

std::string in_list(const std::vector<std::string>& names, std::uint64_t number) {
  return number < names.size() ? names[number] : numbered(number);
}

}  // namespace

std::string Names::peer(std::uint32_t id) const {
  return in_map(legend_->peers, PeerId(id), id);
}

std::string Names::holder(std::uint32_t id) const {
  return id == PT_HOLDER_LOCAL ? own_gateway_ : peer(id);
}

std::string Names::segment(std::uint32_t vni) const {
  return in_map(legend_->segments, vni, vni);
}

std::string Names::class_name(std::uint16_t id) const {
  return in_list(legend_->classes, id);
}

std::string Names::rule(std::uint32_t number) const {
  return in_list(legend_->rules, number);
}

std::string Names::resource(std::uint32_t number) const {
  return in_map(legend_->resources, number, number);
}

std::string Names::service(std::uint32_t number) const {
  return in_list(legend_->services, number);
}

std::string Names::owner(const pt_owner& owner) const {
  switch (owner.kind) {
    case PT_OWNER_PEER:
      return peer(owner.id);
    case PT_OWNER_RESOURCE:
      return resource(owner.id);
    case PT_OWNER_SERVICE:
      return service(owner.id);
    default:
      return own_gateway_;
  }
}

std::string Names::interface(std::uint32_t ifindex) const {
  return in_map(interfaces_, ifindex, ifindex);
}

const char* owner_kind(std::uint8_t kind) {
  switch (kind) {
    case PT_OWNER_PEER:
      return "peer";
    case PT_OWNER_RESOURCE:
      return "resource";
    case PT_OWNER_SERVICE:
      return "service";
    default:
      return "local";
  }
}

}  // namespace postern::agent
