// SPDX-License-Identifier: Apache-2.0
#include "agent/owners_report.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>

#include <algorithm>

using namespace postern;
using namespace postern::agent;

namespace {

void own(dataplane::Tables& tables, std::uint32_t vni, const char* prefix, pt_owner owner) {
  const IpPrefix parsed = *IpPrefix::parse(prefix);
  if (parsed.is_v4()) {
    pt_owner_key4 key{32U + parsed.length, htonl(vni), {}};
    std::copy(parsed.address.bytes.begin() + 12, parsed.address.bytes.end(), key.address);
    tables.owners4.emplace_back(key, owner);
  } else {
    pt_owner_key6 key{32U + parsed.length, htonl(vni), {}};
    std::copy(parsed.address.bytes.begin(), parsed.address.bytes.end(), key.address);
    tables.owners6.emplace_back(key, owner);
  }
}

dataplane::Tables two_segments() {
  dataplane::Tables tables;
  own(tables, PT_VNI_ANY, "10.0.0.0/8", {PT_OWNER_PEER, 0, 0, 3});
  own(tables, 7, "10.0.0.0/8", {PT_OWNER_PEER, 0, 0, 3});
  own(tables, 7, "10.1.0.0/16", {PT_OWNER_LOCAL, 0, 1, 0});
  own(tables, 8, "10.1.2.0/24", {PT_OWNER_RESOURCE, 0, 1, 5});
  own(tables, 8, "2001:db8::/32", {PT_OWNER_PEER, 0, 9, 4});
  return tables;
}

dataplane::Legend legend() {
  return {{{PeerId(3), "shop"}}, {"guests", "servers"}, {{7, "blue"}, {8, "green"}}, {{5, "vip"}}, {}, {}};
}

std::vector<std::string> rows(const OwnersQuestion& question) {
  const wire::Json report = owners_report(two_segments(), legend(), "gw1", question);
  std::vector<std::string> texts;
  for (const wire::Json& row : *report.find("owners")->as_array()) {
    std::string text;
    for (const std::string_view key : {"segment", "prefix", "kind", "owner", "class"})
      text += *row.find(key)->as_string() + " ";
    texts.push_back(text);
  }
  return texts;
}

}  // namespace

TEST_CASE("the kernel's owner rows come back under the snapshot's names") {
  CHECK(rows({}) == std::vector<std::string>{
                        "blue 10.0.0.0/8 peer shop guests ",
                        "blue 10.1.0.0/16 local gw1 servers ",
                        "green 10.1.2.0/24 resource vip servers ",
                        "green 2001:db8::/32 peer #4 #9 ",
                    });
}

TEST_CASE("asking for a segment gives only its rows") {
  CHECK(rows({"green", std::nullopt}).size() == 2);
  CHECK(rows({"mauve", std::nullopt}).empty());
}

TEST_CASE("asking for an address gives the longest match of each segment") {
  CHECK(rows({std::nullopt, IpAddress::parse("10.1.2.3")}) ==
        std::vector<std::string>{"blue 10.1.0.0/16 local gw1 servers ",
                                 "green 10.1.2.0/24 resource vip servers "});
  CHECK(rows({"blue", IpAddress::parse("10.9.0.1")}) ==
        std::vector<std::string>{"blue 10.0.0.0/8 peer shop guests "});
  CHECK(rows({"blue", IpAddress::parse("11.0.0.1")}).empty());
  CHECK(rows({std::nullopt, IpAddress::parse("2001:db8::1")}).size() == 1);
}
