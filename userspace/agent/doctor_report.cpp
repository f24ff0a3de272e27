// SPDX-License-Identifier: Apache-2.0
#include "agent/doctor_report.h"

#include <thread>

#include "agent/nic_checks.h"
#include "core/utc.h"

namespace postern::agent {
namespace {

using wire::check_fail;
using wire::check_ok;
using wire::check_warn;
using Checks = std::vector<wire::Check>;

constexpr std::int64_t kExpiresSoon_s = 7 * 86'400;

void check_journal(const Gateway& gateway, Checks& checks) {
  const Foundation& base = gateway.foundation();
  const ledger::JournalStatus journal = base.lineage.journal->status();
  const ledger::RecoveryReport& recovery = base.lineage.journal->recovery();
  if (journal.poisoned) {
    checks.push_back(
        check_fail("journal", "poisoned: " + journal.poison_reason,
                   "see to the disk, then restart posternd; until then nothing is accepted, and what "
                   "is in force goes on"));
  } else {
    checks.push_back(check_ok("journal", "head " + std::to_string(journal.head.value) + " in segment " +
                                             std::to_string(journal.segment) + "; the last start found it " +
                                             std::string(recovery_class_name(recovery.found))));
  }
  if (!base.restraint.why().empty()) {
    const bool spends = base.restraint.may_spend();
    checks.push_back(check_warn(
        "journal.continuity",
        base.restraint.why() + (spends ? ": this gateway spends, as an operator allowed, and does not claim"
                                       : ": this gateway neither claims nor spends"),
        spends ? "a sync round with the peers ends this; nothing else can answer for what others hold"
               : "a sync round with the peers ends this; to spend before, giving up what may be missing: "
                 "`postern journal settle`; `postern journal verify` tells more"));
  }
  if (!base.head_pin.problem().empty()) {
    checks.push_back(
        check_warn("journal.pin", base.head_pin.problem(),
                   "restart posternd: without the pin a disk that went back in time is not noticed"));
  }
}

void check_authority(const Gateway& gateway, Checks& checks) {
  const std::optional<authority::Adopted>& adopted = gateway.foundation().lineage.authority.adopted;
  if (!adopted) {
    checks.push_back(check_fail("authority", "no snapshot is adopted yet, so the gateway is closed",
                                "apply one with `postern apply FILE`"));
    return;
  }
  const std::string serial = "serial " + std::to_string(adopted->serial.value);
  if (!gateway.adoption().is_in_force()) {
    checks.push_back(check_fail("authority",
                                serial + " is adopted but not in force: " + gateway.adoption().obstacle(),
                                "remove the obstacle; the agent tries again by itself"));
  } else {
    checks.push_back(check_ok("authority", serial + " is in force"));
  }
  const std::optional<Served>& served = gateway.adoption().served();
  if (!served) return;
  const UtcSeconds now = gateway.clock().now_utc();
  const std::string expiry = serial + " expires at " + utc_text(served->expires);
  if (served->expires <= now) {
    checks.push_back(check_fail("authority.expiry", serial + " expired at " + utc_text(served->expires),
                                "sign and apply a newer snapshot"));
  } else if (served->expires.value - now.value < kExpiresSoon_s) {
    checks.push_back(check_warn("authority.expiry", expiry, "sign and apply a newer snapshot in time"));
  } else {
    checks.push_back(check_ok("authority.expiry", expiry));
  }
  if (now < served->issued) {
    checks.push_back(check_fail("clock",
                                "the clock says " + utc_text(now) + ", before " + serial + " was issued (" +
                                    utc_text(served->issued) + ")",
                                "set the clock (chronyc makestep, or timedatectl)"));
  } else {
    checks.push_back(check_ok("clock", utc_text(now) + ", not before the snapshot's issue"));
  }
}

void check_interfaces(const Gateway& gateway, Checks& checks) {
  for (const InterfaceState& state : gateway.interfaces().states()) {
    const std::string name = "xdp." + state.configured.name;
    const std::string mode(mode_text(state.mode));
    if (!state.problem.empty()) {
      checks.push_back(check_fail(name, state.problem, "`postern reload` attaches again what was taken off"));
    } else if (mode == "generic") {
      checks.push_back(
          check_warn(name, "attached in generic mode, which is slow",
                     "use a driver with native XDP; `generic_xdp: false` refuses the slow mode"));
    } else {
      checks.push_back(check_ok(name, "attached in " + mode + " mode, MTU " + std::to_string(state.mtu)));
    }
  }
}

void check_nics(const Gateway& gateway, Checks& checks) {
  for (const InterfaceState& state : gateway.interfaces().states()) {
    if (!state.ifindex || state.host_port) continue;
    const IfIndex wire = state.carrier ? state.carrier->ifindex : *state.ifindex;
    NicFacts facts{state.wire,
                   state.kind,
                   state.configured.role,
                   state.carrier.has_value(),
                   state.mode == dataplane::XdpMode::native,
                   std::thread::hardware_concurrency(),
                   state.peer,
                   {},
                   {}};
    facts.settings = dataplane::read_nic_settings(state.wire, wire);
    if (state.peer) facts.peer_settings = dataplane::read_nic_settings(*state.peer, IfIndex(0));
    for (wire::Check& check : judge_nic(facts))
      checks.push_back(std::move(check));
  }
}

void check_backstop(const Gateway& gateway, Checks& checks) {
  const std::string table = backstop_table(gateway.config().mesh, gateway.config().gateway);
  if (gateway.backstop_intact()) {
    checks.push_back(check_ok("backstop", "nftables table " + table + " is in place"));
    return;
  }
  checks.push_back(check_fail(
      "backstop",
      "nftables table " + table + " is gone or was changed: with XDP detached the kernel would forward",
      "`postern reload` brings it back; find out what flushed it"));
}

void check_links(const Gateway& gateway, Checks& checks) {
  const LinksStatus& links = gateway.links();
  if (!links.on) return checks.push_back(check_ok("links", "off, as the config has it"));
  const std::vector<std::string> problems = problems_of(links);
  const std::string found = std::to_string(links_up(links)) + " of " + std::to_string(links.rows.size()) +
                            " other gateways are linked";
  if (problems.empty()) return checks.push_back(check_ok("links", found));
  checks.push_back(
      check_warn("links", found + ": " + problems.front(),
                 "`postern links` says what was tried and refused; see to firewalls and TCP port 7946"));
}

}  // namespace

wire::Json doctor_report(const Gateway& gateway) {
  Checks checks;
  check_journal(gateway, checks);
  check_authority(gateway, checks);
  check_interfaces(gateway, checks);
  check_nics(gateway, checks);
  check_backstop(gateway, checks);
  check_links(gateway, checks);
  wire::Json list = wire::Json::array();
  for (const wire::Check& check : checks)
    list.push(wire::check_json(check));
  return wire::Json::object({{"checks", std::move(list)}, {"schema", "postern/doctor/v1"}});
}

}  // namespace postern::agent
