// SPDX-License-Identifier: Apache-2.0
#include "agent/control_commands.h"

#include <algorithm>

#include "agent/authority_report.h"
#include "agent/doctor_report.h"
#include "agent/errors.h"
#include "agent/events_report.h"
#include "agent/journal_report.h"
#include "agent/links_report.h"
#include "agent/mtu_report.h"
#include "agent/owners_report.h"
#include "agent/peers_report.h"
#include "agent/status_report.h"
#include "core/utc.h"
#include "dataplane/counters.h"
#include "wire/fields.h"

namespace postern::agent {
namespace {

using wire::Json;

constexpr std::int64_t kLongestTrial_s = 86'400;

Result<> no_arguments(const wire::ControlRequest& request) {
  wire::Fields fields(request.arguments, "arguments");
  if (Result<> done = fields.finish(); !done)
    return fail(errc::control_bad_argument,
                "`" + request.command + "` takes no arguments: " + done.error().context);
  return {};
}

dataplane::Legend legend_of(const Gateway& gateway) {
  const std::optional<Served>& served = gateway.adoption().served();
  return served ? served->legend : dataplane::Legend{};
}

Result<dataplane::Tables> kernel_tables(const Gateway& gateway) {
  const dataplane::Generations& generations = *gateway.foundation().generations;
  if (generations.active() == Generation()) return dataplane::Tables{};
  return generations.read_active();
}

Json counted(Json row, const pt_count& count) {
  row.set("packets", Json::decimal(count.packets));
  row.set("bytes", Json::decimal(count.bytes));
  return row;
}

}  // namespace

bool changes_state(std::string_view command) {
  static constexpr std::string_view kChanging[] = {
      "apply",   "claim",  "confirm", "journal-compact", "journal-settle", "recover",
      "release", "reload", "revoke",  "rollback",        "timestamp"};
  return std::find(std::begin(kChanging), std::end(kChanging), command) != std::end(kChanging);
}

bool is_order(std::string_view command) {
  static constexpr std::string_view kOrders[] = {"apply",  "confirm",  "recover",
                                                 "reload", "rollback", "timestamp"};
  return std::find(std::begin(kOrders), std::end(kOrders), command) != std::end(kOrders);
}

bool takes_body(std::string_view command) {
  static constexpr std::string_view kWithBody[] = {"apply", "explain", "recover", "revoke", "timestamp"};
  return std::find(std::begin(kWithBody), std::end(kWithBody), command) != std::end(kWithBody);
}

bool needs_administrator(const wire::ControlRequest& request) {
  return changes_state(request.command) ||
         (request.command == "watch" && request.arguments.find("snap_bytes") != nullptr);
}

bool streams(std::string_view command) {
  return command == "watch" || command == "events-follow";
}

Result<wire::Json> ControlCommands::run(const wire::ControlRequest& request, std::string_view body,
                                        const std::shared_ptr<Outlet>& outlet) {
  const std::string& command = request.command;
  if (command == "owners") return owners(request.arguments);
  if (command == "apply") return apply(request.arguments, body);
  if (command == "mtu") return mtu_report(*gateway_, request.arguments);
  if (command == "watch") return watchers_.add(request.arguments, outlet);
  if (command == "events") return events(request.arguments);
  if (ClaimsCommands::knows(command)) return claims_.run(command, request.arguments, body);
  if (command == "explain") return explainer_.explain(request.arguments, body);
  if (command == "journal-page")
    return journal_page(*gateway_->foundation().lineage.journal, request.arguments);
  using Plain = std::pair<std::string_view, Result<Json> (*)(ControlCommands&, std::string_view)>;
  static constexpr Plain kPlain[] = {
      {"status", [](ControlCommands& self, std::string_view) { return self.status(); }},
      {"peers", [](ControlCommands& self, std::string_view) { return self.peers(); }},
      {"rules", [](ControlCommands& self, std::string_view) { return self.rules(); }},
      {"links",
       [](ControlCommands& self, std::string_view) -> Result<Json> {
         return links_report(self.gateway_->links(), self.gateway_->sync());
       }},
      {"doctor", [](ControlCommands& self, std::string_view) { return self.doctor(); }},
      {"journal-compact", [](ControlCommands& self, std::string_view) { return self.gateway_->compact(); }},
      {"journal-settle", [](ControlCommands& self, std::string_view) { return self.gateway_->settle(); }},
      {"drops", [](ControlCommands& self, std::string_view) { return self.drops(); }},
      {"conflict",
       [](ControlCommands& self, std::string_view) -> Result<Json> {
         return conflict_report(*self.gateway_);
       }},
      {"confirm", [](ControlCommands& self, std::string_view) { return self.confirm(); }},
      {"recover", [](ControlCommands& self, std::string_view sent) { return self.recover(sent); }},
      {"rollback", [](ControlCommands& self, std::string_view) { return self.roll_back(); }},
      {"timestamp", [](ControlCommands& self, std::string_view sent) { return self.timestamp(sent); }},
      {"reload", [](ControlCommands& self, std::string_view) { return self.reload(); }},
  };
  if (command == "events-follow") {
    if (Result<> none = no_arguments(request); !none) return pass_on(std::move(none));
    return event_followers_.add(outlet);
  }
  for (const auto& [name, act] : kPlain) {
    if (name != command) continue;
    if (Result<> none = no_arguments(request); !none) return pass_on(std::move(none));
    return act(*this, body);
  }
  std::string known =
      "apply, claim, claims, claims-history, conflicts, events, events-follow, explain, journal-page, mtu, "
      "owners, release, revoke, watch";
  for (const Plain& plain : kPlain)
    known.append(", ").append(plain.first);
  return fail(errc::control_unknown_command, "this agent (version " POSTERN_VERSION ") knows no command \"" +
                                                 command + "\"; it knows " + known);
}

Result<wire::Json> ControlCommands::status() {
  gateway_->look();
  return status_report(*gateway_, gateway_->health(), started_monotonic_ns_);
}

Result<wire::Json> ControlCommands::doctor() {
  gateway_->look();
  return doctor_report(*gateway_);
}

Result<wire::Json> ControlCommands::peers() const {
  Result<dataplane::Tables> tables = kernel_tables(*gateway_);
  if (!tables) return pass_on(std::move(tables));
  const dataplane::Plane& plane = *gateway_->foundation().plane;
  return peers_report(*tables, legend_of(*gateway_), [&](PeerId id) {
    const Result<pt_peer_count> count = dataplane::read_peer(plane, id);
    return count ? *count : pt_peer_count{};
  });
}

Result<wire::Json> ControlCommands::owners(const wire::Json& arguments) const {
  wire::Fields fields(arguments, "arguments");
  OwnersQuestion question;
  if (const Json* address = fields.optional("address"); address != nullptr) {
    if (const std::string* text = address->as_string()) question.address = IpAddress::parse(*text);
    if (!question.address) fields.reject("address", "expected an IP address");
  }
  if (const Json* segment = fields.optional("segment"); segment != nullptr) {
    if (const std::string* text = segment->as_string()) question.segment = *text;
    if (!question.segment) fields.reject("segment", "expected a segment's id");
  }
  if (Result<> done = fields.finish(); !done) return fail(errc::control_bad_argument, done.error().context);
  Result<dataplane::Tables> tables = kernel_tables(*gateway_);
  if (!tables) return pass_on(std::move(tables));
  return owners_report(*tables, legend_of(*gateway_), gateway_->config().gateway, question);
}

Result<wire::Json> ControlCommands::drops() const {
  const dataplane::Plane& plane = *gateway_->foundation().plane;
  Result<dataplane::DropCounts> counts = dataplane::read_drops(plane);
  if (!counts) return pass_on(std::move(counts));
  Json drops = Json::array();
  for (unsigned reason = 1; reason < PT_DROP_REASON_COUNT; ++reason) {
    if (dataplane::drop_label(reason).empty()) continue;
    drops.push(counted(Json::object({{"number", static_cast<std::int64_t>(reason)},
                                     {"reason", dataplane::drop_label(reason)},
                                     {"help", dataplane::drop_help(reason)}}),
                       (*counts)[reason]));
  }
  Json verdicts = Json::array();
  const auto add = [&](const std::string& interface, std::uint16_t slot) -> Result<> {
    Result<dataplane::VerdictCounts> of_port = dataplane::read_verdicts(plane, slot);
    if (!of_port) return pass_on(std::move(of_port));
    for (unsigned verdict = 0; verdict < PT_VERDICT_COUNT; ++verdict) {
      verdicts.push(
          counted(Json::object({{"interface", interface}, {"verdict", dataplane::verdict_label(verdict)}}),
                  (*of_port)[verdict]));
    }
    return {};
  };
  for (const InterfaceState& state : gateway_->interfaces().states())
    if (Result<> added = add(state.configured.name, state.slot); !added) return pass_on(std::move(added));
  Result<> added = add(std::string(dataplane::kUnknownInterface), PT_PORT_SLOT_UNKNOWN);
  if (!added) return pass_on(std::move(added));
  return Json::object(
      {{"schema", "postern/drops/v1"}, {"drops", std::move(drops)}, {"verdicts", std::move(verdicts)}});
}

Result<wire::Json> ControlCommands::rules() const {
  const dataplane::Legend legend = legend_of(*gateway_);
  Result<std::vector<pt_count>> counts = gateway_->foundation().generations->rule_counts(legend.rules.size());
  if (!counts) return pass_on(std::move(counts));
  Json rules = Json::array();
  for (std::size_t i = 0; i < legend.rules.size(); ++i) {
    Json rule = Json::object({{"number", static_cast<std::int64_t>(i + 1)}, {"rule", legend.rules[i]}});
    rules.push(i < counts->size() ? counted(std::move(rule), (*counts)[i]) : std::move(rule));
  }
  return Json::object({{"schema", "postern/rules/v1"}, {"rules", std::move(rules)}});
}

Result<wire::Json> ControlCommands::events(const wire::Json& arguments) const {
  static const NodeNames kNobody;
  const Lineage& lineage = gateway_->foundation().lineage;
  const std::optional<Served>& served = gateway_->adoption().served();
  return events_page({lineage.journal.get(), &lineage.replica, served ? &served->node_names : &kNobody},
                     arguments);
}

Result<wire::Json> ControlCommands::apply(const wire::Json& arguments, std::string_view body) {
  wire::Fields fields(arguments, "arguments");
  ApplyOrder order;
  if (fields.optional("confirm_within_s") != nullptr)
    order.confirm_within_s =
        static_cast<std::uint32_t>(fields.integer("confirm_within_s", 1, kLongestTrial_s));
  if (Result<> done = fields.finish(); !done) return fail(errc::control_bad_argument, done.error().context);
  Result<dataplane::SwapReport> swap = gateway_->apply(body, order);
  if (!swap) return pass_on(std::move(swap));
  return applied(*swap);
}

Result<wire::Json> ControlCommands::recover(std::string_view body) {
  Result<dataplane::SwapReport> swap = gateway_->apply(body, {std::nullopt, true});
  if (!swap) return pass_on(std::move(swap));
  return applied(*swap);
}

Result<wire::Json> ControlCommands::confirm() {
  return on_loop([this]() -> Result<Json> {
    if (Result<> confirmed = gateway_->confirm(); !confirmed) return pass_on(std::move(confirmed));
    const Serial serial = gateway_->foundation().lineage.authority.adopted->serial;
    return Json::object(
        {{"schema", "postern/confirm/v1"}, {"serial", static_cast<std::int64_t>(serial.value)}});
  });
}

Result<wire::Json> ControlCommands::roll_back() {
  Result<dataplane::SwapReport> swap = gateway_->roll_back(ledger::RevertCause::operator_order);
  if (!swap) return pass_on(std::move(swap));
  return applied(*swap);
}

Result<wire::Json> ControlCommands::timestamp(std::string_view body) {
  return on_loop([this, body]() -> Result<Json> {
    if (Result<> seen = gateway_->see_timestamp(body); !seen) return pass_on(std::move(seen));
    Json report = authority_report(*gateway_);
    report.set("schema", "postern/timestamp-seen/v1");
    return report;
  });
}

Result<wire::Json> ControlCommands::on_loop(const std::function<Result<Json>()>& turn) const {
  std::optional<Result<Json>> done;
  gateway_->orders().on_loop([&] { done.emplace(turn()); });
  return std::move(*done);
}

Result<wire::Json> ControlCommands::applied(const dataplane::SwapReport& swap) const {
  return on_loop([&]() -> Result<Json> {
    const Served& served = *gateway_->adoption().served();
    const std::optional<UtcSeconds> until = gateway_->standing().unconfirmed_until;
    return Json::object({{"schema", "postern/apply/v1"},
                         {"serial", static_cast<std::int64_t>(served.serial.value)},
                         {"hash", to_hex(served.hash)},
                         {"generation", static_cast<std::int64_t>(swap.generation.value)},
                         {"unconfirmed_until", until ? Json(utc_text(*until)) : Json(nullptr)},
                         {"changed", swap.changed},
                         {"tables_written", names_array(swap.tables_written)}});
  });
}

Result<wire::Json> ControlCommands::reload() {
  Result<bool> changed = gateway_->reload();
  if (!changed) return pass_on(std::move(changed));
  return Json::object({{"schema", "postern/reload/v1"}, {"changed", *changed}});
}

}  // namespace postern::agent
