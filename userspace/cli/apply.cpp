// SPDX-License-Identifier: Apache-2.0
// postern apply, postern reload: what changes the running gateway.
#include <CLI/CLI.hpp>
#include <charconv>
#include <memory>
#include <optional>

#include "authority/bundle.h"
#include "authority/timestamp.h"
#include "cli/command.h"
#include "cli/connection.h"
#include "cli/errors.h"
#include "cli/reply.h"
#include "core/file.h"

namespace postern::cli {
namespace {

// Compiling and loading a million prefixes takes a while.
constexpr std::chrono::seconds kApplyPatience(300);
constexpr std::int64_t kLongestTrial_s = 86'400;

struct ApplyRequest {
  std::string path;
  std::string confirm;  // "60s"; empty: for good
  bool timestamp = false;
};

// "90s", "15m", "2h", or seconds alone.
std::optional<std::int64_t> seconds_of(std::string_view text) {
  static constexpr std::pair<char, std::int64_t> kUnits[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
  std::int64_t unit = 1;
  for (const auto& [letter, seconds] : kUnits) {
    if (!text.ends_with(letter)) continue;
    unit = seconds;
    text.remove_suffix(1);
    break;
  }
  std::int64_t count = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  if (count < 1 || count > kLongestTrial_s / unit) return std::nullopt;
  return count * unit;
}

std::string apply_text(const Reply& result) {
  const std::string what =
      "serial " + result.text("serial") + " is active as generation " + result.text("generation");
  const std::string trial = result.has("unconfirmed_until")
                                ? "on trial until " + result.text("unconfirmed_until") +
                                      ": it is rolled back then unless you run `postern confirm`\n"
                                : std::string();
  if (!result.flag("changed")) return what + " (as it was; no table written)\n" + trial;
  return what + " (tables written: " + result.words("tables_written") + ")\n" + trial;
}

Outcome apply_snapshot(const Globals& globals, const ApplyRequest& request) {
  wire::Json arguments = wire::Json::object();
  if (!request.confirm.empty()) {
    const std::optional<std::int64_t> within_s = seconds_of(request.confirm);
    if (!within_s) {
      return refuse(errc::usage, "--confirm " + request.confirm +
                                     " is no time from 1s to 24h; write it like 60s, 15m or 2h");
    }
    arguments.set("confirm_within_s", *within_s);
  }
  const Result<std::string> file = read_file(request.path, authority::kMaxBundleBytes);
  if (!file) return refuse(file.error());
  const tl::expected<wire::Json, Refusal> result =
      ask_agent(globals, "apply", std::move(arguments), *file, kApplyPatience);
  if (!result) return tl::unexpected<Refusal>(result.error());
  return Answer{wire::encode_canonical(*result), apply_text(Reply(*result))};
}

Outcome apply_timestamp(const Globals& globals, const std::string& path) {
  const Result<std::string> file = read_file(path, authority::kMaxTimestampBytes);
  if (!file) return refuse(file.error());
  const tl::expected<wire::Json, Refusal> result =
      ask_agent(globals, "timestamp", wire::Json::object(), *file);
  if (!result) return tl::unexpected<Refusal>(result.error());
  const Reply reply(*result);
  const Reply seen = reply.at("timestamp");
  return Answer{wire::encode_canonical(*result),
                "until " + seen.text("expires") + " the authority vouches for serial " + seen.text("serial") +
                    (reply.has("behind_serial") ? ", which is newer than the adopted one: apply it\n"
                                                : ", the adopted one\n")};
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
  auto request = std::make_shared<ApplyRequest>();
  command
      ->add_option("FILE", request->path,
                   "The signed snapshot, or a bundle that leads to it, at most 256 MiB")
      ->required()
      ->type_name("");
  auto* trial =
      command
          ->add_option("--confirm", request->confirm,
                       "Roll back by itself after so long (60s, 15m, 2h), or when the agent restarts, "
                       "unless `postern confirm` comes first")
          ->type_name("TIME");
  command
      ->add_flag("--timestamp", request->timestamp,
                 "FILE is a signed timestamp: who vouches that the adopted snapshot is the newest")
      ->excludes(trial);
  command->callback([&chosen, request] {
    chosen = [request](const Globals& globals) {
      return request->timestamp ? apply_timestamp(globals, request->path) : apply_snapshot(globals, *request);
    };
  });
}

void add_reload(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("reload", "Have the agent read its config again, as SIGHUP does");
  command->group(group::change);
  command->callback([&chosen] { chosen = reload; });
}

}  // namespace postern::cli
