// SPDX-License-Identifier: Apache-2.0
#include "agent/start_count.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "unit/core/scratch_directory.h"

using namespace postern;
using namespace postern::agent;

namespace {

constexpr UtcSeconds kNow{1'700'000'000};
constexpr UtcSeconds kUnset{3};  // a clock that nobody has set yet

struct Scratch {
  testing::ScratchDirectory directory;

  std::filesystem::path file() const { return directory / "starts"; }
  void write(const std::string& text) const { std::ofstream(file()) << text; }
  std::string text() const {
    std::ostringstream out;
    out << std::ifstream(file()).rdbuf();
    return out.str();
  }
  StartCount count(std::uint64_t least = 0, UtcSeconds now = kNow) const {
    const Result<StartCount> counted = count_start(file(), least, now);
    REQUIRE_MESSAGE(counted, (counted ? "" : counted.error().message()));
    return *counted;
  }
};

}  // namespace

TEST_CASE("each start counts one more, whatever the clock says") {
  const Scratch scratch;
  const StartCount first = scratch.count();
  CHECK(first.first);
  CHECK(first.trouble.empty());
  CHECK(first.starts == 1'700'000'000);
  const StartCount second = scratch.count(0, kUnset);
  CHECK_FALSE(second.first);
  CHECK(second.trouble.empty());
  CHECK(second.starts == 1'700'000'001);
  CHECK(scratch.count(0, UtcSeconds(1'900'000'000)).starts == 1'700'000'002);
}

TEST_CASE("a count is at least what others have heard of") {
  const Scratch scratch;
  scratch.count();
  CHECK(scratch.count(1'800'000'000).starts == 1'800'000'000);
  CHECK(scratch.count(5).starts == 1'800'000'001);
}

TEST_CASE("a lost file does not let the count fall") {
  const Scratch scratch;
  const std::uint64_t before = scratch.count(0, UtcSeconds(kNow.value - 60)).starts;
  std::filesystem::remove(scratch.file());
  const StartCount after = scratch.count();
  CHECK(after.first);
  CHECK(after.starts > before);
  CHECK(scratch.count(0, UtcSeconds(-5)).starts == after.starts + 1);
}

TEST_CASE("a clock that is not set counts from one, or from what others have heard of") {
  CHECK(Scratch().count(0, UtcSeconds(-5)).starts == 1);
  CHECK(Scratch().count(7, kUnset).starts == 7);
}

TEST_CASE("whatever byte of the file is damaged, the count goes on from the clock") {
  const Scratch scratch;
  scratch.count(0, kUnset);
  const std::string whole = scratch.text();
  REQUIRE(whole.size() > 4);
  std::vector<std::string> damaged = {
      "", "\n", "x", whole + "\n", "18446744073709551615 0\n", std::string(4096, '9')};
  for (std::size_t i = 0; i < whole.size(); ++i) {
    damaged.push_back(whole.substr(0, i));
    damaged.push_back(whole);
    damaged.back()[i] = static_cast<char>(damaged.back()[i] ^ 1);
  }
  for (const std::string& text : damaged) {
    CAPTURE(text);
    scratch.write(text);
    const StartCount counted = scratch.count();
    CHECK_FALSE(counted.trouble.empty());
    CHECK_FALSE(counted.first);
    CHECK(counted.starts == 1'700'000'000);
    CHECK(scratch.count().starts == 1'700'000'001);
  }
}

TEST_CASE("a count that cannot be kept is a failure") {
  const Scratch scratch;
  CHECK_FALSE(count_start(scratch.directory / "none" / "starts", 0, kNow));
  std::filesystem::create_directory(scratch.file());
  CHECK_FALSE(count_start(scratch.file(), 0, kNow));
}
