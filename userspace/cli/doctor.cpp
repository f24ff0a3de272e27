// SPDX-License-Identifier: Apache-2.0
// postern doctor: everything that must hold for this gateway to serve, looked at one by one. With an agent
// its own findings come first-hand; without one the files are looked at instead.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/checks.h"
#include "cli/command.h"
#include "cli/connection.h"
#include "config/config.h"

namespace postern::cli {
namespace {

using wire::Check;
using wire::CheckStatus;

constexpr std::size_t kStatusColumn = 6;
constexpr std::size_t kNameColumn = 22;

// Asks the agent; true when it answered, so that nothing that it knows better needs to be guessed from
// outside.
bool ask_the_agent(const Globals& globals, Checks& checks) {
  const tl::expected<wire::Json, Refusal> result = ask_agent(globals, "doctor");
  if (!result) {
    const Refusal& refusal = result.error();
    const bool absent = refusal.exit == exit_code(ErrorKind::unreachable);
    checks.push_back({"agent", absent ? CheckStatus::warn : CheckStatus::fail, refusal.message,
                      absent
                          ? "start posternd; what it alone can see (XDP, backstop, what is in force) was not "
                            "looked at: `ip link` and `nft list ruleset` show some of it"
                          : "see `postern status`"});
    return false;
  }
  checks.push_back(wire::check_ok("agent", "posternd answers"));
  const wire::Json* told = result->find("checks");
  if (told == nullptr || told->as_array() == nullptr) return true;
  for (const wire::Json& check : *told->as_array())
    checks.push_back(wire::parse_check(check));
  return true;
}

Checks look(const Globals& globals) {
  Checks checks;
  const Result<config::Config> config = config::load_config(globals.config);
  if (!config) {
    checks.push_back(wire::check_fail("config", config.error().context,
                                      "correct the file; `postern config check` reads it again"));
    return checks;
  }
  checks.push_back(wire::check_ok("config", globals.config.string() + " is valid"));
  check_state(*config, checks);
  check_space(*config, checks);
  if (!ask_the_agent(globals, checks)) check_journal(*config, checks);
  check_kernel(*config, checks);
  return checks;
}

std::string padded(std::string_view text, std::size_t width) {
  std::string out(text);
  out.resize(std::max(width, out.size() + 1), ' ');
  return out;
}

std::string page(const Checks& checks) {
  std::string out;
  for (const Check& check : checks) {
    out += padded(check_status_name(check.status), kStatusColumn) + padded(check.name, kNameColumn) +
           check.found + "\n";
    if (!check.remedy.empty())
      out += padded("", kStatusColumn) + padded("", kNameColumn) + "-> " + check.remedy + "\n";
  }
  return out;
}

Outcome examine(const Globals& globals) {
  const Checks checks = look(globals);
  wire::Json list = wire::Json::array();
  for (const Check& check : checks) {
    wire::Json json = wire::check_json(check);
    json.set("found", json_text(check.found));  // may name a path of any bytes
    list.push(std::move(json));
  }
  const auto failed = std::count_if(checks.begin(), checks.end(),
                                    [](const Check& check) { return check.status == CheckStatus::fail; });
  wire::Json json = wire::Json::object({{"checks", std::move(list)}, {"ok", failed == 0}});
  const std::string verdict =
      failed == 0 ? "nothing that must be mended\n" : std::to_string(failed) + " to mend\n";
  return Answer{with_schema(std::move(json), "doctor"), page(checks) + verdict,
                failed == 0 ? 0 : exit_code(ErrorKind::failure)};
}

}  // namespace

void add_doctor(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand(
      "doctor", "Look at all that must hold for this gateway to serve; exit 1 when something does not");
  command->group(group::look);
  command->callback([&chosen] { chosen = [](const Globals& globals) { return examine(globals); }; });
}

}  // namespace postern::cli
