// SPDX-License-Identifier: Apache-2.0
// Who serves a resource now (SPEC 10.3 to 10.6): leases on top of the claims that the fold counts. Every
// gateway sends beats; what they list is what its fold has on top, and that its kernel enforces it. A
// candidate claims when nobody else lives who could hold, waits until every other candidate has agreed or is
// silent, and serves from then on, for as long as it beats. A holder that was away stops by its deadline,
// which lies in the kernel; under its old epoch it is refused everywhere.
//
// Denying never waits for the disk, accepting always does: a fence is raised and a deadline zeroed at once, a
// claim is durable before anybody hears of it.
//
// Sans I/O and deterministic: disk, kernel, links and clocks are the caller's. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "claims/beat.h"
#include "claims/courier.h"
#include "claims/ground.h"
#include "claims/nodes.h"
#include "claims/row_table.h"
#include "claims/timing.h"
#include "claims/view.h"
#include "core/clock.h"
#include "ledger/replica.h"
#include "mesh/link_handler.h"

namespace postern::claims {

class Claims final : public mesh::LinkHandler {
 public:
  // All must outlive this. `automatic`: this gateway claims what it is a candidate of and nobody holds.
  Claims(ledger::Replica& replica, const wire::SecretKey& key, const Clock& clock, Ground& ground,
         bool automatic);
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  // Counts the start; from now on there are beats. What this gateway held before is held on if the kernel
  // still has it so.
  Result<> start();
  // The snapshot in force, and the names of gateways by their keys.
  void follow(ledger::Roster roster, const std::map<wire::PublicKey, std::string>& gateways);
  void set_automatic(bool automatic);

  void on_up(const mesh::PeerLink& peer) override;
  void on_message(std::string_view gateway, ByteView message) override;
  void on_down(std::string_view gateway, std::string_view why) override;

  // Whether a link's message is one of these.
  static bool is_mine(ByteView message);

  // Several times a second, and after each event that became durable.
  void tick();

  // An operator's orders. Durable on return, as far as they write; refused with what to do else.
  Result<> claim(ResourceNumber resource);
  // The successor may take it at once, and until it does this gateway serves on, for kHandOver_ns at most. It
  // leaves it to others until one of them has claimed it, for kYield_ns at most.
  Result<> release(ResourceNumber resource);
  // `document` "": this gateway's own claim, whichever session it is of.
  Result<> revoke(ResourceNumber resource, const std::string& document);

  std::vector<ResourceView> resources() const;
  std::vector<NodeView> nodes() const;
  std::vector<ledger::Conflict> conflicts() const;
  // Rises when any of these may be another one than before, but for the passing of time.
  std::uint64_t changes() const { return changes_; }
  std::uint64_t discontinuities() const { return discontinuities_; }
  // Messages that no gateway sends, and beats that their author did not sign.
  std::uint64_t malformed() const { return malformed_; }
  std::uint64_t forged() const { return forged_; }

 private:
  // This gateway's own claim of a resource, until it is spent: at most once armed.
  struct Tenure {
    ledger::Token token;
    bool armed = false;
    std::uint64_t deadline_boot_ns = 0;  // armed: until then this gateway serves
  };
  // A claim that its node has released, and under which that one is let serve on until another claim counts.
  struct Parting {
    ledger::Token token;
    bool own = false;
    std::uint64_t until_boot_ns = 0;  // by the kernel's deadline, which is not put off any more
  };
  // What an operator or the passing of time has to say about a resource that this gateway could claim.
  struct Wish {
    bool asked = false;  // by an operator
    std::uint64_t yields_until_boot_ns = 0;
    std::uint64_t admitted_boot_ns = 0;  // since when nothing speaks against a claim; 0: something does
    std::uint64_t retry_boot_ns = 0;     // a write failed: not before
    std::uint64_t look_boot_ns = 0;      // nothing can come of it before, unless the resource's row changes
  };

  // A claim that was taken for dead, since when this gateway has known of that.
  struct Overtaken {
    ResourceNumber resource;
    std::uint64_t since_boot_ns = 0;
    std::uint64_t back_boot_ns = 0;  // when its node was heard again; 0: not yet
  };

  // ---- time and beats (claims.cpp)
  void watch_clocks();
  void spend_lapsed();
  void look_again(ResourceNumber resource);
  void discontinuity();
  void fall_silent();
  void renew(std::uint64_t created_boot_ns);
  void beat_if_due();
  void beat();
  void hear(std::string_view gateway, const BeatMessage& message);
  void outrun(std::uint64_t boots, std::uint64_t beats);
  void judge_rounds();
  bool asks() const;
  bool told_all(const Node& node) const;
  void extend_holders(const Node& node);
  void extend_holder(const Node& node, const Row& row);
  // ---- what the fold says, on disk and in the kernel (claims_enforcement.cpp)
  void settle();
  bool enforce();
  void enforce(ResourceNumber resource);
  void enforce_none(ResourceNumber resource);
  void part_with(const ledger::Claim& claim);
  bool part(const ledger::Claim& claim);
  bool is_handed_over(ResourceNumber resource) const;
  void end_hand_overs();
  void end_partings(const std::function<bool(const Parting&)>& which);
  void resume(const ledger::Claim& claim);
  void greet_holder(ResourceNumber resource);
  void set_row(ResourceNumber resource);
  void changed_row();
  void write_what_follows();
  bool write_some_of_owed();
  void add_fence(ResourceNumber resource, std::vector<ledger::Draft>& drafts, Lamport& lowest) const;
  void add_conflicts(ResourceNumber resource, std::vector<ledger::Draft>& drafts);
  void add_release(ResourceNumber resource, std::vector<ledger::Draft>& drafts) const;
  bool came_back(const ledger::Conflict& conflict);
  void spend(ResourceNumber resource);
  // ---- claiming and arming (claims_admission.cpp)
  // The other candidates that live and are not done.
  std::vector<WaitsFor> waits_for(ResourceNumber resource, const std::string& why,
                                  const std::function<bool(const Node&)>& is_done) const;
  bool is_dead(const wire::PublicKey& candidate, ResourceNumber resource) const;
  std::vector<WaitsFor> missing_rounds(ResourceNumber resource) const;
  std::vector<WaitsFor> missing_acks(ResourceNumber resource, const ledger::Token& token) const;
  bool knows_more(const wire::PublicKey& candidate, ResourceNumber resource) const;
  std::string obstacle(ResourceNumber resource) const;
  bool is_my_turn(ResourceNumber resource, const Wish& wish) const;
  void try_claims();
  std::vector<ResourceNumber> due_claims();
  bool is_due(ResourceNumber resource, Wish& wish);
  std::uint64_t held_until_boot_ns(ResourceNumber resource) const;
  ledger::ClaimAcquired next_claim(ResourceNumber resource) const;
  bool acquire(std::span<const ResourceNumber> resources);
  void try_arms();
  Result<> check_order(ResourceNumber resource) const;
  const ledger::Claim* own_live(ResourceNumber resource) const;
  // ---- views (claims_view.cpp)
  Standing standing_of(ResourceNumber resource, const ledger::Claim* live) const;
  std::string name_of(const wire::PublicKey& node) const;

  const ledger::ClaimFold& fold() const { return replica_.fold().claims(); }
  // Null for a resource that the snapshot does not have.
  const ledger::Roster::Entry* entry_of(ResourceNumber resource) const;
  std::uint64_t silent_ns(const wire::PublicKey& node) const { return nodes_.silent_ns(node, now_ns_); }
  // For so long that a claim of this TTL is dead to others.
  bool is_silent(const wire::PublicKey& node, std::uint32_t ttl_ms) const {
    return silent_ns(node) >= silence_ns(ttl_ms);
  }

  ledger::Replica& replica_;
  const wire::SecretKey& key_;
  wire::PublicKey own_;
  const Clock& clock_;
  Ground& ground_;
  bool automatic_;
  bool started_ = false;
  bool silent_ = false;  // the journal is poisoned

  std::map<wire::PublicKey, std::string> names_;
  std::set<wire::PublicKey> fellows_;  // candidates of anything that this gateway is one of, too
  Nodes nodes_;
  Courier courier_;
  RowTable rows_;  // own
  std::uint64_t boots_ = 0;
  std::uint64_t beats_ = 0;
  std::uint64_t last_beat_boot_ns_ = 0;
  bool hurry_ = false;                       // a row changed: others wait for it
  std::uint64_t hurried_until_boot_ns_ = 0;  // each beat in a hurry moves it on by kHurry_ns

  std::uint64_t now_ns_ = 0;          // CLOCK_BOOTTIME of this call
  std::uint64_t slept_ns_ = 0;        // since the boot
  std::uint64_t looked_boot_ns_ = 0;  // at the clocks
  std::uint64_t discontinuity_boot_ns_ = 0;
  std::uint64_t first_beat_ = 0;  // since the last discontinuity
  std::uint64_t discontinuities_ = 0;
  std::uint64_t changes_ = 0;
  std::uint64_t malformed_ = 0;
  std::uint64_t forged_ = 0;

  std::map<ResourceNumber, Tenure> tenures_;
  // Bounds that spare walks over all resources: each is of what may be, and a walk makes it exact.
  bool waits_ = false;                   // there may be a tenure that is not armed
  std::uint64_t lapse_boot_ns_ = 0;      // no armed tenure ends before
  std::uint64_t next_look_boot_ns_ = 0;  // no wish can be fulfilled before
  std::map<ResourceNumber, Parting> partings_;
  std::map<ResourceNumber, Wish> wishes_;  // of all that this gateway is a candidate of
  std::map<ResourceNumber, Holder> holders_;
  bool hold_due_ = false;
  std::set<ResourceNumber> pending_;  // changed, and not yet enforced
  std::set<ResourceNumber> owed_;     // enforced; whether something is to be written is not looked at yet
  std::uint64_t next_write_boot_ns_ = 0;
  std::map<ledger::Token, Overtaken> overtaken_;  // not announced: their nodes have not come back
};

}  // namespace postern::claims
