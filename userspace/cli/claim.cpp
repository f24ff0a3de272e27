// SPDX-License-Identifier: Apache-2.0
// postern claim, release: an operator's say in who holds a resource.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/claim_page.h"
#include "cli/command.h"
#include "cli/connection.h"
#include "cli/reply.h"

namespace postern::cli {
namespace {

Outcome order(const Globals& globals, const std::string& what, const std::string& resource) {
  const tl::expected<wire::Json, Refusal> result =
      ask_agent(globals, what, wire::Json::object({{"resource", json_text(resource)}}));
  if (!result) return tl::unexpected<Refusal>(result.error());
  return Answer{wire::encode_canonical(*result), claim_page(Reply(*result))};
}

void add_order(CLI::App& app, Command& chosen, const std::string& name, const std::string& help) {
  CLI::App* command = app.add_subcommand(name, help);
  command->group(group::change);
  auto resource = std::make_shared<std::string>();
  command->add_option("RESOURCE", *resource, "The resource's id")->required()->type_name("");
  command->callback([&chosen, name, resource] {
    chosen = [name, resource](const Globals& globals) { return order(globals, name, *resource); };
  });
}

}  // namespace

void add_claim(CLI::App& app, Command& chosen) {
  add_order(app, chosen, "claim",
            "Have this gateway claim a resource that nobody holds; exit code 6 while another one does");
}

void add_release(CLI::App& app, Command& chosen) {
  add_order(app, chosen, "release",
            "Have this gateway give a resource up; another candidate takes it at once");
}

}  // namespace postern::cli
