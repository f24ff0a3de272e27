// SPDX-License-Identifier: Apache-2.0
#include "agent/event_followers.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "agent/errors.h"
#include "unit/ledger/scratch_journal.h"

using namespace postern;
using namespace postern::agent;

namespace {

class Reader : public Outlet {
 public:
  bool offer(std::string_view line) override {
    if (full) return false;
    lines.emplace_back(line);
    return true;
  }

  std::vector<std::string> lines;
  bool full = false;
};

std::string durable(int lseq) {
  return "{\"durable\":\"" + std::to_string(lseq) + "\",\"schema\":\"postern/events-durable/v1\"}\n";
}

}  // namespace

TEST_CASE("a follower is told at once how far the journal is durable, and again when it is further") {
  ledger::ScratchJournal scratch;
  const Result<std::unique_ptr<ledger::Journal>> journal = scratch.open();
  REQUIRE(journal);
  EventFollowers followers(**journal);
  const auto reader = std::make_shared<Reader>();
  REQUIRE(followers.add(reader));
  CHECK(reader->lines == std::vector<std::string>{durable(0)});
  followers.tell();
  CHECK(reader->lines.size() == 1);
  REQUIRE((*journal)->append(std::vector<std::string>{"{}", "{}"}));
  followers.tell();
  CHECK(reader->lines.back() == durable(2));
}

TEST_CASE(
    "a follower without room is told of the last state once there is some, and costs nothing until then") {
  ledger::ScratchJournal scratch;
  const Result<std::unique_ptr<ledger::Journal>> journal = scratch.open();
  REQUIRE(journal);
  EventFollowers followers(**journal);
  const auto reader = std::make_shared<Reader>();
  reader->full = true;
  REQUIRE(followers.add(reader));
  for (int i = 0; i < 3; ++i) {
    REQUIRE((*journal)->append(std::vector<std::string>{"{}"}));
    followers.tell();
  }
  reader->full = false;
  followers.tell();
  CHECK(reader->lines == std::vector<std::string>{durable(3)});
}

TEST_CASE("so many follow events and no more, until one of them goes") {
  ledger::ScratchJournal scratch;
  const Result<std::unique_ptr<ledger::Journal>> journal = scratch.open();
  REQUIRE(journal);
  EventFollowers followers(**journal);
  std::vector<std::shared_ptr<Reader>> readers;
  for (int i = 0; i < 64; ++i) {
    readers.push_back(std::make_shared<Reader>());
    REQUIRE(followers.add(readers.back()));
  }
  const auto late = std::make_shared<Reader>();
  const Result<wire::Json> refused = followers.add(late);
  REQUIRE(!refused);
  CHECK(refused.error().code == agent::errc::too_many_followers);
  CHECK(refused.error().context.find("64") != std::string::npos);
  readers.pop_back();
  CHECK(followers.add(late));
}
