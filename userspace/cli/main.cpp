// SPDX-License-Identifier: Apache-2.0
// postern: the operator's command line. Reads the arguments, runs one command, and is the only place that
// prints, but for commands that go on (live_output.h): answers to stdout (--json: one line); refusals to
// stderr for people, to stdout as one line with
// --json.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string_view>

#include "cli/command.h"
#include "cli/errors.h"
#include "cli/usage.h"
#include "core/secrecy.h"

namespace postern::cli {
namespace {

constexpr const char* kFooter =
    "\nExit codes: 0 ok, 1 failure, 2 usage, 3 agent unreachable, 4 invalid config or policy, 5 signature, "
    "rollback\n"
    "or expiry, 6 ownership conflict, 7 changes found by diff, 8 does not fit, 9 a cursor "
    "that leads nowhere.\n"
    "`postern COMMAND --help` tells more. Looking needs group postern, changing needs root or group "
    "postern-admin.\n";
constexpr const char* kCommandFooter =
    "\nEvery command also takes --json, --config FILE, --socket PATH and --timeout SECONDS (see postern "
    "--help).\n";
constexpr std::size_t kHelpColumn = 30;
constexpr unsigned kLongestTimeout_s = 86'400;

int finish(std::string_view out, int code) {
  const bool written =
      std::fwrite(out.data(), 1, out.size(), stdout) == out.size() && std::fflush(stdout) == 0;
  if (written) return code;
  std::fputs("postern: cannot write to standard output\n", stderr);
  return code == 0 ? exit_code(ErrorKind::failure) : code;
}

int report(const Outcome& outcome, bool json) {
  // A command that went on has said everything already.
  if (outcome && json && !outcome->json.empty()) return finish(outcome->json + "\n", outcome->exit);
  if (outcome) return finish(json ? std::string() : outcome->text, outcome->exit);
  const Refusal& refusal = outcome.error();
  if (json) return finish(refusal_json(refusal) + "\n", refusal.exit);
  // The code stands at the end of the first line, so that "file:line:column" comes first.
  const std::size_t first_line = std::min(refusal.message.find('\n'), refusal.message.size());
  std::string message = "postern: " + refusal.message.substr(0, first_line) + " [" + refusal.code + "]" +
                        refusal.message.substr(first_line);
  if (!message.ends_with('\n')) message += '\n';
  std::fputs(message.c_str(), stderr);
  return refusal.exit;
}

void add_globals(CLI::App& app, Globals& globals) {
  app.set_help_flag("-h,--help", "Print this and exit");
  app.set_version_flag("--version", "postern " POSTERN_VERSION, "Print the version and exit");
  app.add_flag("--json", globals.json, "Answer with one line of JSON that has a \"schema\", errors too");
  app.add_option_function<std::string>(
         "--config",
         [&globals](const std::string& path) {
           globals.config = path;
           globals.config_named = true;
         },
         "The gateway's config, which names the socket and the state; default: /etc/postern/postern.yaml")
      ->type_name("FILE");
  app.add_option_function<std::string>(
         "--socket", [&globals](const std::string& path) { globals.socket = path; },
         "The agent's control socket; default: the config's, else /run/postern/postern.sock")
      ->type_name("PATH");
  app.add_option("--timeout", globals.timeout_s,
                 "Seconds to wait for the agent's answer, 1 to 86400; default: 30, for apply 300")
      ->type_name("SECONDS")
      ->check(CLI::Range(1U, kLongestTimeout_s).description(""));
}

void add_commands(CLI::App& app, Command& chosen) {
  add_init(app, chosen);
  add_keygen(app, chosen);
  add_config(app, chosen);
  add_authority(app, chosen);
  add_status(app, chosen);
  add_doctor(app, chosen);
  add_peers(app, chosen);
  add_links(app, chosen);
  add_owners(app, chosen);
  add_claims(app, chosen);
  add_conflicts(app, chosen);
  add_events(app, chosen);
  add_drops(app, chosen);
  add_explain(app, chosen);
  add_monitor(app, chosen);
  add_capture(app, chosen);
  add_mtu(app, chosen);
  add_rules(app, chosen);
  add_apply(app, chosen);
  add_confirm(app, chosen);
  add_rollback(app, chosen);
  add_claim(app, chosen);
  add_release(app, chosen);
  add_reload(app, chosen);
  add_journal(app, chosen);
  add_completion(app, chosen);
}

void finish_help(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands({})) {
    command->footer(kCommandFooter);
    finish_help(*command);
  }
}

// The flag counts even when the rest of the line makes no sense.
bool asks_for_json(int argc, char** argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    if (std::string_view(argv[i]) == "--json") return true;
  }
  return false;
}

int run(int argc, char** argv) {
  CLI::App app("Postern, a mesh gateway: make it, say what its mesh allows, look at it.", "postern");
  Globals globals;
  Command chosen;
  app.fallthrough();
  app.require_subcommand(1);
  app.get_formatter()->column_width(kHelpColumn);
  app.get_formatter()->label("REQUIRED", "(required)");
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.get_formatter()->label("Subcommands", "Commands");
  add_globals(app, globals);
  add_commands(app, chosen);
  app.footer(kFooter);
  finish_help(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return finish("", app.exit(error));
    return report(refuse(errc::usage, usage_text(error, app, argc, argv)), asks_for_json(argc, argv));
  }
  if (const Result<> secret = forbid_memory_dumps(); !secret)
    return report(refuse(secret.error()), globals.json);
  return report(chosen(globals), globals.json);
}

}  // namespace
}  // namespace postern::cli

int main(int argc, char** argv) {
  return postern::cli::run(argc, argv);
}
