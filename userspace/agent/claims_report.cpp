// SPDX-License-Identifier: Apache-2.0
#include "agent/claims_report.h"

#include <cstdint>

#include "agent/errors.h"
#include "claims/timing.h"

namespace postern::agent {
namespace {

using wire::Json;

Json waits_json(const claims::ResourceView& view, const ClaimsStatus& status) {
  Json list = Json::array();
  for (const claims::WaitsFor& other : view.waits_for)
    list.push(Json::object({{"gateway", status.name(other.node)}, {"why", other.why}}));
  return list;
}

Json resource_json(const claims::ResourceView& view, const ClaimsStatus& status) {
  const std::uint64_t left_ns =
      view.deadline_boot_ns > status.made_boot_ns ? view.deadline_boot_ns - status.made_boot_ns : 0;
  Json row = Json::object({{"resource", view.id},
                           {"number", static_cast<std::int64_t>(view.resource.value)},
                           {"standing", claims::standing_name(view.standing)},
                           {"holder", nullptr},
                           {"epoch", nullptr},
                           {"verdict", nullptr},
                           {"ttl_ms", nullptr},
                           {"lease_left_ms", static_cast<std::int64_t>(left_ns / claims::kMillisecond_ns)},
                           {"floor", Json::decimal(view.floor.value)},
                           {"fence", Json::decimal(view.fence.value)},
                           {"candidate", view.candidate},
                           {"own", view.own},
                           {"yields", view.yields},
                           {"waits_for", waits_json(view, status)},
                           {"why", view.why}});
  if (!view.top) return row;
  row.set("holder", status.name(view.top->author));
  row.set("epoch", Json::decimal(view.top->token.epoch.value));
  row.set("verdict", ledger::verdict_name(view.verdict));
  row.set("ttl_ms", static_cast<std::int64_t>(view.top->ttl_ms));
  return row;
}

Json claimant_json(const ledger::Claim& claim, const ClaimsStatus& status) {
  return Json::object({{"gateway", status.name(claim.author)},
                       {"epoch", Json::decimal(claim.token.epoch.value)},
                       {"at_ms", claim.at_ms}});
}

constexpr std::int64_t kNoEnd = INT64_MAX;

// When its author's clock was at the event; kNoEnd where that is lost.
std::int64_t instant_ms(ledger::Replica& replica, const ledger::EventId& id) {
  const Result<std::optional<std::string>> sealed = replica.read(id.stream, id.seq);
  if (!sealed || !*sealed) return kNoEnd;
  const Result<ledger::Event> event = ledger::read_event(**sealed);
  return event ? event->at_ms : kNoEnd;
}

}  // namespace

Result<ResourceNumber> resource_named(const std::string& id, const ClaimsStatus& status) {
  std::string known;
  constexpr std::size_t kMostNamed = 20;
  std::size_t named = 0;
  for (const claims::ResourceView& view : status.resources) {
    if (view.id == id) return view.resource;
    if (named++ < kMostNamed) known += (known.empty() ? "" : ", ") + view.id;
  }
  if (named > kMostNamed) known += ", ...";
  return fail(errc::control_bad_argument,
              known.empty() ? "there is no resource \"" + id + "\", nor any other, in what is served"
                            : "there is no resource \"" + id + "\" in what is served; there are " + known);
}

wire::Json claims_report(const ClaimsStatus& status, std::optional<ResourceNumber> only) {
  Json resources = Json::array();
  for (const claims::ResourceView& view : status.resources)
    if (!only || view.resource == *only) resources.push(resource_json(view, status));
  Json gateways = Json::array();
  for (const claims::NodeView& node : status.nodes) {
    gateways.push(Json::object(
        {{"gateway", status.name(node.node)},
         {"starts", Json::decimal(node.boots)},
         {"beats", Json::decimal(node.beats)},
         {"silent_ms", static_cast<std::int64_t>(node.silent_ns / claims::kMillisecond_ns)},
         {"clock_permille",
          node.clock_permille ? Json(static_cast<std::int64_t>(*node.clock_permille)) : Json(nullptr)},
         {"round", node.round}}));
  }
  return Json::object({{"schema", "postern/claims/v1"},
                       {"on", status.on},
                       {"automatic", status.automatic},
                       {"problem", status.problem.empty() ? Json(nullptr) : Json(status.problem)},
                       {"discontinuities", Json::decimal(status.discontinuities)},
                       {"resources", std::move(resources)},
                       {"gateways", std::move(gateways)}});
}

wire::Json claim_report(const ClaimsStatus& status, ResourceNumber resource) {
  const claims::ResourceView* const view = status.find(resource);
  Json report = view == nullptr ? Json::object({}) : resource_json(*view, status);
  report.set("schema", "postern/claim/v1");
  return report;
}

wire::Json conflicts_report(const ClaimsStatus& status) {
  Json list = Json::array();
  for (const ledger::Conflict& conflict : status.conflicts) {
    const claims::ResourceView* const view = status.find(conflict.claim.resource);
    list.push(Json::object(
        {{"resource", view == nullptr ? "#" + std::to_string(conflict.claim.resource.value) : view->id},
         {"kind", ledger::word_of(conflict.kind)},
         {"announced", is_announced(conflict, status)},
         {"stands", stands(conflict, status)},
         {"claim", claimant_json(conflict.claim, status)},
         {"rival", claimant_json(conflict.rival, status)}}));
  }
  return Json::object({{"schema", "postern/conflicts/v1"}, {"conflicts", std::move(list)}});
}

Result<wire::Json> history_report(ledger::Replica& replica, const ClaimsStatus& status,
                                  ResourceNumber resource, std::optional<std::int64_t> at_ms) {
  const ledger::ClaimFold& fold = replica.fold().claims();
  const std::vector<const ledger::Claim*> claims = fold.claims_of(resource);
  Json owners = Json::array();
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const ledger::Claim& claim = *claims[i];
    const std::optional<ledger::EventId> end = fold.end_of(claim);
    std::int64_t until_ms = end ? instant_ms(replica, *end) : kNoEnd;
    // Nobody ended it, so the one that came after it did.
    if (until_ms == kNoEnd && i + 1 < claims.size()) until_ms = claims[i + 1]->at_ms;
    if (at_ms && (*at_ms < claim.at_ms || *at_ms >= until_ms)) continue;
    Json row = claimant_json(claim, status);
    row.set("until_ms", until_ms == kNoEnd ? Json(nullptr) : Json(until_ms));
    row.set("verdict", ledger::verdict_name(fold.verdict(claim)));
    owners.push(std::move(row));
  }
  const claims::ResourceView* const view = status.find(resource);
  return Json::object({{"schema", "postern/claims-history/v1"},
                       {"resource", view == nullptr ? "" : view->id},
                       {"owners", std::move(owners)}});
}

}  // namespace postern::agent
