// SPDX-License-Identifier: Apache-2.0
// A whole gateway in a simulated mesh: the real journal on a simulated disk, the real replica, sync and
// claims; a model of the kernel's rows of resources, which is all of the data path that claims know. Disk,
// host and agent fail apart from each other.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "claims/claims.h"
#include "ledger/restraint.h"
#include "ledger/stream.h"
#include "sim/mesh/paced_journal.h"
#include "sim/mesh/uplink.h"
#include "sim/mesh/world.h"
#include "sim/simulated_disk.h"
#include "sync/sync.h"

namespace postern::sim {

// The kernel's rows of one resource.
struct KernelRow {
  Epoch fence;
  std::uint64_t deadline_boot_ns = 0;
  std::optional<claims::Holder> holder;
};

class Gateway final : public claims::Ground, public sync::Verifier {
 public:
  Gateway(World& world, Cables& cables, std::string called, std::uint64_t rate_permille, bool automatic);
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;
  ~Gateway() override;

  // ---- what befalls it
  void start();
  void kill();               // the agent; the kernel goes on
  void cut_power();          // the host and its disk; the kernel forgets
  void freeze(bool frozen);  // the agent alone
  void fall_asleep();        // the whole host
  void wake_up();
  void poison();
  void forgive() { disk_.clear_fault(); }
  // Its disk is full: nothing is written, and nothing is lost.
  void refuse_writes(bool refuse) { refuses_writes_ = refuse; }
  // Its kernel does not change who holds.
  void refuse_holders(bool refuse) { refuses_holders_ = refuse; }
  // Its kernel does not raise a fence.
  void refuse_fences(bool refuse) { refuses_fences_ = refuse; }
  // Events that a compaction does away with, and one.
  void work_and_compact(std::size_t events);
  // From now on it claims what nobody holds.
  void set_automatic();
  void take_image();
  bool has_image() const { return !image_.empty(); }
  void lay_back_image();

  void follow(const ledger::Roster& roster, const Names& names);
  // Ten times a second of true time.
  void tick();

  // ---- what others look at
  bool runs() const { return claims_ != nullptr; }
  bool acts() const { return runs() && !frozen_ && !asleep_; }
  bool is_frozen() const { return frozen_; }
  bool is_asleep() const { return asleep_; }
  bool lost_history() const { return lost_history_; }
  // How often claims had something written.
  std::uint64_t writes() const { return writes_; }
  // Whether its kernel lets its own site speak for the resource now.
  bool serves(ResourceNumber resource) const;
  // Whether its kernel lets anybody's.
  bool lets_pass(ResourceNumber resource) const;
  // What is to be looked at before something of claims is written.
  void before_write(std::function<void()> look) { before_write_ = std::move(look); }
  const std::map<ResourceNumber, KernelRow>& kernel() const { return kernel_; }
  std::uint64_t boot_ns() const { return clock_.boot_ns(); }
  const ledger::Replica& replica() const { return *replica_; }
  const sync::Sync& sync() const { return *sync_; }
  const wire::SecretKey& key() const { return key_; }
  claims::Claims& claims() { return *claims_; }
  const wire::PublicKey& node() const { return key_.public_key(); }
  const std::string& name() const { return name_; }
  // What went wrong in a way that no fault explains, or "".
  const std::string& fault() const { return fault_; }

  // ---- claims::Ground
  Result<> write(std::span<const ledger::Draft> drafts, Lamport lowest) override;
  bool is_poisoned() const override;
  std::string may_have_forgotten() const override { return restraint_.may_claim() ? "" : restraint_.why(); }
  void forgot_nothing() override { restraint_.round_done(); }
  Result<std::uint64_t> count_start(std::uint64_t least) override;
  Result<claims::Lease> lease(ResourceNumber resource) const override;
  std::map<ResourceNumber, claims::Holder> holders() const override;
  Result<> raise_fence(ResourceNumber resource, Epoch epoch) override;
  Result<> extend(ResourceNumber resource, Epoch epoch, std::uint64_t deadline_boot_ns) override;
  Result<> shorten(ResourceNumber resource, Epoch epoch, std::uint64_t deadline_boot_ns) override;
  Result<> stop(ResourceNumber resource) override;
  Result<> hold(const std::map<ResourceNumber, claims::Holder>& holders) override;
  bool send(std::string_view gateway, ByteView message) override;
  void announce(ResourceNumber /*resource*/) override {}

  // ---- sync::Verifier
  void verify(sync::VerifyJob job, Done done) override { done(sync::verify(job)); }

 private:
  class SyncCarrier;
  class Dispatch;

  void stop_agent();
  void settle();

  World& world_;
  Cables& cables_;
  std::string name_;
  wire::SecretKey key_ = wire::SecretKey::generate();
  DriftingClock clock_;
  bool automatic_;
  ledger::sim::SimulatedDisk disk_;
  ledger::sim::SimulatedDisk::Image image_;
  std::uint64_t image_starts_ = 0;
  std::uint64_t starts_ = 0;  // durable
  std::map<ResourceNumber, KernelRow> kernel_;
  ledger::Roster roster_;
  Names names_;
  bool frozen_ = false;
  bool asleep_ = false;
  std::uint64_t slept_since_ns_ = 0;
  bool lost_history_ = false;
  std::uint64_t writes_ = 0;
  std::function<void()> before_write_;
  bool refuses_writes_ = false;
  bool refuses_holders_ = false;
  bool refuses_fences_ = false;
  std::string fault_;

  std::deque<std::function<void()>> tasks_;
  ledger::Restraint restraint_;
  std::unique_ptr<PacedJournal> journal_;
  std::unique_ptr<ledger::Replica> replica_;
  std::optional<ledger::Stream> stream_;
  std::unique_ptr<SyncCarrier> carrier_;
  std::unique_ptr<Dispatch> dispatch_;
  std::unique_ptr<Uplink> uplink_;
  std::unique_ptr<sync::Sync> sync_;
  std::unique_ptr<claims::Claims> claims_;
};

}  // namespace postern::sim
