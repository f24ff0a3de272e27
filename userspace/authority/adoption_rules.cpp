// SPDX-License-Identifier: Apache-2.0
#include "authority/adoption_rules.h"

#include <algorithm>

#include "authority/envelope.h"
#include "authority/snapshot_codec.h"
#include "core/utc.h"
#include "wire/sign.h"

namespace postern::authority {
namespace {

std::string number(Serial serial) {
  return std::to_string(serial.value);
}

Result<> check_rises(const Candidate& candidate, const Adopted& adopted) {
  const Serial serial = candidate.snapshot.serial;
  if (serial < adopted.serial) {
    return fail(errc::rollback, "serial " + number(serial) + " is older than the adopted " +
                                    number(adopted.serial) +
                                    "; sign the old content under a new serial to go back");
  }
  if (serial == adopted.serial) {
    return fail(errc::equivocation, "serial " + number(serial) + " was adopted with hash " +
                                        to_hex(adopted.hash) + ", this file has the same serial and hash " +
                                        to_hex(candidate.hash) +
                                        "; find out who signed both, then sign a higher serial");
  }
  return {};
}

std::uint64_t highest_step(const std::optional<Adopted>& adopted) {
  return adopted ? adopted->serial.value + kMaxSerialStep : kMaxFirstSerial;
}

Result<> check_step(const Candidate& candidate, const std::optional<Adopted>& adopted,
                    std::uint64_t highest) {
  const Serial serial = candidate.snapshot.serial;
  if (serial.value <= highest) return {};
  return fail(
      errc::fast_forward,
      "serial " + number(serial) + " is too far ahead: " +
          (adopted ? "adopted is " + number(adopted->serial) : std::string("nothing is adopted yet")) +
          ", the highest that may follow is " + std::to_string(highest) +
          "; sign it under a lower serial, or bring it in with `postern authority recover`");
}

Result<> check_chained(const Candidate& candidate, const Adopted& adopted) {
  const Serial serial = candidate.snapshot.serial;
  if (serial == adopted.serial.next() && candidate.snapshot.prev != adopted.hash) {
    return fail(errc::history, "prev is " + to_hex(candidate.snapshot.prev) +
                                   ", expected the hash of serial " + number(adopted.serial) + ", " +
                                   to_hex(adopted.hash) +
                                   "; compile it again on top of the adopted snapshot");
  }
  return {};
}

Result<> check_root(const Candidate& candidate, const std::optional<Adopted>& adopted) {
  const bool changes = adopted && candidate.snapshot.root != adopted->root;
  if (changes && candidate.snapshot.serial != adopted->serial.next()) {
    return fail(errc::root_change, "serial " + number(candidate.snapshot.serial) +
                                       " changes the root, which only serial " +
                                       number(adopted->serial.next()) +
                                       ", the very next one, may do; adopt the snapshots in between first");
  }
  if (!candidate.satisfies_own_root) {
    return fail(errc::root_change,
                "serial " + number(candidate.snapshot.serial) +
                    " carries a root whose own threshold did not sign it; sign it with the new keys as well");
  }
  return {};
}

Result<> check_floors(const Candidate& candidate, const Adopted& adopted) {
  std::map<std::string_view, Epoch> offered;
  for (const EpochFloor& floor : candidate.snapshot.epoch_floors)
    offered.emplace(floor.resource, floor.epoch);
  for (const auto& [resource, epoch] : adopted.floors) {
    const auto found = offered.find(resource);
    if (found != offered.end() && found->second >= epoch) continue;
    return fail(errc::floor_fell,
                "resource \"" + resource + "\" has the epoch floor " +
                    (found == offered.end() ? std::string("none") : std::to_string(found->second.value)) +
                    ", but " + std::to_string(epoch.value) +
                    " was adopted before; floors never fall, nor go away");
  }
  return {};
}

Result<> check_valid(const Candidate& candidate, UtcSeconds now) {
  if (now < candidate.snapshot.expires) return {};
  return fail(errc::expired, "serial " + number(candidate.snapshot.serial) + " expired at " +
                                 utc_text(candidate.snapshot.expires) + ", it is " + utc_text(now) +
                                 " now; sign a newer one, or set the clock right");
}

bool is_same(const Candidate& candidate, const std::optional<Adopted>& adopted) {
  return adopted && candidate.snapshot.serial == adopted->serial && candidate.hash == adopted->hash;
}

}  // namespace

Result<Candidate> verify_snapshot(std::string_view file, const Root& trusted, std::string_view mesh) {
  if (file.size() > kMaxSnapshotBytes + kMaxSignatureBytes) {
    return fail(errc::too_large, "the snapshot file has " + std::to_string(file.size()) +
                                     " bytes, the limit is " +
                                     std::to_string(kMaxSnapshotBytes + kMaxSignatureBytes));
  }
  const Result<Envelope> envelope = open_envelope(file);
  if (!envelope) return tl::unexpected<Error>(envelope.error());
  if (Result<> signed_by = verify_threshold(*envelope, trusted, wire::domain::snapshot); !signed_by) {
    return pass_on(std::move(signed_by));
  }
  Result<Snapshot> snapshot = parse_snapshot(envelope->payload);
  if (!snapshot) return pass_on(std::move(snapshot));
  if (snapshot->mesh != mesh) {
    return fail(errc::wrong_mesh, "the snapshot is of mesh \"" + snapshot->mesh +
                                      "\", this gateway is in \"" + std::string(mesh) + "\"");
  }
  Candidate out;
  out.hash = payload_hash(envelope->payload);
  out.satisfies_own_root = snapshot->root == trusted ||
                           verify_threshold(*envelope, snapshot->root, wire::domain::snapshot).has_value();
  out.snapshot = std::move(*snapshot);
  return out;
}

Result<> may_succeed(const Candidate& candidate, const std::optional<Adopted>& adopted) {
  if (is_same(candidate, adopted)) return {};
  Result<> allowed;
  if (adopted) allowed = check_rises(candidate, *adopted);
  if (allowed) allowed = check_step(candidate, adopted, highest_step(adopted));
  if (allowed && adopted) allowed = check_chained(candidate, *adopted);
  if (allowed) allowed = check_root(candidate, adopted);
  if (allowed && adopted) allowed = check_floors(candidate, *adopted);
  return allowed;
}

Result<> may_adopt(const Candidate& candidate, const std::optional<Adopted>& adopted, UtcSeconds now) {
  if (is_same(candidate, adopted)) return {};
  Result<> allowed = may_succeed(candidate, adopted);
  if (allowed) allowed = check_valid(candidate, now);
  return allowed;
}

Result<> may_recover(const Candidate& candidate, const std::optional<Adopted>& adopted, UtcSeconds now) {
  Result<> allowed;
  if (adopted) allowed = check_rises(candidate, *adopted);
  if (allowed) allowed = check_step(candidate, adopted, std::max(highest_step(adopted), kMaxFirstSerial));
  if (allowed) allowed = check_root(candidate, adopted);
  if (allowed && adopted) allowed = check_floors(candidate, *adopted);
  if (allowed) allowed = check_valid(candidate, now);
  return allowed;
}

}  // namespace postern::authority
