// SPDX-License-Identifier: Apache-2.0
// postern confirm, postern rollback: the two ends of a snapshot's trial (SPEC 3.9).
#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/connection.h"
#include "cli/reply.h"

namespace postern::cli {
namespace {

constexpr std::chrono::seconds kRollbackPatience(300);

Outcome confirm(const Globals& globals) {
  const tl::expected<wire::Json, Refusal> result = ask_agent(globals, "confirm");
  if (!result) return tl::unexpected<Refusal>(result.error());
  return Answer{wire::encode_canonical(*result), "serial " + Reply(*result).text("serial") + " stays\n"};
}

Outcome roll_back(const Globals& globals) {
  const tl::expected<wire::Json, Refusal> result =
      ask_agent(globals, "rollback", wire::Json::object(), {}, kRollbackPatience);
  if (!result) return tl::unexpected<Refusal>(result.error());
  const Reply reply(*result);
  return Answer{wire::encode_canonical(*result),
                "serial " + reply.text("serial") + " is served again as generation " +
                    reply.text("generation") +
                    ", less what was revoked since; the newer serial is refused from now on\n"};
}

}  // namespace

void add_confirm(CLI::App& app, Command& chosen) {
  CLI::App* command =
      app.add_subcommand("confirm", "Keep the snapshot that `postern apply --confirm` put on trial");
  command->group(group::change);
  command->callback([&chosen] { chosen = confirm; });
}

void add_rollback(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand(
      "rollback", "Serve the snapshot before the adopted one, less what was revoked since");
  command->group(group::change);
  command->callback([&chosen] { chosen = roll_back; });
}

}  // namespace postern::cli
