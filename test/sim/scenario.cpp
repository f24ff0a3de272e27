// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "ledger/compaction.h"
#include "ledger/errors.h"
#include "ledger/event_rules.h"
#include "ledger/spare.h"
#include "sim/simulated_directory.h"

namespace postern::ledger::sim {
namespace {

constexpr std::size_t kMostWorkInALife = 40;
constexpr unsigned kGatewaysPercent = 15;

Trouble choose_trouble(RandomSource& random) {
  const std::size_t roll = random.below(100);
  if (roll < 50) return Trouble::none;
  if (roll < 70) return Trouble::failing_calls;
  if (roll < 80) return Trouble::full_disk;
  if (roll < 90) return Trouble::flips;
  if (roll < 95) return Trouble::old_images;
  return Trouble::second_writer;
}

DiskTraits choose_traits(RandomSource& random) {
  DiskTraits traits;
  traits.sector_bytes = random.chance(50) ? 512 : 4096;
  traits.names_in_order = random.chance(50);
  return traits;
}

End choose_end(RandomSource& random) {
  return random.chance(70) ? End::power_cut : End::killed;
}

bool is_roll(const std::string& call) {
  return call.find("spare") != std::string::npos || call.starts_with("sync") || call.starts_with("rename");
}

std::size_t last_nonzero(const Bytes& bytes) {
  const auto found = std::find_if(bytes.rbegin(), bytes.rend(), [](std::uint8_t b) { return b != 0; });
  return static_cast<std::size_t>(bytes.rend() - found);
}

}  // namespace

Scenario::Scenario(std::uint64_t seed, std::size_t crashes, std::function<void(const std::string&)> observer)
    : random_(seed),
      trouble_(choose_trouble(random_)),
      disk_(choose_traits(random_), random_.next()),
      crashes_(crashes),
      observer_(std::move(observer)) {
  options_.machine = Id128{1};
  options_.after_flush = [this](const JournalStatus& status) {
    oracle_.pin(status);
    if (const std::function<void()> then = std::exchange(on_flush_, {})) then();
  };
  // Two writers of one stream are not what its history can be told of.
  if (trouble_ != Trouble::second_writer && random_.chance(kGatewaysPercent)) {
    gateway_.emplace(key_, random_);
    oracle_.allow_compacted();
  }
  coverage_.seeds = 1;
  disk_.trace(observer_);
}

void Scenario::say(const std::string& text) const {
  if (observer_) observer_("-- " + text);
}

void Scenario::plan_end() {
  const std::size_t kind = random_.below(10);
  const std::size_t most = kind < 5 ? 14 : kind < 9 ? 60 : 200;
  disk_.end_after(random_.between(1, most), choose_end(random_));
}

void Scenario::plan_fault() {
  struct Kind {
    Call call;
    int error;
    std::size_t most;
  };
  static constexpr Kind kKinds[] = {
      {Call::write, EIO, 12}, {Call::write, 0, 12},    {Call::write, ENOSPC, 12}, {Call::datasync, EIO, 10},
      {Call::rename, EIO, 4}, {Call::sync, EIO, 6},    {Call::create, EIO, 2},    {Call::read, EIO, 40},
      {Call::open, EIO, 30},  {Call::exists, EIO, 10}, {Call::list, EIO, 3},      {Call::unlink, EIO, 2},
  };
  // Half of them flushes: there the page cache and the disk part ways.
  const Kind& kind = random_.chance(40) ? kKinds[3] : kKinds[random_.below(std::size(kKinds))];
  disk_.arm({kind.call, random_.between(1, kind.most), kind.error});
}

void Scenario::count_end() {
  const bool append = phase_ == "append" && is_roll(disk_.struck());
  const std::string where = disk_.struck() == "between calls" ? disk_.struck() : append ? "roll" : phase_;
  ++coverage_.crashes;
  ++coverage_.phases[where];
  const bool recovery = where == "recovery";
  if (recovery && struck_in_recovery_) ++coverage_.in_recovery_again;
  struck_in_recovery_ = recovery;
}

void Scenario::end_life() {
  if (!disk_.dead()) disk_.end_now(choose_end(random_));
  count_end();
  if (disk_.power_is_cut()) ++coverage_.power_cuts;
  say("start after " + disk_.struck() + " in " + phase_);
  if (disk_.fault_struck()) ++coverage_.troubles["failed call"];
  disk_.clear_fault();
  disk_.restart();
}

std::string Scenario::create() {
  phase_ = "create";
  while (true) {
    if (random_.chance(40)) disk_.end_after(random_.between(1, 18), choose_end(random_));
    const Result<> made = SegmentedJournal::create(std::make_unique<SimulatedDirectory>(disk_), options_);
    if (disk_.dead()) {
      end_life();
      continue;
    }
    disk_.end_after(0, End::killed);
    if (made || made.error().code == errc::exists) return "";
    return "a journal cannot be created: " + made.error().message();
  }
}

Scenario::Opened Scenario::open(std::vector<Record>& found) {
  phase_ = "recovery";
  found.clear();
  return SegmentedJournal::open(std::make_unique<SimulatedDirectory>(disk_), options_,
                                [&found](const Record& record) -> Result<> {
                                  if (record.type == RecordType::event) found.push_back(record);
                                  return {};
                                });
}

// Only what broke the disk may keep a journal from opening; a crash or a full disk never.
std::string Scenario::look_at_refusal(const Error& error) {
  if (explained()) return "";
  return "refused to open: " + error.message();
}

std::string Scenario::start(std::unique_ptr<Journal>& journal, Harm harm) {
  std::vector<Record> found;
  Opened opened = open(found);
  if (!opened) return look_at_refusal(opened.error());
  // One that came back though a call failed or the power went in it is a start like any other.
  const bool dead = disk_.dead();
  if (!dead) {
    if (std::string bad = judge(found, **opened, harm); !bad.empty()) return bad;
    journal = std::move(*opened);
  }
  return "";
}

std::string Scenario::judge(const std::vector<Record>& found, const Journal& journal, Harm harm) {
  disk_.set_watched(true);
  std::string bad = oracle_.judge_start(found, journal, harm);
  disk_.set_watched(false);
  if (bad.empty() && gateway_) {
    bad = gateway_->go_on(oracle_.settled(), found, journal.recovery().base.get());
    ++coverage_.troubles["gateway's events"];
  }
  ++coverage_.classes[std::string(recovery_class_name(journal.recovery().found))];
  return bad;
}

std::string Scenario::start_with_flip(std::unique_ptr<Journal>& journal) {
  const SimulatedDisk::Image before = disk_.visible_image();
  std::vector<std::string> names;
  for (const auto& [name, content] : before) {
    if (name.starts_with("seg-") || name.starts_with("base-")) names.push_back(name);
  }
  // Late segments mostly: there the verdicts differ.
  const std::size_t back = random_.chance(60) ? 0 : random_.below(names.size());
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  const std::string& name = names[names.size() - 1 - back];
  const Bytes& content = before.at(name);
  const std::size_t used = std::max<std::size_t>(last_nonzero(content), 1);
  const std::size_t from = random_.chance(80) && used > kFirstBatchOffset ? kFirstBatchOffset : 0;
  const std::size_t bit = (from + random_.below(used - from)) * 8 + random_.below(8);
  say("bit " + std::to_string(bit % 8) + " of byte " + std::to_string(bit / 8) + " of " + name + " flips");
  disk_.flip(name, bit);
  ++coverage_.troubles["flipped bit"];
  if (name.starts_with("base-")) return start_with_bad_base(journal, name, bit);
  const SimulatedDisk::Image flipped = disk_.visible_image();
  std::vector<Record> found;
  Opened opened = open(found);
  if (opened) {
    if (std::string bad = judge(found, **opened, Harm::flipped); !bad.empty()) return bad;
    // One fault at a time. A record that was cut off as suspect stays as it is: whole again behind a sealed
    // end, it would be a second writer's.
    if ((*opened)->recovery().found != RecoveryClass::suspect) disk_.flip(name, bit);
    journal = std::move(*opened);
    return "";
  }
  const ErrorCode code = opened.error().code;
  ++coverage_.classes[code == errc::damage ? "damage" : "suspect"];
  if (code != errc::damage && code != errc::suspect) {
    return "a flipped bit was refused as " + opened.error().message();
  }
  if (disk_.visible_image() != flipped) return "a refusal changed what is on the disk";
  disk_.flip(name, bit);
  return start(journal, Harm::none);
}

// What the base before stands on is still there (rule 10): a bad one is passed over, and nothing is missing.
// It is made good again, as the next one may strike the base before.
std::string Scenario::start_with_bad_base(std::unique_ptr<Journal>& journal, const std::string& name,
                                          std::size_t bit) {
  if (std::string bad = start(journal, Harm::none); !bad.empty()) return "with a bad " + name + ": " + bad;
  disk_.flip(name, bit);
  ++coverage_.troubles["bad base"];
  return "";
}

std::string Scenario::start_troubled(std::unique_ptr<Journal>& journal) {
  if (trouble_ == Trouble::flips && random_.chance(50)) return start_with_flip(journal);
  if (trouble_ == Trouble::old_images && !old_image_.empty() && random_.chance(50)) {
    say("an old image is put back");
    disk_.put_back(old_image_);
    old_image_.clear();
    ++coverage_.troubles["old image"];
    return start(journal, Harm::old_image);
  }
  if (random_.chance(90)) plan_end();
  if (trouble_ == Trouble::failing_calls && random_.chance(70)) plan_fault();
  if (trouble_ == Trouble::full_disk) {
    const bool full = random_.chance(60);
    disk_.set_capacity(full ? disk_.used_bytes() + random_.below(2 * kSegmentBytes) : UINT64_MAX);
    if (full) ++coverage_.troubles["full disk"];
  }
  return start(journal, Harm::none);
}

std::vector<std::string> Scenario::next_batch() {
  const std::size_t size = random_.below(10);
  // Some fill a good part of a segment, so that rolls come often whatever its size is.
  const std::size_t most = size < 5 ? 400 : size < 8 ? 3000 : kSegmentBytes / 10;
  if (gateway_) return gateway_->batch(std::min(most, kMaxEventBytes - 2048));
  std::vector<std::string> batch(random_.chance(60) ? 1 : random_.between(1, 6));
  if (most > kMaxEventBytes) batch.resize(most / kMaxEventBytes + 1);
  for (std::string& payload : batch) {
    payload = "{\"e\":" + std::to_string(events_++) + ",\"p\":\"";
    payload.append(random_.below(std::min(most, kMaxEventBytes - 64)), 'p');
    payload += "\"}";
  }
  return batch;
}

std::string Scenario::append(Journal& journal) {
  phase_ = "append";
  const std::vector<std::string> batch = next_batch();
  oracle_.submit(batch);
  const Result<Lseq> head = journal.append(batch);
  if (gateway_) gateway_->told(head.has_value());
  return outcome(head, batch.size());
}

// What arrives while a flush is under way is written by the next one. The journal flushes on a thread of its
// own here; this one waits for it, so that the seed remains the run.
std::string Scenario::group(Journal& journal) {
  if (gateway_) return append(journal);  // one stream, one batch after the other
  phase_ = "append";
  std::mutex mutex;
  std::condition_variable told;
  std::string bad;
  std::size_t open = 0;
  const auto hand_in = [&] {
    std::vector<std::string> batch = next_batch();
    const std::size_t payloads = batch.size();
    oracle_.submit(batch);
    ++open;
    journal.submit(std::move(batch), [&, payloads](const Result<Lseq>& head) {
      std::string more = outcome(head, payloads);
      const std::scoped_lock guard(mutex);
      if (bad.empty()) bad = std::move(more);
      --open;
      told.notify_one();
    });
  };
  const std::size_t others = random_.between(1, 4);
  on_flush_ = [&] {
    const std::scoped_lock guard(mutex);
    for (std::size_t i = 0; i < others; ++i)
      hand_in();
  };
  std::unique_lock lock(mutex);
  hand_in();
  told.wait(lock, [&open] { return open == 0; });
  on_flush_ = {};
  return bad;
}

std::string Scenario::outcome(const Result<Lseq>& head, std::size_t payloads) {
  if (head) {
    if (disk_.dead()) return "acknowledged after the end";
    coverage_.acknowledged += payloads;
    return oracle_.acknowledge(*head);
  }
  ++coverage_.classes[std::string(head.error().code.name)];
  if (head.error().code == errc::disk_full && !disk_.dead()) {
    oracle_.withdraw();
    if (trouble_ == Trouble::full_disk || disk_.fault_struck()) return "";
    return "a disk with room is called full: " + head.error().message();
  }
  over_ = true;
  if (head.error().code != errc::poisoned && !disk_.dead())
    return "an append failed: " + head.error().message();
  return explained() ? "" : "poisoned by nothing: " + head.error().message();
}

std::string Scenario::compact(Journal& journal) {
  phase_ = "compaction";
  KeepEverything everything;
  EventSummary needed(compaction_rules(), key_.public_key());
  Summary& summary = gateway_ ? static_cast<Summary&>(needed) : everything;
  const Result<CompactionReport> done = journal.compact({key_, summary, 0});
  if (done) {
    if (done->compacted && disk_.dead() && done->leftover.empty()) return "compacted after the end";
    if (done->compacted) ++coverage_.troubles["compaction"];
    return "";
  }
  if (done.error().code == errc::poisoned) over_ = true;
  if (explained() || (trouble_ == Trouble::full_disk && done.error().code == errc::disk_full)) return "";
  return "a compaction failed: " + done.error().message();
}

std::string Scenario::put(Journal& journal) {
  phase_ = "side file";
  const std::string name = "auth-" + std::to_string(random_.between(1, 3)) + "-ab";
  const std::string content =
      "{\"s\":" + std::to_string(puts_++) + std::string(random_.below(9000), ' ') + "}";
  oracle_.put(name, content);
  const Result<> done = journal.put_file(name, content);
  if (done) {
    if (disk_.dead()) return "a file was acknowledged after the end";
    oracle_.put_acknowledged(name);
    return "";
  }
  if (explained() || (trouble_ == Trouble::full_disk && done.error().code == errc::disk_full)) return "";
  return "a file was refused: " + done.error().message();
}

// A lock that does not exclude, as two overlay copies of one directory have it: of two writers one at the
// most goes on (rule 6).
std::string Scenario::rival(Journal& journal) {
  disk_.end_after(0, End::killed);
  disk_.set_locks_exclude(false);
  ++coverage_.troubles["second writer"];
  say("a second writer opens");
  std::vector<Record> found;
  Opened second = open(found);
  disk_.set_locks_exclude(true);
  over_ = true;
  if (!second) return "a second writer cannot open: " + second.error().message();
  if (std::string bad = judge(found, **second, Harm::none); !bad.empty()) return bad;
  return contest(journal, **second);
}

std::string Scenario::contest(Journal& first, Journal& second) {
  phase_ = "append";
  bool in[2] = {true, true};
  for (int turn = 0; turn < 12; ++turn) {
    const std::size_t who = random_.below(2);
    const std::vector<std::string> batch = next_batch();
    oracle_.submit(batch);
    const Result<Lseq> head = (who == 0 ? first : second).append(batch);
    say(std::string(who == 0 ? "first" : "second") +
        " writer: " + (head ? "goes on" : head.error().message()));
    if (head) {
      if (!in[who]) return "a poisoned writer went on";
      if (std::string bad = oracle_.acknowledge(*head); !bad.empty()) return "two writers: " + bad;
      continue;
    }
    if (head.error().code != errc::poisoned) return "a second writer met " + head.error().message();
    oracle_.withdraw();
    in[who] = false;
    if (!in[0] && !in[1]) return "both of two writers are out";
  }
  return "";
}

std::string Scenario::work(Journal& journal) {
  for (std::size_t i = random_.between(1, kMostWorkInALife); i > 0 && !over_ && !disk_.dead(); --i) {
    const std::size_t kind = random_.below(100);
    std::string bad;
    if (kind < 75) {
      bad = append(journal);
    } else if (kind < 88) {
      bad = group(journal);
    } else if (kind < (gateway_ ? 94U : 92U)) {
      bad = compact(journal);
    } else if (kind < 96) {
      bad = put(journal);
    } else if (kind < 97) {
      phase_ = "close";
      if (journal.close() && disk_.dead()) bad = "closed after the end";
      over_ = true;
    } else if (trouble_ == Trouble::old_images) {
      old_image_ = disk_.durable_image();
    } else if (trouble_ == Trouble::second_writer) {
      bad = rival(journal);
    }
    if (!bad.empty()) return bad;
  }
  return "";
}

std::string Scenario::live() {
  over_ = false;
  std::unique_ptr<Journal> journal;
  if (std::string bad = start_troubled(journal); !bad.empty()) return bad;
  if (journal) {
    if (std::string bad = work(*journal); !bad.empty()) return bad;
  }
  // A process dies with its descriptors open, and so its lock goes when the disk restarts.
  if (!disk_.dead()) disk_.end_now(choose_end(random_));
  journal.reset();
  end_life();
  return "";
}

std::string Scenario::run() {
  if (std::string bad = create(); !bad.empty()) return bad;
  while (coverage_.crashes < crashes_) {
    if (std::string bad = live(); !bad.empty()) return bad;
  }
  // After the last crash the journal is started twice, undisturbed: the second start finds what the first
  // did.
  disk_.set_capacity(UINT64_MAX);
  for (int i = 0; i < 2; ++i) {
    std::unique_ptr<Journal> journal;
    if (std::string bad = start(journal, Harm::none); !bad.empty()) return bad;
  }
  return "";
}

}  // namespace postern::ledger::sim
