// SPDX-License-Identifier: Apache-2.0
#include "ledger/claim_fold.h"

#include <algorithm>

#include "authority/revocation.h"
#include "ledger/event_kinds.h"

namespace postern::ledger {

std::string_view verdict_name(Verdict verdict) {
  constexpr std::array<std::string_view, kVerdicts> kNames{
      "revoked", "released", "below_floor", "forked", "not_candidate", "conflicted", "live"};
  return kNames[static_cast<std::size_t>(verdict)];
}

// Tombstones keep the keys of gateways that were removed, so that what they claimed before is still theirs.
Roster roster_of(const authority::Snapshot& snapshot) {
  std::map<std::string, wire::PublicKey> keys;
  for (const authority::Tombstone& tombstone : snapshot.tombstones)
    keys[tombstone.id] = tombstone.key;
  for (const authority::Gateway& gateway : snapshot.gateways)
    keys[gateway.id] = gateway.key;
  std::map<std::string, Epoch> floors;
  for (const authority::EpochFloor& floor : snapshot.epoch_floors)
    floors[floor.resource] = floor.epoch;
  Roster roster{{}, snapshot.root, snapshot.mesh, snapshot.serial};
  for (const authority::Resource& resource : snapshot.resources) {
    Roster::Entry& entry = roster.resources[resource.number];
    entry.id = resource.id;
    entry.ttl_ms = resource.ttl_ms;
    if (const auto floor = floors.find(resource.id); floor != floors.end()) entry.floor = floor->second;
    for (const std::string& gateway : resource.candidates)
      if (const auto key = keys.find(gateway); key != keys.end()) entry.candidates.push_back(key->second);
    for (const std::string& gateway : resource.former)
      if (const auto key = keys.find(gateway); key != keys.end()) entry.former.insert(key->second);
  }
  return roster;
}

// ---- what comes

void ClaimFold::add(const Event& event) {
  const Result<std::optional<ClaimEvent>> said = read_claim_event(event);
  if (said && *said) take(event, **said);
}

void ClaimFold::take(const Event& event, const ClaimEvent& said) {
  const EventId id{event.stream, event.seq};
  const ResourceNumber number = std::visit([](const auto& any) { return any.resource; }, said);
  Resource& resource = resources_[number];
  changed_.insert(number);
  if (const auto* acquired = std::get_if<ClaimAcquired>(&said); acquired != nullptr) {
    const Token token = token_of(event, *acquired);
    resource.claims[token] = {number,
                              token,
                              event.key,
                              acquired->prior,
                              acquired->prior_end,
                              acquired->ttl_ms,
                              acquired->session,
                              acquired->serial,
                              event.lamport,
                              event.at_ms};
  } else if (const auto* released = std::get_if<ClaimReleased>(&said); released != nullptr) {
    resource.ends[id] = {released->claim, event.key, released->session, "", Epoch()};
    resource.ends_of[released->claim].insert(id);
  } else if (const auto* revoked = std::get_if<ClaimRevoked>(&said); revoked != nullptr) {
    End end{revoked->claim, event.key, std::nullopt, revoked->document, Epoch()};
    end.covers = covered(end, number);
    resource.ends[id] = std::move(end);
    resource.ends_of[revoked->claim].insert(id);
  } else if (const auto* fence = std::get_if<FenceRaised>(&said); fence != nullptr) {
    resource.fences[id] = fence->epoch;
  } else if (const auto* conflict = std::get_if<ConflictAnnounced>(&said); conflict != nullptr) {
    resource.told[id] = {conflict->claim, event.key};
  }
}

void ClaimFold::heed(const Event& event) {
  const Result<std::optional<ClaimEvent>> said = read_claim_event(event);
  if (!said || !*said) return;
  const EventId id{event.stream, event.seq};
  if (const auto* acquired = std::get_if<ClaimAcquired>(&**said); acquired != nullptr)
    resources_[acquired->resource].heeded[id] = {event.key, acquired->epoch};
  if (const auto* fence = std::get_if<FenceRaised>(&**said); fence != nullptr)
    resources_[fence->resource].heeded[id] = {std::nullopt, fence->epoch};
}

// What is taken back was accepted here while it counted, so it goes on binding the fence.
void ClaimFold::cut(const Id128& stream, Seq last) {
  forked_.insert(stream);
  const auto gone = [&](const EventId& id) { return id.stream == stream && id.seq > last; };
  for (auto& [number, resource] : resources_) {
    const std::size_t before = resource.ends.size() + resource.told.size() + resource.fences.size();
    bool touched = false;
    for (auto claim = resource.claims.begin(); claim != resource.claims.end();) {
      const EventId id = claim->first.claim;
      touched = touched || id.stream == stream;
      if (gone(id)) resource.heeded[id] = {claim->second.author, claim->first.epoch};
      claim = gone(id) ? resource.claims.erase(claim) : std::next(claim);
    }
    for (const auto& [id, epoch] : resource.fences)
      if (gone(id)) resource.heeded[id] = {std::nullopt, epoch};
    for (auto& [claim, ends] : resource.ends_of)
      std::erase_if(ends, gone);
    std::erase_if(resource.ends, [&](const auto& end) { return gone(end.first); });
    std::erase_if(resource.fences, [&](const auto& fence) { return gone(fence.first); });
    std::erase_if(resource.told, [&](const auto& told) { return gone(told.first); });
    const std::size_t after = resource.ends.size() + resource.told.size() + resource.fences.size();
    if (touched || after != before) changed_.insert(number);
  }
}

void ClaimFold::judge_by(Roster roster) {
  const bool other_root = roster.root != roster_.root || roster.mesh != roster_.mesh;
  for (const auto& [number, entry] : roster_.resources)
    changed_.insert(number);
  roster_ = std::move(roster);
  for (const auto& [number, entry] : roster_.resources)
    changed_.insert(number);
  if (!other_root) return;
  for (auto& [number, resource] : resources_)
    for (auto& [id, end] : resource.ends)
      end.covers = covered(end, number);
}

std::set<ResourceNumber> ClaimFold::take_changed() {
  return std::exchange(changed_, {});
}

// ---- what it adds up to

const Roster::Entry* ClaimFold::entry_of(ResourceNumber resource) const {
  const auto found = roster_.resources.find(resource);
  return found == roster_.resources.end() ? nullptr : &found->second;
}

const ClaimFold::Resource* ClaimFold::known(ResourceNumber resource) const {
  const auto found = resources_.find(resource);
  return found == resources_.end() ? nullptr : &found->second;
}

bool ClaimFold::may_claim(const Roster::Entry& entry, const wire::PublicKey& node) {
  return entry.former.count(node) != 0 ||
         std::find(entry.candidates.begin(), entry.candidates.end(), node) != entry.candidates.end();
}

// Up to which epoch the end's document revokes claims of this resource; 0: it does not.
Epoch ClaimFold::covered(const End& end, ResourceNumber resource) const {
  if (end.document.empty()) return Epoch();
  const Result<authority::Revocation> said =
      authority::verify_revocation(end.document, roster_.root, roster_.mesh);
  return said && said->resource == resource ? said->epoch : Epoch();
}

const Claim* ClaimFold::top(ResourceNumber number) const {
  const Resource* const resource = known(number);
  const Roster::Entry* const entry = entry_of(number);
  if (resource == nullptr || entry == nullptr) return nullptr;
  for (auto at = resource->claims.rbegin(); at != resource->claims.rend(); ++at)
    if (may_claim(*entry, at->second.author)) return &at->second;
  return nullptr;
}

const Claim* ClaimFold::live(ResourceNumber resource) const {
  const Claim* const claim = top(resource);
  return claim != nullptr && verdict(*claim) == Verdict::live ? claim : nullptr;
}

const Claim* ClaimFold::released(ResourceNumber resource) const {
  const Claim* const claim = top(resource);
  const bool parting = claim != nullptr && verdict(*claim) == Verdict::released &&
                       verdict_unless_ended(*claim) == Verdict::live;
  return parting ? claim : nullptr;
}

const Claim* ClaimFold::newest_of(ResourceNumber number, const wire::PublicKey& node) const {
  const Resource* const resource = known(number);
  if (resource == nullptr) return nullptr;
  const auto& claims = resource->claims;
  const auto newest = std::find_if(claims.rbegin(), claims.rend(),
                                   [&](const auto& claim) { return claim.second.author == node; });
  return newest == claims.rend() ? nullptr : &newest->second;
}

const Claim* ClaimFold::find(ResourceNumber number, const Token& token) const {
  const Resource* const resource = known(number);
  if (resource == nullptr) return nullptr;
  const auto found = resource->claims.find(token);
  return found == resource->claims.end() ? nullptr : &found->second;
}

std::optional<std::pair<EventId, Verdict>> ClaimFold::end_and_verdict(const Claim& claim) const {
  const Resource* const resource = known(claim.resource);
  if (resource == nullptr) return std::nullopt;
  const auto ends = resource->ends_of.find(claim.token.claim);
  if (ends == resource->ends_of.end()) return std::nullopt;
  std::optional<std::pair<EventId, Verdict>> out;
  for (const EventId& id : ends->second) {
    const End& end = resource->ends.at(id);
    const bool own = end.author == claim.author;
    if (!end.session && (end.document.empty() ? own : end.covers >= claim.token.epoch))
      return std::pair(id, Verdict::revoked);
    if (end.session && own && *end.session == claim.session && !out) out = std::pair(id, Verdict::released);
  }
  return out;
}

std::optional<EventId> ClaimFold::end_of(const Claim& claim) const {
  const auto end = end_and_verdict(claim);
  return end ? std::optional(end->first) : std::nullopt;
}

Verdict ClaimFold::verdict(const Claim& claim) const {
  const auto end = end_and_verdict(claim);
  return end ? end->second : verdict_unless_ended(claim);
}

Verdict ClaimFold::verdict_unless_ended(const Claim& claim) const {
  if (claim.token.epoch <= floor(claim.resource)) return Verdict::below_floor;
  if (forked_.count(claim.token.claim.stream) != 0) return Verdict::forked;
  const Roster::Entry* const entry = entry_of(claim.resource);
  if (entry == nullptr ||
      std::find(entry->candidates.begin(), entry->candidates.end(), claim.author) == entry->candidates.end())
    return Verdict::not_candidate;
  const Claim* const highest = top(claim.resource);
  return highest != nullptr && highest->token == claim.token ? Verdict::live : Verdict::conflicted;
}

std::vector<const Claim*> ClaimFold::claims_of(ResourceNumber number) const {
  std::vector<const Claim*> out;
  if (const Resource* const resource = known(number); resource != nullptr)
    for (const auto& [token, claim] : resource->claims)
      out.push_back(&claim);
  return out;
}

std::vector<ResourceNumber> ClaimFold::resources() const {
  std::vector<ResourceNumber> out;
  out.reserve(resources_.size());
  for (const auto& [number, resource] : resources_)
    out.push_back(number);
  return out;
}

Epoch ClaimFold::floor(ResourceNumber number) const {
  const Roster::Entry* const entry = entry_of(number);
  Epoch out = entry == nullptr ? Epoch() : entry->floor;
  if (const Resource* const resource = known(number); resource != nullptr)
    for (const auto& [id, epoch] : resource->fences)
      out = std::max(out, epoch);
  return out;
}

Epoch ClaimFold::fence(ResourceNumber number) const {
  Epoch out = floor(number);
  const Resource* const resource = known(number);
  const Roster::Entry* const entry = entry_of(number);
  if (resource == nullptr || entry == nullptr) return out;
  if (const Claim* const highest = top(number); highest != nullptr) out = std::max(out, highest->token.epoch);
  for (const auto& [id, heeded] : resource->heeded)
    if (!heeded.claimant || may_claim(*entry, *heeded.claimant)) out = std::max(out, heeded.epoch);
  return out;
}

Epoch ClaimFold::highest(ResourceNumber number) const {
  Epoch out = floor(number);
  const Resource* const resource = known(number);
  if (resource == nullptr) return out;
  if (!resource->claims.empty()) out = std::max(out, resource->claims.rbegin()->first.epoch);
  for (const auto& [id, heeded] : resource->heeded)
    out = std::max(out, heeded.epoch);
  return out;
}

// From the highest token down, with the lowest predecessor that any above it names. A claim that it does not
// reach up to was not known to that one's author, so both were admitted. What had ended anyhow was taken from
// nobody.
std::vector<Conflict> ClaimFold::conflicts(ResourceNumber number) const {
  std::vector<Conflict> out;
  const Resource* const resource = known(number);
  const Roster::Entry* const entry = entry_of(number);
  if (resource == nullptr || entry == nullptr) return out;
  const Claim* blindest = nullptr;
  std::map<Token, const Claim*> takers;
  for (auto at = resource->claims.rbegin(); at != resource->claims.rend(); ++at) {
    const Claim& claim = at->second;
    if (!may_claim(*entry, claim.author)) continue;
    const auto taker = takers.find(claim.token);
    if (blindest != nullptr && (!blindest->prior || *blindest->prior < claim.token)) {
      out.push_back({ConflictKind::collision, claim, *blindest});
    } else if (taker != takers.end() && verdict(claim) >= Verdict::forked) {
      out.push_back({ConflictKind::takeover, claim, *taker->second});
    }
    if (claim.prior && !claim.prior_end) takers.emplace(*claim.prior, &claim);
    if (blindest == nullptr || (blindest->prior && (!claim.prior || *claim.prior < *blindest->prior)))
      blindest = &claim;
  }
  return out;
}

bool ClaimFold::is_announced(ResourceNumber number, const Token& claim, const wire::PublicKey& by) const {
  const Resource* const resource = known(number);
  return resource != nullptr &&
         std::any_of(resource->told.begin(), resource->told.end(),
                     [&](const auto& told) { return told.second.claim == claim && told.second.by == by; });
}

void ClaimFold::digest_into(Bytes& text) const {
  const auto put = [&](auto value) {
    std::array<std::uint8_t, sizeof value> bytes{};
    store_le(bytes, 0, value);
    text.insert(text.end(), bytes.begin(), bytes.end());
  };
  for (const auto& [number, resource] : resources_) {
    Epoch raised;
    for (const auto& [id, epoch] : resource.fences)
      raised = std::max(raised, epoch);
    const Claim* const highest = top(number);
    if (highest == nullptr && raised == Epoch()) continue;
    put(number.value);
    put(raised.value);
    put(static_cast<std::uint8_t>(highest != nullptr ? verdict(*highest) : Verdict::revoked));
    const Token token = highest != nullptr ? highest->token : Token{};
    put(token.epoch.value);
    text.insert(text.end(), token.tie.begin(), token.tie.end());
    text.insert(text.end(), token.claim.stream.begin(), token.claim.stream.end());
    put(token.claim.seq.value);
  }
}

}  // namespace postern::ledger
