// SPDX-License-Identifier: Apache-2.0
#include "observe/publication.h"

#include <doctest/doctest.h>

#include <thread>

using namespace postern::observe;
using namespace std::chrono_literals;

namespace {

std::shared_ptr<const Report> report(std::uint64_t made_ns) {
  auto made = std::make_shared<Report>();
  made->made_monotonic_ns = made_ns;
  return made;
}

}  // namespace

TEST_CASE("a reader gets a report that was made after it asked") {
  std::thread loop;
  Publication publication([&] {
    loop = std::thread([&] {
      std::this_thread::sleep_for(20ms);
      publication.publish(report(2));
    });
  });
  publication.publish(report(1));
  CHECK(publication.fresh(10s)->made_monotonic_ns == 2);
  loop.join();
}

TEST_CASE("a loop that is busy costs a reader no more than its patience") {
  Publication publication([] {});
  CHECK(publication.fresh(1ms) == nullptr);
  publication.publish(report(1));
  CHECK(publication.fresh(1ms)->made_monotonic_ns == 1);
}
