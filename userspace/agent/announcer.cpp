// SPDX-License-Identifier: Apache-2.0
#include "agent/announcer.h"

#include <spdlog/logger.h>

#include <utility>

#include "dataplane/announcement.h"

namespace postern::agent {
namespace {

// RFC 5227's ANNOUNCE_INTERVAL.
constexpr std::chrono::seconds kAgain{2};

}  // namespace

void Announcer::announce(ResourceNumber resource) {
  send(resource);
  due_again_.insert(resource);
  again_.expires_after(kAgain);
  again_.async_wait([this](const std::error_code& replaced) {
    if (replaced) return;
    for (const ResourceNumber each : std::exchange(due_again_, {}))
      send(each);
  });
}

void Announcer::send(ResourceNumber resource) {
  const std::optional<Served>& served = gateway_.adoption().served();
  if (!served) return;
  const auto found = served->resource_addresses.find(resource);
  if (found == served->resource_addresses.end()) return;
  const Result<std::set<IpAddress>> configured = dataplane::configured_addresses();
  if (!configured) return log_.warn("announce: {}", configured.error().message());
  for (const ResourceAddress& of_resource : found->second) {
    if (!of_resource.mac && configured->count(of_resource.address) == 0) continue;
    for (const InterfaceState& interface : gateway_.interfaces().states()) {
      const bool towards_hosts = interface.configured.role == config::Role::local && !interface.host_port &&
                                 interface.configured.segment == of_resource.segment;
      if (!towards_hosts || !interface.ifindex || !interface.up) continue;
      const MacAddress mac = of_resource.mac.value_or(interface.mac);
      const Result<> sent = dataplane::announce(*interface.ifindex, mac, of_resource.address);
      if (sent)
        log_.info("announced {} on {} with MAC {}", of_resource.address.text(), interface.configured.name,
                  mac.text());
      else
        log_.warn("announce: {}", sent.error().message());
    }
  }
}

}  // namespace postern::agent
