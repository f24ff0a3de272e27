// SPDX-License-Identifier: Apache-2.0
#include "agent/events_report.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include "agent/errors.h"
#include "ledger/event_rules.h"
#include "ledger/fork_proof.h"
#include "ledger/stream.h"
#include "unit/ledger/scratch_journal.h"
#include "unit/ledger/small_events.h"
#include "unit/ledger/stream_writer.h"

using namespace postern;
using namespace postern::agent;
using ledger::SealedEvent;
using ledger::StreamWriter;
using wire::Json;

namespace {

// A journal whose events are counted as soon as they are durable.
class Book {
 public:
  Book() {
    Result<std::unique_ptr<ledger::Journal>> opened = scratch.open();
    REQUIRE(opened);
    journal = std::move(*opened);
  }

  void add(const std::vector<SealedEvent>& events) {
    for (const SealedEvent& e : events) {
      const Result<Lseq> lseq = journal->append(std::vector<std::string>{e.sealed});
      REQUIRE(lseq);
      replica.replay({*lseq, ledger::RecordType::event, {}, e.sealed}, e.event);
    }
  }

  Result<Json> ask(const Json& arguments = Json::object()) const {
    return events_page({journal.get(), &replica, &names}, arguments);
  }
  Json page(const Json& arguments = Json::object()) const {
    Result<Json> answer = ask(arguments);
    REQUIRE_MESSAGE(answer, (answer ? "" : answer.error().message()));
    return std::move(*answer);
  }

  ledger::ScratchJournal scratch;
  std::unique_ptr<ledger::Journal> journal;
  ledger::Replica replica{"blue"};
  NodeNames names;
};

const Json::Array& events_of(const Json& page) {
  return *page.find("events")->as_array();
}

std::string text(const Json& object, std::string_view key) {
  return *object.find(key)->as_string();
}

bool at_end(const Json& page) {
  return *page.find("at_end")->as_bool();
}

std::vector<std::string> hashes_of(const Json& page) {
  std::vector<std::string> out;
  for (const Json& event : events_of(page))
    out.push_back(text(event, "hash"));
  return out;
}

std::vector<std::string> standings_of(const Json& page) {
  std::vector<std::string> out;
  for (const Json& event : events_of(page))
    out.push_back(text(event, "standing"));
  return out;
}

std::vector<std::string> hashes_of(const std::vector<SealedEvent>& events) {
  std::vector<std::string> out;
  for (const SealedEvent& e : events)
    out.push_back(to_hex(e.hash));
  return out;
}

Json after(const Json& page, std::int64_t limit) {
  return Json::object({{"cursor", text(page, "cursor")}, {"limit", limit}});
}

std::vector<SealedEvent> joined(std::vector<SealedEvent> a, const std::vector<SealedEvent>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

TEST_CASE("pages of events of any size give each once, also those of one lamport and those that come late") {
  const wire::SecretKey one = wire::SecretKey::generate();
  const wire::SecretKey two = wire::SecretKey::generate();
  // The second stream's events come after a partition, with the lamports of the first's.
  const std::vector<SealedEvent> all =
      joined(StreamWriter(one).write_all(9), StreamWriter(two).write_all(9, "late"));
  for (std::int64_t limit = 1; limit <= 7; ++limit) {
    Book book;
    book.add({all.begin(), all.begin() + 9});
    std::vector<std::string> seen;
    Json page = book.page(Json::object({{"limit", limit}}));
    for (bool late = false;; page = book.page(after(page, limit))) {
      CHECK(events_of(page).size() <= static_cast<std::size_t>(limit));
      for (const std::string& hash : hashes_of(page))
        seen.push_back(hash);
      if (!at_end(page)) continue;
      if (late) break;
      late = true;
      book.add({all.begin() + 9, all.end()});
    }
    CHECK(seen == hashes_of(all));
  }
}

TEST_CASE("events come in the order in which they came here, each once, whatever lamports they share") {
  const wire::SecretKey one = wire::SecretKey::generate();
  const wire::SecretKey two = wire::SecretKey::generate();
  const std::vector<SealedEvent> a = StreamWriter(one).write_all(6);
  const std::vector<SealedEvent> b = StreamWriter(two).write_all(6, "as late");
  Book book;
  // One stream is ahead of the other one, which is half there and then catches up.
  const std::vector<SealedEvent> all =
      joined(joined({a.begin(), a.begin() + 4}, {b.begin(), b.end()}), {a.begin() + 4, a.end()});
  book.add(all);
  for (std::int64_t limit = 1; limit <= 13; ++limit) {
    std::vector<std::string> seen;
    Json page = book.page(Json::object({{"limit", limit}}));
    for (int pages = 0; pages < 100; ++pages, page = book.page(after(page, limit))) {
      for (const std::string& hash : hashes_of(page))
        seen.push_back(hash);
      if (at_end(page)) break;
    }
    CHECK(seen == hashes_of(all));
  }
}

TEST_CASE("each event of a page has the cursor that goes on behind it") {
  const wire::SecretKey key = wire::SecretKey::generate();
  const std::vector<SealedEvent> all = StreamWriter(key).write_all(5);
  Book book;
  book.add(all);
  const Json page = book.page();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Json rest = book.page(Json::object({{"cursor", text(events_of(page)[i], "cursor")}}));
    const std::vector<std::string> expected =
        hashes_of({all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end()});
    CHECK(hashes_of(rest) == expected);
  }
}

TEST_CASE("an event in a page says whose it is, where it stands and all that is in it") {
  const wire::SecretKey key = wire::SecretKey::generate();
  const std::vector<SealedEvent> all = StreamWriter(key).write_all(2, "hello");
  Book book;
  book.add(all);
  CHECK(events_of(book.page())[0].find("author")->is_null());
  book.names = {{key.public_key(), "gw7"}};
  const Json event = events_of(book.page())[1];
  CHECK(text(event, "author") == "gw7");
  CHECK(text(event, "key") == key.public_key().text());
  CHECK(text(event, "kind") == "Note");
  CHECK(text(event, "stream") == to_hex(all[1].event.stream));
  CHECK(*event.find("seq")->as_integer() == 2);
  CHECK(*event.find("lamport")->as_integer() == 2);
  CHECK(text(event, "lseq") == "2");
  CHECK(*event.find("body") == all[1].event.body);
  CHECK(*event.find("counts")->as_bool());
}

TEST_CASE("a filter that matches nothing comes to the end of the journal in bounded steps") {
  const wire::SecretKey key = wire::SecretKey::generate();
  const wire::SecretKey nobody = wire::SecretKey::generate();
  Book book;
  book.add(StreamWriter(key).write_all(1001));
  const Json authors = Json::array({nobody.public_key().text()});
  const Json first = book.page(Json::object({{"authors", authors}}));
  CHECK(events_of(first).empty());
  CHECK(!at_end(first));
  const Json second = book.page(Json::object({{"authors", authors}, {"cursor", text(first, "cursor")}}));
  CHECK(events_of(second).empty());
  CHECK(at_end(second));
}

TEST_CASE("filtered pages of any size give what matches once") {
  const wire::SecretKey one = wire::SecretKey::generate();
  const wire::SecretKey two = wire::SecretKey::generate();
  StreamWriter a(one);
  StreamWriter b(two);
  Book book;
  std::vector<SealedEvent> wanted;
  for (int round = 0; round < 5; ++round) {
    wanted = joined(std::move(wanted), a.write_all(2));
    book.add({wanted.end() - 2, wanted.end()});
    book.add(b.write_all(3));
  }
  for (std::int64_t limit = 1; limit <= 4; ++limit) {
    Json arguments = Json::object({{"limit", limit}, {"stream", to_hex(a.stream())}});
    std::vector<std::string> seen;
    for (;;) {
      const Json page = book.page(arguments);
      for (const std::string& hash : hashes_of(page))
        seen.push_back(hash);
      if (at_end(page)) break;
      arguments.set("cursor", text(page, "cursor"));
    }
    CHECK(seen == hashes_of(wanted));
  }
}

TEST_CASE("a page of events is bounded in bytes, whatever is asked for") {
  const wire::SecretKey key = wire::SecretKey::generate();
  Book book;
  book.add(StreamWriter(key).write_all(40, std::string(40'000, 'x')));
  const Json page = book.page();
  CHECK(!at_end(page));
  CHECK(events_of(page).size() >= 20);
  CHECK(wire::encode_canonical(page).size() < std::size_t{2} << 20);
}

TEST_CASE("a cursor of another journal, or of a history that is no more, is a reset and no page") {
  const wire::SecretKey key = wire::SecretKey::generate();
  Book book;
  book.add(StreamWriter(key).write_all(4));
  std::string cursor = text(book.page(Json::object({{"limit", 2}})), "cursor");
  ErrorCode expected{"", ErrorKind::failure};
  std::string words;
  SUBCASE("another journal") {
    cursor.replace(0, 32, std::string(32, '7'));
    expected = agent::errc::events_unknown_journal;
    words = std::string(32, '7');
  }
  SUBCASE("other records under the same numbers") {
    cursor.replace(cursor.size() - 64, 64, std::string(64, '7'));
    expected = agent::errc::events_history_changed;
    words = "up to record 2";
  }
  SUBCASE("beyond the head") {
    cursor.replace(32, 3, ":9:");
    expected = agent::errc::events_history_changed;
    words = "up to record 8";
  }
  const Result<Json> answer = book.ask(Json::object({{"cursor", cursor}}));
  REQUIRE(!answer);
  CHECK(answer.error().code == expected);
  CHECK(exit_code(answer.error().code.kind) == 9);
  CHECK(answer.error().context.find(words) != std::string::npos);
  CHECK(answer.error().context.find("begin without a cursor") != std::string::npos);
}

TEST_CASE("of a forked stream a page says which events count and which do not") {
  const wire::SecretKey author = wire::SecretKey::generate();
  const wire::SecretKey finder = wire::SecretKey::generate();
  StreamWriter one(author);
  std::vector<SealedEvent> side = one.write_all(2);
  StreamWriter two = one;
  side = joined(std::move(side), one.write_all(2, "one side"));
  const std::vector<SealedEvent> other = two.write_all(1, "other side");
  Book book;
  book.add(side);
  CHECK(standings_of(book.page()) == std::vector<std::string>(4, "counts"));
  const auto proof =
      ledger::prove_fork(*ledger::header_of(side[2].sealed), *ledger::header_of(other[0].sealed));
  REQUIRE(proof);
  StreamWriter tells(finder);
  book.add(tells.write_all(1));
  book.add({tells.write(std::string(ledger::kStreamForked), ledger::body_of(*proof))});
  const Json page = book.page();
  CHECK(standings_of(page) ==
        std::vector<std::string>{"counts", "counts", "forked", "forked", "counts", "counts"});
  CHECK(!*events_of(page)[2].find("counts")->as_bool());
}

TEST_CASE("what was compacted away is said, and what is kept of it is given once") {
  const wire::SecretKey key = wire::SecretKey::generate();
  StreamWriter writer(key);
  Book book;
  const auto rounds = [&](std::size_t n) {
    const std::vector<SealedEvent> large = writer.write_all(n, std::string(40'000, 'x'));
    book.add(large);
  };
  book.add(writer.write_all(3));
  for (int round = 0; round < 2; ++round) {
    rounds(230);
    const auto done = ledger::compact(*book.journal);
    REQUIRE(done);
    REQUIRE(done->compacted);
  }
  const Json first = book.page(Json::object({{"limit", 2}}));
  const Json::Array& missing = *first.find("missing")->as_array();
  REQUIRE(missing.size() == 1);
  CHECK(text(missing[0], "first") == "1");
  CHECK(text(missing[0], "last") == "2");
  CHECK(events_of(first).size() == 2);
  const Json rest = book.page(after(first, 1000));
  CHECK(text((*rest.find("missing")->as_array())[0], "first") == "3");
  CHECK(text(events_of(rest)[0], "lseq") == "3");
  CHECK(std::stoul(text(events_of(rest)[1], "lseq")) > 150);
}

TEST_CASE("an event that is durable and not counted yet is in no page before it counts") {
  ledger::ScratchJournal scratch;
  const Result<std::unique_ptr<ledger::Journal>> journal = scratch.open();
  REQUIRE(journal);
  const wire::SecretKey own = wire::SecretKey::generate();
  const wire::SecretKey other = wire::SecretKey::generate();
  ledger::Replica replica("blue");
  const SystemClock clock;
  const ledger::StreamHistory history(own.public_key());
  Result<ledger::Stream> stream =
      ledger::Stream::open(**journal, own, clock, "blue", history, {true, false, false}, replica.listener());
  REQUIRE(stream);
  replica.started(**journal, *stream);
  std::mutex mutex;
  std::vector<std::function<void()>> posted;
  replica.take_from_others([](const wire::PublicKey&) { return true; },
                           [&](std::function<void()> task) {
                             const std::lock_guard lock(mutex);
                             posted.push_back(std::move(task));
                           });
  for (const SealedEvent& e : StreamWriter(other).write_all(2))
    REQUIRE(replica.offer({e.event, e.sealed, e.hash}) == ledger::Offer::taken);
  const auto landed = [&] {
    const std::lock_guard lock(mutex);
    return posted.size() == 2;
  };
  while (!landed())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  REQUIRE((*journal)->status().head == Lseq(3));
  const NodeNames names;
  const EventSource source{journal->get(), &replica, &names};
  const Json before = events_page(source, Json::object()).value();
  CHECK(events_of(before).size() == 1);  // the own one
  CHECK(at_end(before));
  for (const std::function<void()>& task : posted)
    task();
  const Json behind = events_page(source, Json::object({{"cursor", text(before, "cursor")}})).value();
  CHECK(standings_of(behind) == std::vector<std::string>{"counts", "counts"});
}
