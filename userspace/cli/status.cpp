// SPDX-License-Identifier: Apache-2.0
// postern status: one page that answers, at 3 am, whether the gateway serves, and if not, why.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/connection.h"
#include "cli/reply.h"
#include "cli/table.h"
#include "cli/wording.h"
#include "core/clock.h"
#include "core/utc.h"

namespace postern::cli {
namespace {

constexpr std::size_t kShortHash = 12;

std::string line(std::string_view name, const std::string& text) {
  std::string out = "  " + std::string(name);
  out.resize(15, ' ');
  return out + text + "\n";
}

std::string snapshot_lines(const Reply& snapshot, UtcSeconds now) {
  std::string out =
      line("snapshot", "serial " + snapshot.text("serial") + ", hash " +
                           snapshot.text("hash").substr(0, kShortHash) + ", " +
                           (snapshot.text("state") == "active" ? std::string("active")
                                                               : "adopted but NOT yet active in the kernel"));
  const std::string expires = snapshot.text("expires");
  const std::optional<UtcSeconds> instant = parse_utc(expires);
  const std::string then =
      snapshot.text("on_expiry") == "close" ? "then all traffic is dropped" : "then it is kept and alarmed";
  if (snapshot.flag("expired")) {
    out += line("", "EXPIRED " + (instant ? expiry_words(*instant, now) + " (" + expires + ")" : expires) +
                        "; sign and apply a newer one");
  } else {
    out += line("", "expires " + (instant ? expiry_words(*instant, now) + " (" + expires + ")" : expires) +
                        ", " + then);
  }
  return out;
}

std::string authority_line(const Reply& authority) {
  const Reply root = authority.at("root");
  std::string out = "root of " + root.text("threshold") + " of " + count_words(root.count("keys"), "key");
  if (authority.has("timestamp")) {
    const Reply timestamp = authority.at("timestamp");
    out += "; serial " + timestamp.text("serial") + " vouched for until " + timestamp.text("expires");
  }
  if (authority.has("rollback_to")) out += "; a rollback leads to serial " + authority.text("rollback_to");
  return line("authority", out);
}

std::string journal_lines(const Reply& journal) {
  std::string out =
      line("journal", "head " + journal.text("head") + ", segment " + journal.text("segment") + ", " +
                          size_words(journal.count("bytes")) + "; the last start found it " +
                          journal.text("recovery") +
                          (journal.flag("clean_stop") ? ", after a clean stop" : ", not after a clean stop"));
  if (journal.flag("poisoned")) {
    out += line("", "POISONED: " + journal.text("poison_reason") +
                        "; nothing more is accepted, the data path goes on; restart posternd");
  }
  return out;
}

std::string events_line(const Reply& events) {
  std::string out = count_words(events.count("streams"), "stream") + ", digest " +
                    events.text("digest").substr(0, kShortHash);
  if (events.count("forked_streams") > 0)
    out += "; FORKED: " + count_words(events.count("forked_streams"), "stream");
  return line("events", out);
}

std::string adoption_words(const Reply& adoption) {
  if (!adoption.flag("changed"))
    return "the last start or apply found the kernel as it should be and wrote no table";
  return "the last start or apply wrote the tables " + adoption.words("tables_written");
}

std::string interface_table(const Reply& status) {
  Table table({{"INTERFACE"},
               {"ROLE"},
               {"SEGMENT"},
               {"XDP"},
               {"MTU", Table::Side::right},
               {"INDEX", Table::Side::right}});
  for (const Reply& interface : status.list("interfaces")) {
    const std::string mode = interface.text("mode");
    table.add({interface.text("name"), interface.text("role"), interface.text("segment"),
               mode == "none" ? "DETACHED" : mode, interface.text("mtu"), interface.text("ifindex")});
  }
  return table.empty() ? std::string() : "\n" + table.text(2);
}

std::string page(const Reply& status, UtcSeconds now) {
  const bool ready = status.flag("ready");
  std::string out = "gateway " + status.text("gateway") + " of mesh " + status.text("mesh") + ": " +
                    (ready ? "ready" : "NOT READY") + "\n";
  for (const Reply& problem : status.list("problems"))
    out += "  ! " + problem.text() + "\n";
  out += status.has("snapshot") ? snapshot_lines(status.at("snapshot"), now)
                                : line("snapshot", "none adopted yet; `postern apply FILE` brings the first");
  if (status.has("authority")) out += authority_line(status.at("authority"));
  out += line("generation",
              status.text("generation") +
                  (status.flag("open") ? ", open" : ", closed: nothing passes between mesh and site"));
  out += line("tables", count_words(status.count("peers"), "peer") + ", " +
                            count_words(status.count("prefixes"), "prefix") + ", " +
                            count_words(status.count("rules"), "rule"));
  out += line("", adoption_words(status.at("adoption")));
  out += journal_lines(status.at("journal"));
  if (status.has("events")) out += events_line(status.at("events"));
  out += line("backstop", status.flag("backstop")
                              ? "in place"
                              : "MISSING: with XDP detached the kernel would forward; restart posternd");
  if (status.at("links").flag("on") && status.at("links").count("gateways") > 0) {
    out += line("links", status.at("links").text("up") + " of " +
                             count_words(status.at("links").count("gateways"), "gateway") + " up");
  }
  out += line("agent", "posternd " + status.text("version") + ", pid " + status.text("pid") + ", up " +
                           span_words(static_cast<std::int64_t>(status.count("uptime_s"))));
  return out + interface_table(status);
}

Answer check_answer(const std::string& check, const Reply& status) {
  const bool good = status.flag(check);
  wire::Json problems = wire::Json::array();
  std::string reasons;
  for (const Reply& problem : status.list("problems")) {
    problems.push(wire::Json(problem.text()));
    reasons += (reasons.empty() ? ": " : "; ") + problem.text();
  }
  wire::Json json = wire::Json::object(
      {{"check", wire::Json(check)}, {"ok", wire::Json(good)}, {"problems", std::move(problems)}});
  return {with_schema(std::move(json), "status-check"), good ? check + "\n" : "not " + check + reasons + "\n",
          good ? 0 : exit_code(ErrorKind::failure)};
}

Outcome show(const Globals& globals, const std::string& check) {
  const tl::expected<wire::Json, Refusal> result = ask_agent(globals, "status");
  if (!result) return tl::unexpected<Refusal>(result.error());
  const Reply status(*result);
  if (!check.empty()) return check_answer(check, status);
  return Answer{wire::encode_canonical(*result), page(status, SystemClock().now_utc())};
}

}  // namespace

void add_status(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("status", "Whether the gateway serves, under what, and if not, why");
  command->group(group::look);
  auto check = std::make_shared<std::string>();
  command
      ->add_option(
          "--check", *check,
          "Print one line and exit 0 or 1. live: the agent works; ready: it also serves a snapshot on all "
          "its interfaces. No agent at all is exit 3")
      ->type_name("live|ready")
      ->check(CLI::IsMember({"live", "ready"}).description(""));
  command->callback(
      [&chosen, check] { chosen = [check](const Globals& globals) { return show(globals, *check); }; });
}

}  // namespace postern::cli
