// SPDX-License-Identifier: Apache-2.0
// postern authority recover: bring in a snapshot that the rules of history alone would not let in
// (SPEC 3.10). A running agent does it at once; for one that refuses to start, the bundle is laid down in its
// state directory.
#include <CLI/CLI.hpp>
#include <memory>

#include "authority/bundle.h"
#include "cli/command.h"
#include "cli/connection.h"
#include "cli/errors.h"
#include "cli/reply.h"
#include "config/config.h"
#include "core/file.h"

namespace postern::cli {
namespace {

constexpr std::chrono::seconds kRecoverPatience(300);

// What cannot be right is refused before it is sent or laid down; the agent verifies.
Result<> check_form(std::string_view text) {
  if (authority::is_bundle(text)) {
    Result<std::vector<authority::BundleEntry>> entries = authority::open_bundle(text);
    return entries ? Result<>() : Result<>(pass_on(std::move(entries)));
  }
  Result<authority::Envelope> envelope = authority::open_envelope(text);
  return envelope ? Result<>() : Result<>(pass_on(std::move(envelope)));
}

Outcome lay_down(const Globals& globals, std::string_view text) {
  const Result<config::Config> config = config::load_config(globals.config);
  if (!config) return refuse(config.error());
  const std::filesystem::path place = config->state / "recovery-bundle";
  if (const Result<> written = write_file_durably(place, text, 0600); !written)
    return refuse(written.error());
  return Answer{with_schema(wire::Json::object({{"laid_down", json_text(place.string())}}), "recover"),
                "no agent is running; the bundle is laid down as " + place.string() +
                    "\nstart posternd now: it verifies the bundle, takes it, and removes the file\n"};
}

Outcome recover(const Globals& globals, const std::string& path) {
  const Result<std::string> text = read_file(path, authority::kMaxBundleBytes);
  if (!text) return refuse(text.error());
  if (const Result<> formed = check_form(*text); !formed)
    return refuse(formed.error().code, path + ": " + formed.error().context);
  const tl::expected<wire::Json, Refusal> result =
      ask_agent(globals, "recover", wire::Json::object(), *text, kRecoverPatience);
  if (result) {
    return Answer{wire::encode_canonical(*result), "recovered: serial " + Reply(*result).text("serial") +
                                                       " is active as generation " +
                                                       Reply(*result).text("generation") + "\n"};
  }
  if (result.error().code != errc::unreachable.name) return tl::unexpected<Refusal>(result.error());
  return lay_down(globals, *text);
}

}  // namespace

void add_authority_recover(CLI::App& authority, Command& chosen) {
  CLI::App* command = authority.add_subcommand(
      "recover", "Bring a gateway out of a conflict of its authority, or back after its disk lost history");
  auto path = std::make_shared<std::string>();
  command
      ->add_option("--bundle", *path,
                   "A signed snapshot, or a bundle that leads to it, newer than all that "
                   "this gateway has served")
      ->required()
      ->type_name("FILE");
  command->callback(
      [&chosen, path] { chosen = [path](const Globals& globals) { return recover(globals, *path); }; });
}

}  // namespace postern::cli
