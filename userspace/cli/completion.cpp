// SPDX-License-Identifier: Apache-2.0
// postern completion bash: a script made from the commands and options themselves.
#include <CLI/CLI.hpp>

#include "cli/command.h"

namespace postern::cli {
namespace {

// Every command path ("authority sign") with the words that may follow it, as lines of a bash case.
void add_cases(const CLI::App& app, const std::string& path, std::string& out) {
  std::string words;
  for (const CLI::App* command : app.get_subcommands({}))
    words += command->get_name() + " ";
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames())
      words += "--" + name + " ";
  if (!words.empty()) words.pop_back();
  out += "    \"" + path + "\") words=\"" + words + "\" ;;\n";
  for (const CLI::App* command : app.get_subcommands({}))
    add_cases(*command, path.empty() ? command->get_name() : path + " " + command->get_name(), out);
}

std::string bash_script(const CLI::App& app) {
  std::string cases;
  add_cases(app, "", cases);
  return "# bash completion for postern; source it, or put it into /etc/bash_completion.d/postern\n"
         "_postern() {\n"
         "  local path=\"\" word words\n"
         "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         "    [[ $word == [a-z]* && $word != */* && $word != *.* ]] && path=\"${path:+$path }$word\"\n"
         "  done\n"
         "  case \"$path\" in\n" +
         cases +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words --json --config --socket --timeout\" -- "
         "\"${COMP_WORDS[COMP_CWORD]}\"))\n"
         "}\n"
         "complete -o default -F _postern postern\n";
}

}  // namespace

void add_completion(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("completion", "Print a completion script for a shell");
  command->group(group::shell);
  command->require_subcommand(1);
  CLI::App* bash = command->add_subcommand("bash", "For bash: source <(postern completion bash)");
  bash->callback([&app, &chosen] {
    chosen = [&app](const Globals&) -> Outcome {
      const std::string script = bash_script(app);
      wire::Json json = wire::Json::object({{"script", wire::Json(script)}, {"shell", wire::Json("bash")}});
      return Answer{with_schema(std::move(json), "completion"), script};
    };
  });
}

}  // namespace postern::cli
