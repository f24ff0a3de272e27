// SPDX-License-Identifier: Apache-2.0
// postern rules: what each rule let pass since the list of rules came into force.
#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/connection.h"
#include "cli/reply.h"
#include "cli/table.h"

namespace postern::cli {
namespace {

Outcome show(const Globals& globals) {
  const tl::expected<wire::Json, Refusal> result = ask_agent(globals, "rules");
  if (!result) return tl::unexpected<Refusal>(result.error());
  const Reply reply(*result);
  Table table({{"RULE", Table::Side::right},
               {"PACKETS", Table::Side::right},
               {"BYTES", Table::Side::right},
               {"LETS PASS"}});
  for (const Reply& rule : reply.list("rules")) {
    const bool is_counted = rule.has("packets");
    table.add({std::to_string(rule.count("number")), is_counted ? std::to_string(rule.count("packets")) : "-",
               is_counted ? std::to_string(rule.count("bytes")) : "-", rule.text("rule")});
  }
  return Answer{wire::encode_canonical(*result), table.empty() ? "no rules: nothing passes\n" : table.text()};
}

}  // namespace

void add_rules(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("rules", "The rules in force, and what each let pass (replies too)");
  command->group(group::look);
  command->callback([&chosen] { chosen = [](const Globals& globals) { return show(globals); }; });
}

}  // namespace postern::cli
