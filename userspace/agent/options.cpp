// SPDX-License-Identifier: Apache-2.0
#include "agent/options.h"

#include <CLI/CLI.hpp>

#include "core/result.h"

namespace postern::agent {

std::variant<Options, int> parse_options(int argc, char** argv) {
  Options options;
  bool foreground = false;
  CLI::App app("Postern's agent: keeps the gateway's XDP data path as the authority signed it.", "posternd");
  app.add_option("--config", options.config, "The gateway's configuration")->capture_default_str();
  app.add_flag("--detach", options.detach,
               "Take the data path down and exit; the backstop stays, so the gateway is closed");
  app.add_flag("--foreground", foreground, "Stay in the foreground; always so");
  app.add_option("--log-level", options.log_level, "How much to log")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  app.set_version_flag("--version", "posternd " POSTERN_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : exit_code(ErrorKind::usage);
  }
  return options;
}

}  // namespace postern::agent
