// SPDX-License-Identifier: Apache-2.0
// postern drops: why packets were dropped, and where all of them went.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/connection.h"
#include "cli/reply.h"
#include "cli/table.h"

namespace postern::cli {
namespace {

// Reasons that struck, most packets first; with `all` the others after them, by number.
std::string reason_table(const Reply& result, bool all) {
  std::vector<Reply> reasons = result.list("drops");
  std::stable_sort(reasons.begin(), reasons.end(), [](const Reply& a, const Reply& b) {
    const std::uint64_t packets_a = a.count("packets");
    const std::uint64_t packets_b = b.count("packets");
    return packets_a != packets_b ? packets_a > packets_b : a.count("number") < b.count("number");
  });
  Table table({{"PACKETS", Table::Side::right}, {"BYTES", Table::Side::right}, {"REASON"}, {"MEANING"}});
  for (const Reply& reason : reasons) {
    if (!all && reason.count("packets") == 0) continue;
    table.add({std::to_string(reason.count("packets")), std::to_string(reason.count("bytes")),
               reason.text("reason"), reason.text("help")});
  }
  if (table.empty()) return "no packet was dropped (--all lists the reasons that there are)\n";
  return table.text();
}

std::string verdict_table(const Reply& result, bool all) {
  Table table({{"INTERFACE"}, {"VERDICT"}, {"PACKETS", Table::Side::right}, {"BYTES", Table::Side::right}});
  for (const Reply& verdict : result.list("verdicts")) {
    if (!all && verdict.count("packets") == 0) continue;
    table.add({verdict.text("interface"), verdict.text("verdict"), std::to_string(verdict.count("packets")),
               std::to_string(verdict.count("bytes"))});
  }
  return table.empty() ? std::string() : "\n" + table.text();
}

Outcome show(const Globals& globals, bool all) {
  const tl::expected<wire::Json, Refusal> result = ask_agent(globals, "drops");
  if (!result) return tl::unexpected<Refusal>(result.error());
  const Reply reply(*result);
  return Answer{wire::encode_canonical(*result), reason_table(reply, all) + verdict_table(reply, all)};
}

}  // namespace

void add_drops(CLI::App& app, Command& chosen) {
  CLI::App* command =
      app.add_subcommand("drops", "Why packets were dropped, and the verdicts of each interface");
  command->group(group::look);
  auto all = std::make_shared<bool>(false);
  command->add_flag("--all", *all,
                    "Also reasons and verdicts with no packet yet; default: only those with some");
  command->callback(
      [&chosen, all] { chosen = [all](const Globals& globals) { return show(globals, *all); }; });
}

}  // namespace postern::cli
