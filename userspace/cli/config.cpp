// SPDX-License-Identifier: Apache-2.0
// postern config check: the validator that the agent uses too, without an agent.
#include "config/config.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/compiled_policy.h"

namespace postern::cli {
namespace {

Answer valid(const std::string& path, std::string_view kind) {
  wire::Json json =
      wire::Json::object({{"file", json_text(path)}, {"kind", wire::Json(kind)}, {"ok", wire::Json(true)}});
  return {with_schema(std::move(json), "config-check"), path + ": ok\n"};
}

Outcome check_config(const std::string& path) {
  const Result<config::Config> config = config::load_config(path);
  if (!config) return refuse(config.error());
  return valid(path, "config");
}

// As far as `authority compile` would: names resolve, no prefix has two owners.
Outcome check_policy(const std::string& path) {
  const Result<CompiledPolicy> compiled = compile_policy_file(path, kNoEdition);
  if (!compiled) return refuse(compiled.error());
  return valid(path, "policy");
}

}  // namespace

void add_config(CLI::App& app, Command& chosen) {
  CLI::App* config = app.add_subcommand("config", "Check a config or policy file without touching anything");
  config->group(group::set_up);
  config->require_subcommand(1);
  CLI::App* check = config->add_subcommand(
      "check", "Say whether FILE is valid, or what is wrong at which line and column (exit 4)");
  struct Paths {
    std::string config;
    std::string policy;
  };
  auto paths = std::make_shared<Paths>();
  CLI::Option* file =
      check->add_option("FILE", paths->config, "Gateway config to check; default: what --config says")
          ->type_name("");
  check
      ->add_option("--policy", paths->policy,
                   "Check this policy instead, as `authority compile` would (two owners of a prefix: exit 6)")
      ->type_name("FILE")
      ->excludes(file);
  check->callback([&chosen, paths] {
    chosen = [paths](const Globals& globals) {
      if (!paths->policy.empty()) return check_policy(paths->policy);
      return check_config(paths->config.empty() ? globals.config.string() : paths->config);
    };
  });
}

}  // namespace postern::cli
