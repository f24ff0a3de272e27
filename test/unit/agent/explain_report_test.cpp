// SPDX-License-Identifier: Apache-2.0
#include "agent/explain_report.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "support/small_tables.h"

using namespace postern;
using namespace postern::agent;

namespace {

const dataplane::Legend& legend() {
  static const dataplane::Legend kLegend{
      {{PeerId(5), "shop"}}, {"", "guests"}, {{100, "blue"}}, {{2, "vip"}}, {}, {"guests to guests: tcp 80"}};
  return kLegend;
}

wire::Json report_of(const pt_trace& trace) {
  dataplane::DryResult result;
  result.trace = trace;
  return explain_report(result, testing::small_tables(9), Names(legend(), "gw", {{7, "mesh0"}}),
                        1'000'000'000);
}

std::string text_at(const wire::Json& json, std::initializer_list<const char*> keys) {
  const wire::Json* at = &json;
  for (const char* key : keys) {
    at = at->find(key);
    if (at == nullptr) return "absent";
  }
  return at->as_string() != nullptr ? *at->as_string() : wire::encode_canonical(*at);
}

pt_trace dropped(pt_drop_reason reason) {
  pt_trace trace{};
  trace.sample.verdict = PT_VERDICT_DROP;
  trace.sample.reason = reason;
  trace.sample.vni = 100;
  trace.sample.sender = 5;
  trace.sample.ifindex = 7;
  trace.sample.flags = PT_SAMPLE_INNER;
  trace.sample.source.bytes[10] = trace.sample.source.bytes[11] = 0xff;
  trace.sample.source.bytes[12] = 10;
  trace.sample.source.bytes[13] = 1;
  trace.source_owner = pt_owner{PT_OWNER_PEER, 0, 1, 5};
  return trace;
}

std::string path_of(const pt_trace& trace) {
  return text_at(report_of(trace), {"decided_by"});
}

}  // namespace

TEST_CASE("what decided is named as a path into the snapshot") {
  CHECK(path_of(dropped(PT_DROP_VNI_DENIED)) == "$.peers[?@.id=='shop'].segments");
  CHECK(path_of(dropped(PT_DROP_PEER_REVOKED)) == "$.peers[?@.id=='shop']");
  CHECK(path_of(dropped(PT_DROP_PEER_UNKNOWN)) == "$.peers[*].addresses");
  CHECK(path_of(dropped(PT_DROP_SOURCE_DENIED)) ==
        "$.prefixes[?@.segment=='blue' && @.prefix=='10.1.0.0/32']");
  CHECK(path_of(dropped(PT_DROP_NO_ROUTE)) == "$.prefixes");
  pt_trace denied = dropped(PT_DROP_POLICY_DENIED);
  denied.stage = PT_AT_POLICY;
  CHECK(path_of(denied) == "$.rules");
  pt_trace held = dropped(PT_DROP_NOT_HOLDER);
  held.resource = 3;
  CHECK(path_of(held) == "$.resources[?@.id=='vip']");
  CHECK(path_of(dropped(PT_DROP_MALFORMED)) == "null");
}

TEST_CASE("a rule that let a packet go is named, and how it did") {
  pt_trace passed = dropped(PT_DROP_NONE);
  passed.sample.verdict = PT_VERDICT_DECAPSULATED;
  passed.from_class = passed.to_class = 1;
  passed.rule = 1;
  passed.permission = PT_BY_REPLY;
  const wire::Json report = report_of(passed);
  CHECK(text_at(report, {"decided_by"}) == "$.rules[0]");
  CHECK(text_at(report, {"policy", "rule"}) == "guests to guests: tcp 80");
  CHECK(text_at(report, {"policy", "rule_number"}) == "1");
  CHECK(text_at(report, {"policy", "by"}) == "reply to what the rule allows");
  CHECK(text_at(report, {"reason"}) == "null");
  CHECK(text_at(report, {"serial"}) == "9");
  CHECK(text_at(report, {"interface"}) == "mesh0");
}

TEST_CASE("what was never reached is null, and what the packet would have changed is said") {
  pt_trace trace = dropped(PT_DROP_NEIGHBOUR_UNRESOLVED);
  trace.stage = PT_AT_ROUTE;
  trace.lookups = 1;
  trace.route = 7;
  trace.would = PT_WOULD_ASK_NEIGHBOUR;
  const wire::Json report = report_of(trace);
  CHECK(text_at(report, {"stage"}) == "route");
  CHECK(text_at(report, {"route", "result"}) == "neighbour not known");
  CHECK(text_at(report, {"would"}) == "[\"have the next hop resolved\"]");
  for (const char* key : {"policy", "resource", "service", "destination_owner", "leaves"})
    CHECK(text_at(report, {key}) == "null");
}

TEST_CASE("a lease that is over has nothing left, and one that runs says how long") {
  pt_trace trace = dropped(PT_DROP_LEASE_EXPIRED);
  trace.resource = 3;
  trace.holder = PT_HOLDER_LOCAL;
  trace.deadline_boot_ns = 900'000'000;
  CHECK(text_at(report_of(trace), {"resource", "lease_left_ms"}) == "0");
  CHECK(text_at(report_of(trace), {"resource", "holder"}) == "gw");
  trace.deadline_boot_ns = 3'000'000'000;
  CHECK(text_at(report_of(trace), {"resource", "lease_left_ms"}) == "2000");
}
