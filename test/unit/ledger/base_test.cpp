// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "ledger/base.h"
#include "ledger/errors.h"
#include "wire/base64.h"

TEST_SUITE_BEGIN("journal_durability_tests");

namespace postern::ledger {
namespace {

Base sample(const wire::SecretKey& key) {
  Base base;
  base.journal.fill(3);
  base.number = 7;
  base.lseq = Lseq(900);
  base.hash.fill(4);
  base.made_ms = 1'700'000'000'000;
  base.key = key.public_key();
  base.state.streams[Id128{1}] = {key.public_key(), Seq(41), Hash256{5}, Lamport(77)};
  base.state.floors = {{"vip-1", Epoch(9)}, {"vip-2", Epoch(~std::uint64_t{0})}};
  base.state.spend = {{"grant", 1'000'000'000'000}};
  base.state.events = {{Lseq(3), Hash256{6}, "{\"a\":\"\\\"\"}"}, {Lseq(900), Hash256{7}, "{\"b\":2}"}};
  base.state.findings = {{Lseq(12), "suspect", Lseq(11), 1}};
  base.state.gaps = {{Lseq(20), Lseq(29), true}, {Lseq(40), Lseq(40), false}};
  return base;
}

}  // namespace

TEST_CASE("a base says after sealing and opening what it said before") {
  const wire::SecretKey key = wire::SecretKey::generate();
  const Base base = sample(key);
  const Result<Base> opened = open_base(seal_base(base, key));
  REQUIRE_MESSAGE(opened, (opened ? "" : opened.error().message()));
  CHECK(*opened == base);
}

TEST_CASE("a base with any bit flipped, cut at any byte or with anything behind it is refused") {
  const wire::SecretKey key = wire::SecretKey::generate();
  std::string text = seal_base(sample(key), key);
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
    CAPTURE(bit);
    CHECK(!open_base(text));
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
  }
  for (std::size_t bytes = 0; bytes < text.size(); ++bytes)
    CHECK(!open_base(text.substr(0, bytes)));
  CHECK(!open_base(text + "\n"));
  CHECK(open_base(text));
}

TEST_CASE("lists of a base that are not in order are refused") {
  const wire::SecretKey key = wire::SecretKey::generate();
  Base base = sample(key);
  SUBCASE("events") {
    std::swap(base.state.events[0], base.state.events[1]);
  }
  SUBCASE("an event above the base") {
    base.state.events[1].lseq = Lseq(901);
  }
  SUBCASE("gaps") {
    std::swap(base.state.gaps[0], base.state.gaps[1]);
  }
  SUBCASE("a gap that ends before it begins") {
    base.state.gaps[0].last = Lseq(19);
  }
  const Result<Base> opened = open_base(seal_base(base, key));
  REQUIRE(!opened);
  CHECK(opened.error().code == errc::base_invalid);
}

TEST_CASE("a base that needs a newer reader is refused by that name") {
  const wire::SecretKey key = wire::SecretKey::generate();
  const std::string part = "{\"min_reader\":2,\"v\":2,\"what\":\"a later version knows\"}";
  const std::string signature = wire::base64_encode(key.sign(wire::domain::base, as_bytes(part)));
  const Result<Base> opened = open_base("{\"key\":\"" + key.public_key().text() + "\",\"sig\":\"" +
                                        signature + "\",\"signed\":" + part + "}");
  REQUIRE(!opened);
  CHECK(opened.error().code == errc::newer_format);
}

TEST_CASE("only the canonical spelling of a base's name is one") {
  CHECK(base_number("base-7") == 7);
  CHECK(base_name(7) == "base-7");
  for (const char* name :
       {"base-", "base-0", "base-07", "base-7x", "base--7", "seg-7", "base-99999999999999999999"})
    CHECK(!base_number(name));
}

}  // namespace postern::ledger

TEST_SUITE_END();
