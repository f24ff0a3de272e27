// SPDX-License-Identifier: Apache-2.0
#include "agent/witness.h"

#include <algorithm>

#include "authority/signed_clock.h"
#include "authority/timestamp_rules.h"

namespace postern::agent {
namespace {

constexpr std::string_view kRemedy =
    "; see `postern authority show --conflict`, find out who signed both, then have a higher serial signed "
    "and "
    "bring it in with `postern authority recover --bundle FILE`";

std::string number(Serial serial) {
  return "serial " + std::to_string(serial.value);
}

}  // namespace

std::optional<authority::Timestamp> last_timestamp(const ledger::AuthorityState& state) {
  if (!state.timestamp) return std::nullopt;
  const ledger::TimestampSeen& seen = *state.timestamp;
  return authority::Timestamp{{}, seen.id.serial, seen.id.hash, seen.issued, seen.expires};
}

Result<> Witness::see_timestamp(std::string_view file, UtcSeconds wall) {
  const ledger::AuthorityState& state = record_->state();
  if (!state.adopted) {
    return fail(authority::errc::timestamp_rollback,
                "no snapshot is adopted yet, so there is nothing that the timestamp could vouch for; apply a "
                "snapshot first");
  }
  if (state.timestamp && state.timestamp->document == file) return {};
  Result<authority::Timestamp> timestamp = authority::verify_timestamp(file, state.adopted->root, mesh_);
  if (!timestamp) return pass_on(std::move(timestamp));
  const UtcSeconds now = authority::trusted_now(wall, std::max(state.clock_floor, timestamp->issued));
  const ledger::SnapshotId id{timestamp->serial, timestamp->hash};
  Result<> follows = authority::may_follow(*timestamp, *state.adopted, last_timestamp(state), now);
  if (follows)
    return record_->write(
        ledger::TimestampSeen{id, timestamp->issued, timestamp->expires, std::string(file)});
  if (!(follows.error().code == authority::errc::equivocation)) return follows;
  // Against the adopted snapshot, or against the last timestamp.
  const bool against_adopted = state.adopted->serial == id.serial;
  const Hash256 known = against_adopted ? state.adopted->hash : state.timestamp->id.hash;
  Result<> kept = keep_proof({{id.serial, known}, id.hash, std::string(file)});
  if (!kept) return kept;
  return pass_on(std::move(follows));
}

// The snapshot that was seen under the serial of `id`, if it is another one.
std::optional<ledger::SnapshotId> Witness::contradicted_by(const ledger::SnapshotId& id) const {
  const ledger::AuthorityState& state = record_->state();
  const auto contradicts = [&id](Serial serial, const Hash256& hash) {
    return serial == id.serial && hash != id.hash;
  };
  if (state.adopted && contradicts(state.adopted->serial, state.adopted->hash))
    return ledger::SnapshotId{state.adopted->serial, state.adopted->hash};
  if (state.previous && contradicts(state.previous->id.serial, state.previous->id.hash))
    return state.previous->id;
  if (state.timestamp && contradicts(state.timestamp->id.serial, state.timestamp->id.hash))
    return state.timestamp->id;
  return std::nullopt;
}

Result<> Witness::keep_proof(const ledger::AuthorityEquivocated& proof) {
  if (record_->state().conflict) return {};
  return record_->write(proof);
}

Result<> Witness::judge(const authority::Candidate& candidate, std::string_view file, bool recovery) {
  const ledger::AuthorityState& state = record_->state();
  const ledger::SnapshotId id{candidate.snapshot.serial, candidate.hash};
  if (const std::optional<ledger::SnapshotId> known = contradicted_by(id)) {
    if (!state.conflict) {
      if (Result<> put = files_->put(id, file); !put) return put;
    }
    const bool by_timestamp = state.timestamp && state.timestamp->id == *known;
    Result<> kept = keep_proof({*known, id.hash, by_timestamp ? state.timestamp->document : std::string()});
    if (!kept) return kept;
    return fail(authority::errc::equivocation,
                "the authority vouched for two snapshots of " + number(id.serial) + ", with the hashes " +
                    to_hex(known->hash) + " and " + to_hex(id.hash) +
                    "; what was adopted stays in force, nothing else is adopted" + std::string(kRemedy));
  }
  if (state.conflict && !recovery) {
    return fail(authority::errc::conflict,
                "nothing is adopted since the authority vouched for two snapshots of " +
                    number(state.conflict->id.serial) + std::string(kRemedy));
  }
  const bool is_adopted =
      state.adopted && state.adopted->serial == id.serial && state.adopted->hash == id.hash;
  if (is_adopted && state.reverted) {
    return fail(authority::errc::refused,
                number(id.serial) +
                    " was rolled back on this gateway and is refused for good; sign "
                    "its content under a new serial to bring it back");
  }
  return {};
}

}  // namespace postern::agent
