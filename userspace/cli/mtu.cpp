// SPDX-License-Identifier: Apache-2.0
// postern mtu: how large a packet may be on the way to a peer, why, and whether the path agrees (SPEC 7.7).
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/connection.h"
#include "cli/errors.h"
#include "cli/path_probe.h"
#include "cli/reply.h"

namespace postern::cli {
namespace {

using wire::Json;

std::string row(const std::string& number, const std::string& words) {
  return std::string(number.size() < 8 ? 8 - number.size() : 0, ' ') + number + "  " + words + "\n";
}

std::string probe_rows(const Reply& probe) {
  if (!probe.has("mtu")) return row("?", "not measured: " + probe.text("problem"));
  std::string text = row(probe.text("mtu"), "measured: the largest packet that was answered, of " +
                                                probe.text("probes") + " echo requests that must not be cut");
  return text + row("", probe.text("finding"));
}

std::string way_text(const Reply& way) {
  const Reply overhead = way.at("overhead");
  std::string text = way.text("tunnel") + " from " + way.text("local") + " to " + way.text("remote") + "\n";
  if (way.has("problem")) return text + row("?", way.text("problem"));
  text += row(way.at("interface").text("mtu"), "interface " + way.at("interface").text("name"));
  if (way.has("route_mtu")) text += row(way.text("route_mtu"), "the kernel's route");
  if (const Reply path = way.at("path"); path.has("mtu"))
    text += row(path.text("mtu"), "told by a router of the underlay " + path.text("learnt_s_ago") +
                                      " s ago, forgotten in " + path.text("forgotten_in_s") + " s");
  text += row("-" + overhead.text("total"), "IP " + overhead.text("ip") + ", UDP " + overhead.text("udp") +
                                                ", " + way.text("tunnel") + " " + overhead.text("tunnel") +
                                                ", inner Ethernet " + overhead.text("ethernet"));
  if (overhead.has("fence_option"))
    text += row("-" + overhead.text("fence_option"), "more for what a resource's holder sends");
  text += row(way.text("inner_mtu"), "largest inner packet");
  const Reply segment = way.at("segment_size");
  const std::string lowered = segment.flag("lowered") ? ", which SYN segments are lowered to"
                                                      : ", which nothing is lowered to (tunnel: clamp_mss)";
  text += row(segment.text("ipv4"), "largest TCP segment over IPv4" + lowered);
  text += row(segment.text("ipv6"), "largest TCP segment over IPv6" + lowered);
  if (way.has("probe")) text += probe_rows(way.at("probe"));
  return text;
}

std::string finding(std::uint64_t measured, std::uint64_t believed) {
  if (measured == believed) return "the gateway uses what the path takes";
  if (measured > believed) return "the path takes more than the gateway uses";
  return "the path takes less than the gateway uses: larger packets are lost until a router tells of it; "
         "give the "
         "route or the interface this MTU";
}

// Measures one way and notes what came of it.
void probe_way(Json& way) {
  const Reply reply(way);
  if (reply.has("problem")) return;
  const std::optional<IpAddress> local = IpAddress::parse(reply.text("local"));
  const std::optional<IpAddress> remote = IpAddress::parse(reply.text("remote"));
  if (!local || !remote) return;
  const auto most = static_cast<std::uint32_t>(reply.at("interface").count("mtu"));
  const Result<ProbedPath> path = probe_path(*local, *remote, most);
  if (!path) {
    way.set("probe", Json::object({{"mtu", nullptr}, {"problem", json_text(path.error().context)}}));
    return;
  }
  way.set("probe", Json::object({{"mtu", path->mtu},
                                 {"probes", path->probes},
                                 {"told_mtu", path->told_mtu == 0 ? Json(nullptr) : Json(path->told_mtu)},
                                 {"finding", finding(path->mtu, reply.count("mtu"))},
                                 {"problem", nullptr}}));
}

Outcome show(const Globals& globals, const std::string& peer, bool probe) {
  tl::expected<Json, Refusal> result = ask_agent(globals, "mtu", Json::object({{"peer", json_text(peer)}}));
  if (!result) return tl::unexpected<Refusal>(result.error());
  Json ways = Json::array();
  std::string text = "peer " + Reply(*result).text("peer");
  if (Reply(*result).has("via")) text += ", via gateway " + Reply(*result).text("via");
  text += "\n";
  bool measured = true;
  if (const Json* listed = result->find("ways"); listed != nullptr && listed->as_array() != nullptr) {
    for (Json way : *listed->as_array()) {
      if (probe) {
        probe_way(way);
        measured = measured && Reply(way).at("probe").has("mtu");
      }
      text += way_text(Reply(way));
      ways.push(std::move(way));
    }
  }
  result->set("ways", std::move(ways));
  return Answer{wire::encode_canonical(*result), text, measured ? 0 : exit_code(ErrorKind::failure)};
}

}  // namespace

void add_mtu(CLI::App& app, Command& chosen) {
  CLI::App* command =
      app.add_subcommand("mtu", "How large a packet may be on the way to a peer, and where that comes from");
  command->group(group::look);
  auto peer = std::make_shared<std::string>();
  auto probe = std::make_shared<bool>(false);
  command->add_option("peer", *peer, "The peer or gateway")->type_name("PEER")->required();
  command->add_flag("--probe", *probe,
                    "Also measure the path: the peer's host must answer echo requests; needs root");
  command->callback([&chosen, peer, probe] {
    chosen = [peer, probe](const Globals& globals) { return show(globals, *peer, *probe); };
  });
}

}  // namespace postern::cli
