// SPDX-License-Identifier: Apache-2.0
// What to say to a command line that makes no sense.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace postern::cli {

// One sentence: what was found, the nearest command if a command is unknown, and where to read on. `argv` is
// what `app` failed to parse.
std::string usage_text(const CLI::ParseError& error, const CLI::App& app, int argc, char** argv);

}  // namespace postern::cli
