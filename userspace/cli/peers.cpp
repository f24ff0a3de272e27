// SPDX-License-Identifier: Apache-2.0
// postern peers: who may speak to this gateway, and how much they did.
#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/connection.h"
#include "cli/reply.h"
#include "cli/table.h"
#include "cli/wording.h"

namespace postern::cli {
namespace {

std::string traffic(const Reply& counter) {
  return std::to_string(counter.count("packets")) + " / " + size_words(counter.count("bytes"));
}

std::string peer_table(const Reply& result) {
  Table table({{"PEER"},
               {"KIND"},
               {"STATE"},
               {"UNDERLAY"},
               {"SEGMENTS"},
               {"INNER MAC"},
               {"RECEIVED", Table::Side::right},
               {"SENT", Table::Side::right},
               {"DROPPED", Table::Side::right}});
  for (const Reply& peer : result.list("peers")) {
    table.add({peer.text("id"), peer.text("kind"), peer.text("state"), peer.words("addresses"),
               peer.words("segments"), peer.text("mac"), traffic(peer.at("rx")), traffic(peer.at("tx")),
               traffic(peer.at("dropped"))});
  }
  if (table.empty()) return "no peers: no snapshot is adopted, or it names none\n";
  return table.text() + "Received, sent and dropped are packets / bytes since the tables were pinned.\n";
}

Outcome show(const Globals& globals) {
  const tl::expected<wire::Json, Refusal> result = ask_agent(globals, "peers");
  if (!result) return tl::unexpected<Refusal>(result.error());
  return Answer{wire::encode_canonical(*result), peer_table(Reply(*result))};
}

}  // namespace

void add_peers(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("peers", "Peers, their state and their packet counts");
  command->group(group::look);
  command->callback([&chosen] { chosen = show; });
}

}  // namespace postern::cli
