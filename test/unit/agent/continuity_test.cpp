// SPDX-License-Identifier: Apache-2.0
#include "agent/continuity.h"

#include <doctest/doctest.h>

#include "agent/errors.h"

using namespace postern;
using namespace postern::agent;

namespace {

constexpr Id128 kOurs{1, 2, 3};
constexpr Hash256 kHash{7};
const ledger::JournalEnd kEnd{kOurs, Id128{}, Lseq(2), kHash};

dataplane::JournalPin pin(Id128 journal, std::uint64_t head, Hash256 hash) {
  return {journal, Lseq(head), hash};
}

}  // namespace

TEST_CASE("a data path without a pin, or one that the journal is level with or ahead of, is taken over") {
  CHECK(check_journal_pin(std::nullopt, kEnd));
  CHECK(check_journal_pin(pin(kOurs, 2, kHash), kEnd));
  CHECK(check_journal_pin(pin(kOurs, 1, Hash256{5}), kEnd));
}

TEST_CASE("pins that belong to another journal are refused") {
  const Result<> checked = check_journal_pin(pin(Id128{9}, 1, Hash256{5}), kEnd);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().code == errc::foreign_pins);
}

TEST_CASE("a journal that is shorter than what the kernel was served from is not served") {
  const Result<> checked = check_journal_pin(pin(kOurs, 3, kHash), kEnd);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().code == errc::disk_went_back);
  CHECK(exit_code(checked.error().code.kind) == 5);
  CHECK(checked.error().context.find("the disk went back in time") != std::string::npos);
}

TEST_CASE("a journal with another record at the pinned place is not served") {
  const Result<> checked = check_journal_pin(pin(kOurs, 2, Hash256{8}), kEnd);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().code == errc::disk_went_back);
}

TEST_CASE("a journal that has another record where the pin points inside of it is not served") {
  const auto inside = std::optional(pin(kOurs, 1, Hash256{5}));
  CHECK(check_journal_pin(inside, kEnd));
  CHECK(check_pinned_record(inside, Lseq(1), Hash256{5}));
  CHECK(check_pinned_record(inside, Lseq(2), Hash256{6}));
  CHECK(check_pinned_record(std::nullopt, Lseq(1), Hash256{6}));
  const Result<> checked = check_pinned_record(inside, Lseq(1), Hash256{6});
  REQUIRE_FALSE(checked);
  CHECK(checked.error().code == errc::disk_went_back);
}

TEST_CASE("a kernel that serves a newer serial than the disk knows is left alone") {
  CHECK(check_serial(Serial(0), std::nullopt));
  CHECK(check_serial(Serial(4), Serial(4)));
  CHECK(check_serial(Serial(3), Serial(4)));
  const Result<> newer = check_serial(Serial(5), Serial(4));
  REQUIRE_FALSE(newer);
  CHECK(newer.error().code == errc::disk_went_back);
  CHECK_FALSE(check_serial(Serial(1), std::nullopt));
}

TEST_CASE("a fence in the kernel above the persisted one means that the disk went back") {
  const std::map<ResourceNumber, Epoch> adopted{{ResourceNumber(1), Epoch(10)}};
  CHECK(check_fences({}, adopted));
  CHECK(check_fences({{ResourceNumber(1), Epoch(9)}}, adopted));
  CHECK(check_fences({{ResourceNumber(1), Epoch(10)}}, adopted));
  const Result<> higher = check_fences({{ResourceNumber(1), Epoch(11)}}, adopted);
  REQUIRE_FALSE(higher);
  CHECK(higher.error().code == errc::disk_went_back);
  CHECK_FALSE(check_fences({{ResourceNumber(2), Epoch(1)}}, adopted));
}
