// SPDX-License-Identifier: Apache-2.0
// postern claims, conflicts: who takes turns to own what, who did, and where two did at once.
#include <CLI/CLI.hpp>
#include <memory>

#include "authority/revocation.h"
#include "cli/claim_page.h"
#include "cli/command.h"
#include "cli/connection.h"
#include "cli/errors.h"
#include "cli/reply.h"
#include "cli/table.h"
#include "core/file.h"
#include "core/utc.h"

namespace postern::cli {
namespace {

constexpr std::int64_t kMsInSecond = 1000;

struct ClaimsQuestion {
  std::string resource;
  std::string history;
  std::string at;
};

struct Revocation {
  std::string resource;
  std::string document;
};

std::string instant(const Reply& row, const char* key) {
  if (!row.has(key)) return "-";
  return utc_text(UtcSeconds(static_cast<std::int64_t>(row.count(key)) / kMsInSecond));
}

std::string claims_page(const Reply& result) {
  if (!result.flag("on")) {
    return result.has("problem") ? "! " + result.text("problem") + "\n"
                                 : "no snapshot is served, so there is nothing to claim\n";
  }
  Table resources = claim_table();
  for (const Reply& row : result.list("resources"))
    add_claim_row(resources, row);
  std::string out = resources.empty() ? "no resources in what is served\n" : resources.text();
  Table gateways({{"GATEWAY"},
                  {"STARTS", Table::Side::right},
                  {"BEATS", Table::Side::right},
                  {"SILENT FOR", Table::Side::right},
                  {"ROUND"}});
  for (const Reply& row : result.list("gateways")) {
    gateways.add({row.text("gateway"), row.text("starts"), row.text("beats"),
                  seconds_words(row.count("silent_ms")), row.flag("round") ? "done" : "not yet"});
  }
  if (!gateways.empty()) out += "\n" + gateways.text();
  if (!result.flag("automatic"))
    out += "This gateway claims only what it is told to (`claims: automatic`).\n";
  return out;
}

std::string history_page(const Reply& result) {
  Table table({{"GATEWAY"}, {"EPOCH", Table::Side::right}, {"FROM"}, {"UNTIL"}, {"VERDICT"}});
  for (const Reply& row : result.list("owners")) {
    table.add({row.text("gateway"), row.text("epoch"), instant(row, "at_ms"), instant(row, "until_ms"),
               row.text("verdict")});
  }
  if (table.empty()) return "nobody owned resource " + result.text("resource") + "\n";
  return table.text() + "Instants are by the clocks of the gateways that wrote the events, each its own.\n";
}

Outcome history(const Globals& globals, const ClaimsQuestion& question) {
  wire::Json arguments = wire::Json::object({{"resource", json_text(question.history)}});
  if (!question.at.empty()) {
    const std::optional<UtcSeconds> at = parse_utc(question.at);
    if (!at) {
      return refuse(errc::usage,
                    "--at: expected an instant like 2026-11-29T13:50:48Z, and not \"" + question.at + "\"");
    }
    // What happened within this second has happened.
    arguments.set("at_ms", at->value * kMsInSecond + kMsInSecond - 1);
  }
  const tl::expected<wire::Json, Refusal> result = ask_agent(globals, "claims-history", std::move(arguments));
  if (!result) return tl::unexpected<Refusal>(result.error());
  return Answer{wire::encode_canonical(*result), history_page(Reply(*result))};
}

Outcome show(const Globals& globals, const ClaimsQuestion& question) {
  if (!question.history.empty()) return history(globals, question);
  wire::Json arguments = wire::Json::object();
  if (!question.resource.empty()) arguments.set("resource", json_text(question.resource));
  const tl::expected<wire::Json, Refusal> result = ask_agent(globals, "claims", std::move(arguments));
  if (!result) return tl::unexpected<Refusal>(result.error());
  return Answer{wire::encode_canonical(*result), claims_page(Reply(*result))};
}

Outcome revoke(const Globals& globals, const Revocation& order) {
  std::string document;
  if (!order.document.empty()) {
    Result<std::string> file = read_file(order.document, authority::kMaxRevocationBytes);
    if (!file) return refuse(file.error());
    document = std::move(*file);
  }
  const tl::expected<wire::Json, Refusal> result =
      ask_agent(globals, "revoke", wire::Json::object({{"resource", json_text(order.resource)}}), document);
  if (!result) return tl::unexpected<Refusal>(result.error());
  return Answer{wire::encode_canonical(*result), claim_page(Reply(*result))};
}

void add_claims_revoke(CLI::App& claims, Command& chosen) {
  CLI::App* command = claims.add_subcommand(
      "revoke", "Take a claim away: this gateway's own, or with the authority's document anybody's");
  auto order = std::make_shared<Revocation>();
  command->add_option("RESOURCE", order->resource, "The resource's id")->required()->type_name("");
  command
      ->add_option("--document", order->document,
                   "The authority's signed revocation; without it only this gateway's own claim is revoked")
      ->type_name("FILE");
  command->callback(
      [&chosen, order] { chosen = [order](const Globals& globals) { return revoke(globals, *order); }; });
}

std::string side(const Reply& claim) {
  return claim.text("gateway") + " (epoch " + claim.text("epoch") + ", " + instant(claim, "at_ms") + ")";
}

Outcome conflicts(const Globals& globals) {
  const tl::expected<wire::Json, Refusal> result = ask_agent(globals, "conflicts");
  if (!result) return tl::unexpected<Refusal>(result.error());
  Table table({{"RESOURCE"}, {"KIND"}, {"LOST"}, {"KEPT"}, {"ANNOUNCED"}, {"STANDS"}});
  for (const Reply& row : Reply(*result).list("conflicts")) {
    table.add({row.text("resource"), row.text("kind"), side(row.at("claim")), side(row.at("rival")),
               row.flag("announced") ? "yes" : "no", row.flag("stands") ? "yes" : "no"});
  }
  return Answer{wire::encode_canonical(*result),
                table.empty() ? "no conflicts: nobody owned what another one owned\n" : table.text()};
}

}  // namespace

void add_claims(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand(
      "claims", "Who holds what gateways take turns to own, for how long, and who held it when");
  command->group(group::look);
  auto question = std::make_shared<ClaimsQuestion>();
  auto* const resource =
      command->add_option("--resource", question->resource, "Only this resource; default: all of them");
  resource->type_name("ID");
  auto* const history =
      command->add_option("--history", question->history, "Who owned this resource, from when to when");
  history->type_name("ID")->excludes(resource);
  command
      ->add_option("--at", question->at,
                   "With --history: only who owned it then, like 2026-11-29T13:50:48Z, by the owners' clocks")
      ->type_name("INSTANT")
      ->needs(history);
  command->callback([command, &chosen, question] {
    if (!command->get_subcommands().empty()) return;
    chosen = [question](const Globals& globals) { return show(globals, *question); };
  });
  add_claims_revoke(*command, chosen);
}

void add_conflicts(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("conflicts", "Where two gateways owned one resource at once");
  command->group(group::look);
  command->callback([&chosen] { chosen = conflicts; });
}

}  // namespace postern::cli
