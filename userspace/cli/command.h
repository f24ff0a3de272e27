// SPDX-License-Identifier: Apache-2.0
// One command line names one command. Each group declares its options to CLI11 and, when its command was
// named, leaves what is to be done in `chosen`; main.cpp runs it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "cli/answer.h"

namespace CLI {
class App;
}

namespace postern::cli {

// Options of every command.
struct Globals {
  std::filesystem::path config = "/etc/postern/postern.yaml";
  bool config_named = false;     // --config was given: the file must be there
  std::filesystem::path socket;  // empty: the one that the config names
  bool json = false;
  unsigned timeout_s = 0;  // 0: the command's own
};

using Command = std::function<Outcome(const Globals&)>;

// Headings of `postern --help`.
namespace group {
inline constexpr const char* set_up = "Set up a gateway";
inline constexpr const char* authority = "State what the mesh allows";
inline constexpr const char* look = "Look at the running gateway";
inline constexpr const char* change = "Change the running gateway";
inline constexpr const char* journal = "Look after the journal";
inline constexpr const char* shell = "Shell";
}  // namespace group

// `app` and `chosen` outlive the parse.
void add_init(CLI::App& app, Command& chosen);
void add_keygen(CLI::App& app, Command& chosen);
void add_config(CLI::App& app, Command& chosen);
void add_authority(CLI::App& app, Command& chosen);
void add_authority_compile(CLI::App& authority, Command& chosen);
void add_authority_test(CLI::App& authority, Command& chosen);
void add_authority_diff(CLI::App& authority, Command& chosen);
void add_authority_sign(CLI::App& authority, Command& chosen);
void add_authority_rotate(CLI::App& authority, Command& chosen);
void add_authority_timestamp(CLI::App& authority, Command& chosen);
void add_authority_revoke(CLI::App& authority, Command& chosen);
void add_authority_recover(CLI::App& authority, Command& chosen);
void add_doctor(CLI::App& app, Command& chosen);
void add_status(CLI::App& app, Command& chosen);
void add_peers(CLI::App& app, Command& chosen);
void add_links(CLI::App& app, Command& chosen);
void add_owners(CLI::App& app, Command& chosen);
void add_claims(CLI::App& app, Command& chosen);
void add_conflicts(CLI::App& app, Command& chosen);
void add_claim(CLI::App& app, Command& chosen);
void add_release(CLI::App& app, Command& chosen);
void add_drops(CLI::App& app, Command& chosen);
void add_events(CLI::App& app, Command& chosen);
void add_explain(CLI::App& app, Command& chosen);
void add_monitor(CLI::App& app, Command& chosen);
void add_capture(CLI::App& app, Command& chosen);
void add_mtu(CLI::App& app, Command& chosen);
void add_rules(CLI::App& app, Command& chosen);
void add_apply(CLI::App& app, Command& chosen);
void add_confirm(CLI::App& app, Command& chosen);
void add_rollback(CLI::App& app, Command& chosen);
void add_reload(CLI::App& app, Command& chosen);
void add_journal(CLI::App& app, Command& chosen);
void add_completion(CLI::App& app, Command& chosen);

}  // namespace postern::cli
