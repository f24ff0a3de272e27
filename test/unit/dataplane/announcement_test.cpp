// SPDX-License-Identifier: Apache-2.0
#include "dataplane/announcement.h"

#include <doctest/doctest.h>

using namespace postern;
using namespace postern::dataplane;

namespace {

const MacAddress kMac = *MacAddress::parse("02:00:00:00:00:07");

std::string frame(const char* address) {
  return to_hex(announcement(kMac, *IpAddress::parse(address)));
}

}  // namespace

TEST_CASE("an IPv4 address is announced by an ARP request of itself for itself") {
  CHECK(frame("10.9.0.1") ==
        "ffffffffffff"
        "020000000007"
        "0806"
        "0001"
        "0800"
        "0604"
        "0001"
        "020000000007"
        "0a090001"
        "000000000000"
        "0a090001");
}

// The frame is scapy's.
TEST_CASE("an IPv6 address is announced by an unsolicited advertisement that overrides") {
  CHECK(frame("fd00::9") ==
        "333300000001"
        "020000000007"
        "86dd"
        "60000000"
        "0020"
        "3a"
        "ff"
        "fd000000000000000000000000000009"
        "ff020000000000000000000000000001"
        "8800"
        "da84"
        "a0000000"
        "fd000000000000000000000000000009"
        "0201"
        "020000000007");
}
