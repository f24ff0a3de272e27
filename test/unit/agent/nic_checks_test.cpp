// SPDX-License-Identifier: Apache-2.0
#include "agent/nic_checks.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace postern::agent {
namespace {

using config::Role;
using dataplane::NicAmount;
using wire::CheckStatus;

NicFacts good(Role role = Role::underlay) {
  NicFacts facts;
  facts.name = "eth0";
  facts.role = role;
  facts.cpus = 4;
  facts.settings = {"mlx5_core",           true, false, true, false, true, true, NicAmount{4, 8},
                    NicAmount{1024, 8192}, true, true};
  return facts;
}

NicFacts virtual_wire(std::optional<std::string> peer = "veth1") {
  NicFacts facts = good(Role::local);
  facts.kind = "veth";
  facts.peer = std::move(peer);
  facts.peer_settings.tso = facts.peer_settings.tx_checksums = facts.peer_settings.vlan_insertion = false;
  return facts;
}

wire::Check row(const NicFacts& facts, std::string_view name) {
  const std::vector<wire::Check> all = judge_nic(facts);
  const auto found = std::find_if(all.begin(), all.end(), [&](const wire::Check& check) {
    return check.name == "nic.eth0." + std::string(name);
  });
  REQUIRE_MESSAGE(found != all.end(), std::string(name));
  CHECK((found->status == CheckStatus::ok) == found->remedy.empty());
  CHECK_FALSE(found->found.empty());
  return *found;
}

bool has(const NicFacts& facts, std::string_view name) {
  const std::vector<wire::Check> all = judge_nic(facts);
  return std::any_of(all.begin(), all.end(),
                     [&](const wire::Check& check) { return check.name == "nic.eth0." + std::string(name); });
}

bool mentions(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a card that is set as it should be raises nothing") {
  for (const NicFacts& facts : {good(), good(Role::local), virtual_wire()}) {
    for (const wire::Check& check : judge_nic(facts)) {
      INFO(check.name << ": " << check.found);
      CHECK(check.status == CheckStatus::ok);
    }
  }
}

TEST_CASE("what a driver does not know is said once, and is no alarm") {
  NicFacts facts = good();
  facts.settings = {};
  facts.settings.driver = "simple";
  for (const wire::Check& check : judge_nic(facts))
    CHECK(check.status == CheckStatus::ok);
  const wire::Check unknown = row(facts, "unknown");
  CHECK(unknown.found ==
        "driver simple does not tell of: LRO, queues, rings, the flow hash of udp4, the flow hash "
        "of udp6");
  CHECK(mentions(row(facts, "redirect").found, "does not tell"));
  CHECK_FALSE(has(good(), "unknown"));
}

TEST_CASE("frames that would vanish after a redirect are a failure") {
  NicFacts facts = virtual_wire();
  facts.settings.takes_redirects = false;
  CHECK(row(facts, "redirect").status == CheckStatus::fail);
  CHECK(row(facts, "redirect").remedy == "`ethtool -K veth1 gro on` at its other end");
  facts.peer.reset();
  CHECK(row(facts, "redirect").remedy == "`ethtool -K PEER gro on` at its other end");
  facts.native = false;
  CHECK_FALSE(has(facts, "redirect"));
  facts = good();
  facts.settings.takes_redirects = false;
  CHECK(mentions(row(facts, "redirect").found, "mlx5_core"));
}

TEST_CASE("stripped VLAN tags are a failure towards the site, and no matter on the underlay") {
  NicFacts facts = good(Role::local);
  facts.settings.vlan_stripping = true;
  CHECK(row(facts, "vlan_stripping").status == CheckStatus::fail);
  CHECK(mentions(row(facts, "vlan_stripping").remedy, "`ethtool -K eth0 rxvlan off`"));
  facts.role = Role::underlay;
  CHECK_FALSE(has(facts, "vlan_stripping"));
}

TEST_CASE("LRO is a failure") {
  NicFacts facts = good();
  facts.settings.lro = true;
  CHECK(row(facts, "lro").status == CheckStatus::fail);
  CHECK(row(facts, "lro").remedy == "`ethtool -K eth0 lro off`");
}

TEST_CASE("a peer that leaves packets unfinished is a warning, one that cannot be seen is none") {
  NicFacts facts = virtual_wire();
  facts.peer_settings.tx_checksums = true;
  CHECK(row(facts, "far_end").status == CheckStatus::warn);
  CHECK(row(facts, "far_end").remedy == "`ethtool -K veth1 tx off`");
  facts.peer_settings.tso = true;
  CHECK(mentions(row(facts, "far_end").found, "checksums and segments"));
  facts = virtual_wire(std::nullopt);
  CHECK(row(facts, "far_end").status == CheckStatus::ok);
  CHECK(mentions(row(facts, "far_end").found, "GRO on, tx off"));
}

TEST_CASE("a peer that sends tags beside the frame is a failure where VLANs are configured") {
  NicFacts facts = virtual_wire();
  facts.peer_settings.vlan_insertion = true;
  CHECK(row(facts, "far_end").status == CheckStatus::ok);
  facts.vlans = true;
  CHECK(row(facts, "far_end").status == CheckStatus::fail);
  CHECK(row(facts, "far_end").remedy == "`ethtool -K veth1 txvlan off`");
  facts.peer.reset();
  CHECK(mentions(row(facts, "far_end").found, "txvlan off"));
}

TEST_CASE("a tap whose guest sends segments is a warning") {
  NicFacts facts = good(Role::local);
  facts.kind = "tun";
  CHECK(row(facts, "far_end").status == CheckStatus::warn);
  facts.settings.tso = false;
  CHECK(row(facts, "far_end").status == CheckStatus::ok);
}

TEST_CASE("idle CPUs and short rings are warnings, as far as the card could do better") {
  NicFacts facts = good();
  facts.settings.queues = NicAmount{1, 8};
  CHECK(row(facts, "queues").status == CheckStatus::warn);
  CHECK(row(facts, "queues").remedy == "`ethtool -L eth0 combined 4`");
  facts.settings.queues = NicAmount{2, 2};
  CHECK(row(facts, "queues").status == CheckStatus::ok);
  facts.settings.ring = NicAmount{256, 4096};
  CHECK(row(facts, "ring").status == CheckStatus::warn);
  CHECK(row(facts, "ring").remedy == "`ethtool -G eth0 rx 512`");
  facts.settings.ring = NicAmount{256, 256};
  CHECK(row(facts, "ring").status == CheckStatus::ok);
  CHECK_FALSE(has(virtual_wire(), "queues"));
}

TEST_CASE("a flow hash without ports is a warning on the underlay alone, and with one queue no matter") {
  NicFacts facts = good();
  facts.settings.spreads_udp4 = false;
  CHECK(row(facts, "flow_hash.udp4").status == CheckStatus::warn);
  CHECK(row(facts, "flow_hash.udp4").remedy == "`ethtool -N eth0 rx-flow-hash udp4 sdfn`");
  CHECK(row(facts, "flow_hash.udp6").status == CheckStatus::ok);
  facts.settings.queues = NicAmount{1, 1};
  CHECK(row(facts, "flow_hash.udp4").status == CheckStatus::ok);
  CHECK_FALSE(has(good(Role::local), "flow_hash.udp4"));
}

}  // namespace postern::agent
