// SPDX-License-Identifier: Apache-2.0
#include "authority/bundle.h"

#include <doctest/doctest.h>

#include "unit/outcome.h"

using namespace postern;
using namespace postern::authority;
using namespace postern::testing;

namespace {

std::string bundle(std::string_view entries) {
  return std::string(kBundleHead) + std::string(entries);
}

}  // namespace

TEST_CASE("what is sealed into a bundle is what opens from it, byte for byte") {
  const std::string binary("{\n1 1\n\0}", 9);
  const std::vector<BundleEntry> entries = {{Serial(3), "{a}"}, {Serial(4), binary}, {Serial(90), ""}};
  const std::string text = seal_bundle(entries);
  CHECK(is_bundle(text));
  const std::vector<BundleEntry> opened = open_bundle(text).value();
  REQUIRE(opened.size() == entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    CHECK(opened[i].serial == entries[i].serial);
    CHECK(opened[i].file == entries[i].file);
  }
}

TEST_CASE("a bundle that departs from its form is refused with the entry that does") {
  CHECK_FALSE(is_bundle("{\"signatures\":[]"));
  CHECK(outcome(open_bundle("")) == "bundle.malformed");
  for (const std::string_view bad :
       {"", "\n", "3\n", "3 1\nab\n", "3 2\nab", "3 2\na", "03 1\na\n", "3 01\na\n", "3  1\na\n", "-3 1\na\n",
        "0 1\na\n", "3 1\na\n3 1\nb\n", "3 1\na\n2 1\nb\n", "3 1\na\n\n", "3 18446744073709551616\na\n",
        "9007199254740992 1\na\n", "3 18446744073709551615\na\n"}) {
    CAPTURE(bad);
    CHECK(outcome(open_bundle(bundle(bad))) == "bundle.malformed");
  }
  CHECK(says(open_bundle(bundle("3 1\na\n2 1\nb\n")), "entry 2 of the bundle: expected a serial above 3"));
}

TEST_CASE("a bundle cut short anywhere but between entries is refused") {
  const std::vector<BundleEntry> entries = {{Serial(3), "{a}"}, {Serial(4), "{bc}"}};
  const std::string text = seal_bundle(entries);
  const std::size_t between = seal_bundle(std::span(entries).first(1)).size();
  for (std::size_t size = 0; size < text.size(); ++size) {
    CAPTURE(size);
    CHECK(open_bundle(std::string_view(text).substr(0, size)).has_value() == (size == between));
  }
}

TEST_CASE("a bundle has a bounded number of entries") {
  std::vector<BundleEntry> entries;
  for (std::uint64_t serial = 1; serial <= kMaxBundleEntries + 1; ++serial)
    entries.push_back({Serial(serial), ""});
  CHECK(outcome(open_bundle(seal_bundle(entries))) == "bundle.malformed");
  entries.pop_back();
  CHECK(outcome(open_bundle(seal_bundle(entries))) == "ok");
}
