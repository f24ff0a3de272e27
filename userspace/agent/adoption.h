// SPDX-License-Identifier: Apache-2.0
// How a snapshot comes into force: persist, then fence, then serve (SPEC 3.5). A crash between any two steps
// leaves a state from which redo() arrives at the same end: before AuthorityAdopted is durable nothing has
// happened (an orphan file at most), after it the snapshot is the one to serve, whether or not the kernel has
// it yet. A rollback (SPEC 3.9) goes the same way: AuthorityReverted is durable before the kernel follows.
//
// apply(), redo() and roll_back() are orders (orders.h): what they read and change of the running gateway
// they do in turns of the loop, and the rest beside it. One at a time; all else is for the loop's thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "agent/adoption_stage.h"
#include "agent/authority_record.h"
#include "agent/orders.h"
#include "agent/served.h"
#include "agent/snapshot_files.h"
#include "agent/witness.h"
#include "authority/chain.h"
#include "core/clock.h"
#include "core/result.h"
#include "dataplane/compile.h"
#include "dataplane/generations.h"
#include "dataplane/plane.h"
#include "ledger/authority_log.h"
#include "ledger/journal.h"
#include "ledger/stream.h"
#include "observe/duration_histogram.h"

namespace postern::agent {

// All must outlive the Adoption.
struct AdoptionParts {
  ledger::Journal& journal;
  ledger::Stream& stream;
  ledger::AuthorityState& authority;
  const dataplane::Plane& plane;
  dataplane::Generations& generations;
  const Clock& clock;
};

// How a snapshot is to be adopted.
struct ApplyOrder {
  std::optional<std::uint32_t> confirm_within_s;  // on trial: rolled back by itself unless confirmed
  bool recovery = false;                          // an operator's recovery (SPEC 3.10)
};

class Adoption {
 public:
  // The site as it is now; asked in a turn of the loop. Lacks peer ids, holders and the time.
  using SiteNow = std::function<dataplane::Site()>;

  Adoption(AdoptionParts parts, std::string mesh);
  Adoption(const Adoption&) = delete;
  Adoption& operator=(const Adoption&) = delete;

  // From now on its turns are taken there. `orders` must outlive this.
  void use(Orders& orders) { orders_ = &orders; }

  // Adopts a signed snapshot, or the last one of a bundle. `trust_anchor` is read for the first adoption
  // only; later the journaled root decides. Whatever fails leaves the running generation as it is; once the
  // adoption is durable, is_in_force() is false until a redo() succeeds.
  Result<dataplane::SwapReport> apply(std::string_view text, const SiteNow& site,
                                      const std::filesystem::path& trust_anchor, const ApplyOrder& order);

  // Goes on with what the agent before left in the kernel: what links and claims must know of the snapshot
  // that the journal decided for. It is not in force before redo() has compared all the rest. Before the loop
  // begins.
  Result<> resume(const std::string& gateway);

  // Puts the snapshot that the journal decided for into the kernel again. Equal tables are left alone. There
  // must be an adopted snapshot.
  Result<dataplane::SwapReport> redo(const SiteNow& site);

  // From its return on these hold resources, in all that is served from now on too, and nobody else does; as
  // far as what is served admits them. Until the first call they are those that the kernel has. On failure
  // the kernel keeps those that it had, and the next flip brings these.
  Result<dataplane::SwapReport> hold(dataplane::Holders holders);

  // Who holds now: by the last hold(), or as the agent before left it in the kernel. Nobody before the first
  // snapshot was compiled.
  const dataplane::Holders& holders() const {
    static const dataplane::Holders kNobody;
    return holders_ ? *holders_ : kNobody;
  }

  // Ends the trial of the adopted snapshot: it stays.
  Result<> confirm();
  // Serves the snapshot before instead, as far as the adopted one has not revoked it. Fails with
  // errc::rollback_refused where there is no way back; then nothing has changed.
  Result<dataplane::SwapReport> roll_back(const SiteNow& site, ledger::RevertCause cause);
  bool on_trial() const { return parts_.authority.unconfirmed_until.has_value(); }
  // The trial ran out: roll_back() is due.
  bool trial_is_over() const;

  Result<> see_timestamp(std::string_view file);

  // Removes snapshot files that nothing needs any more.
  Result<> prune() { return files_.prune(parts_.authority); }

  // The time by which validity is judged: see authority/signed_clock.h.
  UtcSeconds now() const;

  // Tells the kernel again when to close by itself, as the clock has it now: it may have been set, or become
  // suspect.
  void keep_closing_instant() const;

  // What the kernel serves, as far as this agent put it or found it there.
  const std::optional<Served>& served() const { return served_; }
  bool is_in_force() const;
  // Why the adopted snapshot is not in force; "" when nothing has failed since it was.
  const std::string& obstacle() const { return obstacle_; }
  const StageFailures& failures() const { return failures_; }
  const observe::DurationHistogram& durations() const { return durations_; }

 private:
  // What came of the long part of an adoption.
  struct Ready {
    dataplane::Tables tables;
    std::map<ResourceNumber, Epoch> floors;  // to raise the fences to, before the swap
    Served served;
    Result<dataplane::Generations::Prepared> prepared;
  };

  Result<authority::Chain> verify(std::string_view text, const std::filesystem::path& trust_anchor,
                                  const ApplyOrder& order);
  Result<> check_rules(const authority::Chain& chain, const ApplyOrder& order) const;
  Result<> check_trial(const authority::Candidate& candidate, std::uint32_t within_s) const;
  Result<> promise(const authority::Chain& chain, const Ready& ready, const ApplyOrder& order);
  Result<dataplane::SwapReport> try_redo(const SiteNow& site);
  Result<dataplane::SwapReport> try_roll_back(const SiteNow& site, ledger::RevertCause cause);
  ledger::AuthorityState authority_now() const;
  Result<authority::Candidate> read_adopted(const ledger::AuthorityState& state) const;
  Result<authority::Candidate> read_to_serve(const ledger::AuthorityState& state) const;
  Result<authority::Candidate> candidate_to_serve();
  Result<Ready> make_ready(const authority::Candidate& candidate, const SiteNow& site);
  Result<dataplane::Compiled> compile_for(const authority::Candidate& candidate, dataplane::Site& site);
  Result<> add_peers_and_holders(const authority::Candidate& candidate, dataplane::Site& site);
  Result<> remember_holders(const std::string& gateway, const std::map<std::string, PeerId>& ids);
  Result<dataplane::SwapReport> serve(const authority::Candidate& candidate, Ready ready);
  std::optional<ledger::Earlier> way_back() const;
  bool is_adopted(const authority::Candidate& candidate) const;
  UtcSeconds now_for(const authority::Candidate& candidate) const;
  UtcSeconds floor_for(const authority::Candidate& candidate) const;

  // Counts a failure under its stage and hands the result on.
  template <class T>
  Result<T> at(Stage stage, Result<T>&& result) {
    if (!result) orders_->on_loop([&] { failures_.count(stage); });
    return std::move(result);
  }

  AdoptionParts parts_;
  std::string mesh_;
  ImmediateOrders immediate_;
  Orders* orders_ = &immediate_;
  AuthorityRecord record_;
  SnapshotFiles files_;
  Witness witness_;
  std::optional<std::uint64_t> trial_ends_boot_ns_;
  std::optional<Served> served_;
  bool resuming_ = false;                             // `served_` is what resume() found
  std::unique_ptr<authority::Candidate> read_ahead_;  // by resume(), for the next redo()
  std::optional<dataplane::Holders> holders_;         // none: as the kernel has it
  std::string obstacle_;
  StageFailures failures_;
  observe::DurationHistogram durations_;
};

// The fences that the kernel holds; resources without one are left out.
Result<std::map<ResourceNumber, Epoch>> kernel_fences(const dataplane::Generations& generations);

}  // namespace postern::agent
