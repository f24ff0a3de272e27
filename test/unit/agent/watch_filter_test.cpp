// SPDX-License-Identifier: Apache-2.0
#include "agent/watch_filter.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace postern;
using namespace postern::agent;
using wire::Json;

namespace {

const dataplane::Legend& legend() {
  static const dataplane::Legend kLegend{{{PeerId(3), "shop"}}, {"guests"}, {{7, "blue"}}, {}, {},
                                         {"guests to all: any"}};
  return kLegend;
}

Names names() {
  return {legend(), "gw", {{4, "site0"}}};
}

WatchFilter filter_of(const Json& arguments) {
  const Result<WatchFilter> filter = read_watch_filter(arguments, names());
  REQUIRE(filter);
  return *filter;
}

pt_address raw(const char* text) {
  pt_address out{};
  const IpAddress address = *IpAddress::parse(text);
  std::copy(address.bytes.begin(), address.bytes.end(), out.bytes);
  return out;
}

pt_sample dropped() {
  pt_sample sample{};
  sample.source = raw("10.1.0.7");
  sample.destination = raw("10.2.0.9");
  sample.flags = PT_SAMPLE_INNER;
  sample.verdict = PT_VERDICT_DROP;
  sample.reason = PT_DROP_POLICY_DENIED;
  sample.ifindex = 4;
  sample.vni = 7;
  sample.sender = 3;
  return sample;
}

}  // namespace

TEST_CASE("who asks for nothing more sees drops and refusals of all reasons, and no frames") {
  const WatchFilter filter = filter_of(Json::object());
  CHECK(matches(filter, dropped()));
  pt_sample passed = dropped();
  passed.verdict = PT_VERDICT_ENCAPSULATED;
  passed.reason = 0;
  CHECK_FALSE(matches(filter, passed));
  CHECK(filter.snap_bytes == 0);
}

TEST_CASE("each filter lets through what it names and holds back the rest") {
  const auto sees = [](const char* key, const char* value) {
    const bool list = std::string_view(key).ends_with('s');
    return matches(filter_of(Json::object({{key, list ? Json::array({value}) : Json(value)}})), dropped());
  };
  CHECK(sees("verdicts", "drop"));
  CHECK_FALSE(sees("verdicts", "pass"));
  CHECK(sees("reasons", "policy_denied"));
  CHECK_FALSE(sees("reasons", "no_route"));
  CHECK(sees("interface", "site0"));
  CHECK(sees("segment", "blue"));
  CHECK(sees("peer", "shop"));
  CHECK(sees("source", "10.1.0.0/16"));
  CHECK_FALSE(sees("source", "10.1.0.8"));
  CHECK(sees("destination", "10.2.0.9"));
  CHECK_FALSE(sees("destination", "fd00::/8"));
}

TEST_CASE("a packet without addresses matches no filter of addresses") {
  pt_sample unread = dropped();
  unread.flags = 0;
  CHECK(matches(filter_of(Json::object()), unread));
  CHECK_FALSE(matches(filter_of(Json::object({{"source", "0.0.0.0/0"}})), unread));
}

TEST_CASE("a filter that names nothing there is is refused, with what there is") {
  for (const auto& [key, value, words] :
       {std::tuple("reasons", "nope", "policy_denied"), std::tuple("verdicts", "nope", "encapsulated"),
        std::tuple("peer", "nope", "nope"), std::tuple("source", "10.1.0.7/16", "prefix")}) {
    const bool list = std::string_view(key).ends_with('s');
    const auto filter =
        read_watch_filter(Json::object({{key, list ? Json::array({value}) : Json(value)}}), names());
    REQUIRE_FALSE(filter);
    CHECK(filter.error().context.find(words) != std::string::npos);
  }
  CHECK_FALSE(read_watch_filter(Json::object({{"snap_bytes", PT_SNAP_BYTES + 1}}), names()));
  CHECK_FALSE(read_watch_filter(Json::object({{"unknown", 1}}), names()));
}

TEST_CASE("the kernel is told of the narrowest wish that holds everybody's") {
  CHECK(widest({}, 99).until_ns == 0);
  const WatchFilter drops = filter_of(Json::object({{"peer", "shop"}, {"segment", "blue"}}));
  const WatchFilter frames = filter_of(Json::object(
      {{"verdicts", Json::array({"pass"})}, {"peer", "shop"}, {"snap_bytes", 128}, {"rate_per_s", 5000}}));
  const WatchFilter one[] = {drops};
  const pt_watch narrow = widest(one, 99);
  CHECK(narrow.until_ns == 99);
  CHECK(narrow.peer == 3);
  CHECK(narrow.vni == 7);
  CHECK(narrow.snap == 0);
  CHECK(narrow.verdicts == (1U << PT_VERDICT_DROP | 1U << PT_VERDICT_REFUSED));
  CHECK(narrow.token_ns == 1'000'000);
  const WatchFilter both[] = {drops, frames};
  const pt_watch wide = widest(both, 99);
  CHECK(wide.peer == 3);
  CHECK(wide.vni == 0);
  CHECK(wide.snap == 128);
  CHECK((wide.verdicts >> PT_VERDICT_PASS & 1) == 1);
  CHECK(wide.token_ns == 200'000);
}
