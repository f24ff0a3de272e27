// SPDX-License-Identifier: Apache-2.0
#include "authority/chain.h"

#include <algorithm>
#include <utility>

namespace postern::authority {
namespace {

std::string step_name(const BundleEntry& entry) {
  return "serial " + std::to_string(entry.serial.value) + " of the bundle";
}

Result<Candidate> verify_step(const BundleEntry& entry, const Root& trusted, std::string_view mesh) {
  Result<Candidate> candidate = verify_snapshot(entry.file, trusted, mesh);
  if (!candidate) return pass_on(std::move(candidate), step_name(entry));
  if (candidate->snapshot.serial != entry.serial) {
    return fail(errc::bundle, step_name(entry) + " is really serial " +
                                  std::to_string(candidate->snapshot.serial.value) +
                                  "; make the bundle again from the signed snapshots");
  }
  return candidate;
}

}  // namespace

Adopted remembered(const Candidate& candidate) {
  Adopted adopted{candidate.snapshot.serial, candidate.hash, candidate.snapshot.root, {}};
  for (const EpochFloor& floor : candidate.snapshot.epoch_floors)
    adopted.floors.emplace(floor.resource, floor.epoch);
  return adopted;
}

Result<Chain> follow_chain(std::string_view text, const Root& trusted, std::string_view mesh,
                           const std::optional<Adopted>& adopted) {
  if (!is_bundle(text)) {
    Result<Candidate> only = verify_snapshot(text, trusted, mesh);
    if (!only) return pass_on(std::move(only));
    return Chain{std::move(*only), text, adopted};
  }
  Result<std::vector<BundleEntry>> entries = open_bundle(text);
  if (!entries) return pass_on(std::move(entries));
  const auto is_new = [&adopted](const BundleEntry& entry) {
    return !adopted || entry.serial > adopted->serial;
  };
  auto step = std::find_if(entries->begin(), entries->end(), is_new);
  if (step == entries->end()) {
    return fail(errc::rollback, "the bundle ends at serial " + std::to_string(entries->back().serial.value) +
                                    ", adopted is serial " + std::to_string(adopted->serial.value) +
                                    "; make a bundle with the newer snapshots");
  }
  std::optional<Adopted> base = adopted;
  for (;; ++step) {
    Result<Candidate> candidate = verify_step(*step, base ? base->root : trusted, mesh);
    if (!candidate) return pass_on(std::move(candidate));
    if (std::next(step) == entries->end()) return Chain{std::move(*candidate), step->file, std::move(base)};
    if (Result<> follows = may_succeed(*candidate, base); !follows)
      return pass_on(std::move(follows), step_name(*step));
    base = remembered(*candidate);
  }
}

}  // namespace postern::authority
