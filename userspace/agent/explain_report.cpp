// SPDX-License-Identifier: Apache-2.0
#include "agent/explain_report.h"

#include <optional>
#include <string_view>

#include "agent/owner_lookup.h"
#include "agent/sample_report.h"
#include "core/bytes.h"
#include "dataplane/counters.h"

namespace postern::agent {
namespace {

using wire::Json;

constexpr std::uint64_t kNsInMs = 1'000'000;

struct StageWords {
  std::string_view label;
  std::string_view help;
};

StageWords stage_words(std::uint32_t stage) {
  switch (stage) {
#define PT_X(number, name, label, help) \
  case number:                          \
    return {label, help};
    PT_STAGES(PT_X)
#undef PT_X
    default:
      return {"unknown", ""};
  }
}

std::string quoted(const std::string& text) {
  return "'" + text + "'";
}

// JSONPath (RFC 9535) of the snapshot's member of that id.
std::string by_id(const char* list, const std::string& id) {
  return std::string("$.") + list + "[?@.id==" + quoted(id) + "]";
}

std::string by_prefix(const std::string& segment, const IpPrefix& prefix) {
  return "$.prefixes[?@.segment==" + quoted(segment) + " && @.prefix==" + quoted(prefix.text()) + "]";
}

Json owner_json(const pt_owner& owner, const pt_address& address, const pt_sample& sample,
                const dataplane::Tables& tables, const Names& names) {
  if (owner.kind == 0) return nullptr;
  const std::optional<OwnedPrefix> held = longest_owner(tables, sample.vni, address_of(address));
  const std::string segment = names.segment(sample.vni);
  return Json::object({{"kind", owner_kind(owner.kind)},
                       {"owner", names.owner(owner)},
                       {"class", names.class_name(owner.class_id)},
                       {"prefix", held ? Json(held->prefix.text()) : Json(nullptr)},
                       {"path", held ? Json(by_prefix(segment, held->prefix)) : Json(nullptr)}});
}

std::string_view permission_text(std::uint32_t permission) {
  switch (permission) {
    case PT_BY_RULE:
      return "rule";
    case PT_BY_REPLY:
      return "reply to what the rule allows";
    case PT_BY_FLOW:
      return "answer of a remembered flow";
    case PT_BY_FRAGMENT:
      return "later fragment";
    default:
      return "none";
  }
}

Json policy_json(const pt_trace& trace, const Names& names) {
  if (trace.from_class == 0 && trace.to_class == 0) return nullptr;
  Json policy = Json::object({{"from", names.class_name(trace.from_class)},
                              {"to", names.class_name(trace.to_class)},
                              {"quoted_packet", trace.quoted != 0},
                              {"by", permission_text(trace.permission)},
                              {"rule", nullptr},
                              {"rule_number", nullptr},
                              {"path", nullptr}});
  if (trace.rule == 0) return policy;
  const std::uint32_t number = trace.rule - 1;
  policy.set("rule", names.rule(number));
  policy.set("rule_number", std::int64_t{number} + 1);
  policy.set("path", "$.rules[" + std::to_string(number) + "]");
  return policy;
}

Json resource_json(const pt_trace& trace, const Names& names, std::uint64_t now_boot_ns) {
  if (trace.resource == 0) return nullptr;
  const std::uint64_t deadline = trace.deadline_boot_ns;
  return Json::object({{"resource", names.resource(trace.resource - 1)},
                       {"holder", trace.holder == 0 ? Json(nullptr) : Json(names.holder(trace.holder))},
                       {"epoch", Json::decimal(trace.row_epoch)},
                       {"fence_epoch", Json::decimal(trace.fence_epoch)},
                       {"lease_left_ms", deadline > now_boot_ns
                                             ? static_cast<std::int64_t>((deadline - now_boot_ns) / kNsInMs)
                                             : std::int64_t{0}}});
}

Json service_json(const pt_trace& trace, const Names& names) {
  if (trace.service == 0) return nullptr;
  const IpAddress backend = address_of(trace.backend);
  return Json::object({{"service", names.service(trace.service - 1)},
                       {"backend", backend == IpAddress{} ? Json(nullptr) : Json(backend.text())}});
}

// bpf_fib_lookup(): BPF_FIB_LKUP_RET_*.
std::string_view route_text(std::int32_t result) {
  static constexpr std::string_view kTexts[] = {
      "found",          "blackhole",          "unreachable",         "prohibited", "not forwarded",
      "forwarding off", "unsupported tunnel", "neighbour not known", "too big",    "no source address"};
  const auto index = static_cast<std::size_t>(result);
  return result >= 0 && index < std::size(kTexts) ? kTexts[index] : "failed";
}

Json route_json(const pt_trace& trace, const Names& names) {
  if (trace.lookups == 0) return nullptr;
  const IpAddress hop = address_of(trace.next_hop);
  const auto number = [](std::uint32_t value) { return value == 0 ? Json(nullptr) : Json(value); };
  return Json::object(
      {{"result", route_text(trace.route)},
       {"interface", trace.route_ifindex == 0 ? Json(nullptr) : Json(names.interface(trace.route_ifindex))},
       {"next_hop", hop == IpAddress{} ? Json(nullptr) : Json(hop.text())},
       {"mtu", number(trace.mtu)},
       {"path_mtu", number(trace.path_mtu)}});
}

Json effects_json(const pt_trace& trace) {
  static constexpr std::pair<std::uint32_t, std::string_view> kEffects[] = {
      {PT_WOULD_REMEMBER, "remember the flow for its replies"},
      {PT_WOULD_ASK_NEIGHBOUR, "have the next hop resolved"},
      {PT_WOULD_WAKE, "wake the agent: somebody knows a newer epoch"},
      {PT_WOULD_LOWER_MTU, "lower a peer's path MTU"},
      {PT_WOULD_CLAMP, "lower the segment size of the TCP connection"},
      {PT_WOULD_TAKE_TOKENS, "take from the peer's rate"},
      {PT_WOULD_DRAIN, "remember the flow for its service's backend"}};
  Json effects = Json::array();
  for (const auto& [bit, text] : kEffects)
    if ((trace.would & bit) != 0) effects.push(text);
  return effects;
}

// Where in the snapshot the deciding statement stands, or where one is missing.
std::string deciding_path(const pt_trace& trace, const dataplane::Tables& tables, const Names& names) {
  const pt_sample& sample = trace.sample;
  const auto prefix_of = [&](const pt_owner& owner, const pt_address& address) {
    const Json json = owner_json(owner, address, sample, tables, names);
    const Json* path = json.find("path");
    return path != nullptr && path->as_string() != nullptr ? *path->as_string() : std::string("$.prefixes");
  };
  const std::string peer = sample.sender == 0 ? "$.peers" : by_id("peers", names.peer(sample.sender));
  switch (sample.reason) {
    case 0:
      return trace.rule == 0 ? "" : "$.rules[" + std::to_string(trace.rule - 1) + "]";
    case PT_DROP_PEER_UNKNOWN:
      return "$.peers[*].addresses";
    case PT_DROP_VNI_DENIED:
      return peer + ".segments";
    case PT_DROP_PEER_REVOKED:
    case PT_DROP_PEER_EXPIRED:
      return peer;
    case PT_DROP_RATE_EXCEEDED:
      return sample.sender == 0 && sample.receiver == 0 ? "" : peer + ".rate";
    case PT_DROP_SOURCE_DENIED:
      return prefix_of(trace.source_owner, sample.source);
    case PT_DROP_NO_ROUTE:
    case PT_DROP_RELAY_REFUSED:
    case PT_DROP_PEER_MAC_UNKNOWN:
      return prefix_of(trace.destination_owner, sample.destination);
    case PT_DROP_POLICY_DENIED:
    case PT_DROP_FRAGMENT:
    case PT_DROP_L4_UNSUPPORTED:
      return trace.stage == PT_AT_POLICY ? "$.rules" : "";
    case PT_DROP_UNHELD:
    case PT_DROP_NOT_HOLDER:
    case PT_DROP_LEASE_EXPIRED:
    case PT_DROP_STALE_EPOCH:
    case PT_DROP_FUTURE_EPOCH:
      return trace.resource == 0 ? "$.resources" : by_id("resources", names.resource(trace.resource - 1));
    case PT_DROP_NO_BACKEND:
      return trace.service == 0 ? "$.services" : by_id("services", names.service(trace.service - 1));
    case PT_DROP_CLOSED:
      return "$.on_expiry";
    default:
      return "";
  }
}

}  // namespace

wire::Json explain_report(const dataplane::DryResult& result, const dataplane::Tables& tables,
                          const Names& names, std::uint64_t now_boot_ns) {
  const pt_trace& trace = result.trace;
  const pt_sample& sample = trace.sample;
  const StageWords stage = stage_words(trace.stage);
  const std::string path = deciding_path(trace, tables, names);
  Json report = sample_report(sample, names);
  report.set("schema", "postern/explain/v1");
  report.set("meaning", sample.reason == 0 ? Json(nullptr) : Json(dataplane::drop_help(sample.reason)));
  report.set("serial", Json::decimal(tables.gateway.serial));
  report.set("stage", stage.label);
  report.set("stage_meaning", stage.help);
  report.set("source_owner", owner_json(trace.source_owner, sample.source, sample, tables, names));
  report.set("destination_owner",
             owner_json(trace.destination_owner, sample.destination, sample, tables, names));
  report.set("policy", policy_json(trace, names));
  report.set("resource", resource_json(trace, names, now_boot_ns));
  report.set("service", service_json(trace, names));
  report.set("route", route_json(trace, names));
  report.set("would", effects_json(trace));
  report.set("decided_by", path.empty() ? Json(nullptr) : Json(path));
  const bool leaves = sample.verdict != PT_VERDICT_DROP;
  report.set("leaves", leaves ? Json(to_hex(result.leaves)) : Json(nullptr));
  return report;
}

}  // namespace postern::agent
