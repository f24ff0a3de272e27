// SPDX-License-Identifier: Apache-2.0
#include "cli/watch.h"

#include <CLI/CLI.hpp>

#include "cli/connection.h"
#include "cli/errors.h"

namespace postern::cli {
namespace {

using wire::Json;

constexpr std::chrono::seconds kPatience{30};

std::string with_port(const Reply& packet, const char* address, const char* port) {
  const std::string text = packet.text(address);
  if (!packet.has(port)) return text;
  return text.find(':') == std::string::npos ? text + ":" + packet.text(port)
                                             : "[" + text + "]:" + packet.text(port);
}

Json text_list(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts)
    list.push(json_text(text));
  return list;
}

}  // namespace

void add_watch_options(CLI::App& command, WatchOptions& options) {
  command.add_option("--verdict", options.verdicts, "Only packets that ended so; may be given again")
      ->type_name("NAME")
      ->expected(1)
      ->take_all();
  command.add_option("--reason", options.reasons, "Only packets dropped for this; may be given again")
      ->type_name("NAME")
      ->expected(1)
      ->take_all();
  command.add_option("--iface", options.interface, "Only packets that arrived on this interface")
      ->type_name("NAME");
  command.add_option("--peer", options.peer, "Only packets from or to this peer")->type_name("ID");
  command.add_option("--segment", options.segment, "Only packets of this segment")->type_name("ID");
  command.add_option("--src", options.source, "Only packets from there, an address or a prefix")
      ->type_name("PREFIX");
  command.add_option("--dst", options.destination, "Only packets to there, an address or a prefix")
      ->type_name("PREFIX");
  command.add_flag("--all", options.all, "Packets of all verdicts");
}

wire::Json watch_arguments(const WatchOptions& options, const std::vector<std::string>& usual) {
  Json arguments = Json::object();
  if (!options.verdicts.empty()) {
    arguments.set("verdicts", text_list(options.verdicts));
  } else if (!options.all || !options.reasons.empty()) {
    arguments.set("verdicts",
                  text_list(options.reasons.empty() ? usual : std::vector<std::string>{"drop", "refused"}));
  } else {
    arguments.set("verdicts", text_list({"drop", "pass", "decapsulated", "encapsulated", "relayed", "replied",
                                         "routed", "refused", "handed"}));
  }
  if (!options.reasons.empty()) arguments.set("reasons", text_list(options.reasons));
  for (const auto& [name, value] :
       {std::pair("interface", &options.interface), std::pair("peer", &options.peer),
        std::pair("segment", &options.segment), std::pair("source", &options.source),
        std::pair("destination", &options.destination)})
    if (!value->empty()) arguments.set(name, json_text(*value));
  return arguments;
}

std::optional<Refusal> listen(const Globals& globals, const WatchOptions& options, wire::Json arguments,
                              const LiveOutput& output, const TakeLine& take) {
  const auto refused = [](const Error& error) { return refuse(error).value(); };
  const Result<std::filesystem::path> socket = agent_socket(globals);
  if (!socket) return refused(socket.error());
  Result<Connection> connection =
      Connection::open(*socket, globals.timeout_s != 0 ? std::chrono::seconds(globals.timeout_s) : kPatience);
  if (!connection) return refused(connection.error());
  std::uint64_t seen = 0;
  std::optional<Refusal> garbled;
  Connection::Following following;
  following.wake_fd = output.stop_fd();
  if (options.seconds != 0)
    following.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(options.seconds);
  following.take = [&](std::string_view text) {
    const Result<Json> line = wire::parse_canonical(text, wire::kMaxControlLine);
    if (!line) {
      garbled = refused(Error{errc::garbled, "the agent sent a line that is none: " + line.error().context});
      return false;
    }
    if (!take(*line, text)) return false;
    return !is_sample(*line) || options.count == 0 || ++seen < options.count;
  };
  const Result<wire::ControlAnswer> answer =
      std::move(*connection).follow({"watch", std::move(arguments), 0}, following);
  if (!answer) return refused(answer.error());
  if (answer->error) return *answer->error;
  return garbled;
}

std::uint64_t lost_of(const wire::Json& line) {
  const Reply reply(line);
  return reply.count("samples") + reply.count("rate") + reply.count("reader");
}

std::string packet_words(const Reply& sample) {
  if (!sample.has("packet")) return "no IP packet that could be read";
  const Reply packet = sample.at("packet");
  std::string words = with_port(packet, "source", "source_port") + " > " +
                      with_port(packet, "destination", "destination_port") + " " + packet.text("protocol");
  if (packet.has("type")) words += " type " + packet.text("type") + " code " + packet.text("code");
  return words + ", ttl " + packet.text("ttl");
}

std::string verdict_words(const Reply& sample) {
  return sample.has("reason") ? sample.text("verdict") + " " + sample.text("reason") : sample.text("verdict");
}

}  // namespace postern::cli
