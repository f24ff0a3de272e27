// SPDX-License-Identifier: Apache-2.0
// Gateways with journals of their own whose sync talks over links in memory, under a clock that the test
// moves: links come and go, lose what is on its way, are slow, or are listened to.
#pragma once

#include <doctest/doctest.h>

#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ledger/authority_events.h"
#include "ledger/event_kinds.h"
#include "ledger/event_rules.h"
#include "ledger/stream.h"
#include "mesh/errors.h"
#include "sync/limits.h"
#include "sync/sync.h"
#include "unit/ledger/scratch_journal.h"
#include "unit/ledger/stream_writer.h"

namespace postern::testing {

class SyncNetwork;

// What tasks of another thread wait in for the test's.
class TaskQueue {
 public:
  void post(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  bool run_one() {
    std::function<void()> task;
    {
      const std::lock_guard lock(mutex_);
      if (tasks_.empty()) return false;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
    return true;
  }

 private:
  std::mutex mutex_;
  std::deque<std::function<void()>> tasks_;
};

// Verifies at once, or, while it is told to hold, when it is told to go on.
class HeldVerifier final : public sync::Verifier {
 public:
  void verify(sync::VerifyJob job, Done done) override {
    if (!holds) return done(sync::verify(job));
    jobs.emplace_back(std::move(job), std::move(done));
  }
  void go_on() {
    holds = false;
    for (auto& [job, done] : std::exchange(jobs, {}))
      done(sync::verify(job));
  }
  bool holds = false;
  std::vector<std::pair<sync::VerifyJob, Done>> jobs;
};

class SyncNode final : public sync::Carrier {
 public:
  SyncNode(SyncNetwork& network, std::string called) : network_(network), name(std::move(called)) { start(); }
  SyncNode(const SyncNode&) = delete;
  SyncNode& operator=(const SyncNode&) = delete;
  ~SyncNode() override { stop(); }

  void start() {
    scratch_.replayed.clear();
    replica = std::make_unique<ledger::Replica>("blue");
    ledger::StreamHistory history(key.public_key());
    scratch_.options.on_base = [this](const ledger::Base& base) { replica->begin(base); };
    Result<std::unique_ptr<ledger::Journal>> journal =
        ledger::Journal::open(scratch_.options, [&](const ledger::Record& record) -> Result<> {
          const Result<ledger::Event> event = ledger::open_event(record.payload);
          if (!event) return tl::unexpected(event.error());
          replica->replay(record, *event);
          return history.add(*event, record);
        });
    REQUIRE_MESSAGE(journal, (journal ? "" : journal.error().message()));
    journal_ = std::move(*journal);
    Result<ledger::Stream> stream = ledger::Stream::open(*journal_, key, clock_, "blue", history,
                                                         {true, false, false}, replica->listener());
    REQUIRE(stream);
    stream_.emplace(std::move(*stream));
    replica->started(*journal_, *stream_);
    replica->take_from_others([this](const wire::PublicKey& author) { return strangers.count(author) == 0; },
                              [this](std::function<void()> task) { tasks.post(std::move(task)); });
    sync = std::make_unique<sync::Sync>(*replica, key.public_key(), *this, verifier);
    replica->on_durable([this](const ledger::VerifiedEvent& event, Lseq) { sync->durable(event); });
  }
  void stop() {
    sync.reset();
    stream_.reset();
    journal_.reset();
    while (tasks.run_one()) {
    }
    replica.reset();
  }
  // The disk as it is now, to be laid back later. Call it while the node is stopped.
  std::filesystem::path back_up() {
    const std::filesystem::path copy = scratch_.path().string() + ".backup";
    std::filesystem::copy(scratch_.path(), copy, std::filesystem::copy_options::recursive);
    return copy;
  }
  void lay_back(const std::filesystem::path& copy) {
    std::filesystem::remove_all(scratch_.path());
    std::filesystem::rename(copy, scratch_.path());
  }

  // Events of the own stream.
  void write(std::size_t number, const std::string& word = "a", std::size_t padding = 0) {
    std::vector<ledger::Draft> drafts;
    for (std::size_t i = 0; i < number; ++i)
      drafts.push_back({"Note", wire::Json::object({{"word", word + std::string(padding, '.')}})});
    REQUIRE(stream_->write(drafts));
  }
  // Events of the own stream that a compaction does away with, each of so many bytes and more, and one that
  // it keeps behind every few.
  void adopt(std::size_t number, std::size_t padding, std::size_t keep_every = 10) {
    for (std::size_t i = 0; i < number; ++i) {
      const ledger::TimestampSeen seen{
          {Serial(1), Hash256{1}}, UtcSeconds(500), UtcSeconds(900), std::string(padding, 'd')};
      REQUIRE(stream_->write(std::vector<ledger::Draft>{ledger::draft_of(ledger::AuthorityEvent(seen))}));
      if (keep_every > 0 && i % keep_every == 0) write(1, "kept");
    }
  }
  // Until nothing is left of the segments that are full now: the round before stays otherwise.
  void compact() {
    for (int round = 0; round < 2; ++round) {
      const std::uint64_t segment = journal_->status().segment;
      while (journal_->status().segment == segment)
        adopt(1, 45'000, 0);
      ledger::EventSummary summary(ledger::compaction_rules(), key.public_key());
      Result<ledger::CompactionReport> report = journal_->compact({key, summary, 1});
      REQUIRE_MESSAGE(report, (report ? "" : report.error().message()));
      REQUIRE(report->compacted);
      replica->compacted(*report->in_force);
    }
    settle();
  }
  // Puts others' events into the journal without any link.
  void take(const std::vector<ledger::SealedEvent>& events) {
    for (const ledger::SealedEvent& e : events)
      REQUIRE(replica->offer({e.event, e.sealed, e.hash}) == ledger::Offer::taken);
    settle();
  }
  // What is in flight becomes durable.
  void settle() {
    while (replica->in_flight() > 0)
      if (!tasks.run_one()) std::this_thread::yield();
  }
  Hash256 digest() const { return replica->fold().digest(); }
  Seq head_of(const Id128& stream) const {
    const ledger::StreamState* const state = replica->fold().find(stream);
    return state == nullptr ? Seq() : state->head;
  }
  const Id128& stream() const { return stream_->id(); }
  std::uint64_t count(ledger::Offer offer) const {
    return sync->counts().offers[static_cast<std::size_t>(offer)];
  }
  sync::SyncRow row(const std::string& gateway) const {
    for (const sync::SyncRow& row : sync->rows())
      if (row.gateway == gateway) return row;
    return {};
  }

  Result<> send(std::string_view gateway, ByteView message) override;
  void hold(std::string_view gateway) override { held.insert(std::string(gateway)); }
  void resume(std::string_view gateway) override { held.erase(std::string(gateway)); }

 private:
  SyncNetwork& network_;
  SystemClock clock_;
  ledger::ScratchJournal scratch_;
  std::unique_ptr<ledger::Journal> journal_;
  std::optional<ledger::Stream> stream_;

 public:
  std::string name;
  wire::SecretKey key = wire::SecretKey::generate();
  std::set<wire::PublicKey> strangers;
  std::set<std::string> held;
  TaskQueue tasks;
  HeldVerifier verifier;
  std::unique_ptr<ledger::Replica> replica;
  std::unique_ptr<sync::Sync> sync;
};

class SyncNetwork {
 public:
  static constexpr std::uint64_t kTick_ns = 100 * mesh::kMillisecond_ns;
  struct Sent {
    std::string from;
    std::string to;
    Bytes bytes;
  };

  SyncNode& add(const std::string& name) {
    nodes_[name] = std::make_unique<SyncNode>(*this, name);
    return *nodes_[name];
  }
  void link(const std::string& one, const std::string& other) {
    links_.insert(std::minmax(one, other));
    nodes_.at(one)->sync->on_up({other, 1, {}});
    nodes_.at(other)->sync->on_up({one, 1, {}});
  }
  // What is on its way is lost.
  void cut(const std::string& one, const std::string& other) {
    if (links_.erase(std::minmax(one, other)) == 0) return;
    queues_.erase({one, other});
    queues_.erase({other, one});
    if (nodes_.at(one)->sync) nodes_.at(one)->sync->on_down(other, "cut");
    if (nodes_.at(other)->sync) nodes_.at(other)->sync->on_down(one, "cut");
  }
  void stop(const std::string& name) {
    const auto links = links_;
    for (const auto& [one, other] : links)
      if (one == name || other == name) cut(one, other);
    nodes_.at(name)->stop();
  }
  bool linked(const std::string& one, const std::string& other) const {
    return links_.count(std::minmax(one, other)) != 0;
  }

  void run_for(std::uint64_t time_ms) {
    for (std::uint64_t end_ns = now_ns + time_ms * mesh::kMillisecond_ns; now_ns < end_ns;) {
      now_ns += kTick_ns;
      for (auto& [name, node] : nodes_)
        if (node->sync) node->sync->tick(now_ns);
      deliver();
      for (auto& [name, node] : nodes_)
        if (node->sync) node->settle();
    }
  }
  // As long as messages come, in the order of each link.
  void deliver() {
    for (bool any = true; any;) {
      any = false;
      for (auto& [ends, queue] : queues_) {
        if (queue.empty() || nodes_.at(ends.second)->held.count(ends.first) != 0) continue;
        if (slow.count(ends) != 0) continue;
        const Bytes message = std::move(queue.front());
        queue.pop_front();
        nodes_.at(ends.second)->sync->on_message(ends.first, message);
        any = true;
        break;
      }
    }
  }
  bool level() const {
    for (const auto& [name, node] : nodes_)
      if (node->sync && node->digest() != nodes_.begin()->second->digest()) return false;
    return true;
  }
  void send_as(const std::string& from, const std::string& to, const sync::Message& message) {
    queues_[{from, to}].push_back(sync::encode(message));
  }
  std::size_t queued_bytes(const std::string& from, const std::string& to) {
    std::size_t bytes = 0;
    for (const Bytes& message : queues_[{from, to}])
      bytes += message.size();
    return bytes;
  }
  std::vector<sync::Message> messages(const std::string& from, const std::string& to) const {
    std::vector<sync::Message> out;
    for (const Sent& sent : diary)
      if (sent.from == from && sent.to == to) out.push_back(*sync::decode(sent.bytes));
    return out;
  }

  std::uint64_t now_ns = 1'000 * mesh::kSecond_ns;
  std::size_t link_bytes = mesh::kMaxQueuedBytes;
  std::set<std::pair<std::string, std::string>> slow;  // delivers nothing
  bool keep_diary = false;
  std::deque<Sent> diary;

 private:
  friend class SyncNode;
  Result<> put(const std::string& from, const std::string& to, ByteView message) {
    if (!linked(from, to)) return fail(mesh::errc::link_down, "");
    REQUIRE(message.size() <= mesh::kMaxMessagePayload);
    if (queued_bytes(from, to) + message.size() > link_bytes) return fail(mesh::errc::link_full, "");
    if (keep_diary) diary.push_back({from, to, Bytes(message.begin(), message.end())});
    queues_[{from, to}].emplace_back(message.begin(), message.end());
    return {};
  }

  std::map<std::string, std::unique_ptr<SyncNode>> nodes_;
  std::set<std::pair<std::string, std::string>> links_;
  std::map<std::pair<std::string, std::string>, std::deque<Bytes>> queues_;
};

inline Result<> SyncNode::send(std::string_view gateway, ByteView message) {
  return network_.put(name, std::string(gateway), message);
}

}  // namespace postern::testing
