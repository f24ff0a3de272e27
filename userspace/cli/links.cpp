// SPDX-License-Identifier: Apache-2.0
// postern links: which other gateways this one is connected to, and why not.
#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/connection.h"
#include "cli/reply.h"
#include "cli/table.h"
#include "cli/wording.h"

namespace postern::cli {
namespace {

constexpr std::uint64_t kMicrosecondsPerMillisecond = 1'000;

std::string round_trip(const Reply& link) {
  if (!link.has("rtt_us")) return "-";
  const std::uint64_t rtt_us = link.count("rtt_us");
  if (rtt_us < 10 * kMicrosecondsPerMillisecond) return std::to_string(rtt_us) + " us";
  return std::to_string(rtt_us / kMicrosecondsPerMillisecond) + " ms";
}

std::string events(const Reply& sync) {
  if (!sync.flag("on")) return "-";
  return sync.text("events_in") + "/" + sync.text("events_out");
}

std::string missing(const Reply& sync) {
  return sync.flag("on") ? sync.text("missing") : "-";
}

std::string note(const Reply& link) {
  const Reply sync = link.at("sync");
  if (sync.count("penalty_left_ms") > 0) return "not listened to: " + sync.text("why");
  if (link.flag("twin")) return "TWO PROCESSES UNDER ONE KEY";
  if (link.has("refused_us")) return "refuses us: " + link.text("refused_us");
  return link.text("trouble");
}

std::string refusal_words(const Reply& result) {
  std::string out;
  for (const Reply& refusal : result.list("refusals")) {
    if (refusal.count("count") == 0) continue;
    out += (out.empty() ? "" : ", ") + refusal.text("count") + " " + refusal.text("reason");
  }
  return out.empty() ? "" : "Refused since the start: " + out + ".\n";
}

std::string page(const Reply& result) {
  if (!result.flag("on")) return "links are off in the config\n";
  Table table({{"GATEWAY"},
               {"LINK"},
               {"FOR", Table::Side::right},
               {"ADDRESS"},
               {"MADE BY"},
               {"ROUND TRIP", Table::Side::right},
               {"RECEIVED", Table::Side::right},
               {"SENT", Table::Side::right},
               {"EVENTS IN/OUT", Table::Side::right},
               {"MISSING", Table::Side::right},
               {"NOTE"}});
  for (const Reply& link : result.list("links")) {
    table.add({link.text("gateway"), link.text("state"),
               span_words(static_cast<std::int64_t>(link.count("since_s"))), link.text("address"),
               link.text("made_by"), round_trip(link), size_words(link.count("bytes_in")),
               size_words(link.count("bytes_out")), events(link.at("sync")), missing(link.at("sync")),
               note(link)});
  }
  std::string out = table.empty()
                        ? "no other gateways: no snapshot is served, or it names none beside this one\n"
                        : table.text();
  out += "Listening at " + result.words("listening") + ".\n";
  if (result.has("problem")) out += "! " + result.text("problem") + "\n";
  return out + refusal_words(result);
}

Outcome show(const Globals& globals) {
  const tl::expected<wire::Json, Refusal> result = ask_agent(globals, "links");
  if (!result) return tl::unexpected<Refusal>(result.error());
  return Answer{wire::encode_canonical(*result), page(Reply(*result))};
}

}  // namespace

void add_links(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("links", "Links to the mesh's other gateways, and what was refused");
  command->group(group::look);
  command->callback([&chosen] { chosen = show; });
}

}  // namespace postern::cli
