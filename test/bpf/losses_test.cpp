// SPDX-License-Identifier: Apache-2.0
#include "dataplane/losses.h"

#include <doctest/doctest.h>
#include <net/if.h>

#include "support/fresh_netns.h"

namespace postern::dataplane {
TEST_CASE("the programs that count losses load, and count only interfaces that are watched") {
  const testing::FreshNetns netns;
  netns.add_veth("up0", "far0");
  const auto losses = Losses::open();
  REQUIRE_MESSAGE(losses, (losses ? "" : losses.error().message()));
  const IfIndex up0(::if_nametoindex("up0"));
  REQUIRE((*losses)->watch({up0}));
  CHECK((*losses)->read(up0).redirect == 0);
  CHECK((*losses)->read(IfIndex(4242)).transmit == 0);
  REQUIRE((*losses)->watch({}));
  CHECK((*losses)->read(up0).transmit == 0);
}

}  // namespace postern::dataplane
