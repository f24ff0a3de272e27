// SPDX-License-Identifier: Apache-2.0
#include "sync/verify_pool.h"

#include <doctest/doctest.h>

#include "unit/ledger/stream_writer.h"
#include "unit/sync/sync_network.h"

using namespace postern;
using namespace postern::sync;
using namespace postern::testing;

TEST_CASE("what threads verified comes back as it was given, whatever the order") {
  const wire::SecretKey key = wire::SecretKey::generate();
  ledger::StreamWriter writer(key);
  const std::vector<ledger::SealedEvent> events = writer.write_all(60);
  TaskQueue tasks;
  std::map<Seq, Verdict> verdicts;
  {
    VerifyPool pool([&](std::function<void()> task) { tasks.post(std::move(task)); }, 3);
    for (std::size_t at = 0; at < events.size(); at += 3) {
      const Seq first = events[at].event.seq;
      pool.verify({writer.stream(), first, {events[at].sealed, events[at + 1].sealed, events[at + 2].sealed}},
                  [&verdicts, first](Verdict verdict) { verdicts[first] = std::move(verdict); });
    }
    while (verdicts.size() < 20)
      if (!tasks.run_one()) std::this_thread::yield();
  }
  for (const auto& [first, verdict] : verdicts) {
    REQUIRE(verdict.good.size() == 3);
    CHECK_FALSE(verdict.forged);
    CHECK(verdict.good[2].hash == events[first.value + 1].hash);
  }
}

TEST_CASE("a verdict stops at the first event that is not what it should be, and says why") {
  const wire::SecretKey key = wire::SecretKey::generate();
  ledger::StreamWriter writer(key);
  const std::vector<ledger::SealedEvent> events = writer.write_all(3);
  const Verdict skipped = verify({writer.stream(), Seq(1), {events[0].sealed, events[2].sealed}});
  CHECK(skipped.good.size() == 1);
  CHECK(skipped.forged);
  const Verdict newer = verify({writer.stream(), Seq(1), {events[0].sealed, "{\"v\":2}", events[1].sealed}});
  CHECK(newer.good.size() == 1);
  CHECK(newer.unread);
  CHECK_FALSE(newer.forged);
}

TEST_CASE("one job of many events is shared out to threads, and comes back as if one had done it") {
  const wire::SecretKey key = wire::SecretKey::generate();
  ledger::StreamWriter writer(key);
  std::vector<ledger::SealedEvent> events = writer.write_all(100);
  VerifyJob whole{writer.stream(), Seq(1), {}, std::nullopt};
  for (const ledger::SealedEvent& event : events)
    whole.sealed.push_back(event.sealed);
  VerifyJob forged = whole;
  forged.sealed[60][forged.sealed[60].find("\"word\":\"a\"") + 8] = 'b';
  VerifyJob newer = forged;
  newer.sealed[30] = "{\"v\":2}";
  TaskQueue tasks;
  std::vector<Verdict> verdicts(3);
  {
    VerifyPool pool([&](std::function<void()> task) { tasks.post(std::move(task)); }, 4);
    std::size_t number = 0;
    std::size_t back = 0;
    for (const VerifyJob* job : {&whole, &forged, &newer})
      pool.verify(*job, [&verdicts, &back, at = number++](Verdict verdict) {
        verdicts[at] = std::move(verdict);
        ++back;
      });
    while (back < 3)
      if (!tasks.run_one()) std::this_thread::yield();
  }
  REQUIRE(verdicts[0].good.size() == 100);
  for (std::size_t i = 0; i < events.size(); ++i)
    CHECK(verdicts[0].good[i].hash == events[i].hash);
  CHECK(verdicts[1].good.size() == 60);
  CHECK(verdicts[1].forged);
  CHECK_FALSE(verdicts[1].why.empty());
  CHECK(verdicts[2].good.size() == 30);
  CHECK(verdicts[2].unread);
  CHECK_FALSE(verdicts[2].forged);
}
