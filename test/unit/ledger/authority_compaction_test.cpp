// SPDX-License-Identifier: Apache-2.0
// The journal of a gateway that adopts snapshots for years: it stays small, and says the same.
#include <doctest/doctest.h>

#include "ledger/errors.h"
#include "ledger/event_rules.h"
#include "ledger/posix_directory.h"
#include "ledger/repair.h"
#include "ledger/scan.h"
#include "ledger/skeleton.h"
#include "ledger/stream.h"
#include "support/authority_history.h"
#include "unit/ledger/scratch_journal.h"
#include "unit/ledger/stream_writer.h"

TEST_SUITE_BEGIN("journal_durability_tests");

namespace postern::ledger {
namespace {

using postern::testing::RandomHistory;
using postern::testing::snapshot_id;
using postern::testing::text_of;

// Parts of a state that RandomHistory can come by, each owed to one event, and StreamOpened.
constexpr std::size_t kMostOwed = 8 + 3 + 3 + 1;
// And those that the stream's author has not summed up yet, and the summary before them.
constexpr std::size_t kMostKept = kMostOwed + kCondensedEvents + 2;

const SystemClock kClock;

// A node that journals what its authority does, and compacts.
class Node {
 public:
  Node() { start(); }

  // Opens the journal; the stream goes on, and the journal's events must tell what the node knew.
  void start() {
    journal_.reset();
    scratch_.options.node = key_.public_key();
    AuthorityState told;
    StreamHistory history(key_.public_key());
    Result<std::unique_ptr<Journal>> journal =
        Journal::open(scratch_.options, [&](const Record& record) -> Result<> {
          const Result<Event> event = open_event(record.payload);
          REQUIRE(event);
          REQUIRE(apply_event(told, *event));
          return history.add(*event, record);
        });
    REQUIRE_MESSAGE(journal, (journal ? "" : journal.error().message()));
    journal_ = std::move(*journal);
    const Result<> whole = history.finish(journal_->recovery().base.get());
    REQUIRE_MESSAGE(whole, (whole ? "" : whole.error().message()));
    CHECK(text_of(told) == text_of(state));
    Result<Stream> stream = Stream::open(*journal_, key_, kClock, "blue", history, {true, false, false});
    REQUIRE(stream);
    if (stream_) {
      CHECK(stream->id() == stream_->id());
      CHECK(stream->head() == stream_->head());
    }
    stream_.emplace(std::move(*stream));
  }

  void stop() { journal_.reset(); }

  void write(const AuthorityEvent& event) {
    const std::vector<Draft> drafts = {draft_of(event)};
    REQUIRE(stream_->write(drafts));
    fold(state, event);
  }

  // Until the segment is full. A timestamp's document is what there is most of.
  void fill_segment() {
    const std::uint64_t segment = journal_->status().segment;
    while (journal_->status().segment == segment) {
      for (int i = 0; i < 3; ++i)
        write(history_.next());
      write(TimestampSeen{snapshot_id(1), UtcSeconds(500), UtcSeconds(900), std::string(40'000, 'd')});
    }
  }

  CompactionReport compact() {
    EventSummary summary(compaction_rules(), key_.public_key());
    Result<CompactionReport> report = journal_->compact({key_, summary, 1});
    REQUIRE_MESSAGE(report, (report ? "" : report.error().message()));
    REQUIRE(report->compacted);
    return std::move(*report);
  }

  Journal& journal() { return *journal_; }
  const ScratchJournal& scratch() const { return scratch_; }

  AuthorityState state;

 private:
  wire::SecretKey key_ = wire::SecretKey::generate();
  ScratchJournal scratch_;
  RandomHistory history_{7};
  std::unique_ptr<Journal> journal_;
  std::optional<Stream> stream_;
};

}  // namespace

TEST_CASE(
    "a journal that is adopted into again and again stays bounded, and tells the same state and stream") {
  Node node;
  std::size_t most_segments = 0;
  for (int round = 0; round < 5; ++round) {
    node.fill_segment();
    const CompactionReport report = node.compact();
    CHECK(report.records > 200);
    CHECK(report.kept_events <= kMostKept);
    node.start();
    std::size_t segments = 0;
    for (const auto& [name, content] : node.scratch().contents())
      segments += name.starts_with("seg-");
    most_segments = std::max(most_segments, segments);
    CHECK(std::filesystem::file_size(node.scratch().file(base_name(report.base))) <
          kMostKept * kMaxEventBytes);
  }
  // The round before, the one in force, and one that a start may raise.
  CHECK(most_segments <= 4);
}

TEST_CASE(
    "after a compaction events are shown and paged with what is missing said, and verified with its base") {
  Node node;
  node.fill_segment();
  const CompactionReport report = node.compact();
  std::vector<Record> paged;
  Cursor cursor;
  std::size_t missing = 0;
  for (bool at_end = false; !at_end;) {
    const Result<Page> page = node.journal().read_page(cursor, {5, 1U << 20});
    REQUIRE_MESSAGE(page, (page ? "" : page.error().message()));
    paged.insert(paged.end(), page->events.begin(), page->events.end());
    missing += page->missing.size();
    cursor = page->next;
    at_end = page->at_end;
  }
  AuthorityState told;
  for (const Record& record : paged)
    REQUIRE(apply_event(told, *open_event(record.payload)));
  CHECK(text_of(told) == text_of(node.state));
  CHECK(missing == 0);  // the segments stay one round
  node.fill_segment();
  REQUIRE(node.compact().base > report.base);
  const Result<Page> page = node.journal().read_page({}, {});
  REQUIRE(page);
  CHECK(page->missing.size() == 1);
  const Result<Scan> scan = scan_journal(**PosixDirectory::open(node.scratch().path()), {});
  REQUIRE(scan);
  CHECK(scan->condition == Condition::clean);
  CHECK(scan->kept_events <= kMostKept);
}

TEST_CASE("a kind that no rule knows stays whole, whatever the rules drop around it") {
  const wire::SecretKey key = wire::SecretKey::generate();
  EventSummary summary(compaction_rules(), key.public_key());
  Event event;
  event.mesh = "m";
  event.key = key.public_key();
  Skeleton skeleton;
  for (std::uint64_t n = 1; n <= 3000; ++n) {
    const Draft draft = draft_of(AuthorityActive{snapshot_id(1), Generation(n)});
    event.kind = n % 3 == 0 ? "OfALaterVersion" : draft.kind;
    event.body = draft.body;
    event.seq = Seq(n);
    event.lamport = Lamport(n);
    const std::string sealed = seal_event(event, key);
    REQUIRE(summary.add({Lseq(n), RecordType::event, {}, sealed}));
    event.prev = event_hash(sealed);
    skeleton.add(event.kind, event.seq, event.prev);
  }
  event.kind = std::string(kStreamCondensed);
  event.body = body_of(skeleton);
  event.seq = Seq(3001);
  event.lamport = Lamport(3001);
  const std::string sealed = seal_event(event, key);
  event.prev = event_hash(sealed);
  REQUIRE(summary.add({Lseq(3001), RecordType::event, {}, sealed}));
  const Result<BaseState> state = summary.finish();
  REQUIRE(state);
  CHECK(state->events.size() == 1000 + 1 + 1);
  CHECK(state->streams.begin()->second.seq == Seq(3001));
  CHECK(state->streams.begin()->second.hash == event.prev);
}

TEST_CASE(
    "what was rescued from behind damage, and what stands behind a hole, is kept whatever the rules say") {
  const wire::SecretKey key = wire::SecretKey::generate();
  EventSummary summary(compaction_rules(), key.public_key());
  Event event;
  event.mesh = "m";
  event.key = key.public_key();
  const auto sealed = [&](std::uint64_t seq) {
    const Draft draft = draft_of(AuthorityActive{snapshot_id(1), Generation(seq)});
    event.kind = draft.kind;
    event.body = draft.body;
    event.seq = Seq(seq);
    event.prev = seq == 1 ? Hash256{} : Hash256{1};
    event.lamport = Lamport(seq);
    return seal_event(event, key);
  };
  REQUIRE(summary.add({Lseq(1), RecordType::event, {}, sealed(1)}));
  REQUIRE(summary.rescue({Lseq(2), RecordType::event, {}, sealed(2)}).value());
  REQUIRE(summary.add({Lseq(4), RecordType::event, {}, sealed(4)}));
  REQUIRE(summary.add({Lseq(5), RecordType::event, {}, sealed(3)}));
  event.kind = std::string(kStreamCondensed);
  event.body = body_of(Skeleton());  // of a stream that has none
  event.seq = Seq(4);
  event.lamport = Lamport(4);
  REQUIRE(summary.add({Lseq(6), RecordType::event, {}, seal_event(event, key)}));
  const Result<BaseState> state = summary.finish();
  REQUIRE(state);
  std::vector<std::uint64_t> kept;
  for (const KeptEvent& found : state->events)
    kept.push_back(found.lseq.value);
  CHECK(kept == std::vector<std::uint64_t>{2, 4, 6});
}

TEST_CASE("no rule keeps others' events, nor own ones that the peers gave back") {
  const wire::SecretKey own = wire::SecretKey::generate();
  const wire::SecretKey other = wire::SecretKey::generate();
  EventSummary summary(compaction_rules(), own.public_key());
  std::uint64_t lseq = 0;
  std::map<Id128, Skeleton> skeletons;
  const auto add = [&](StreamWriter& writer, std::string kind, wire::Json body) {
    const SealedEvent event = writer.write(std::move(kind), std::move(body));
    REQUIRE(summary.add({Lseq(++lseq), RecordType::event, {}, event.sealed}));
    skeletons[writer.stream()].add(event.event.kind, event.event.seq, event.hash);
  };
  const auto opened_for = [](const wire::Json& predecessor) {
    return wire::Json::object({{"head", nullptr}, {"last_seq", nullptr}, {"predecessor", predecessor}});
  };
  const auto active = [&](StreamWriter& writer, std::uint64_t generation) {
    const Draft draft = draft_of(AuthorityActive{snapshot_id(1), Generation(generation)});
    add(writer, draft.kind, draft.body);
  };
  StreamWriter first(own);
  StreamWriter second(own);
  StreamWriter lost(own);
  StreamWriter foreign(other);
  add(first, std::string(kStreamOpened), opened_for(nullptr));
  active(first, 1);
  add(foreign, std::string(kStreamOpened), opened_for(nullptr));
  active(foreign, 100);
  add(foreign, "Anything", wire::Json::object({{"floors", wire::Json::object({{"vip", "9"}})}}));
  // Malformed, and yet no failure: that is its author's affair.
  add(foreign, "AuthorityActive", wire::Json::object());
  add(second, std::string(kStreamOpened), opened_for(to_hex(first.stream())));
  active(second, 2);
  active(first, 50);
  add(lost, std::string(kStreamOpened), opened_for(to_hex(first.stream())));
  active(lost, 60);
  for (StreamWriter* writer : {&first, &second, &lost, &foreign})
    add(*writer, std::string(kStreamCondensed), body_of(skeletons[writer->stream()]));
  const Result<BaseState> state = summary.finish();
  REQUIRE(state);
  CHECK(state->floors.empty());
  std::vector<std::uint64_t> kept;
  for (const KeptEvent& event : state->events) {
    const Result<Event> read = read_event(event.payload);
    if (read->kind == "AuthorityActive") kept.push_back(event.lseq.value);
  }
  CHECK(kept == std::vector<std::uint64_t>{8});
}

TEST_CASE("a base that another key signed is refused by name, by a start, a compaction and a repair") {
  Node node;
  node.fill_segment();
  const std::string name = base_name(node.compact().base);
  node.fill_segment();
  const wire::SecretKey other = wire::SecretKey::generate();
  EventSummary summary(compaction_rules(), other.public_key());
  const Result<CompactionReport> compacted = node.journal().compact({other, summary, 1});
  REQUIRE(!compacted);
  CHECK(compacted.error().code == errc::foreign_base);
  JournalOptions options = node.scratch().options;
  options.node = other.public_key();
  node.stop();
  const auto before = node.scratch().contents();
  const Result<std::unique_ptr<Journal>> opened = Journal::open(options, {});
  REQUIRE(!opened);
  CHECK(opened.error().code == errc::foreign_base);
  CHECK(opened.error().context.find(name) != std::string::npos);
  CHECK(opened.error().context.find("node.key") != std::string::npos);
  EventSummary again(compaction_rules(), other.public_key());
  const Result<RepairReport> repaired = repair_journal(options, {other, again, 1, Lseq(1), Lseq()});
  REQUIRE(!repaired);
  CHECK(repaired.error().code == errc::foreign_base);
  CHECK(node.scratch().contents() == before);
  node.start();
}

}  // namespace postern::ledger

TEST_SUITE_END();
