// SPDX-License-Identifier: Apache-2.0
#include "authority/adoption_rules.h"

#include <doctest/doctest.h>

#include "authority/envelope.h"
#include "authority/snapshot_codec.h"
#include "unit/authority/sample_snapshot.h"
#include "unit/outcome.h"

using namespace postern;
using namespace postern::authority;
using namespace postern::testing;
using wire::SecretKey;

namespace {

// An authority with one key, what it issued last, and what it may issue next.
struct History {
  SecretKey key = SecretKey::generate();
  Snapshot snapshot = issued_by(key.public_key());

  static Snapshot issued_by(const wire::PublicKey& key) {
    Snapshot out = sample_snapshot();
    out.root = {1, {key}};
    return out;
  }

  Root root() const { return snapshot.root; }
  std::string file(const Snapshot& content) const {
    return add_signature(seal_envelope({}, encode_snapshot(content)), key, wire::domain::snapshot).value();
  }
  Candidate candidate(const Snapshot& content) const {
    return verify_snapshot(file(content), root(), "demo").value();
  }
  Adopted adopted() const {
    Adopted out{snapshot.serial, payload_hash(encode_snapshot(snapshot)), snapshot.root, {}};
    for (const EpochFloor& floor : snapshot.epoch_floors)
      out.floors.emplace(floor.resource, floor.epoch);
    return out;
  }
  Snapshot next() const {
    Snapshot out = snapshot;
    out.serial = out.serial.next();
    out.prev = adopted().hash;
    return out;
  }
  std::string may(const Snapshot& content) const {
    return outcome(may_adopt(candidate(content), adopted(), now()));
  }
  UtcSeconds now() const { return snapshot.issued.next(); }
};

}  // namespace

TEST_CASE("a signed snapshot is verified and read") {
  const History h;
  const Candidate candidate = verify_snapshot(h.file(h.snapshot), h.root(), "demo").value();
  CHECK(candidate.snapshot == h.snapshot);
  CHECK(candidate.hash == payload_hash(encode_snapshot(h.snapshot)));
  CHECK(candidate.satisfies_own_root);
}

TEST_CASE("a snapshot of another mesh is refused") {
  const History h;
  CHECK(outcome(verify_snapshot(h.file(h.snapshot), h.root(), "other")) == "snapshot.wrong_mesh");
}

TEST_CASE("signatures are judged before the payload is parsed") {
  const History h;
  const std::string junk = seal_envelope({}, "{junk}");
  CHECK(outcome(verify_snapshot(junk, h.root(), "demo")) == "snapshot.threshold");
  CHECK(outcome(verify_snapshot(add_signature(junk, h.key, wire::domain::snapshot).value(), h.root(),
                                "demo")) == "json.syntax");
  CHECK(outcome(verify_snapshot("{}", h.root(), "demo")) == "snapshot.envelope");
}

TEST_CASE("a snapshot with any one byte changed is refused") {
  const History h;
  const std::string file = h.file(h.snapshot);
  for (std::size_t at = 0; at < file.size(); at += 7) {
    std::string tampered = file;
    tampered[at] = static_cast<char>(tampered[at] ^ 1);
    CHECK_FALSE(verify_snapshot(tampered, h.root(), "demo"));
  }
  std::string tampered = file;
  tampered[tampered.find("10.2.0.0/24") + 3] = '3';
  CHECK(outcome(verify_snapshot(tampered, h.root(), "demo")) == "snapshot.signature");
}

TEST_CASE("a file beyond the limit is refused before anything is read") {
  const History h;
  const std::string file(kMaxSnapshotBytes + kMaxSignatureBytes + 1, 'x');
  CHECK(outcome(verify_snapshot(file, h.root(), "demo")) == "snapshot.too_large");
}

TEST_CASE("the first snapshot of a gateway may have any serial") {
  const History h;
  CHECK(outcome(may_adopt(h.candidate(h.snapshot), std::nullopt, h.now())) == "ok");
}

TEST_CASE("a snapshot with an older serial is refused") {
  const History h;
  Snapshot older = h.snapshot;
  older.serial = Serial(6);
  CHECK(h.may(older) == "snapshot.rollback");
}

TEST_CASE("adopting the same snapshot again is fine, even when it has expired") {
  const History h;
  CHECK(h.may(h.snapshot) == "ok");
  CHECK(outcome(may_adopt(h.candidate(h.snapshot), h.adopted(), h.snapshot.expires.next())) == "ok");
}

TEST_CASE("another snapshot under the adopted serial is equivocation") {
  const History h;
  Snapshot other = h.snapshot;
  other.on_expiry = OnExpiry::hold;
  CHECK(h.may(other) == "snapshot.equivocation");
}

TEST_CASE("the next serial must chain to the adopted payload; a later one need not") {
  const History h;
  CHECK(h.may(h.next()) == "ok");
  Snapshot unchained = h.next();
  unchained.prev.fill(1);
  CHECK(h.may(unchained) == "snapshot.history");
  unchained.serial = unchained.serial.next();
  CHECK(h.may(unchained) == "ok");
}

TEST_CASE("a serial far ahead of the adopted one is refused, so that nobody can use up all numbers") {
  const History h;
  Snapshot ahead = h.next();
  ahead.serial = Serial(h.snapshot.serial.value + kMaxSerialStep);
  CHECK(h.may(ahead) == "ok");
  ahead.serial = ahead.serial.next();
  CHECK(h.may(ahead) == "snapshot.fast_forward");
  ahead.serial = Serial((std::uint64_t{1} << 53) - 1);
  CHECK(h.may(ahead) == "snapshot.fast_forward");
  CHECK(outcome(may_adopt(h.candidate(ahead), std::nullopt, h.now())) == "snapshot.fast_forward");
  CHECK(outcome(may_recover(h.candidate(ahead), h.adopted(), h.now())) == "snapshot.fast_forward");
}

TEST_CASE("a recovery leads over any gap and either side of a conflict, but never back") {
  const History h;
  const auto recover = [&h](const Snapshot& content, UtcSeconds now) {
    return outcome(may_recover(h.candidate(content), h.adopted(), now));
  };
  Snapshot next = h.next();
  next.prev.fill(1);
  CHECK(recover(next, h.now()) == "ok");
  next.serial = Serial(kMaxFirstSerial);
  CHECK(recover(next, h.now()) == "ok");
  CHECK(recover(next, h.snapshot.expires) == "snapshot.expired");
  next.epoch_floors.clear();
  CHECK(recover(next, h.now()) == "snapshot.floor_fell");
  CHECK(recover(h.snapshot, h.now()) == "snapshot.equivocation");
  next.serial = Serial(6);
  CHECK(recover(next, h.now()) == "snapshot.rollback");
}

TEST_CASE("an expired snapshot is not adopted; the last second before still is") {
  const History h;
  const Candidate next = h.candidate(h.next());
  CHECK(outcome(may_adopt(next, h.adopted(), h.snapshot.expires)) == "snapshot.expired");
  CHECK(outcome(may_adopt(next, h.adopted(), UtcSeconds(h.snapshot.expires.value - 1))) == "ok");
  CHECK(outcome(may_adopt(next, std::nullopt, h.snapshot.expires)) == "snapshot.expired");
}

TEST_CASE("a clock before the time of issue refuses nothing") {
  const History h;
  CHECK(outcome(may_adopt(h.candidate(h.next()), h.adopted(), UtcSeconds(0))) == "ok");
}

TEST_CASE("epoch floors may rise, but neither fall nor go away") {
  const History h;
  Snapshot next = h.next();
  next.epoch_floors[1].epoch = Epoch(2);
  CHECK(h.may(next) == "ok");
  next.epoch_floors[0].epoch = Epoch(UINT64_MAX - 1);
  CHECK(h.may(next) == "snapshot.floor_fell");
  next.epoch_floors.erase(next.epoch_floors.begin());
  CHECK(h.may(next) == "snapshot.floor_fell");
}

TEST_CASE("a root change needs the very next serial and the signatures of both roots") {
  const History h;
  const SecretKey fresh = SecretKey::generate();
  Snapshot next = h.next();
  next.root = {1, {fresh.public_key()}};
  CHECK(h.may(next) == "snapshot.root_change");

  const std::string both = add_signature(h.file(next), fresh, wire::domain::snapshot).value();
  const Candidate candidate = verify_snapshot(both, h.root(), "demo").value();
  CHECK(candidate.satisfies_own_root);
  CHECK(outcome(may_adopt(candidate, h.adopted(), h.now())) == "ok");

  next.serial = next.serial.next();
  const Candidate skipped =
      verify_snapshot(add_signature(h.file(next), fresh, wire::domain::snapshot).value(), h.root(), "demo")
          .value();
  CHECK(outcome(may_adopt(skipped, h.adopted(), h.now())) == "snapshot.root_change");
}

TEST_CASE("the new root alone cannot bring itself in") {
  const History h;
  const SecretKey fresh = SecretKey::generate();
  Snapshot next = h.next();
  next.root = {1, {fresh.public_key()}};
  const std::string file =
      add_signature(seal_envelope({}, encode_snapshot(next)), fresh, wire::domain::snapshot).value();
  CHECK(outcome(verify_snapshot(file, h.root(), "demo")) == "snapshot.threshold");
}

TEST_CASE("raising the threshold alone is a root change as well") {
  const History h;
  Snapshot next = h.next();
  next.root.keys.push_back(SecretKey::generate().public_key());
  next.root.threshold = 2;
  CHECK(h.may(next) == "snapshot.root_change");
}

TEST_CASE("a first snapshot whose own root did not sign it is refused") {
  const History h;
  Snapshot first = h.snapshot;
  first.root = {1, {SecretKey::generate().public_key()}};
  CHECK(outcome(may_adopt(h.candidate(first), std::nullopt, h.now())) == "snapshot.root_change");
}

TEST_CASE("every refusal of a signed snapshot ends with the exit code for it") {
  for (const ErrorCode code :
       {errc::envelope, errc::signature, errc::threshold, errc::wrong_mesh, errc::rollback, errc::history,
        errc::equivocation, errc::expired, errc::root_change, errc::floor_fell}) {
    CHECK(exit_code(code.kind) == 5);
  }
}
