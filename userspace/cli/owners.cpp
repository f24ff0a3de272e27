// SPDX-License-Identifier: Apache-2.0
// postern owners: whom each address belongs to, read back from the kernel's active tables.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/connection.h"
#include "cli/errors.h"
#include "cli/reply.h"
#include "cli/table.h"
#include "core/ip.h"

namespace postern::cli {
namespace {

struct Question {
  std::string segment;
  std::string address;
};

std::string owner_table(const Reply& result, const Question& question) {
  Table table({{"SEGMENT"}, {"PREFIX"}, {"KIND"}, {"OWNER"}, {"CLASS"}});
  for (const Reply& owner : result.list("owners")) {
    table.add({owner.text("segment"), owner.text("prefix"), owner.text("kind"), owner.text("owner"),
               owner.text("class")});
  }
  if (!table.empty()) return table.text();
  const std::string where = question.segment.empty() ? "" : " in segment " + question.segment;
  return question.address.empty() ? "no prefix has an owner" + where + "\n"
                                  : "nobody owns " + question.address + where + "\n";
}

Outcome show(const Globals& globals, const Question& question) {
  wire::Json arguments = wire::Json::object();
  if (!question.segment.empty()) arguments.set("segment", json_text(question.segment));
  if (!question.address.empty()) {
    const std::optional<IpAddress> address = IpAddress::parse(question.address);
    if (!address) {
      return refuse(errc::usage,
                    "--address " + question.address +
                        " is no IP address; give one like 10.1.2.3 or 2001:db8::1, without a length");
    }
    arguments.set("address", wire::Json(address->text()));
  }
  const tl::expected<wire::Json, Refusal> result = ask_agent(globals, "owners", std::move(arguments));
  if (!result) return tl::unexpected<Refusal>(result.error());
  return Answer{wire::encode_canonical(*result), owner_table(Reply(*result), question)};
}

}  // namespace

void add_owners(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("owners", "Whom each prefix belongs to, as the kernel has it");
  command->group(group::look);
  auto question = std::make_shared<Question>();
  command->add_option("--segment", question->segment, "Only prefixes of this segment; default: all segments")
      ->type_name("ID");
  command
      ->add_option("--address", question->address,
                   "Only the owner of this address, by longest prefix; default: all prefixes")
      ->type_name("IP");
  command->callback([&chosen, question] {
    chosen = [question](const Globals& globals) { return show(globals, *question); };
  });
}

}  // namespace postern::cli
