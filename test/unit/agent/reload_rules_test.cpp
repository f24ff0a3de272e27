// SPDX-License-Identifier: Apache-2.0
#include "agent/reload_rules.h"

#include <doctest/doctest.h>

#include "agent/errors.h"

using namespace postern;
using namespace postern::agent;

namespace {

config::Config running() {
  config::Config config;
  config.mesh = "m";
  config.gateway = "g";
  config.interfaces = {{"eth0", config::Role::underlay, "", 1}, {"eth1", config::Role::local, "blue", 2}};
  return config;
}

}  // namespace

TEST_CASE("a reload may change interfaces, tunnel port, XDP mode and trust anchor") {
  config::Config wanted = running();
  wanted.interfaces.pop_back();
  wanted.tunnel_port = 8472;
  wanted.generic_xdp = true;
  wanted.root = "/elsewhere/root.json";
  CHECK(check_reloadable(running(), wanted));
}

TEST_CASE("a reload that changes who the gateway is or where it keeps things is refused by key") {
  const std::pair<const char*, void (*)(config::Config&)> changes[] = {
      {"mesh", [](config::Config& c) { c.mesh = "n"; }},
      {"gateway", [](config::Config& c) { c.gateway = "h"; }},
      {"state", [](config::Config& c) { c.state = "/elsewhere"; }},
      {"pins", [](config::Config& c) { c.pins = "/elsewhere"; }},
      {"socket", [](config::Config& c) { c.socket = "/elsewhere"; }},
      {"http", [](config::Config& c) { c.http.reset(); }},
  };
  for (const auto& [key, change] : changes) {
    CAPTURE(key);
    config::Config wanted = running();
    change(wanted);
    const Result<> checked = check_reloadable(running(), wanted);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code == errc::not_reloadable);
    CHECK(checked.error().context.find(key) != std::string::npos);
  }
}

TEST_CASE("while interfaces change hands the backstop closes the old and the new ones") {
  const dataplane::BackstopRules rules =
      both({"t", {"eth0", "eth1"}, {"eth2"}}, {"t", {"eth1", "eth3"}, {"eth4", "eth2"}});
  CHECK(rules.table == "t");
  CHECK(rules.underlay == std::vector<std::string>{"eth0", "eth1", "eth3"});
  CHECK(rules.local == std::vector<std::string>{"eth2", "eth4"});
}
