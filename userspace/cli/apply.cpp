// SPDX-License-Identifier: Apache-2.0
// postern apply, postern reload: what changes the running gateway.
#include <CLI/CLI.hpp>
#include <memory>

#include "authority/envelope.h"
#include "authority/snapshot_codec.h"
#include "cli/command.h"
#include "cli/connection.h"
#include "cli/reply.h"
#include "core/file.h"

namespace postern::cli {
namespace {

// Compiling and loading a million prefixes takes a while.
constexpr std::chrono::seconds kApplyPatience(300);

std::string apply_text(const Reply& result) {
  const std::string what =
      "serial " + result.text("serial") + " is active as generation " + result.text("generation");
  if (!result.flag("changed")) return what + " (as it was; no table written)\n";
  return what + " (tables written: " + result.words("tables_written") + ")\n";
}

Outcome apply_snapshot(const Globals& globals, const std::string& path) {
  const Result<std::string> file =
      read_file(path, authority::kMaxSnapshotBytes + authority::kMaxSignatureBytes);
  if (!file) return refuse(file.error());
  const tl::expected<wire::Json, Refusal> result =
      ask_agent(globals, "apply", wire::Json::object(), *file, kApplyPatience);
  if (!result) return tl::unexpected<Refusal>(result.error());
  return Answer{wire::encode_canonical(*result), apply_text(Reply(*result))};
}

Outcome reload(const Globals& globals) {
  const tl::expected<wire::Json, Refusal> result = ask_agent(globals, "reload");
  if (!result) return tl::unexpected<Refusal>(result.error());
  return Answer{wire::encode_canonical(*result), Reply(*result).flag("changed")
                                                     ? "the config was read again; its changes are in force\n"
                                                     : "the config was read again; nothing changed\n"};
}

}  // namespace

void add_apply(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand(
      "apply", "Bring a signed snapshot into force: whole or, with the reason why, not at all");
  command->group(group::change);
  auto path = std::make_shared<std::string>();
  command->add_option("FILE", *path, "The signed snapshot, at most 256 MiB")->required()->type_name("");
  command->callback([&chosen, path] {
    chosen = [path](const Globals& globals) { return apply_snapshot(globals, *path); };
  });
}

void add_reload(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("reload", "Have the agent read its config again, as SIGHUP does");
  command->group(group::change);
  command->callback([&chosen] { chosen = reload; });
}

}  // namespace postern::cli
