// SPDX-License-Identifier: Apache-2.0
// The rules of claims, one by one (SPEC 10.2).
#include "ledger/claim_fold.h"

#include <algorithm>

#include "authority/envelope.h"
#include "authority/revocation.h"
#include "claim_writer.h"

using namespace postern;
using namespace postern::ledger;
using namespace postern::testing;

namespace {

// Adds events in the order given; each must be the next of its stream.
void add(Fold& fold, const std::vector<SealedEvent>& events) {
  for (const SealedEvent& e : events) {
    REQUIRE_MESSAGE(fold.place(e.event, e.hash) == Place::next, e.event.kind);
    fold.add(e.event, e.hash);
  }
}

Verdict verdict(const Fold& fold, const SealedEvent& claim) {
  const Claim* const found = fold.claims().find(kVip, ClaimWriter::token(claim));
  REQUIRE(found != nullptr);
  return fold.claims().verdict(*found);
}

bool counts(const Fold& fold, const SealedEvent& claim) {
  return fold.claims().find(kVip, ClaimWriter::token(claim)) != nullptr;
}

struct Mesh {
  ClaimWriter a;
  ClaimWriter b;
  Fold fold{"blue"};
  Mesh() {
    fold.judge_by(roster_of({a.node(), b.node()}));
    add(fold, {a.opened, b.opened});
  }
};

// What the authority signs to revoke claims of `resource` up to `epoch`.
std::string revocation(const wire::SecretKey& root, ResourceNumber resource, std::uint64_t epoch) {
  const std::string payload =
      authority::encode_revocation({"blue", resource, Epoch(epoch), UtcSeconds(1'800'000'000)});
  return *authority::add_signature(authority::seal_envelope({}, payload), root, wire::domain::revocation);
}

}  // namespace

TEST_CASE("of all claims of a resource the highest token alone is live, and the others have lost for good") {
  Mesh mesh;
  const SealedEvent first = mesh.a.acquire(1);
  const SealedEvent second = mesh.b.acquire(2, ClaimWriter::token(first));
  add(mesh.fold, {first});
  CHECK(verdict(mesh.fold, first) == Verdict::live);
  add(mesh.fold, {second});
  CHECK(verdict(mesh.fold, first) == Verdict::conflicted);
  CHECK(verdict(mesh.fold, second) == Verdict::live);
  // What came after it may end; that does not bring it back.
  add(mesh.fold, {mesh.b.release(second)});
  CHECK(verdict(mesh.fold, first) == Verdict::conflicted);
  CHECK(mesh.fold.claims().live(kVip) == nullptr);
}

TEST_CASE("two claims under one epoch are ordered alike by everybody") {
  Mesh mesh;
  const SealedEvent one = mesh.a.acquire(1);
  const SealedEvent other = mesh.b.acquire(1);
  add(mesh.fold, {one, other});
  const bool a_wins = ClaimWriter::token(one) > ClaimWriter::token(other);
  CHECK(verdict(mesh.fold, one) == (a_wins ? Verdict::live : Verdict::conflicted));
  CHECK(verdict(mesh.fold, other) == (a_wins ? Verdict::conflicted : Verdict::live));
}

TEST_CASE("a claim above its own lamport is none: nobody can jump over the others") {
  Mesh mesh;
  const SealedEvent jump = mesh.a.write(ClaimAcquired{kVip, Epoch(1'000), {}, {}, 10'000, {}, {}}, 3);
  add(mesh.fold, {jump});
  CHECK(mesh.fold.claims().top(kVip) == nullptr);
  CHECK(mesh.fold.claims().fence(kVip) == Epoch());
}

TEST_CASE("a release that comes before its acquire waits for it") {
  Mesh mesh;
  ClaimWriter elsewhere = mesh.b;  // the same node, by another stream of its
  const SealedEvent claim = mesh.a.acquire(1);
  const SealedEvent release = mesh.a.release(claim);
  Fold late("blue");
  late.judge_by(mesh.fold.claims().roster());
  ClaimFold orphan;
  orphan.judge_by(mesh.fold.claims().roster());
  orphan.add(release.event);
  CHECK(orphan.top(kVip) == nullptr);
  orphan.add(claim.event);
  REQUIRE(orphan.top(kVip) != nullptr);
  CHECK(orphan.verdict(*orphan.top(kVip)) == Verdict::released);
  CHECK(orphan.end_of(*orphan.top(kVip)) == ClaimWriter::id(release));
}

TEST_CASE("a release by another node or another session does not count") {
  Mesh mesh;
  const SealedEvent claim = mesh.a.acquire(1);
  add(mesh.fold, {claim, mesh.b.release(claim)});
  CHECK(verdict(mesh.fold, claim) == Verdict::live);
  mesh.a.session = Id128{8};
  add(mesh.fold, {mesh.a.release(claim)});
  CHECK(verdict(mesh.fold, claim) == Verdict::live);
  mesh.a.session = Id128{7};
  add(mesh.fold, {mesh.a.release(claim)});
  CHECK(verdict(mesh.fold, claim) == Verdict::released);
}

TEST_CASE("what its node released is told apart from what anything else ends") {
  Mesh mesh;
  const SealedEvent first = mesh.a.acquire(1);
  add(mesh.fold, {first});
  CHECK(mesh.fold.claims().released(kVip) == nullptr);
  add(mesh.fold, {mesh.a.release(first)});
  const auto released = [&] {
    const Claim* const claim = mesh.fold.claims().released(kVip);
    return claim != nullptr && claim->token == ClaimWriter::token(first);
  };
  CHECK(released());
  const Roster both = mesh.fold.claims().roster();
  SUBCASE("a higher claim") {
    add(mesh.fold, {mesh.b.acquire(2, ClaimWriter::token(first))});
  }
  SUBCASE("a floor of the snapshot") {
    mesh.fold.judge_by(roster_of({mesh.a.node(), mesh.b.node()}, Epoch(1)));
  }
  SUBCASE("a fence") {
    add(mesh.fold, {mesh.b.write(FenceRaised{kVip, Epoch(1)}, 2)});
  }
  SUBCASE("a snapshot without its candidate") {
    Roster without = roster_of({mesh.b.node()});
    without.resources[kVip].former.insert(mesh.a.node());
    mesh.fold.judge_by(without);
  }
  SUBCASE("a revocation") {
    add(mesh.fold, {mesh.a.write(ClaimRevoked{kVip, ClaimWriter::id(first), ""})});
  }
  CHECK_FALSE(released());
  CHECK(mesh.fold.claims().newest_of(kVip, mesh.a.node())->token == ClaimWriter::token(first));
}

TEST_CASE("a claim is revoked by its own node or by the authority, and by nobody else") {
  Mesh mesh;
  const wire::SecretKey root = wire::SecretKey::generate();
  Roster roster = mesh.fold.claims().roster();
  roster.root = {1, {root.public_key()}};
  mesh.fold.judge_by(roster);
  const SealedEvent claim = mesh.a.acquire(3);
  const auto revoke = [&](const std::string& document) {
    return ClaimRevoked{kVip, ClaimWriter::id(claim), document};
  };
  add(mesh.fold, {claim, mesh.b.write(revoke(""))});
  CHECK(verdict(mesh.fold, claim) == Verdict::live);
  const wire::SecretKey stranger = wire::SecretKey::generate();
  add(mesh.fold, {mesh.b.write(revoke(revocation(stranger, kVip, 3)))});
  CHECK(verdict(mesh.fold, claim) == Verdict::live);
  add(mesh.fold, {mesh.b.write(revoke(revocation(root, ResourceNumber(2), 3)))});
  CHECK(verdict(mesh.fold, claim) == Verdict::live);
  add(mesh.fold, {mesh.b.write(revoke(revocation(root, kVip, 2)))});
  CHECK(verdict(mesh.fold, claim) == Verdict::live);
  SUBCASE("the authority's word") {
    add(mesh.fold, {mesh.b.write(revoke(revocation(root, kVip, 3)))});
    CHECK(verdict(mesh.fold, claim) == Verdict::revoked);
  }
  SUBCASE("its own") {
    add(mesh.fold, {mesh.a.write(revoke(""))});
    CHECK(verdict(mesh.fold, claim) == Verdict::revoked);
  }
}

TEST_CASE("the authority's word counts under the root in force, whichever came first") {
  Mesh mesh;
  const wire::SecretKey root = wire::SecretKey::generate();
  const SealedEvent claim = mesh.a.acquire(1);
  add(mesh.fold,
      {claim, mesh.b.write(ClaimRevoked{kVip, ClaimWriter::id(claim), revocation(root, kVip, 1)})});
  CHECK(verdict(mesh.fold, claim) == Verdict::live);
  Roster roster = mesh.fold.claims().roster();
  roster.root = {1, {root.public_key()}};
  mesh.fold.judge_by(roster);
  CHECK(verdict(mesh.fold, claim) == Verdict::revoked);
}

TEST_CASE("a floor ends every claim up to it, the snapshot's and one that a gateway raised") {
  Mesh mesh;
  const SealedEvent claim = mesh.a.acquire(2);
  add(mesh.fold, {claim});
  mesh.fold.judge_by(roster_of({mesh.a.node(), mesh.b.node()}, Epoch(1)));
  CHECK(verdict(mesh.fold, claim) == Verdict::live);
  SUBCASE("the snapshot's") {
    mesh.fold.judge_by(roster_of({mesh.a.node(), mesh.b.node()}, Epoch(2)));
    CHECK(verdict(mesh.fold, claim) == Verdict::below_floor);
  }
  SUBCASE("a gateway's") {
    add(mesh.fold, {mesh.b.write(FenceRaised{kVip, Epoch(2)}, 2)});
    CHECK(verdict(mesh.fold, claim) == Verdict::below_floor);
    CHECK(mesh.fold.claims().floor(kVip) == Epoch(2));
  }
}

TEST_CASE("a candidate that was dropped keeps its token and holds no more; a stranger has none") {
  Mesh mesh;
  const SealedEvent old = mesh.a.acquire(1);
  const SealedEvent claim = mesh.b.acquire(2, ClaimWriter::token(old));
  add(mesh.fold, {old, claim});
  Roster roster = roster_of({mesh.a.node()});
  roster.resources.at(kVip).former.insert(mesh.b.node());
  mesh.fold.judge_by(roster);
  CHECK(verdict(mesh.fold, claim) == Verdict::not_candidate);
  CHECK(verdict(mesh.fold, old) == Verdict::conflicted);
  CHECK(mesh.fold.claims().live(kVip) == nullptr);
  CHECK(mesh.fold.claims().fence(kVip) == Epoch(2));
  // A node that the snapshot does not know in this resource cannot take it from anybody.
  mesh.fold.judge_by(roster_of({mesh.a.node()}));
  CHECK(verdict(mesh.fold, old) == Verdict::live);
  CHECK(mesh.fold.claims().fence(kVip) == Epoch(1));
}

TEST_CASE("a fork ends every claim of its stream, takes back what stood behind it, and brings nothing back") {
  Mesh mesh;
  const SealedEvent before = mesh.a.acquire(1);
  ClaimWriter other = mesh.a.fork();
  const SealedEvent behind = mesh.a.acquire(2, ClaimWriter::token(before));
  const SealedEvent side = other.release(before);
  add(mesh.fold, {before, behind});
  CHECK(mesh.fold.claims().live(kVip)->token == ClaimWriter::token(behind));
  REQUIRE(mesh.fold.learn(*prove_fork(*header_of(behind.sealed), *header_of(side.sealed))));
  CHECK_FALSE(counts(mesh.fold, behind));
  CHECK(verdict(mesh.fold, before) == Verdict::forked);
  // This gateway had accepted the claim that is taken back: its kernel never goes below it.
  CHECK(mesh.fold.claims().fence(kVip) == Epoch(2));
  CHECK(mesh.fold.claims().floor(kVip) == Epoch());
}

TEST_CASE("a release that a fork takes back does not count, and the claim is not live for that") {
  Mesh mesh;
  const SealedEvent claim = mesh.a.acquire(1);
  ClaimWriter other = mesh.a.fork();
  const SealedEvent release = mesh.a.release(claim);
  const SealedEvent side = other.acquire(2);
  add(mesh.fold, {claim, release});
  CHECK(verdict(mesh.fold, claim) == Verdict::released);
  REQUIRE(mesh.fold.learn(*prove_fork(*header_of(release.sealed), *header_of(side.sealed))));
  CHECK(verdict(mesh.fold, claim) == Verdict::forked);
}

TEST_CASE("a claim whose successor did not know of it collides; one that was taken for dead was taken over") {
  Mesh mesh;
  const SealedEvent first = mesh.a.acquire(1);
  const SealedEvent blind = mesh.b.acquire(2);  // admitted apart
  add(mesh.fold, {first, blind});
  std::vector<Conflict> found = mesh.fold.claims().conflicts(kVip);
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == ConflictKind::collision);
  CHECK(found[0].claim.token == ClaimWriter::token(first));
  CHECK(found[0].rival.token == ClaimWriter::token(blind));
  const SealedEvent taker = mesh.a.acquire(3, ClaimWriter::token(blind));
  add(mesh.fold, {taker});
  found = mesh.fold.claims().conflicts(kVip);
  REQUIRE(found.size() == 2);
  CHECK(found[0].kind == ConflictKind::takeover);
  CHECK(found[0].claim.token == ClaimWriter::token(blind));
  CHECK(found[0].rival.token == ClaimWriter::token(taker));
}

TEST_CASE("a hand-over is no conflict, wherever its release is") {
  Mesh mesh;
  const SealedEvent first = mesh.a.acquire(1);
  const SealedEvent release = mesh.a.release(first);
  const SealedEvent second = mesh.b.acquire(2, ClaimWriter::token(first), ClaimWriter::id(release));
  add(mesh.fold, {first, second});
  CHECK(mesh.fold.claims().conflicts(kVip).empty());
  add(mesh.fold, {release});
  CHECK(mesh.fold.claims().conflicts(kVip).empty());
}

TEST_CASE("a conflict is announced once by each node, whichever rival it names") {
  Mesh mesh;
  const SealedEvent first = mesh.a.acquire(1);
  const SealedEvent blind = mesh.b.acquire(2);
  const Token lost = ClaimWriter::token(first);
  add(mesh.fold, {first, blind});
  CHECK_FALSE(mesh.fold.claims().is_announced(kVip, lost, mesh.b.node()));
  add(mesh.fold,
      {mesh.b.write(ConflictAnnounced{kVip, ConflictKind::collision, lost, ClaimWriter::token(blind)})});
  CHECK(mesh.fold.claims().is_announced(kVip, lost, mesh.b.node()));
  CHECK_FALSE(mesh.fold.claims().is_announced(kVip, lost, mesh.a.node()));
}

TEST_CASE("the digest tells tops, their verdicts and raised fences apart") {
  Mesh mesh;
  const Hash256 none = mesh.fold.digest();
  add(mesh.fold, {mesh.a.acquire(1)});
  const Hash256 live = mesh.fold.digest();
  CHECK(live != none);
  mesh.fold.judge_by(roster_of({mesh.b.node()}));
  CHECK(mesh.fold.digest() != live);
  mesh.fold.judge_by(roster_of({mesh.a.node(), mesh.b.node()}));
  CHECK(mesh.fold.digest() == live);
  mesh.fold.judge_by(roster_of({mesh.a.node(), mesh.b.node()}, Epoch(1)));
  CHECK_MESSAGE(mesh.fold.digest() != live, "the same top, another verdict");
}

TEST_CASE("a start from a journal knows the claims that a running gateway knows, and its fence") {
  Mesh mesh;
  const SealedEvent before = mesh.a.acquire(1);
  ClaimWriter other = mesh.a.fork();
  const SealedEvent behind = mesh.a.acquire(5, ClaimWriter::token(before));
  const SealedEvent side = other.release(before);
  const ForkProof proof = *prove_fork(*header_of(behind.sealed), *header_of(side.sealed));
  add(mesh.fold, {before, behind});
  const SealedEvent told = mesh.b.write(FenceRaised{kVip, Epoch(1)}, 2);
  add(mesh.fold, {told});
  mesh.fold.learn(proof);
  Fold again("blue");
  again.learn(proof);  // as StreamForked in a base tells it first
  const std::vector<const SealedEvent*> stored = {&mesh.a.opened, &mesh.b.opened, &before, &behind, &told};
  for (const SealedEvent* e : stored)
    again.resume(e->event, e->hash);
  again.judge_by(mesh.fold.claims().roster());
  CHECK(again.digest() == mesh.fold.digest());
  CHECK(again.claims().fence(kVip) == Epoch(5));
}

TEST_CASE("who changed is told once") {
  Mesh mesh;
  CHECK(mesh.fold.claims().take_changed() == std::set{kVip});
  CHECK(mesh.fold.claims().take_changed().empty());
  add(mesh.fold, {mesh.a.acquire(1)});
  CHECK(mesh.fold.claims().take_changed() == std::set{kVip});
}
