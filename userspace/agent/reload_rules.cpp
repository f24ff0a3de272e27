// SPDX-License-Identifier: Apache-2.0
#include "agent/reload_rules.h"

#include <algorithm>

#include "agent/errors.h"

namespace postern::agent {
namespace {

void add_missing(std::vector<std::string>& names, const std::vector<std::string>& more) {
  for (const std::string& name : more)
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

}  // namespace

Result<> check_reloadable(const config::Config& running, const config::Config& wanted) {
  const std::pair<bool, const char*> fixed[] = {
      {running.mesh != wanted.mesh, "mesh"},       {running.gateway != wanted.gateway, "gateway"},
      {running.state != wanted.state, "state"},    {running.pins != wanted.pins, "pins"},
      {running.socket != wanted.socket, "socket"}, {running.http != wanted.http, "http"},
      {running.flows != wanted.flows, "flows"},
  };
  for (const auto& [differs, key] : fixed) {
    if (!differs) continue;
    return fail(
        errc::not_reloadable,
        std::string("`") + key + "` cannot change while the agent runs; put it back, or restart posternd");
  }
  return {};
}

dataplane::BackstopRules both(const dataplane::BackstopRules& before, const dataplane::BackstopRules& after) {
  dataplane::BackstopRules rules = before;
  add_missing(rules.underlay, after.underlay);
  add_missing(rules.local, after.local);
  add_missing(rules.host, after.host);
  rules.tunnel_port = after.tunnel_port;
  return rules;
}

}  // namespace postern::agent
