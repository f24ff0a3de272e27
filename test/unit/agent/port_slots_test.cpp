// SPDX-License-Identifier: Apache-2.0
#include "agent/port_slots.h"

#include <doctest/doctest.h>

#include "abi.h"
#include "agent/errors.h"

using namespace postern;
using agent::PortSlots;

TEST_CASE("an interface keeps its counters when another one is taken out of the config") {
  PortSlots slots;
  REQUIRE(slots.assign({"eth0", "eth1", "eth2"}));
  CHECK(slots.of("eth2") == 2);
  REQUIRE(slots.assign({"eth1", "eth2"}));
  CHECK(slots.of("eth1") == 1);
  CHECK(slots.of("eth2") == 2);
}

TEST_CASE("a new interface gets the lowest free slot") {
  PortSlots slots;
  REQUIRE(slots.assign({"eth0", "eth1", "eth2"}));
  REQUIRE(slots.assign({"eth3", "eth0", "eth2"}));
  CHECK(slots.of("eth3") == 1);
  CHECK(slots.of("eth0") == 0);
}

TEST_CASE("a restart takes over the slots that the kernel has") {
  PortSlots slots({{"eth1", 5}, {"gone", 0}});
  REQUIRE(slots.assign({"eth0", "eth1"}));
  CHECK(slots.of("eth1") == 5);
  CHECK(slots.of("eth0") == 0);
}

TEST_CASE("slots from the kernel that clash or lie outside are not believed") {
  PortSlots slots({{"eth0", 3}, {"eth1", 3}, {"eth2", PT_MAX_PORTS}});
  REQUIRE(slots.assign({"eth0", "eth1", "eth2"}));
  CHECK(slots.of("eth0") == 3);
  CHECK(slots.of("eth1") == 0);
  CHECK(slots.of("eth2") == 1);
}

TEST_CASE("more interfaces than slots are refused and nothing changes") {
  PortSlots slots;
  REQUIRE(slots.assign({"eth0"}));
  std::vector<std::string> names;
  for (unsigned i = 0; i <= PT_MAX_PORTS; ++i)
    names.push_back("v" + std::to_string(i));
  const Result<> assigned = slots.assign(names);
  REQUIRE_FALSE(assigned);
  CHECK(assigned.error().code == agent::errc::ports_exhausted);
  CHECK(slots.of("eth0") == 0);
}
