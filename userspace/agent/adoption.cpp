// SPDX-License-Identifier: Apache-2.0
#include "agent/adoption.h"

#include <algorithm>
#include <vector>

#include "agent/closing.h"
#include "agent/errors.h"
#include "agent/trust.h"
#include "authority/rollback.h"
#include "authority/signed_clock.h"
#include "dataplane/peer_ids.h"
#include "dataplane/tables.h"

namespace postern::agent {
namespace {

constexpr double kNsPerSecond = 1e9;
constexpr std::uint64_t kNsInSecond = 1'000'000'000;

ledger::SnapshotId id_of(const authority::Candidate& candidate) {
  return {candidate.snapshot.serial, candidate.hash};
}

}  // namespace

Adoption::Adoption(AdoptionParts parts, std::string mesh)
    : parts_(parts),
      mesh_(mesh),
      record_(parts.stream, parts.authority),
      files_(parts.journal, mesh),
      witness_(record_, files_, std::move(mesh)) {}

Result<dataplane::SwapReport> Adoption::apply(std::string_view text, const SiteNow& site,
                                              const std::filesystem::path& trust_anchor,
                                              const ApplyOrder& order) {
  const std::uint64_t begun_ns = parts_.clock.monotonic_ns();

  Result<authority::Chain> chain = verify(text, trust_anchor, order);
  if (!chain) return pass_on(std::move(chain));
  const authority::Candidate& candidate = chain->last;
  Result<Ready> ready = make_ready(candidate, site);
  if (!ready) return pass_on(std::move(ready));
  bool is_new = false;
  orders_->on_loop([&] { is_new = !is_adopted(candidate); });
  if (is_new) {
    Result<> persisted = at(Stage::persist, files_.put(id_of(candidate), chain->file));
    if (!persisted) return pass_on(std::move(persisted));
  }

  Result<> promised;
  Result<dataplane::SwapReport> swapped;
  orders_->on_loop([&] {
    if (is_new) promised = promise(*chain, *ready, order);
    if (!promised) return;
    swapped = serve(candidate, std::move(*ready));
    obstacle_ = swapped ? "" : swapped.error().message();
    if (swapped)
      durations_.observe(static_cast<double>(parts_.clock.monotonic_ns() - begun_ns) / kNsPerSecond);
  });
  if (!promised) return pass_on(std::move(promised));
  if (swapped) return swapped;
  return pass_on(std::move(swapped), "serial " + std::to_string(candidate.snapshot.serial.value) +
                                         " is adopted for good, but not in force yet; the agent tries again");
}

Result<authority::Chain> Adoption::verify(std::string_view text, const std::filesystem::path& trust_anchor,
                                          const ApplyOrder& order) {
  Result<authority::Root> trusted;
  std::optional<authority::Adopted> adopted;
  orders_->on_loop([&] {
    trusted = at(Stage::verify, trusted_root(parts_.authority, trust_anchor, mesh_));
    adopted = parts_.authority.adopted;
  });
  if (!trusted) return pass_on(std::move(trusted));
  Result<authority::Chain> chain = at(Stage::verify, authority::follow_chain(text, *trusted, mesh_, adopted));
  if (!chain) return chain;
  Result<> allowed;
  orders_->on_loop([&] {
    allowed = at(Stage::rules, witness_.judge(chain->last, chain->file, order.recovery));
    if (allowed) allowed = at(Stage::rules, check_rules(*chain, order));
  });
  if (!allowed) return pass_on(std::move(allowed));
  return chain;
}

Result<> Adoption::check_rules(const authority::Chain& chain, const ApplyOrder& order) const {
  const UtcSeconds now = now_for(chain.last);
  if (order.recovery) return authority::may_recover(chain.last, chain.base, now);
  Result<> allowed = authority::may_adopt(chain.last, chain.base, now);
  if (allowed && order.confirm_within_s) allowed = check_trial(chain.last, *order.confirm_within_s);
  return allowed;
}

// A trial needs its way back to be open until it ends.
Result<> Adoption::check_trial(const authority::Candidate& candidate, std::uint32_t within_s) const {
  if (is_adopted(candidate)) {
    return fail(authority::errc::rollback_refused,
                on_trial() ? "this snapshot is on trial already; confirm it or roll it back"
                           : "this snapshot is adopted already, so a trial of it makes no sense; `postern "
                             "rollback` goes back to the one before");
  }
  const std::optional<ledger::Earlier> back = way_back();
  if (!back) {
    return fail(authority::errc::rollback_refused,
                "there is no snapshot before this one to go back to; apply it without --confirm");
  }
  Result<authority::Candidate> kept = files_.get(back->id, back->root);
  if (!kept) return pass_on(std::move(kept));
  return authority::may_roll_back(*kept, candidate, UtcSeconds(now_for(candidate).value + within_s));
}

// From here on this snapshot is the one to serve.
Result<> Adoption::promise(const authority::Chain& chain, const Ready& ready, const ApplyOrder& order) {
  const authority::Candidate& candidate = chain.last;
  std::vector<ledger::AuthorityEvent> events;
  for (ledger::AuthorityFloors& rise :
       ledger::rises(parts_.authority, {authority::remembered(candidate).floors, ready.floors}))
    events.emplace_back(std::move(rise));
  ledger::AuthorityAdopted adopted;
  adopted.id = id_of(candidate);
  adopted.root = candidate.snapshot.root;
  adopted.issued = candidate.snapshot.issued;
  adopted.expires = candidate.snapshot.expires;
  if (!order.recovery) adopted.previous = way_back();
  if (order.confirm_within_s)
    adopted.unconfirmed_until = UtcSeconds(now_for(candidate).value + *order.confirm_within_s);
  adopted.recovered = order.recovery;
  events.emplace_back(std::move(adopted));
  Result<> promised = at(Stage::journal, record_.write(events));
  if (!promised) return promised;

  trial_ends_boot_ns_.reset();
  if (order.confirm_within_s)
    trial_ends_boot_ns_ = parts_.clock.boot_ns() + *order.confirm_within_s * kNsInSecond;
  return {};
}

// What a rollback of the next adoption would return to: the last snapshot that is neither on trial nor
// refused.
std::optional<ledger::Earlier> Adoption::way_back() const {
  const ledger::AuthorityState& state = parts_.authority;
  if (!state.adopted || on_trial() || state.reverted) return state.previous;
  return ledger::Earlier{{state.adopted->serial, state.adopted->hash}, state.adopted->root};
}

// Leases wait for this: so it asks for the ids of gateways alone, which are all that can hold.
Result<> Adoption::resume(const std::string& gateway) {
  Result<authority::Candidate> candidate = at(Stage::verify, read_to_serve(parts_.authority));
  if (!candidate) return pass_on(std::move(candidate));
  std::vector<std::string> gateways;
  for (const authority::Gateway& each : candidate->snapshot.gateways)
    if (each.id != gateway) gateways.push_back(each.id);
  const Result<std::map<std::string, PeerId>> ids = dataplane::find_peer_ids(parts_.plane, gateways);
  if (!ids) return tl::unexpected(ids.error());
  if (Result<> known = remember_holders(gateway, *ids); !known) return known;
  const Result<pt_gateway> row = parts_.generations.gateway();
  if (!row) return tl::unexpected(row.error());
  served_ = describe_in_part(*candidate, dataplane::claimants_in(candidate->snapshot, gateway, *ids));
  served_->open = row->open != 0;
  read_ahead_ = std::make_unique<authority::Candidate>(std::move(*candidate));
  resuming_ = true;
  obstacle_ =
      "the tables that an earlier start left in the kernel, which are served, are being compared with it";
  return {};
}

Result<authority::Candidate> Adoption::candidate_to_serve() {
  const ledger::AuthorityState state = authority_now();
  const std::unique_ptr<authority::Candidate> ahead = std::move(read_ahead_);
  const std::optional<ledger::SnapshotId> wanted = ledger::to_serve(state);
  if (ahead && !state.reverted && wanted && wanted->hash == ahead->hash) return std::move(*ahead);
  return at(Stage::verify, read_to_serve(state));
}

Result<dataplane::SwapReport> Adoption::redo(const SiteNow& site) {
  Result<dataplane::SwapReport> swapped = try_redo(site);
  orders_->on_loop([&] { obstacle_ = swapped ? "" : swapped.error().message(); });
  return swapped;
}

Result<dataplane::SwapReport> Adoption::try_redo(const SiteNow& site) {
  Result<authority::Candidate> candidate = candidate_to_serve();
  if (!candidate) return pass_on(std::move(candidate));
  Result<Ready> ready = make_ready(*candidate, site);
  if (!ready) return pass_on(std::move(ready));
  Result<dataplane::SwapReport> swapped;
  orders_->on_loop([&] { swapped = serve(*candidate, std::move(*ready)); });
  return swapped;
}

Result<> Adoption::confirm() {
  if (!on_trial()) {
    return fail(authority::errc::rollback_refused,
                "no snapshot is on trial, so there is nothing to confirm; it may have been rolled back: see "
                "`postern status`");
  }
  const authority::Adopted& adopted = *parts_.authority.adopted;
  Result<> confirmed = record_.write(ledger::AuthorityConfirmed{{adopted.serial, adopted.hash}});
  if (confirmed) trial_ends_boot_ns_.reset();
  return confirmed;
}

bool Adoption::trial_is_over() const {
  return on_trial() && (!trial_ends_boot_ns_ || parts_.clock.boot_ns() >= *trial_ends_boot_ns_);
}

Result<dataplane::SwapReport> Adoption::roll_back(const SiteNow& site, ledger::RevertCause cause) {
  Result<dataplane::SwapReport> swapped = try_roll_back(site, cause);
  orders_->on_loop([&] {
    if (parts_.authority.reverted) obstacle_ = swapped ? "" : swapped.error().message();
  });
  return swapped;
}

Result<dataplane::SwapReport> Adoption::try_roll_back(const SiteNow& site, ledger::RevertCause cause) {
  const ledger::AuthorityState state = authority_now();
  if (!state.adopted || !state.previous || state.reverted) {
    return fail(authority::errc::rollback_refused,
                state.reverted ? "the adopted snapshot is rolled back already; only one step leads back"
                               : "there is no snapshot before the adopted one to go back to");
  }
  Result<authority::Candidate> newest = at(Stage::verify, read_adopted(state));
  if (!newest) return pass_on(std::move(newest));
  Result<authority::Candidate> kept = at(Stage::verify, files_.get(state.previous->id, state.previous->root));
  if (!kept) return pass_on(std::move(kept));
  Result<> allowed;
  orders_->on_loop([&] { allowed = at(Stage::rules, authority::may_roll_back(*kept, *newest, now())); });
  if (!allowed) return pass_on(std::move(allowed));
  kept->snapshot = authority::rolled_back(std::move(kept->snapshot), newest->snapshot);
  Result<Ready> ready = make_ready(*kept, site);
  if (!ready) return pass_on(std::move(ready));

  Result<> reverted;
  Result<dataplane::SwapReport> swapped;
  orders_->on_loop([&] {
    reverted = at(Stage::journal, record_.write(ledger::AuthorityReverted{id_of(*newest), cause}));
    if (!reverted) return;
    trial_ends_boot_ns_.reset();
    swapped = serve(*kept, std::move(*ready));
  });
  if (!reverted) return pass_on(std::move(reverted));
  return swapped;
}

// The journal has decided for `candidate`; the kernel follows. Fences before the swap: in between they only
// deny. Who holds resources may have changed since the tables were compiled.
Result<dataplane::SwapReport> Adoption::serve(const authority::Candidate& candidate, Ready ready) {
  Result<> fenced = at(Stage::fence, parts_.generations.raise_fences(parts_.authority.fences));
  if (!fenced) return pass_on(std::move(fenced));
  if (!ready.prepared)
    return at(Stage::swap, Result<dataplane::SwapReport>(pass_on(std::move(ready.prepared))));
  ready.tables.resources = dataplane::holder_rows(ready.served.claimants, *holders_);
  note_holders(ready.served, ready.tables.resources.size());
  const authority::Snapshot& snapshot = candidate.snapshot;
  const std::uint64_t closes_ns =
      closing_instant_ns(snapshot.on_expiry, snapshot.expires, floor_for(candidate), parts_.clock);
  Result<dataplane::SwapReport> swapped =
      at(Stage::swap, parts_.generations.commit(std::move(*ready.prepared), ready.tables,
                                                parts_.authority.generation, closes_ns));
  if (!swapped) return pass_on(std::move(swapped));
  served_ = std::move(ready.served);
  resuming_ = false;
  if (!swapped->changed && parts_.authority.active) return swapped;
  Result<> announced =
      at(Stage::active, record_.write(ledger::AuthorityActive{id_of(candidate), swapped->generation}));
  if (!announced) return pass_on(std::move(announced));
  return swapped;
}

Result<> Adoption::see_timestamp(std::string_view file) {
  return at(Stage::rules, witness_.see_timestamp(file, parts_.clock.now_utc()));
}

ledger::AuthorityState Adoption::authority_now() const {
  ledger::AuthorityState state;
  orders_->on_loop([&] { state = parts_.authority; });
  return state;
}

Result<authority::Candidate> Adoption::read_adopted(const ledger::AuthorityState& state) const {
  return files_.get({state.adopted->serial, state.adopted->hash}, state.adopted->root);
}

Result<authority::Candidate> Adoption::read_to_serve(const ledger::AuthorityState& state) const {
  Result<authority::Candidate> newest = read_adopted(state);
  if (!newest || !state.reverted || !state.previous) return newest;
  Result<authority::Candidate> kept = files_.get(state.previous->id, state.previous->root);
  if (kept) kept->snapshot = authority::rolled_back(std::move(kept->snapshot), newest->snapshot);
  return kept;
}

Result<Adoption::Ready> Adoption::make_ready(const authority::Candidate& candidate, const SiteNow& site_now) {
  dataplane::Site site;
  orders_->on_loop([&] { site = site_now(); });
  Result<dataplane::Compiled> compiled = at(Stage::compile, compile_for(candidate, site));
  if (!compiled) return pass_on(std::move(compiled));
  Result<> fits = at(Stage::capacity, dataplane::check_capacity(compiled->tables));
  if (!fits) return pass_on(std::move(fits));
  Result<dataplane::Generations::Prepared> prepared = parts_.generations.prepare(compiled->tables);
  Served served = describe(candidate, *compiled, site.now);
  return Ready{std::move(compiled->tables), std::move(compiled->floors), std::move(served),
               std::move(prepared)};
}

Result<dataplane::Compiled> Adoption::compile_for(const authority::Candidate& candidate,
                                                  dataplane::Site& site) {
  if (Result<> added = add_peers_and_holders(candidate, site); !added) return pass_on(std::move(added));
  orders_->on_loop([&] { site.now = now_for(candidate); });
  return dataplane::compile(candidate.snapshot, site);
}

Result<> Adoption::add_peers_and_holders(const authority::Candidate& candidate, dataplane::Site& site) {
  Result<std::map<std::string, PeerId>> ids =
      dataplane::allot_peer_ids(parts_.plane, dataplane::peer_names(candidate.snapshot, site.gateway));
  if (!ids) return pass_on(std::move(ids));
  Result<> known;
  orders_->on_loop([&] {
    known = remember_holders(site.gateway, *ids);
    if (known) site.holders = *holders_;
  });
  site.peer_ids = std::move(*ids);
  return known;
}

// An agent that starts goes on with the holders that the one before had put into the kernel.
Result<> Adoption::remember_holders(const std::string& gateway, const std::map<std::string, PeerId>& ids) {
  if (holders_) return {};
  const auto rows = parts_.generations.holders();
  if (!rows) return tl::unexpected(rows.error());
  std::map<std::uint32_t, std::string> names{{PT_HOLDER_LOCAL, gateway}};
  for (const auto& [name, id] : ids)
    names.emplace(id.value, name);
  holders_ = dataplane::holders_of(*rows, names);
  return {};
}

Result<dataplane::SwapReport> Adoption::hold(dataplane::Holders holders) {
  holders_ = std::move(holders);
  if (parts_.generations.active() == Generation()) return dataplane::SwapReport{};
  dataplane::Rows<__u32, pt_resource> rows;
  if (served_) rows = dataplane::holder_rows(served_->claimants, *holders_);
  Result<dataplane::SwapReport> swapped =
      at(Stage::swap, parts_.generations.hold(rows, parts_.authority.generation));
  if (swapped && served_) note_holders(*served_, rows.size());
  return swapped;
}

UtcSeconds Adoption::now() const {
  return authority::trusted_now(parts_.clock.now_utc(), parts_.authority.clock_floor);
}

UtcSeconds Adoption::now_for(const authority::Candidate& candidate) const {
  return authority::trusted_now(parts_.clock.now_utc(), floor_for(candidate));
}

UtcSeconds Adoption::floor_for(const authority::Candidate& candidate) const {
  return std::max(parts_.authority.clock_floor, candidate.snapshot.issued);
}

void Adoption::keep_closing_instant() const {
  if (!served_) return;
  const UtcSeconds floor = std::max(parts_.authority.clock_floor, served_->issued);
  parts_.generations.close_at(closing_instant_ns(served_->on_expiry, served_->expires, floor, parts_.clock));
}

bool Adoption::is_adopted(const authority::Candidate& candidate) const {
  const std::optional<authority::Adopted>& adopted = parts_.authority.adopted;
  return adopted && adopted->serial == candidate.snapshot.serial && adopted->hash == candidate.hash;
}

bool Adoption::is_in_force() const {
  const ledger::AuthorityState& authority = parts_.authority;
  const std::optional<ledger::SnapshotId> wanted = ledger::to_serve(authority);
  return wanted && authority.active && served_ && !resuming_ && served_->hash == wanted->hash;
}

Result<std::map<ResourceNumber, Epoch>> kernel_fences(const dataplane::Generations& generations) {
  std::map<ResourceNumber, Epoch> fences;
  for (std::uint32_t number = 0; number < PT_MAX_RESOURCES; ++number) {
    Result<Epoch> epoch = generations.fence(ResourceNumber(number));
    if (!epoch) return pass_on(std::move(epoch));
    if (*epoch != Epoch()) fences.emplace(number, *epoch);
  }
  return fences;
}

}  // namespace postern::agent
