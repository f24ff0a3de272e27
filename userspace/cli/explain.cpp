// SPDX-License-Identifier: Apache-2.0
// postern explain: what the loaded packet path would do with a packet, and why (SPEC 1.17).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/connection.h"
#include "cli/errors.h"
#include "cli/packet_file.h"
#include "cli/reply.h"
#include "cli/table.h"
#include "cli/watch.h"
#include "core/bytes.h"

namespace postern::cli {
namespace {

using wire::Json;
using Asked = tl::expected<Json, Refusal>;

struct Question {
  std::string interface;
  std::string hex;
  std::string file;
  // Members of the agent's `packet`, by their names there.
  std::vector<std::pair<std::string, std::string>> texts;
  std::vector<std::pair<std::string, std::int64_t>> numbers;
  bool may_fragment = false;
  bool plain = false;
};

std::string owner_line(const Reply& owner) {
  if (!owner.has("owner")) return "nobody";
  return owner.text("kind") + " " + owner.text("owner") + ", class " + owner.text("class") + ", by " +
         owner.text("prefix");
}

std::string verdict_line(const Reply& result) {
  if (!result.has("reason")) return result.text("verdict");
  return result.text("verdict") + ": " + result.text("reason") + " (" + result.text("meaning") + ")";
}

// What the packet met, in its order.
std::string page(const Reply& result) {
  std::vector<std::pair<std::string, std::string>> lines = {
      {"verdict", verdict_line(result)},
      {"stage", result.text("stage") + " (" + result.text("stage_meaning") + ")"},
      {"packet", packet_words(result)},
      {"arrives on", result.text("interface")}};
  if (result.has("tunnel"))
    lines.emplace_back("tunnel",
                       result.at("tunnel").text("source") + " > " + result.at("tunnel").text("destination"));
  if (result.has("sender")) lines.emplace_back("sent by", result.text("sender"));
  if (result.has("segment")) lines.emplace_back("segment", result.text("segment"));
  if (result.has("packet")) {
    lines.emplace_back("source is of", owner_line(result.at("source_owner")));
    lines.emplace_back("destination of", owner_line(result.at("destination_owner")));
  }
  if (const Reply policy = result.at("policy"); policy.has("from")) {
    lines.emplace_back("classes", policy.text("from") + " to " + policy.text("to") +
                                      (policy.flag("quoted_packet") ? ", of the packet that it quotes" : ""));
    lines.emplace_back("rule", policy.has("rule") ? policy.text("rule_number") + ": " + policy.text("rule") +
                                                        " (" + policy.text("by") + ")"
                                                  : "none");
  }
  if (const Reply resource = result.at("resource"); resource.has("resource"))
    lines.emplace_back("resource", resource.text("resource") + ", held by " + resource.text("holder") +
                                       ", epoch " + resource.text("epoch") + ", fence " +
                                       resource.text("fence_epoch") + ", lease ends in " +
                                       resource.text("lease_left_ms") + " ms");
  if (const Reply service = result.at("service"); service.has("service"))
    lines.emplace_back("service", service.text("service") + ", backend " + service.text("backend"));
  if (const Reply route = result.at("route"); route.has("result"))
    lines.emplace_back("route", route.text("result") + ", " + route.text("interface") + " by " +
                                    route.text("next_hop") + ", largest packet " + route.text("mtu"));
  if (result.has("receiver")) lines.emplace_back("sent to", result.text("receiver"));
  if (result.has("egress")) lines.emplace_back("leaves by", result.text("egress"));
  for (const Reply& effect : result.list("would"))
    lines.emplace_back("would", effect.text());
  if (result.has("decided_by")) lines.emplace_back("decided by", result.text("decided_by"));
  lines.emplace_back("snapshot",
                     "serial " + result.text("serial") + ", generation " + result.text("generation"));
  std::string text;
  for (const auto& [name, value] : lines)
    text += name + std::string(name.size() < 16 ? 16 - name.size() : 1, ' ') + value + "\n";
  return text;
}

Asked ask(const Globals& globals, const std::string& interface, std::optional<Json> packet,
          std::string_view frame) {
  Json arguments = Json::object({{"interface", json_text(interface)}});
  if (packet) arguments.set("packet", std::move(*packet));
  return ask_agent(globals, "explain", std::move(arguments), frame);
}

Json packet_of(const Question& question) {
  Json packet = Json::object();
  for (const auto& [name, value] : question.texts)
    packet.set(name, json_text(value));
  for (const auto& [name, value] : question.numbers)
    packet.set(name, Json(value));
  if (question.may_fragment) packet.set("dont_fragment", Json(false));
  if (question.plain) packet.set("plain", Json(true));
  return packet;
}

Outcome explain_one(const Asked& result) {
  if (!result) return tl::unexpected<Refusal>(result.error());
  return Answer{wire::encode_canonical(*result), page(Reply(*result))};
}

Outcome explain_hex(const Globals& globals, const Question& question) {
  std::string digits;
  for (const char c : question.hex)
    if (std::isspace(static_cast<unsigned char>(c)) == 0 && c != ':')
      digits += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const std::optional<Bytes> frame = from_hex(digits);
  if (!frame || frame->empty())
    return refuse(errc::usage,
                  "--hex takes a frame as hexadecimal digits, beginning with its Ethernet header");
  return explain_one(ask(globals, question.interface, std::nullopt, as_text(*frame)));
}

Outcome explain_file(const Globals& globals, const Question& question) {
  const Result<std::vector<FiledFrame>> frames = read_packet_file(question.file);
  if (!frames) return refuse(frames.error());
  Table table({{"PACKET", Table::Side::right}, {"VERDICT"}, {"REASON"}, {"STAGE"}, {"WHAT"}});
  Json packets = Json::array();
  for (std::size_t i = 0; i < frames->size(); ++i) {
    const FiledFrame& frame = (*frames)[i];
    Asked result = ask(globals, question.interface, std::nullopt, as_text(frame.bytes));
    if (!result) {
      Refusal refusal = result.error();
      refusal.message = "packet " + std::to_string(i + 1) + ": " + refusal.message;
      return tl::unexpected<Refusal>(std::move(refusal));
    }
    result->set("number", Json(static_cast<std::int64_t>(i) + 1));
    result->set("cut_off", Json(frame.length_bytes > frame.bytes.size()));
    const Reply reply(*result);
    table.add({std::to_string(i + 1), reply.text("verdict"), reply.text("reason"), reply.text("stage"),
               packet_words(reply)});
    packets.push(std::move(*result));
  }
  return Answer{with_schema(Json::object({{"packets", std::move(packets)}}), "explained-file"),
                table.empty() ? question.file + " holds no packet\n" : table.text()};
}

Outcome explain(const Globals& globals, const Question& question) {
  const int kinds =
      (question.hex.empty() ? 0 : 1) + (question.file.empty() ? 0 : 1) + (question.texts.empty() ? 0 : 1);
  if (kinds != 1)
    return refuse(errc::usage, "give one packet: by fields (--src, --dst, ...), or by --hex, or --pcap FILE");
  if (!question.hex.empty()) return explain_hex(globals, question);
  if (!question.file.empty()) return explain_file(globals, question);
  return explain_one(ask(globals, question.interface, packet_of(question), {}));
}

struct TextOption {
  const char* flag;
  const char* member;
  const char* type;
  const char* help;
};
struct NumberOption {
  const char* flag;
  const char* member;
  std::int64_t most;
  const char* help;
};

constexpr TextOption kTexts[] = {
    {"--src", "source", "IP", "Source address"},
    {"--dst", "destination", "IP", "Destination address"},
    {"--proto", "protocol", "NAME", "tcp, udp, icmp, icmpv6 or a number; default: tcp"},
    {"--flags", "tcp_flags", "LIST", "TCP flags, such as syn,ack; default: syn"},
    {"--peer", "peer", "ID", "On the underlay: who sends it; default: the owner of the source"},
    {"--segment", "segment", "ID",
     "On the underlay: the tunnel's segment; default: the one that knows the source"},
    {"--from", "from", "IP", "On the underlay: the tunnel's source address; default: the peer's"},
};
constexpr NumberOption kNumbers[] = {
    {"--sport", "source_port", 65535, "Source port; default: 40000"},
    {"--dport", "destination_port", 65535, "Destination port"},
    {"--type", "type", 255, "ICMP type; default: an echo request"},
    {"--code", "code", 255, "ICMP code; default: 0"},
    {"--ttl", "ttl", 255, "TTL or hop limit; default: 64"},
    {"--size", "payload_bytes", 9000, "Bytes of payload; default: 0"},
    {"--vni", "vni", 0xffffff, "On the underlay: the tunnel's VNI, whatever segment that is"},
};

}  // namespace

void add_explain(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand(
      "explain", "What the gateway would do with a packet, and which line of the snapshot decides");
  command->group(group::look);
  auto question = std::make_shared<Question>();
  command->add_option("--in", question->interface, "Interface that it arrives on")
      ->type_name("NAME")
      ->required();
  for (const TextOption& option : kTexts) {
    command
        ->add_option_function<std::string>(
            option.flag,
            [question, member = option.member](const std::string& value) {
              question->texts.emplace_back(member, value);
            },
            option.help)
        ->type_name(option.type);
  }
  for (const NumberOption& option : kNumbers) {
    command
        ->add_option_function<std::int64_t>(
            option.flag,
            [question, member = option.member](const std::int64_t& value) {
              question->numbers.emplace_back(member, value);
            },
            option.help)
        ->type_name("NUMBER")
        ->check(CLI::Range(std::int64_t{0}, option.most).description(""));
  }
  command->add_flag("--may-fragment", question->may_fragment, "IPv4: without the don't-fragment flag");
  command->add_flag("--plain", question->plain, "On the underlay: in no tunnel");
  command->add_option("--hex", question->hex, "The whole frame as hexadecimal digits")->type_name("DIGITS");
  command->add_option("--pcap", question->file, "Each packet of a pcap or pcapng file")->type_name("FILE");
  command->callback([&chosen, question] {
    chosen = [question](const Globals& globals) {
      Question asked = *question;
      const auto has = [&](const char* member) {
        return std::any_of(asked.texts.begin(), asked.texts.end(),
                           [&](const auto& text) { return text.first == member; });
      };
      if (has("source") && !has("protocol")) asked.texts.emplace_back("protocol", "tcp");
      return explain(globals, asked);
    };
  });
}

}  // namespace postern::cli
