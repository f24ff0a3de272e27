// SPDX-License-Identifier: Apache-2.0
// Time and beats. A beat is what keeps a holder serving: its own deadline follows on the beat's creation, the
// others' patience on its receipt, so the holder stops first, however the clocks run (claims/timing.h). What
// the other files do between two beats is told by the next one.
#include "claims/claims.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "claims/errors.h"
#include "claims/timing.h"

namespace postern::claims {

Claims::Claims(ledger::Replica& replica, const wire::SecretKey& key, const Clock& clock, Ground& ground,
               bool automatic)
    : replica_(replica),
      key_(key),
      own_(key.public_key()),
      clock_(clock),
      ground_(ground),
      automatic_(automatic),
      courier_(
          [this](std::string_view gateway, ByteView message) { return ground_.send(gateway, message); }) {}

Result<> Claims::start() {
  const Result<std::uint64_t> boots = ground_.count_start(0);
  if (!boots) return fail(boots.error().code, boots.error().context);
  boots_ = *boots;
  const std::uint64_t awake_ns = clock_.monotonic_ns();
  now_ns_ = clock_.boot_ns();
  slept_ns_ = now_ns_ - awake_ns;
  looked_boot_ns_ = now_ns_;
  started_ = true;
  holders_ = ground_.holders();
  discontinuity();
  for (const ResourceNumber resource : fold().resources())
    pending_.insert(resource);
  for (const auto& [resource, holder] : holders_)
    pending_.insert(resource);
  settle();
  return {};
}

void Claims::follow(ledger::Roster roster, const std::map<wire::PublicKey, std::string>& gateways) {
  ++changes_;
  if (gateways != names_) {
    names_ = gateways;
    for (const auto& [resource, wish] : wishes_)
      look_again(resource);  // one that is followed no more was heard of long ago
    std::map<wire::PublicKey, std::string> others = gateways;
    others.erase(own_);
    nodes_.follow(others);
    courier_.follow(others);
  }
  if (roster == fold().roster()) return;
  fellows_.clear();
  std::map<ResourceNumber, Wish> wishes;
  for (const auto& [resource, entry] : roster.resources) {
    const auto& candidates = entry.candidates;
    if (std::find(candidates.begin(), candidates.end(), own_) == candidates.end()) continue;
    wishes[resource] = wishes_[resource];
    fellows_.insert(candidates.begin(), candidates.end());
  }
  fellows_.erase(own_);
  wishes_ = std::move(wishes);
  next_look_boot_ns_ = 0;
  for (const auto& [resource, row] : rows_.rows())
    if (roster.resources.count(resource) == 0) pending_.insert(resource);
  replica_.judge_by(std::move(roster));
  // A claim that the snapshot does not admit any more stops now.
  if (!started_ || silent_) return;
  watch_clocks();
  settle();
}

void Claims::set_automatic(bool automatic) {
  automatic_ = automatic;
  next_look_boot_ns_ = 0;
}

// ---- time

void Claims::tick() {
  if (!started_) return;
  watch_clocks();
  courier_.tell_heard(now_ns_);
  if (ground_.is_poisoned()) return fall_silent();
  settle();
  judge_rounds();
  try_claims();
  try_arms();
  beat_if_due();
}

void Claims::watch_clocks() {
  // In this order: a machine that never slept has both the same, and the difference must not fall below zero.
  const std::uint64_t awake_ns = clock_.monotonic_ns();
  now_ns_ = clock_.boot_ns();
  const std::uint64_t slept_ns = now_ns_ - awake_ns;
  if (slept_ns > slept_ns_ + kSleep_ns || now_ns_ > looked_boot_ns_ + kBeat_ns) discontinuity();
  slept_ns_ = slept_ns;
  looked_boot_ns_ = now_ns_;
  if (now_ns_ >= lapse_boot_ns_) spend_lapsed();
  end_partings([&](const Parting& parting) { return now_ns_ >= parting.until_boot_ns; });
}

void Claims::spend_lapsed() {
  std::vector<ResourceNumber> lapsed;
  lapse_boot_ns_ = std::numeric_limits<std::uint64_t>::max();
  for (const auto& [resource, tenure] : tenures_) {
    if (!tenure.armed) continue;
    if (now_ns_ >= tenure.deadline_boot_ns)
      lapsed.push_back(resource);
    else
      lapse_boot_ns_ = std::min(lapse_boot_ns_, tenure.deadline_boot_ns);
  }
  for (const ResourceNumber resource : lapsed)
    spend(resource);
}

// This gateway was away. Whom it did not hear meanwhile may have spoken, and a claim that waited for the
// others' agreement has waited for something else.
void Claims::discontinuity() {
  ++discontinuities_;
  ++changes_;
  discontinuity_boot_ns_ = now_ns_;
  first_beat_ = beats_ + 1;
  nodes_.discontinuity(now_ns_);
  std::vector<ResourceNumber> waiting;
  for (const auto& [resource, tenure] : tenures_)
    if (!tenure.armed) waiting.push_back(resource);
  for (const ResourceNumber resource : waiting)
    spend(resource);
  end_partings([](const Parting& parting) { return parting.own; });
  hurry_ = true;
}

// What is claimed now could not be told from what is not: so nothing is, and nobody hears of this gateway.
void Claims::fall_silent() {
  silent_ = true;
  while (!tenures_.empty())
    spend(tenures_.begin()->first);
  end_partings([](const Parting& parting) { return parting.own; });
}

void Claims::renew(std::uint64_t created_boot_ns) {
  for (auto& [resource, tenure] : tenures_) {
    if (!tenure.armed) continue;
    const ledger::Claim* const claim = fold().live(resource);
    if (claim == nullptr || claim->token != tenure.token) continue;
    const bool away = created_boot_ns < discontinuity_boot_ns_ + kDelivery_ns;
    if (away && tenure.deadline_boot_ns != 0 && !missing_rounds(resource).empty()) continue;
    const std::uint64_t deadline_boot_ns = created_boot_ns + tenure_ns(claim->ttl_ms);
    if (ground_.extend(resource, tenure.token.epoch, deadline_boot_ns))
      tenure.deadline_boot_ns = deadline_boot_ns;
  }
}

// ---- beats out

void Claims::beat_if_due() {
  if (silent_) return;
  const bool may_hurry = hurried_until_boot_ns_ < now_ns_ + kHurriesInARow * kHurry_ns;
  if (now_ns_ >= last_beat_boot_ns_ + kBeat_ns || last_beat_boot_ns_ == 0 || (hurry_ && may_hurry)) beat();
}

void Claims::beat() {
  ++beats_;
  last_beat_boot_ns_ = now_ns_;
  if (hurry_) hurried_until_boot_ns_ = std::max(hurried_until_boot_ns_, now_ns_) + kHurry_ns;
  hurry_ = false;
  // An ack is a promise to wait for its claimant from now on.
  for (const Row& row : rows_.since(beats_ - 1)) {
    const ledger::Claim* const claim = row.applied ? fold().live(row.resource) : nullptr;
    Node* const claimant = claim == nullptr ? nullptr : nodes_.find(claim->author);
    if (claimant != nullptr) claimant->promised_boot_ns = now_ns_;
  }
  Beat beat{own_,   boots_,         beats_,          clock_.boot_ns() / kMillisecond_ns,
            asks(), rows_.digest(), nodes_.echoes(), {}};
  sign(beat, fold().roster().mesh, key_);
  renew(now_ns_);
  courier_.send_own(beat, rows_);
}

// ---- beats in

bool Claims::is_mine(ByteView message) {
  return is_beat_message(message);
}

void Claims::on_up(const mesh::PeerLink& peer) {
  courier_.up(peer.gateway);
  hurry_ = true;
}

void Claims::on_down(std::string_view gateway, std::string_view /*why*/) {
  courier_.down(gateway);
}

void Claims::on_message(std::string_view gateway, ByteView message) {
  const Result<Message> said = decode(message);
  if (!said) {
    ++malformed_;
    return;
  }
  if (const auto* beat = std::get_if<BeatMessage>(&*said); beat != nullptr) return hear(gateway, *beat);
  if (const auto* hears = std::get_if<Hears>(&*said); hears != nullptr)
    return courier_.hears(gateway, *hears);
  const wire::PublicKey& wanted = std::get<WantRows>(*said).node;
  courier_.wants(gateway, wanted);
  if (wanted == own_) hurry_ = true;
}

void Claims::hear(std::string_view gateway, const BeatMessage& message) {
  const Beat& beat = message.beat;
  Node* const known = nodes_.find(beat.node);
  if (!started_ || known == nullptr) return;
  const bool direct = name_of(beat.node) == gateway;
  if (direct) courier_.heard(gateway, now_ns_);
  if (!known->is_below(beat)) {
    // A relay may be late; but no start is older than one that was heard, unless a disk went back.
    known->outrun = known->outrun || direct || beat.boots < known->beat.boots;
    return;
  }
  if (!verify(beat, fold().roster().mesh)) {
    ++forged_;
    return;
  }
  watch_clocks();
  const bool asked_before = known->beat.asks && known->beat.boots == beat.boots;
  if (!nodes_.hear(message, now_ns_)) return courier_.ask(gateway, beat.node);
  for (const Echo& echo : beat.echoes)
    if (echo.node == own_) outrun(echo.boots, echo.beats);
  if (beat.asks && !asked_before) hurry_ = true;
  if (!message.rows.empty()) ++changes_;
  extend_holders(*known);
  courier_.relay(known->beat, known->rows, gateway);
  // The last one to agree may be this one.
  if (!waits_ || message.rows.empty() || silent_ || ground_.is_poisoned()) return;
  settle();
  try_arms();
}

// Others have heard more beats of this gateway than it remembers: its disk went back. It goes on above them,
// or nobody would hear it.
void Claims::outrun(std::uint64_t boots, std::uint64_t beats) {
  if (std::tie(boots, beats) <= std::tie(boots_, beats_)) return;
  const Result<std::uint64_t> more = ground_.count_start(boots + 1);
  if (!more) return;
  boots_ = *more;
  hurry_ = true;
}

// A holder that was heard serves on. After a cold start not before the others have said what they know: it
// may be one that has lost.
void Claims::extend_holders(const Node& node) {
  for (const auto& [resource, row] : node.rows.rows())
    if (row.armed && pending_.count(resource) == 0) extend_holder(node, row);
}

void Claims::extend_holder(const Node& node, const Row& row) {
  const ledger::Claim* const claim = fold().live(row.resource);
  if (claim == nullptr || claim->token != row.top || claim->author != node.beat.node) return;
  const Result<Lease> lease = ground_.lease(row.resource);
  if (!lease) return;
  const bool serving = lease->fence == claim->token.epoch && lease->deadline_boot_ns > now_ns_;
  if (!serving && !missing_rounds(row.resource).empty()) return;
  if (!serving) ++changes_;
  // One that does not take it is not served, which only denies.
  [[maybe_unused]] const Result<> extended =
      ground_.extend(row.resource, claim->token.epoch, node.heard_boot_ns + silence_ns(claim->ttl_ms));
}

// ---- rounds

// Nothing that the node has seen is unknown here. Its rows name tops, and tokens say what came before.
bool Claims::told_all(const Node& node) const {
  const auto& rows = node.rows.rows();
  return std::all_of(rows.begin(), rows.end(), [&](const auto& entry) {
    const Row& row = entry.second;
    return (!row.has_top || fold().find(row.resource, row.top) != nullptr) &&
           fold().fence(row.resource) >= row.fence;
  });
}

// Whether there is a candidate of anything that has not told what it knows and lives.
bool Claims::asks() const {
  const auto& resources = fold().roster().resources;
  return std::any_of(resources.begin(), resources.end(),
                     [&](const auto& entry) { return !missing_rounds(entry.first).empty(); });
}

void Claims::judge_rounds() {
  for (const auto& [key, seen] : nodes_.all()) {
    if (seen.round) continue;
    for (const Echo& echo : seen.beat.echoes) {
      const bool answers = echo.node == own_ && echo.boots == boots_ && echo.beats >= first_beat_;
      if (!answers || !told_all(seen)) continue;
      nodes_.find(key)->round = true;
      hurry_ = hurry_ || !tenures_.empty();  // what was held on may be renewed now, and only a beat renews
    }
  }
  if (fellows_.empty() || ground_.may_have_forgotten().empty()) return;
  const bool all = std::all_of(fellows_.begin(), fellows_.end(), [&](const wire::PublicKey& fellow) {
    const Node* const node = nodes_.find(fellow);
    return (node != nullptr && node->round) || is_silent(fellow, ledger::kMaxClaimTtl_ms);
  });
  if (all) ground_.forgot_nothing();
}

}  // namespace postern::claims
