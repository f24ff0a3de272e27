// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "ledger/errors.h"
#include "unit/ledger/scratch_journal.h"
#include "unit/ledger/small_events.h"

TEST_SUITE_BEGIN("journal_durability_tests");

namespace postern::ledger {
namespace {

namespace fs = std::filesystem;

std::string event(int n) {
  return "{\"n\":" + std::to_string(n) + "}";
}

// Opens, and fills `segments` segments with the small events from `first` on.
void fill(ScratchJournal& scratch, int first, int segments) {
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE_MESSAGE(journal, (journal ? "" : journal.error().message()));
  for (int n = first; n < first + segments; ++n)
    fill_segment(**journal, event(n));
  REQUIRE((*journal)->append(std::vector<std::string>{event(first + segments)}));
}

std::vector<std::string> events(int first, int last) {
  std::vector<std::string> out;
  for (int n = first; n <= last; ++n)
    out.push_back(event(n));
  return out;
}

CompactionReport compact_once(ScratchJournal& scratch) {
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE_MESSAGE(journal, (journal ? "" : journal.error().message()));
  Result<CompactionReport> report = compact(**journal);
  REQUIRE_MESSAGE(report, (report ? "" : report.error().message()));
  return *report;
}

bool has(const ScratchJournal& scratch, const std::string& name) {
  return fs::exists(scratch.file(name));
}

}  // namespace

TEST_CASE("a compacted journal replays what was kept, goes on, and takes less to read") {
  ScratchJournal scratch;
  fill(scratch, 0, 2);
  Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  const JournalStatus before = (*journal)->status();
  const Result<CompactionReport> report = compact(**journal);
  REQUIRE_MESSAGE(report, (report ? "" : report.error().message()));
  CHECK(report->compacted);
  CHECK(report->kept_events >= 2);
  CHECK(report->records > 340);
  CHECK((*journal)->status().base == report->base);
  CHECK((*journal)->status().live_bytes < before.live_bytes);
  CHECK((*journal)->status().head == before.head);
  REQUIRE((*journal)->append(std::vector<std::string>{event(3)}));
  journal->reset();
  for (int start = 0; start < 2; ++start) {
    journal = scratch.open();
    REQUIRE_MESSAGE(journal, (journal ? "" : journal.error().message()));
    CHECK(scratch.replayed == events(0, 3));
    REQUIRE((*journal)->recovery().base);
    CHECK((*journal)->recovery().base->number == report->base);
    CHECK((*journal)->recovery().base->key == node_key().public_key());
    journal->reset();
  }
}

TEST_CASE("there is nothing to compact while no segment was sealed") {
  ScratchJournal scratch;
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  REQUIRE((*journal)->append(std::vector<std::string>{event(0)}));
  const auto before = scratch.contents();
  CHECK(!compact(**journal).value().compacted);
  CHECK(!(*journal)->wants_compaction());
  CHECK(scratch.contents() == before);
}

TEST_CASE("a compaction is wanted from its size on, and not again before more was written") {
  ScratchJournal scratch;
  scratch.options.compaction_bytes = 2 * kSegmentBytes;
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  REQUIRE((*journal)->append(std::vector<std::string>{event(1)}));
  CHECK(!(*journal)->wants_compaction());
  fill_segment(**journal, event(0));
  CHECK((*journal)->wants_compaction());
  REQUIRE(compact(**journal).value().compacted);
  CHECK(!(*journal)->wants_compaction());
  fill_segment(**journal, event(2));
  REQUIRE((*journal)->append(std::vector<std::string>{event(3)}));
  CHECK((*journal)->wants_compaction());
}

TEST_CASE("the base before and its segments stay one round, then they go") {
  ScratchJournal scratch;
  fill(scratch, 0, 1);
  const CompactionReport first = compact_once(scratch);
  REQUIRE(first.compacted);
  CHECK(first.unlinked.empty());
  CHECK(has(scratch, "seg-1"));
  fill(scratch, 2, 1);
  const CompactionReport second = compact_once(scratch);
  REQUIRE(second.compacted);
  CHECK(!has(scratch, "seg-1"));
  CHECK(has(scratch, base_name(first.base)));
  CHECK(has(scratch, segment_name(first.base)));
  fill(scratch, 4, 1);
  const CompactionReport third = compact_once(scratch);
  CHECK(!has(scratch, base_name(first.base)));
  CHECK(!has(scratch, segment_name(first.base)));
  CHECK(has(scratch, base_name(second.base)));
  CHECK(third.leftover.empty());
  REQUIRE(scratch.open());
  CHECK(scratch.replayed == events(0, 5));
}

TEST_CASE("a compaction that fails at any call leaves the old start or the new one, and no event is lost") {
  ScratchJournal original;
  {
    const Result<std::unique_ptr<Journal>> journal = original.open();
    REQUIRE(journal);
    fill_segment(**journal, event(0));
    REQUIRE(compact(**journal).value().compacted);
    fill_segment(**journal, event(1));
    REQUIRE((*journal)->append(std::vector<std::string>{event(2)}));
  }
  const auto copy_to = [&original](const ScratchJournal& to) {
    fs::copy(original.path(), to.path(), fs::copy_options::recursive);
  };
  std::vector<std::string> calls;
  {
    ScratchJournal whole(false);
    copy_to(whole);
    const auto recording = std::make_shared<Recording>();
    const Result<std::unique_ptr<Journal>> journal = whole.open(recording);
    REQUIRE(journal);
    recording->calls.clear();
    REQUIRE(compact(**journal).value().compacted);
    calls = recording->calls;
  }
  REQUIRE(std::count(calls.begin(), calls.end(), "sync") == 2);
  std::set<std::pair<std::string, bool>> done;
  for (std::size_t at = 0; at < calls.size(); ++at) {
    for (const bool dies : {false, true}) {
      const bool looks = calls[at].starts_with("read ") || calls[at].starts_with("exists ");
      if (looks && (dies || !done.emplace(calls[at], dies).second)) continue;
      CAPTURE(calls[at]);
      CAPTURE(dies);
      ScratchJournal scratch(false);
      copy_to(scratch);
      const auto recording = std::make_shared<Recording>();
      Result<std::unique_ptr<Journal>> journal = scratch.open(recording);
      REQUIRE(journal);
      recording->calls.clear();
      // Dying: no call after it is made either.
      recording->fault = [&](const std::string&) {
        const std::size_t now = recording->calls.size();
        return now == at + 1 || (dies && now > at) ? EIO : 0;
      };
      const Result<CompactionReport> report = compact(**journal);
      recording->fault = {};
      if (!dies && (*journal)->status().poisoned) CHECK(calls[at] == "sync");
      if (report && report->compacted && !dies && calls[at].starts_with("unlink seg"))
        CHECK(!report->leftover.empty());
      journal->reset();
      const Result<std::unique_ptr<Journal>> again = scratch.open();
      REQUIRE_MESSAGE(again, (again ? "" : again.error().message()));
      CHECK(small_ones(scratch.replayed) == events(0, 2));
      const Result<CompactionReport> finished = compact(**again);
      REQUIRE_MESSAGE(finished, (finished ? "" : finished.error().message()));
    }
  }
}

TEST_CASE("a base that the disk gives back otherwise than it was written is not named") {
  ScratchJournal scratch;
  fill(scratch, 0, 1);
  const auto recording = std::make_shared<Recording>();
  const Result<std::unique_ptr<Journal>> journal = scratch.open(recording);
  REQUIRE(journal);
  recording->disk_view = [](const std::string& name, std::span<std::uint8_t> bytes, std::uint64_t) {
    if (name == "base.tmp") bytes[200] ^= 1;
  };
  const Result<CompactionReport> refused = compact(**journal);
  REQUIRE(!refused);
  CHECK(refused.error().code == errc::io);
  CHECK(recording->count("rename base.tmp") == 0);
  CHECK(recording->count("unlink seg") == 0);
  CHECK((*journal)->append(std::vector<std::string>{event(2)}));
  recording->disk_view = {};
  CHECK(compact(**journal).value().compacted);
}

TEST_CASE("a base that is bad, empty or half there is passed over: the one before says the same") {
  ScratchJournal scratch;
  fill(scratch, 0, 1);
  REQUIRE(compact_once(scratch).compacted);
  fill(scratch, 2, 1);
  const CompactionReport report = compact_once(scratch);
  const std::string name = base_name(report.base);
  const auto size = fs::file_size(scratch.file(name));
  SUBCASE("a flipped bit in the signature") {
    scratch.overwrite(name, 80, scratch.read(name, 80, 1) == "A" ? "B" : "A");
  }
  SUBCASE("a flipped bit in what is signed") {
    scratch.overwrite(name, size - 3, "x");
  }
  SUBCASE("empty") {
    fs::resize_file(scratch.file(name), 0);
  }
  SUBCASE("half") {
    fs::resize_file(scratch.file(name), size / 2);
  }
  SUBCASE("another one's content") {
    fs::copy_file(scratch.file(name), scratch.file(base_name(report.base + 3)));
    fs::remove(scratch.file(name));
  }
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE_MESSAGE(journal, (journal ? "" : journal.error().message()));
  CHECK(small_ones(scratch.replayed) == events(0, 3));
  CHECK((*journal)->recovery().base->number < report.base);
  CHECK(!(*journal)->recovery().base_trouble.empty());
  // And the next round puts a good one in its place.
  fill_segment(**journal, event(4));
  REQUIRE((*journal)->append(std::vector<std::string>{event(5)}));
  CHECK(compact(**journal).value().compacted);
}

TEST_CASE("an old base that comes back is not believed over the newer one") {
  ScratchJournal scratch;
  fill(scratch, 0, 1);
  const CompactionReport first = compact_once(scratch);
  fs::copy_file(scratch.file(base_name(first.base)), scratch.file("kept"));
  for (int round = 1; round < 3; ++round) {
    fill(scratch, 2 * round, 1);
    REQUIRE(compact_once(scratch).compacted);
  }
  REQUIRE(!has(scratch, base_name(first.base)));
  fs::rename(scratch.file("kept"), scratch.file(base_name(first.base)));
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  CHECK((*journal)->recovery().base->number > first.base);
  CHECK(scratch.replayed == events(0, 5));
}

TEST_CASE("without any whole base and without the segments below, nothing is guessed: damage") {
  ScratchJournal scratch;
  for (int round = 0; round < 2; ++round) {
    fill(scratch, 2 * round, 1);
    REQUIRE(compact_once(scratch).compacted);
  }
  for (const auto& entry : fs::directory_iterator(scratch.path())) {
    const std::string name = entry.path().filename();
    if (name.starts_with("base-")) scratch.overwrite(name, 70, "????");
  }
  const auto before = scratch.contents();
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(!journal);
  CHECK(journal.error().code == errc::damage);
  CHECK(journal.error().context.find("base-") != std::string::npos);
  CHECK(scratch.contents() == before);
}

TEST_CASE("whatever a killed compaction left of the segments below the base, the journal opens") {
  ScratchJournal scratch;
  for (int round = 0; round < 2; ++round) {
    fill(scratch, 2 * round, 2);
    REQUIRE(compact_once(scratch).compacted);
  }
  std::set<std::uint64_t> below;
  std::uint64_t base = 0;
  for (const auto& [name, content] : scratch.contents()) {
    if (const auto number = base_number(name)) base = std::max(base, *number);
    if (const auto number = segment_number(name)) below.insert(*number);
  }
  std::erase_if(below, [base](std::uint64_t number) { return number >= base; });
  REQUIRE(below.size() >= 2);
  SUBCASE("the lowest is gone") {
    fs::remove(scratch.file(segment_name(*below.begin())));
  }
  SUBCASE("the highest is gone") {
    fs::remove(scratch.file(segment_name(*below.rbegin())));
  }
  SUBCASE("one is cut short") {
    fs::resize_file(scratch.file(segment_name(*below.rbegin())), 100);
  }
  SUBCASE("all are gone") {
    for (const std::uint64_t number : below)
      fs::remove(scratch.file(segment_name(number)));
  }
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE_MESSAGE(journal, (journal ? "" : journal.error().message()));
  CHECK(small_ones(scratch.replayed).size() >= 4);
}

TEST_CASE("the segment that the base leads to is not optional") {
  ScratchJournal scratch;
  fill(scratch, 0, 1);
  const CompactionReport report = compact_once(scratch);
  fs::remove(scratch.file(segment_name(report.base)));
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(!journal);
  CHECK(journal.error().code == errc::damage);
}

TEST_CASE("a base of another journal, or one that leads elsewhere, is damage") {
  ScratchJournal scratch;
  fill(scratch, 0, 1);
  const CompactionReport report = compact_once(scratch);
  const std::string name = base_name(report.base);
  Result<Base> base = open_base(scratch.read(name, 0, fs::file_size(scratch.file(name))));
  REQUIRE(base);
  base->key = node_key().public_key();
  SUBCASE("another journal") {
    base->journal.fill(9);
  }
  SUBCASE("another place in the chain") {
    base->hash.fill(9);
  }
  SUBCASE("another number") {
    base->lseq = base->lseq.next();
  }
  fs::remove(scratch.file(name));
  const std::string text = seal_base(*base, node_key());
  scratch.create(name, text);
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(!journal);
  CHECK(journal.error().code == errc::damage);
}

TEST_CASE("a summary that lets a floor, a spend or a head fall, or forgets one, is not believed") {
  class Fixed final : public Summary {
   public:
    explicit Fixed(BaseState state) : state_(std::move(state)) {}
    Result<> start(const BaseState&) override { return {}; }
    Result<> add(const Record&) override { return {}; }
    Result<bool> rescue(const Record&) override { return true; }
    Result<BaseState> finish() override { return state_; }

   private:
    BaseState state_;
  };
  const Id128 stream{1};
  BaseState known;
  known.floors["vip"] = Epoch(7);
  known.spend["grant"] = 7;
  known.streams[stream] = {node_key().public_key(), Seq(7), Hash256{7}, Lamport(7)};
  ScratchJournal scratch;
  const Result<std::unique_ptr<Journal>> journal = scratch.open();
  REQUIRE(journal);
  fill_segment(**journal, event(0));
  REQUIRE((*journal)->append(std::vector<std::string>{event(1)}));
  Fixed first(known);
  REQUIRE((*journal)->compact({node_key(), first, 1}).value().compacted);
  fill_segment(**journal, event(2));
  REQUIRE((*journal)->append(std::vector<std::string>{event(3)}));
  const auto refused = [&](const auto& change) {
    BaseState state = known;
    change(state);
    Fixed summary(std::move(state));
    const Result<CompactionReport> compacted = (*journal)->compact({node_key(), summary, 1});
    return !compacted && compacted.error().code == errc::base_invalid;
  };
  CHECK(refused([](BaseState& state) { state.floors.clear(); }));
  CHECK(refused([](BaseState& state) { state.floors["vip"] = Epoch(6); }));
  CHECK(refused([](BaseState& state) { state.spend.clear(); }));
  CHECK(refused([](BaseState& state) { state.spend["grant"] = 6; }));
  CHECK(refused([](BaseState& state) { state.streams.clear(); }));
  CHECK(refused([&](BaseState& state) { state.streams[stream].seq = Seq(6); }));
  CHECK(!refused([&](BaseState& state) { state.streams[stream].seq = Seq(8); }));
}

}  // namespace postern::ledger

TEST_SUITE_END();
