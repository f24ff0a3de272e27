// SPDX-License-Identifier: Apache-2.0
#include "agent/adoption.h"

#include <algorithm>

#include "agent/continuity.h"
#include "agent/errors.h"
#include "authority/envelope.h"
#include "authority/snapshot_codec.h"
#include "core/file.h"
#include "dataplane/peer_ids.h"
#include "dataplane/tables.h"

namespace postern::agent {
namespace {

constexpr std::size_t kMaxTrustAnchorBytes = 1U << 20;
constexpr std::size_t kMaxFileBytes = authority::kMaxSnapshotBytes + authority::kMaxSignatureBytes;
constexpr double kNsPerSecond = 1e9;

authority::Adopted remembered(const authority::Candidate& candidate) {
  authority::Adopted adopted{candidate.snapshot.serial, candidate.hash, candidate.snapshot.root, {}};
  for (const authority::EpochFloor& floor : candidate.snapshot.epoch_floors)
    adopted.floors.emplace(floor.resource, floor.epoch);
  return adopted;
}

std::string file_of(const authority::Adopted& adopted) {
  return ledger::snapshot_file_name(adopted.serial, adopted.hash);
}

}  // namespace

Result<dataplane::SwapReport> Adoption::apply(std::string_view file, const dataplane::Site& site,
                                              const std::filesystem::path& trust_anchor) {
  const std::uint64_t begun_ns = parts_.clock.monotonic_ns();

  Result<authority::Root> trusted = at(Stage::verify, trusted_root(trust_anchor));
  if (!trusted) return pass_on(std::move(trusted));
  Result<authority::Candidate> candidate =
      at(Stage::verify, authority::verify_snapshot(file, *trusted, mesh_));
  if (!candidate) return pass_on(std::move(candidate));

  Result<> allowed =
      at(Stage::rules, authority::may_adopt(*candidate, parts_.authority.adopted, parts_.clock.now_utc()));
  if (!allowed) return pass_on(std::move(allowed));

  Result<dataplane::Compiled> compiled = at(Stage::compile, compile_for(*candidate, site));
  if (!compiled) return pass_on(std::move(compiled));
  Result<> fits = at(Stage::capacity, dataplane::check_capacity(compiled->tables));
  if (!fits) return pass_on(std::move(fits));

  if (!is_adopted(*candidate)) {
    const authority::Adopted promise = remembered(*candidate);
    Result<> persisted = at(Stage::persist, parts_.journal.put_file(file_of(promise), file));
    if (!persisted) return pass_on(std::move(persisted));
    Result<> promised = at(Stage::journal, record(ledger::authority_adopted(promise)));
    if (!promised) return pass_on(std::move(promised));
  }

  Result<dataplane::SwapReport> swapped = serve(*candidate, std::move(*compiled));
  obstacle_ = swapped ? "" : swapped.error().message();
  if (swapped) {
    durations_.observe(static_cast<double>(parts_.clock.monotonic_ns() - begun_ns) / kNsPerSecond);
    return swapped;
  }
  return pass_on(std::move(swapped), "serial " + std::to_string(candidate->snapshot.serial.value) +
                                         " is adopted for good, but not in force yet; the agent tries again");
}

Result<dataplane::SwapReport> Adoption::redo(const dataplane::Site& site) {
  Result<dataplane::SwapReport> swapped = try_redo(site);
  obstacle_ = swapped ? "" : swapped.error().message();
  return swapped;
}

Result<dataplane::SwapReport> Adoption::try_redo(const dataplane::Site& site) {
  Result<authority::Candidate> candidate = at(Stage::verify, read_adopted());
  if (!candidate) return pass_on(std::move(candidate));
  Result<dataplane::Compiled> compiled = at(Stage::compile, compile_for(*candidate, site));
  if (!compiled) return pass_on(std::move(compiled));
  Result<> fits = at(Stage::capacity, dataplane::check_capacity(compiled->tables));
  if (!fits) return pass_on(std::move(fits));

  Result<std::map<ResourceNumber, Epoch>> fenced = at(Stage::fence, kernel_fences(parts_.generations));
  if (!fenced) return pass_on(std::move(fenced));
  Result<> level = at(Stage::fence, check_fences(*fenced, compiled->floors));
  if (!level) return pass_on(std::move(level));
  return serve(*candidate, std::move(*compiled));
}

// The journal has decided for `candidate`; the kernel follows. Fences before the swap: in between they only
// deny.
Result<dataplane::SwapReport> Adoption::serve(const authority::Candidate& candidate,
                                              dataplane::Compiled&& compiled) {
  Result<> fenced = at(Stage::fence, parts_.generations.raise_fences(compiled.floors));
  if (!fenced) return pass_on(std::move(fenced));
  Result<dataplane::SwapReport> swapped =
      at(Stage::swap, parts_.generations.adopt(compiled.tables, parts_.authority.generation));
  if (!swapped) return pass_on(std::move(swapped));
  served_ = describe(candidate, std::move(compiled));
  if (!swapped->changed && parts_.authority.active) return swapped;
  Result<> announced = at(
      Stage::active, record(ledger::authority_active(served_->serial, served_->hash, swapped->generation)));
  if (!announced) return pass_on(std::move(announced));
  return swapped;
}

Result<authority::Root> Adoption::trusted_root(const std::filesystem::path& trust_anchor) const {
  if (parts_.authority.adopted) return parts_.authority.adopted->root;
  Result<std::string> text = read_file(trust_anchor, kMaxTrustAnchorBytes);
  if (!text)
    return pass_on(std::move(text), "the trust anchor (`root` in the config), needed for the first snapshot");
  Result<authority::TrustAnchor> anchor = authority::parse_trust_anchor(*text);
  if (!anchor) return pass_on(std::move(anchor), trust_anchor.string());
  if (anchor->mesh != mesh_) {
    return fail(authority::errc::bad_root, trust_anchor.string() + " is the trust anchor of mesh \"" +
                                               anchor->mesh + "\", this gateway is in \"" + mesh_ +
                                               "\"; install the right one");
  }
  return std::move(anchor->root);
}

Result<authority::Candidate> Adoption::read_adopted() const {
  const authority::Adopted& adopted = *parts_.authority.adopted;
  const std::string name = file_of(adopted);
  Result<std::string> file = parts_.journal.get_file(name, kMaxFileBytes);
  if (!file) return pass_on(std::move(file), "the adopted snapshot's file");
  Result<authority::Candidate> candidate = authority::verify_snapshot(*file, adopted.root, mesh_);
  if (!candidate) return pass_on(std::move(candidate), name);
  if (candidate->hash != adopted.hash) {
    return fail(errc::snapshot_changed, name + " holds a snapshot with hash " + to_hex(candidate->hash) +
                                            ", the journal adopted " + to_hex(adopted.hash) +
                                            "; put the original file there, or apply a newer snapshot");
  }
  return candidate;
}

Result<dataplane::Compiled> Adoption::compile_for(const authority::Candidate& candidate,
                                                  dataplane::Site site) const {
  Result<std::map<std::string, PeerId>> ids =
      dataplane::allot_peer_ids(parts_.plane, dataplane::peer_names(candidate.snapshot, site.gateway));
  if (!ids) return pass_on(std::move(ids));
  site.peer_ids = std::move(*ids);
  site.now = parts_.clock.now_utc();
  return dataplane::compile(candidate.snapshot, site);
}

// Journals the draft and folds it as a restart would.
Result<> Adoption::record(const ledger::Draft& draft) {
  if (Result<> written = parts_.stream.write({&draft, 1}); !written) return written;
  ledger::Event event;
  event.kind = draft.kind;
  event.body = draft.body;
  return ledger::apply_event(parts_.authority, event);
}

bool Adoption::is_adopted(const authority::Candidate& candidate) const {
  const std::optional<authority::Adopted>& adopted = parts_.authority.adopted;
  return adopted && adopted->serial == candidate.snapshot.serial && adopted->hash == candidate.hash;
}

bool Adoption::is_in_force() const {
  const ledger::AuthorityState& authority = parts_.authority;
  return authority.adopted && authority.active && served_ && served_->hash == authority.adopted->hash;
}

Result<> Adoption::prune() {
  Result<std::vector<std::string>> names = parts_.journal.list_files("auth-");
  if (!names) return pass_on(std::move(names));
  std::vector<std::string> kept;
  for (const auto* adoption : {&parts_.authority.adopted, &parts_.authority.previous})
    if (*adoption) kept.push_back(file_of(**adoption));
  for (const std::string& name : *names) {
    if (std::find(kept.begin(), kept.end(), name) != kept.end()) continue;
    if (Result<> removed = parts_.journal.remove_file(name); !removed) return removed;
  }
  return {};
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
