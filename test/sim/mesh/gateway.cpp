// SPDX-License-Identifier: Apache-2.0
#include "sim/mesh/gateway.h"

#include "ledger/authority_events.h"
#include "ledger/errors.h"
#include "ledger/event_rules.h"
#include "ledger/segmented_journal.h"
#include "ledger/stream_history.h"
#include "mesh/errors.h"
#include "sim/simulated_directory.h"

namespace postern::sim {
namespace {

constexpr std::string_view kMesh = "blue";

ledger::JournalOptions options() {
  ledger::JournalOptions options;
  options.machine = Id128{1};
  return options;
}

}  // namespace

// Sync calls a link's pause `hold`, as claims call a resource's: one object cannot be both.
class Gateway::SyncCarrier final : public sync::Carrier {
 public:
  explicit SyncCarrier(Gateway& gateway) : gateway_(gateway) {}
  Result<> send(std::string_view to, ByteView message) override {
    if (gateway_.send(to, message)) return {};
    return fail(mesh::errc::link_down, "");
  }
  void hold(std::string_view from) override {
    if (gateway_.uplink_) gateway_.uplink_->hold(from);
  }
  void resume(std::string_view from) override {
    if (gateway_.uplink_) gateway_.uplink_->resume(from);
  }

 private:
  Gateway& gateway_;
};

// What links carry goes to whom it belongs, as in the agent.
class Gateway::Dispatch final : public mesh::LinkHandler {
 public:
  explicit Dispatch(Gateway& gateway) : gateway_(gateway) {}
  void on_up(const mesh::PeerLink& peer) override {
    gateway_.sync_->on_up(peer);
    gateway_.claims_->on_up(peer);
  }
  void on_message(std::string_view from, ByteView message) override {
    if (claims::Claims::is_mine(message))
      gateway_.claims_->on_message(from, message);
    else
      gateway_.sync_->on_message(from, message);
    gateway_.settle();
  }
  void on_down(std::string_view other, std::string_view why) override {
    gateway_.sync_->on_down(other, why);
    gateway_.claims_->on_down(other, why);
  }
  void on_room(std::string_view other) override { gateway_.sync_->on_room(other); }

 private:
  Gateway& gateway_;
};

Gateway::Gateway(World& world, Cables& cables, std::string called, std::uint64_t rate_permille,
                 bool automatic)
    : world_(world),
      cables_(cables),
      name_(std::move(called)),
      clock_(world, rate_permille),
      automatic_(automatic),
      disk_({}, world.random.next()) {
  const Result<> made =
      ledger::SegmentedJournal::create(std::make_unique<ledger::sim::SimulatedDirectory>(disk_), options());
  if (!made) fault_ = "create: " + made.error().message();
}

Gateway::~Gateway() {
  stop_agent();
}

// ---- what befalls it

void Gateway::start() {
  if (runs() || asleep_) return;
  restraint_ = {};
  replica_ = std::make_unique<ledger::Replica>(std::string(kMesh));
  ledger::StreamHistory history(key_.public_key());
  ledger::JournalOptions order = options();
  order.on_base = [this](const ledger::Base& base) { replica_->begin(base); };
  Result<std::unique_ptr<ledger::Journal>> journal =
      ledger::SegmentedJournal::open(std::make_unique<ledger::sim::SimulatedDirectory>(disk_), order,
                                     [&](const ledger::Record& record) -> Result<> {
                                       const Result<ledger::Event> event = ledger::read_event(record.payload);
                                       if (!event) return tl::unexpected(event.error());
                                       replica_->replay(record, *event);
                                       return history.add(*event, record);
                                     });
  if (!journal) {
    fault_ = "start: " + journal.error().message();
    replica_.reset();
    return;
  }
  journal_ = std::make_unique<PacedJournal>(std::move(*journal), world_.random);
  const ledger::RecoveryReport& recovery = journal_->recovery();
  const bool whole = !recovery.claims_wait;
  if (!whole) restraint_ = ledger::Restraint("an earlier start could not prove that nothing was forgotten");
  Result<> finished = history.finish(recovery.base.get());
  Result<ledger::Stream> stream = ledger::Stream::open(*journal_, key_, clock_, std::string(kMesh), history,
                                                       {whole, !whole, !whole}, replica_->listener());
  if (!finished || !stream) {
    fault_ = "start: " + (finished ? stream.error() : finished.error()).message();
    journal_.reset();
    replica_.reset();
    return;
  }
  stream_.emplace(std::move(*stream));
  replica_->started(*journal_, *stream_);
  replica_->take_from_others([this](const wire::PublicKey& author) { return names_.count(author) != 0; },
                             [this](std::function<void()> task) { tasks_.push_back(std::move(task)); });
  carrier_ = std::make_unique<SyncCarrier>(*this);
  sync_ = std::make_unique<sync::Sync>(*replica_, key_.public_key(), *carrier_, *this);
  replica_->on_durable([this](const ledger::VerifiedEvent& event, Lseq) { sync_->durable(event); });
  sync_->tick(clock_.monotonic_ns());
  claims_ = std::make_unique<claims::Claims>(*replica_, key_, clock_, *this, automatic_);
  claims_->follow(roster_, names_);
  if (Result<> begun = claims_->start(); !begun) fault_ = "start: " + begun.error().message();
  world_.say(name_ + " starts");
  dispatch_ = std::make_unique<Dispatch>(*this);
  uplink_ = cables_.plug_in(name_, key_, *dispatch_);
  uplink_->follow(names_);
}

void Gateway::stop_agent() {
  uplink_.reset();
  claims_.reset();
  if (replica_) {
    replica_->on_durable({});
    replica_->take_from_others({}, {});
  }
  sync_.reset();
  stream_.reset();
  journal_.reset();
  tasks_.clear();
  replica_.reset();
  carrier_.reset();
  dispatch_.reset();
  frozen_ = false;
}

void Gateway::kill() {
  if (!runs()) return;
  world_.say(name_ + " is killed");
  disk_.end_now(ledger::sim::End::killed);
  stop_agent();
  disk_.clear_fault();
  disk_.restart();
}

void Gateway::cut_power() {
  world_.say(name_ + " loses power");
  disk_.end_now(ledger::sim::End::power_cut);
  if (uplink_) uplink_->lose_power();
  stop_agent();
  disk_.clear_fault();
  disk_.restart();
  kernel_.clear();
  clock_.reboot();
  asleep_ = false;
}

void Gateway::freeze(bool frozen) {
  if (frozen != frozen_) world_.say(name_ + (frozen ? " freezes" : " goes on"));
  frozen_ = frozen;
}

void Gateway::fall_asleep() {
  if (asleep_) return;
  world_.say(name_ + " falls asleep");
  asleep_ = true;
  slept_since_ns_ = world_.now_ns;
}

void Gateway::wake_up() {
  if (!asleep_) return;
  world_.say(name_ + " wakes up");
  asleep_ = false;
  clock_.sleep(world_.now_ns - slept_since_ns_);
}

void Gateway::poison() {
  world_.say(name_ + "'s disk fails");
  disk_.arm({ledger::sim::Call::datasync, 1, 5});
}

// A compaction leaves the segments of the round before: a later one does away with them.
void Gateway::work_and_compact(std::size_t events) {
  if (!acts()) return;
  world_.say(name_ + " adopts and compacts");
  for (std::size_t i = 0; i < events && !is_poisoned(); ++i) {
    const ledger::TimestampSeen seen{
        {Serial(1), Hash256{1}}, UtcSeconds(500), UtcSeconds(900), std::string(700, 'd')};
    [[maybe_unused]] const Result<> written =
        stream_->write(std::vector<ledger::Draft>{ledger::draft_of(ledger::AuthorityEvent(seen))});
  }
  ledger::EventSummary summary(ledger::compaction_rules(), key_.public_key());
  const Result<ledger::CompactionReport> report = journal_->compact({key_, summary, 1});
  if (!report || !report->compacted) return;
  replica_->compacted(*report->in_force);
}

void Gateway::set_automatic() {
  automatic_ = true;
  if (claims_) claims_->set_automatic(true);
}

void Gateway::take_image() {
  image_ = disk_.durable_image();
  image_starts_ = starts_;
}

void Gateway::lay_back_image() {
  cut_power();
  world_.say(name_ + " gets an old disk back");
  disk_.put_back(image_);
  starts_ = image_starts_;
  lost_history_ = true;
}

void Gateway::follow(const ledger::Roster& roster, const Names& names) {
  roster_ = roster;
  names_ = names;
  if (!claims_) return;
  claims_->follow(roster_, names_);
  sync_->authors_changed();
  uplink_->follow(names_);
}

// What is in flight becomes durable.
void Gateway::settle() {
  do {
    while (!tasks_.empty()) {
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      task();
    }
  } while (journal_->write_some());
}

void Gateway::tick() {
  if (!acts()) return;
  const bool poisoned = is_poisoned();
  uplink_->tick(clock_.monotonic_ns());
  if (fault_.empty()) fault_ = uplink_->fault();
  sync_->tick(clock_.monotonic_ns());
  settle();
  // And once more after what it wrote: the agent wakes it for each event.
  for (std::uint64_t before = writes_ + 1; before != writes_;) {
    before = writes_;
    claims_->tick();
    settle();
  }
  for (const auto& [resource, row] : kernel_)
    if (poisoned && serves(resource)) fault_ = "serves though its journal takes nothing";
}

// ---- what others look at

bool Gateway::serves(ResourceNumber resource) const {
  return lets_pass(resource) && kernel_.at(resource).holder->node == key_.public_key();
}

bool Gateway::lets_pass(ResourceNumber resource) const {
  const auto row = kernel_.find(resource);
  if (asleep_ || row == kernel_.end() || !row->second.holder) return false;
  return row->second.holder->epoch == row->second.fence && clock_.boot_ns() < row->second.deadline_boot_ns;
}

// ---- ground

Result<> Gateway::write(std::span<const ledger::Draft> drafts, Lamport lowest) {
  if (before_write_) before_write_();
  if (refuses_writes_) return fail(ledger::errc::disk_full, "the disk is full");
  ++writes_;
  for (const ledger::Draft& draft : drafts)
    world_.say(name_ + " writes " + draft.kind + " " + wire::encode_canonical(draft.body));
  if (lowest.value > 0) stream_->witness(Lamport(lowest.value - 1));
  return stream_->write(drafts);
}

bool Gateway::is_poisoned() const {
  return journal_->status().poisoned;
}

Result<std::uint64_t> Gateway::count_start(std::uint64_t least) {
  starts_ = std::max(starts_ + 1, least);
  return starts_;
}

Result<claims::Lease> Gateway::lease(ResourceNumber resource) const {
  const auto row = kernel_.find(resource);
  if (row == kernel_.end()) return claims::Lease{};
  return claims::Lease{row->second.fence, row->second.deadline_boot_ns};
}

std::map<ResourceNumber, claims::Holder> Gateway::holders() const {
  std::map<ResourceNumber, claims::Holder> out;
  for (const auto& [resource, row] : kernel_)
    if (row.holder) out[resource] = *row.holder;
  return out;
}

Result<> Gateway::raise_fence(ResourceNumber resource, Epoch epoch) {
  if (refuses_fences_) return fail(mesh::errc::link_down, "the kernel refuses");
  KernelRow& row = kernel_[resource];
  if (epoch <= row.fence) return {};
  row.deadline_boot_ns = 0;
  row.fence = epoch;
  return {};
}

Result<> Gateway::extend(ResourceNumber resource, Epoch epoch, std::uint64_t deadline_boot_ns) {
  KernelRow& row = kernel_[resource];
  if (epoch != row.fence) return fail(mesh::errc::link_down, "stale");
  row.deadline_boot_ns = std::max(row.deadline_boot_ns, deadline_boot_ns);
  return {};
}

Result<> Gateway::shorten(ResourceNumber resource, Epoch epoch, std::uint64_t deadline_boot_ns) {
  KernelRow& row = kernel_[resource];
  if (epoch != row.fence) return fail(mesh::errc::link_down, "stale");
  row.deadline_boot_ns = std::min(row.deadline_boot_ns, deadline_boot_ns);
  return {};
}

Result<> Gateway::stop(ResourceNumber resource) {
  kernel_[resource].deadline_boot_ns = 0;
  return {};
}

Result<> Gateway::hold(const std::map<ResourceNumber, claims::Holder>& holders) {
  if (refuses_holders_) return fail(mesh::errc::link_down, "the kernel refuses");
  for (auto& [resource, row] : kernel_)
    row.holder.reset();
  for (const auto& [resource, holder] : holders)
    kernel_[resource].holder = holder;
  return {};
}

bool Gateway::send(std::string_view gateway, ByteView message) {
  return uplink_ != nullptr && uplink_->send(gateway, message);
}

}  // namespace postern::sim
