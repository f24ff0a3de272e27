// SPDX-License-Identifier: Apache-2.0
// What the fold says, on disk and in the kernel. First what denies: the fence is raised and a deadline zeroed
// as soon as a claim counts, whoever holds. Then who holds is changed, all at once. Only then do the own rows
// say that it is applied, for that is what the claimant waits for.
#include <algorithm>

#include "claims/claims.h"
#include "claims/timing.h"

namespace postern::claims {

using ledger::Claim;

// What is written here changes the fold once more.
void Claims::settle() {
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    pending_.merge(replica_.take_changed_claims());
    if (!enforce()) return;
    write_what_follows();
  }
}

const ledger::Roster::Entry* Claims::entry_of(ResourceNumber resource) const {
  const auto& resources = fold().roster().resources;
  const auto found = resources.find(resource);
  return found == resources.end() ? nullptr : &found->second;
}

// False: the kernel does not follow now; it is tried again.
bool Claims::enforce() {
  for (const ResourceNumber resource : pending_)
    enforce(resource);
  const bool holds = !hold_due_ || ground_.hold(holders_);
  end_hand_overs();
  if (!holds) return false;
  hold_due_ = false;
  for (const ResourceNumber resource : pending_) {
    set_row(resource);
    greet_holder(resource);
  }
  owed_.merge(pending_);
  pending_.clear();
  return true;
}

void Claims::enforce(ResourceNumber resource) {
  const Claim* const live = fold().live(resource);
  const auto tenure = tenures_.find(resource);
  if (tenure != tenures_.end() && (live == nullptr || live->token != tenure->second.token)) spend(resource);
  const bool handed_over = is_handed_over(resource);
  // What the kernel does not take it does not let pass either: there is no holder without its fence.
  if (!handed_over) {
    [[maybe_unused]] const Result<> raised = ground_.raise_fence(resource, fold().fence(resource));
  }
  if (live == nullptr) return enforce_none(resource);
  if (live->author == own_) resume(*live);
  // What was released by hand was left to others, and one of them has it.
  if (const auto wish = wishes_.find(resource); wish != wishes_.end() && live->author != own_)
    wish->second.yields_until_boot_ns = 0;
  const Holder holder{live->author, live->token.epoch};
  const auto holds = holders_.find(resource);
  if (holds != holders_.end() && holds->second == holder) return;
  // Two may have claimed under one epoch: the deadline is that of the one before.
  if (!handed_over) {
    [[maybe_unused]] const Result<> stopped = ground_.stop(resource);
  }
  holders_[resource] = holder;
  hold_due_ = true;
  // The row that follows promises to wait for its claimant. That holds before anything is claimed: after a
  // partition events may come ahead of their author's beats, and it is not dead.
  if (Node* const claimant = nodes_.find(live->author); claimant != nullptr)
    claimant->promised_boot_ns = claimant->claimed_boot_ns = now_ns_;
}

// Nobody holds it, as far as events say. Who has released it serves on for a while.
void Claims::enforce_none(ResourceNumber resource) {
  const auto holds = holders_.find(resource);
  if (holds == holders_.end()) return;
  const Claim* const released = fold().released(resource);
  // Its own node begins with it before the release is written, and an agent that starts does not.
  const bool may_part = released != nullptr && (released->author != own_ || partings_.count(resource) != 0);
  if (may_part && part(*released)) return;
  [[maybe_unused]] const Result<> stopped = ground_.stop(resource);
  partings_.erase(resource);
  holders_.erase(holds);
  hold_due_ = true;
}

// An own claim is about to be released. The kernel ends it from now on, even if the disk takes for ever.
void Claims::part_with(const Claim& claim) {
  const auto tenure = tenures_.find(claim.resource);
  if (tenure == tenures_.end() || !tenure->second.armed || !part(claim)) return spend(claim.resource);
  tenures_.erase(tenure);
  set_row(claim.resource);
}

// Lets its holder serve on, but no longer than until kHandOver_ns from now. Again, it puts nothing off.
// False: it does not serve.
bool Claims::part(const Claim& claim) {
  const auto holds = holders_.find(claim.resource);
  if (holds == holders_.end() || holds->second != Holder{claim.author, claim.token.epoch}) return false;
  const Result<Lease> lease = ground_.lease(claim.resource);
  if (!lease || lease->fence != claim.token.epoch || lease->deadline_boot_ns <= now_ns_) return false;
  const std::uint64_t until_boot_ns = std::min(lease->deadline_boot_ns, now_ns_ + kHandOver_ns);
  if (!ground_.shorten(claim.resource, claim.token.epoch, until_boot_ns)) return false;
  partings_[claim.resource] = {claim.token, claim.author == own_, until_boot_ns};
  ++changes_;
  return true;
}

// Another claim follows on one that was released and still serves. Then who holds is swapped before the fence
// is raised, for a swap takes many milliseconds; the claimant waits for both.
bool Claims::is_handed_over(ResourceNumber resource) const {
  const auto parting = partings_.find(resource);
  const Claim* const live = fold().live(resource);
  return parting != partings_.end() && live != nullptr && live->token.epoch > parting->second.token.epoch;
}

// Nobody has followed, or this gateway may not go on.
void Claims::end_partings(const std::function<bool(const Parting&)>& which) {
  std::erase_if(partings_, [&](const auto& entry) {
    if (!which(entry.second)) return false;
    [[maybe_unused]] const Result<> stopped = ground_.stop(entry.first);
    pending_.insert(entry.first);
    return true;
  });
}

// Whether the kernel took the new holders or not.
void Claims::end_hand_overs() {
  for (const ResourceNumber resource : pending_) {
    if (is_handed_over(resource)) {
      [[maybe_unused]] const Result<> raised = ground_.raise_fence(resource, fold().fence(resource));
      [[maybe_unused]] const Result<> stopped = ground_.stop(resource);
    }
    const auto parting = partings_.find(resource);
    const Claim* const live = fold().live(resource);
    if (parting != partings_.end() && live != nullptr && live->token != parting->second.token)
      partings_.erase(parting);
  }
}

// A claim of this gateway's that the agent before it held, and that the kernel has served without a break: it
// is held on. Anything else is spent.
void Claims::resume(const Claim& claim) {
  const bool known = tenures_.count(claim.resource) != 0 || partings_.count(claim.resource) != 0;
  if (known || !ground_.may_have_forgotten().empty()) return;
  const auto holds = holders_.find(claim.resource);
  if (holds == holders_.end() || holds->second != Holder{own_, claim.token.epoch}) return;
  const Result<Lease> lease = ground_.lease(claim.resource);
  if (!lease || lease->fence != claim.token.epoch || lease->deadline_boot_ns <= now_ns_) return;
  tenures_[claim.resource] = {claim.token, true, lease->deadline_boot_ns};
  lapse_boot_ns_ = std::min(lapse_boot_ns_, lease->deadline_boot_ns);
}

// At once, whatever else fails. It is not armed again.
void Claims::spend(ResourceNumber resource) {
  [[maybe_unused]] const Result<> stopped = ground_.stop(resource);
  if (tenures_.erase(resource) + partings_.erase(resource) == 0) return;
  set_row(resource);
  owed_.insert(resource);
}

// Its beat may have come before the news that it claimed, and it would be let pass with the next one only.
void Claims::greet_holder(ResourceNumber resource) {
  const Claim* const live = fold().live(resource);
  const Node* const holder = live == nullptr ? nullptr : nodes_.find(live->author);
  const Row* const row = holder == nullptr ? nullptr : holder->rows.find(resource);
  if (row != nullptr && row->armed) extend_holder(*holder, *row);
}

void Claims::set_row(ResourceNumber resource) {
  look_again(resource);
  if (entry_of(resource) == nullptr) {
    if (rows_.clear(resource, beats_ + 1)) changed_row();
    return;
  }
  Row row;
  row.resource = resource;
  row.fence = fold().fence(resource);
  const Claim* const top = fold().top(resource);
  if (top != nullptr) {
    const auto tenure = tenures_.find(resource);
    row.has_top = true;
    row.top = top->token;
    const Result<Lease> lease = ground_.lease(resource);
    row.applied = lease && lease->fence >= top->token.epoch;
    row.armed = tenure != tenures_.end() && tenure->second.armed && tenure->second.token == top->token;
  }
  if (rows_.set(row, beats_ + 1)) changed_row();
}

void Claims::changed_row() {
  hurry_ = true;
  ++changes_;
}

// ---- what follows from it in the journal

void Claims::write_what_follows() {
  for (const auto& [token, overtaken] : overtaken_)
    owed_.insert(overtaken.resource);
  while (!owed_.empty() && now_ns_ >= next_write_boot_ns_ &&
         clock_.boot_ns() < now_ns_ + kLongestWriting_ns) {
    if (!write_some_of_owed()) next_write_boot_ns_ = now_ns_ + kSecond_ns;
  }
}

bool Claims::write_some_of_owed() {
  std::vector<ledger::Draft> drafts;
  Lamport lowest;
  auto next = owed_.begin();
  for (; next != owed_.end() && drafts.size() < kMostWritten; ++next) {
    add_fence(*next, drafts, lowest);
    add_conflicts(*next, drafts);
    add_release(*next, drafts);
  }
  if (!drafts.empty() && !ground_.write(drafts, lowest)) return false;
  owed_.erase(owed_.begin(), next);
  return true;
}

// This gateway has accepted more than the events say that count: others must not accept less.
void Claims::add_fence(ResourceNumber resource, std::vector<ledger::Draft>& drafts, Lamport& lowest) const {
  const Epoch fence = fold().fence(resource);
  const Claim* const top = fold().top(resource);
  if (entry_of(resource) == nullptr || fence <= fold().floor(resource)) return;
  if (top != nullptr && fence <= top->token.epoch) return;
  drafts.push_back(ledger::draft_of(ledger::FenceRaised{resource, fence}));
  lowest = std::max(lowest, Lamport(fence.value));
}

void Claims::add_conflicts(ResourceNumber resource, std::vector<ledger::Draft>& drafts) {
  std::map<ledger::Token, Overtaken> waiting;
  for (const ledger::Conflict& conflict : fold().conflicts(resource)) {
    const ledger::Token& lost = conflict.claim.token;
    if (fold().is_announced(resource, lost, own_)) continue;
    if (conflict.kind == ledger::ConflictKind::takeover && !came_back(conflict)) {
      if (const auto known = overtaken_.find(lost); known != overtaken_.end()) waiting.insert(*known);
      continue;
    }
    drafts.push_back(
        ledger::draft_of(ledger::ConflictAnnounced{resource, conflict.kind, lost, conflict.rival.token}));
    const auto tenure = tenures_.find(resource);
    if (tenure != tenures_.end() && tenure->second.armed) ground_.announce(resource);
  }
  std::erase_if(overtaken_, [&](const auto& known) { return known.second.resource == resource; });
  overtaken_.merge(waiting);
}

// Whether the node whose claim was taken for dead has been heard since this gateway knew of that, and has not
// given the claim up while it did not know: its release may be behind its beats, by the time of a delivery.
// So all that hear of it announce the same.
bool Claims::came_back(const ledger::Conflict& conflict) {
  if (conflict.claim.author == own_) return true;
  Overtaken& overtaken =
      overtaken_.try_emplace(conflict.claim.token, Overtaken{conflict.claim.resource, now_ns_}).first->second;
  const Node* const node = nodes_.find(conflict.claim.author);
  if (overtaken.back_boot_ns == 0 && node != nullptr && node->heard_boot_ns > overtaken.since_boot_ns)
    overtaken.back_boot_ns = node->heard_boot_ns;
  return overtaken.back_boot_ns != 0 && now_ns_ >= overtaken.back_boot_ns + kDelivery_ns;
}

// An own claim that is spent: it ends, so that others need not wait for this gateway to fall silent.
void Claims::add_release(ResourceNumber resource, std::vector<ledger::Draft>& drafts) const {
  const Claim* const live = own_live(resource);
  if (live == nullptr || tenures_.count(resource) != 0) return;
  drafts.push_back(ledger::draft_of(ledger::ClaimReleased{resource, live->token.claim, live->session}));
}

}  // namespace postern::claims
