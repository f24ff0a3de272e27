// SPDX-License-Identifier: Apache-2.0
#include "cli/usage.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace postern::cli {
namespace {

constexpr std::size_t kClose = 2;  // typing errors that a suggestion forgives

// Letters to change, add or leave out between the two (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

// How far the words name commands, and the first that should but does not.
struct Walk {
  const CLI::App* reached = nullptr;
  std::string path;
  std::string unknown;
};

Walk walk(const CLI::App& app, int argc, char** argv) {
  Walk out{&app, "postern", {}};
  for (int i = 1; i < argc && out.unknown.empty(); ++i) {
    const std::string word = argv[i];
    if (word.starts_with('-')) {
      const CLI::Option* option = app.get_option_no_throw(word);
      if (option != nullptr && option->get_items_expected_max() > 0) ++i;  // its value is no command
      continue;
    }
    const std::vector<const CLI::App*> commands = out.reached->get_subcommands({});
    if (commands.empty()) break;
    const auto named = std::find_if(commands.begin(), commands.end(),
                                    [&word](const CLI::App* command) { return command->get_name() == word; });
    if (named == commands.end()) {
      out.unknown = word;
    } else {
      out.reached = *named;
      out.path += " " + word;
    }
  }
  return out;
}

std::string nearest(const CLI::App& place, std::string_view word) {
  for (const CLI::App* command : place.get_subcommands({})) {
    if (distance(word, command->get_name()) <= kClose) return "; did you mean " + command->get_name() + "?";
  }
  return "";
}

}  // namespace

std::string usage_text(const CLI::ParseError& error, const CLI::App& app, int argc, char** argv) {
  const Walk words = walk(app, argc, argv);
  const std::string help = " (see " + words.path + " --help)";
  if (!words.unknown.empty()) {
    return words.path + " has no command \"" + words.unknown + "\"" + nearest(*words.reached, words.unknown) +
           help;
  }
  if (words.reached->get_require_subcommand_min() > 0) return words.path + " needs a command" + help;
  return error.what() + help;
}

}  // namespace postern::cli
