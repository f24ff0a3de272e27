// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <variant>

namespace postern::agent {

struct Options {
  std::filesystem::path config = "/etc/postern/postern.yaml";
  bool detach = false;
  std::string log_level = "info";
};

// The options, or the exit code when the command line said it all (--help, --version) or makes no sense.
std::variant<Options, int> parse_options(int argc, char** argv);

}  // namespace postern::agent
