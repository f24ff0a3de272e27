// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "dataplane/compile.h"

namespace postern::agent {

// Names for what the packet path tells by numbers: the legend's, or "#number" where it has none. Borrows the
// legend.
class Names {
 public:
  // `own_gateway`: who owns what the local site has. `interfaces` by index.
  Names(const dataplane::Legend& legend, std::string own_gateway,
        std::map<std::uint32_t, std::string> interfaces)
      : legend_(&legend), own_gateway_(std::move(own_gateway)), interfaces_(std::move(interfaces)) {}

  const dataplane::Legend& legend() const { return *legend_; }
  const std::map<std::uint32_t, std::string>& interfaces() const { return interfaces_; }
  std::string peer(std::uint32_t id) const;
  std::string holder(std::uint32_t id) const;  // PT_HOLDER_LOCAL is this gateway
  std::string segment(std::uint32_t vni) const;
  std::string class_name(std::uint16_t id) const;
  std::string rule(std::uint32_t number) const;
  std::string resource(std::uint32_t number) const;
  std::string service(std::uint32_t number) const;
  std::string owner(const pt_owner& owner) const;
  std::string interface(std::uint32_t ifindex) const;

 private:
  const dataplane::Legend* legend_;
  std::string own_gateway_;
  std::map<std::uint32_t, std::string> interfaces_;
};

// "local", "peer", "resource", "service".
const char* owner_kind(std::uint8_t kind);

}  // namespace postern::agent
