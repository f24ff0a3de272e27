// SPDX-License-Identifier: Apache-2.0
// When a candidate may claim, and when its claim may serve. To claim: nobody lives who holds, and every other
// candidate has told what it knows since this gateway was last away, or is silent. To serve: every other
// candidate has this very claim on top and in its kernel, or is silent.
#include <algorithm>
#include <limits>
#include <utility>

#include "authority/revocation.h"
#include "claims/claims.h"
#include "claims/errors.h"
#include "claims/timing.h"
#include "wire/hash.h"

namespace postern::claims {

using ledger::Claim;

const Claim* Claims::own_live(ResourceNumber resource) const {
  const Claim* const live = fold().live(resource);
  return live != nullptr && live->author == own_ ? live : nullptr;
}

std::vector<WaitsFor> Claims::waits_for(ResourceNumber resource, const std::string& why,
                                        const std::function<bool(const Node&)>& is_done) const {
  std::vector<WaitsFor> out;
  const ledger::Roster::Entry* const entry = entry_of(resource);
  if (entry == nullptr) return out;
  for (const wire::PublicKey& candidate : entry->candidates) {
    if (candidate == own_) continue;
    const Node* const node = nodes_.find(candidate);
    if (node != nullptr && is_done(*node)) continue;
    if (!is_dead(candidate, resource)) out.push_back({candidate, why});
  }
  return out;
}

// Silent for as long as its newest claim may have been granted for: it may have released that one and serve
// on.
bool Claims::is_dead(const wire::PublicKey& candidate, ResourceNumber resource) const {
  if (!is_silent(candidate, entry_of(resource)->ttl_ms)) return false;
  const Claim* const newest = fold().newest_of(resource, candidate);
  return newest == nullptr || is_silent(candidate, newest->ttl_ms);
}

std::vector<WaitsFor> Claims::missing_rounds(ResourceNumber resource) const {
  return waits_for(resource, "has not told yet what it knows", [](const Node& node) { return node.round; });
}

std::vector<WaitsFor> Claims::missing_acks(ResourceNumber resource, const ledger::Token& token) const {
  return waits_for(resource, "has not agreed yet", [&](const Node& node) {
    const Row* const row = node.rows.find(resource);
    return row != nullptr && row->has_top && row->top == token && row->applied;
  });
}

// Beats come before the events that they tell of: a claim in spite of one would collide with it.
bool Claims::knows_more(const wire::PublicKey& candidate, ResourceNumber resource) const {
  const Node* const node = nodes_.find(candidate);
  const Row* const row = node == nullptr ? nullptr : node->rows.find(resource);
  if (row == nullptr || !row->has_top || fold().find(resource, row->top) != nullptr) return false;
  return !is_silent(candidate, entry_of(resource)->ttl_ms);
}

// Why this gateway may not claim now; "" when it may.
std::string Claims::obstacle(ResourceNumber resource) const {
  if (silent_) return "the journal accepts nothing";
  if (std::string why = ground_.may_have_forgotten(); !why.empty()) return why;
  if (const Claim* const live = fold().live(resource); live != nullptr) {
    if (live->author == own_) return "its own claim is not over yet";
    if (now_ns_ < held_until_boot_ns(resource)) return "gateway " + name_of(live->author) + " holds it";
  }
  for (const wire::PublicKey& candidate : entry_of(resource)->candidates)
    if (knows_more(candidate, resource))
      return "gateway " + name_of(candidate) + " knows of a claim that has not come yet";
  const std::vector<WaitsFor> missing = missing_rounds(resource);
  if (missing.empty()) return "";
  return "gateway " + name_of(missing.front().node) + " " + missing.front().why;
}

// Candidates that live and stand before this one in the snapshot go first, and have time to claim all that is
// free; not one that has just given this one up.
bool Claims::is_my_turn(ResourceNumber resource, const Wish& wish) const {
  if (wish.asked) return true;
  std::uint64_t since_boot_ns = wish.admitted_boot_ns;
  std::uint64_t before = 0;
  const ledger::Roster::Entry& entry = *entry_of(resource);
  const Claim* const top = fold().top(resource);
  for (const wire::PublicKey& candidate : entry.candidates) {
    if (candidate == own_) break;
    if (top != nullptr && top->author == candidate && fold().end_of(*top)) continue;
    if (is_silent(candidate, entry.ttl_ms)) continue;
    ++before;
    if (const Node* const node = nodes_.find(candidate); node != nullptr)
      since_boot_ns = std::max(since_boot_ns, node->claimed_boot_ns);
  }
  return now_ns_ >= since_boot_ns + before * kTurn_ns;
}

// Many at a time share a flush; and a slow disk must not make the loop late, which would be a discontinuity.
void Claims::try_claims() {
  bool wrote = false;
  while (clock_.boot_ns() < now_ns_ + kLongestWriting_ns) {
    const std::vector<ResourceNumber> due = due_claims();
    if (due.empty() || !acquire(due)) break;
    wrote = true;
  }
  // Others are to hear of it before this gateway's own kernel follows, which takes as long as theirs do.
  if (wrote) pending_.merge(replica_.take_changed_claims());
}

std::vector<ResourceNumber> Claims::due_claims() {
  std::vector<ResourceNumber> due;
  if (now_ns_ < next_look_boot_ns_) return due;
  next_look_boot_ns_ = std::numeric_limits<std::uint64_t>::max();
  for (auto& [resource, wish] : wishes_) {
    const bool wanted = automatic_ || wish.asked;
    if (!wanted) continue;
    if (!wish.asked) wish.look_boot_ns = std::max(wish.look_boot_ns, wish.yields_until_boot_ns);
    if (now_ns_ >= wish.look_boot_ns && pending_.count(resource) == 0 && is_due(resource, wish))
      due.push_back(resource);
    next_look_boot_ns_ = std::min(next_look_boot_ns_, wish.look_boot_ns);
    if (due.size() == kMostWritten) {
      next_look_boot_ns_ = 0;
      break;
    }
  }
  return due;
}

// Its row changed, or what is wished of it.
void Claims::look_again(ResourceNumber resource) {
  if (const auto wish = wishes_.find(resource); wish != wishes_.end()) wish->second.look_boot_ns = 0;
  next_look_boot_ns_ = 0;
}

// Whoever holds it cannot be dead before, and this gateway does not claim what it has.
std::uint64_t Claims::held_until_boot_ns(ResourceNumber resource) const {
  if (tenures_.count(resource) != 0) return std::numeric_limits<std::uint64_t>::max();
  const Claim* const live = fold().live(resource);
  if (live == nullptr || live->author == own_) return 0;
  const std::uint64_t patience_ns = silence_ns(live->ttl_ms);
  return now_ns_ + patience_ns - std::min(silent_ns(live->author), patience_ns);
}

bool Claims::is_due(ResourceNumber resource, Wish& wish) {
  wish.look_boot_ns = held_until_boot_ns(resource);
  if (now_ns_ < wish.look_boot_ns || !obstacle(resource).empty()) {
    wish.admitted_boot_ns = 0;
    return false;
  }
  if (wish.admitted_boot_ns == 0) wish.admitted_boot_ns = now_ns_;
  return now_ns_ >= wish.retry_boot_ns && is_my_turn(resource, wish);
}

ledger::ClaimAcquired Claims::next_claim(ResourceNumber resource) const {
  const Claim* const top = fold().top(resource);
  ledger::ClaimAcquired claim;
  claim.resource = resource;
  claim.epoch = fold().fence(resource).next();
  claim.ttl_ms = entry_of(resource)->ttl_ms;
  claim.serial = fold().roster().serial;
  if (top != nullptr) {
    claim.prior = top->token;
    claim.prior_end = fold().end_of(*top);
  }
  std::array<std::uint8_t, 8> boots{};
  store_le(boots, 0, boots_);
  const Hash256 session = wire::blake2b({as_bytes("postern/session/v1"), own_.bytes, boots});
  std::copy_n(session.begin(), claim.session.size(), claim.session.begin());
  return claim;
}

bool Claims::acquire(std::span<const ResourceNumber> resources) {
  std::vector<ledger::Draft> drafts;
  Lamport lowest;
  for (const ResourceNumber resource : resources) {
    const ledger::ClaimAcquired claim = next_claim(resource);
    lowest = std::max(lowest, Lamport(claim.epoch.value));
    drafts.push_back(ledger::draft_of(claim));
  }
  const Result<> written = ground_.write(drafts, lowest);
  for (const ResourceNumber resource : resources) {
    Wish& wish = wishes_[resource];
    if (!written) {
      wish.retry_boot_ns = now_ns_ + kSecond_ns;
      continue;
    }
    if (const Claim* const live = own_live(resource); live != nullptr) {
      tenures_[resource] = {live->token};
      waits_ = true;
    }
    wish.admitted_boot_ns = 0;
  }
  return written.has_value();
}

void Claims::try_arms() {
  if (!std::exchange(waits_, false)) return;
  std::vector<ResourceNumber> armed;
  for (auto& [resource, tenure] : tenures_) {
    if (tenure.armed) continue;
    if (pending_.count(resource) != 0 || !missing_acks(resource, tenure.token).empty()) {
      waits_ = true;
      continue;
    }
    tenure.armed = true;
    set_row(resource);
    armed.push_back(resource);
  }
  if (armed.empty()) return;
  lapse_boot_ns_ = 0;
  beat();
  for (const ResourceNumber resource : armed)
    ground_.announce(resource);
}

// ---- an operator's orders

Result<> Claims::check_order(ResourceNumber resource) const {
  if (!started_) return fail(errc::not_started, "the gateway is not up yet; try again in a moment");
  const ledger::Roster::Entry* const entry = entry_of(resource);
  if (entry == nullptr)
    return fail(errc::unknown_resource,
                "the snapshot in force has no resource number " + std::to_string(resource.value));
  return {};
}

Result<> Claims::claim(ResourceNumber resource) {
  if (Result<> right = check_order(resource); !right) return right;
  const std::string& id = entry_of(resource)->id;
  const auto wish = wishes_.find(resource);
  if (wish == wishes_.end()) {
    return fail(errc::not_candidate,
                "this gateway is no candidate of resource " + id + "; the authority's policy says who is");
  }
  if (const Claim* const live = fold().live(resource); live != nullptr && live->author != own_) {
    if (!is_silent(live->author, live->ttl_ms)) {
      return fail(errc::held, "resource " + id + " is held by gateway " + name_of(live->author) +
                                  " under epoch " + std::to_string(live->token.epoch.value) +
                                  "; release it there first: `postern release " + id + "`");
    }
  }
  ++changes_;
  wish->second.asked = true;
  wish->second.yields_until_boot_ns = 0;
  look_again(resource);
  tick();
  if (!silent_) settle();
  return {};
}

Result<> Claims::release(ResourceNumber resource) {
  if (Result<> right = check_order(resource); !right) return right;
  const std::string& id = entry_of(resource)->id;
  const auto wish = wishes_.find(resource);
  const bool asked = wish != wishes_.end() && wish->second.asked;
  ++changes_;
  if (wish != wishes_.end()) wish->second.asked = false;
  const Claim* const live = own_live(resource);
  if (live == nullptr) {
    if (asked) return {};
    const Claim* const other = fold().live(resource);
    return fail(errc::not_held, "this gateway does not hold resource " + id +
                                    (other == nullptr ? std::string("; nobody does")
                                                      : "; gateway " + name_of(other->author) + " does"));
  }
  if (wish != wishes_.end()) wish->second.yields_until_boot_ns = clock_.boot_ns() + kYield_ns;
  const std::vector<ledger::Draft> drafts{
      ledger::draft_of(ledger::ClaimReleased{resource, live->token.claim, live->session})};
  watch_clocks();
  part_with(*live);
  if (Result<> written = ground_.write(drafts, Lamport()); !written) {
    spend(resource);
    return written;
  }
  tick();
  return {};
}

Result<> Claims::revoke(ResourceNumber resource, const std::string& document) {
  if (Result<> right = check_order(resource); !right) return right;
  const std::string& id = entry_of(resource)->id;
  const Claim* live = fold().live(resource);
  // What was released is revoked while its holder serves on.
  if (live == nullptr && partings_.count(resource) != 0) live = fold().released(resource);
  if (live == nullptr || (document.empty() && live->author != own_))
    return fail(errc::not_held, "resource " + id + " has no live claim that could be revoked" +
                                    (document.empty() ? " by this gateway itself" : ""));
  std::vector<ledger::Draft> drafts{
      ledger::draft_of(ledger::ClaimRevoked{resource, live->token.claim, document})};
  Lamport lowest;
  if (!document.empty()) {
    const ledger::Roster& roster = fold().roster();
    const Result<authority::Revocation> said =
        authority::verify_revocation(document, roster.root, roster.mesh);
    if (!said) return fail(errc::revocation, said.error().message());
    if (said->resource != resource || said->epoch < live->token.epoch) {
      return fail(errc::revocation, "the revocation covers resource number " +
                                        std::to_string(said->resource.value) + " up to epoch " +
                                        std::to_string(said->epoch.value) + ", expected number " +
                                        std::to_string(resource.value) + " and epoch " +
                                        std::to_string(live->token.epoch.value));
    }
    // What it revokes stays revoked when the root that signed it is gone.
    drafts.push_back(ledger::draft_of(ledger::FenceRaised{resource, said->epoch}));
    lowest = Lamport(said->epoch.value);
  }
  if (live->author == own_) spend(resource);
  if (Result<> written = ground_.write(drafts, lowest); !written) return written;
  tick();
  return {};
}

}  // namespace postern::claims
