// SPDX-License-Identifier: Apache-2.0
#include "dataplane/maglev.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

namespace postern::dataplane {
namespace {

std::vector<MaglevBackend> backends(std::size_t count) {
  std::vector<MaglevBackend> out;
  for (std::size_t i = 0; i < count; ++i)
    out.push_back({"10.0." + std::to_string(i / 256) + "." + std::to_string(i % 256), 1});
  return out;
}

std::map<std::string, std::size_t> shares(const std::vector<MaglevBackend>& list) {
  std::map<std::string, std::size_t> out;
  for (const std::uint8_t place : maglev(list)) {
    REQUIRE(place < list.size());
    ++out[list[place].name];
  }
  return out;
}

// Of the places whose backend stays, how many change hands when `gone` goes.
double moved(const std::vector<MaglevBackend>& before, std::size_t gone) {
  std::vector<MaglevBackend> after = before;
  after.erase(after.begin() + static_cast<std::ptrdiff_t>(gone));
  const MaglevTable a = maglev(before);
  const MaglevTable b = maglev(after);
  std::size_t changed = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    changed += a[i] != gone && before[a[i]].name != after[b[i]].name;
  return static_cast<double>(changed) / static_cast<double>(a.size());
}

}  // namespace

TEST_CASE("every place has a backend, and equal backends have nearly equal shares") {
  for (const std::size_t count : {1U, 2U, 3U, 7U, 64U, 255U}) {
    CAPTURE(count);
    const auto share = shares(backends(count));
    CHECK(share.size() == count);
    const std::size_t fair = PT_MAGLEV_SIZE / count;
    for (const auto& [name, places] : share) {
      CHECK(places >= fair - 1);
      CHECK(places <= fair + 1);
    }
  }
}

TEST_CASE("when a backend goes, few places of the others change hands") {
  double worst = 0;
  for (const std::size_t count : {2U, 3U, 5U, 10U, 50U}) {
    for (std::size_t gone = 0; gone < std::min<std::size_t>(count, 10); ++gone)
      worst = std::max(worst, moved(backends(count), gone));
  }
  MESSAGE("worst share of places that moved beside those of the backend that went: " << worst);
  CHECK(worst < 0.05);
}

TEST_CASE("shares follow the weights") {
  std::vector<MaglevBackend> list = backends(3);
  list[0].weight = 1;
  list[1].weight = 2;
  list[2].weight = 5;
  auto share = shares(list);
  CHECK(share[list[0].name] == doctest::Approx(PT_MAGLEV_SIZE * 1 / 8.0).epsilon(0.02));
  CHECK(share[list[1].name] == doctest::Approx(PT_MAGLEV_SIZE * 2 / 8.0).epsilon(0.02));
  CHECK(share[list[2].name] == doctest::Approx(PT_MAGLEV_SIZE * 5 / 8.0).epsilon(0.02));
}

TEST_CASE("gateways that list the backends in another order agree") {
  std::vector<MaglevBackend> list = backends(9);
  const MaglevTable table = maglev(list);
  std::vector<MaglevBackend> turned = list;
  std::reverse(turned.begin(), turned.end());
  const MaglevTable other = maglev(turned);
  for (std::size_t i = 0; i < table.size(); ++i)
    REQUIRE(list[table[i]].name == turned[other[i]].name);
}

TEST_CASE("a weight of zero gets nothing, and none at all leaves every place empty") {
  std::vector<MaglevBackend> list = backends(2);
  list[0].weight = 0;
  for (const std::uint8_t place : maglev(list))
    REQUIRE(place == 1);
  list[1].weight = 0;
  for (const std::uint8_t place : maglev(list))
    REQUIRE(place == PT_NO_BACKEND);
  CHECK(maglev({})[0] == PT_NO_BACKEND);
}

}  // namespace postern::dataplane
