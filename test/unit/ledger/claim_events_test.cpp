// SPDX-License-Identifier: Apache-2.0
#include "ledger/claim_events.h"

#include "claim_writer.h"
#include "unit/outcome.h"

using namespace postern;
using namespace postern::ledger;
using namespace postern::testing;

namespace {

// A valid event with one member of its body replaced.
Event with(Event event, const std::string& key, wire::Json value) {
  event.body.set(key, std::move(value));
  return event;
}

}  // namespace

TEST_CASE("what a claim event says comes back as it was written") {
  ClaimWriter writer;
  const SealedEvent claim = writer.acquire(4);
  const Token token = ClaimWriter::token(claim);
  Token rival = token;
  rival.epoch = Epoch(5);
  const std::vector<ClaimEvent> all = {
      ClaimAcquired{kVip, Epoch(6), token, EventId{Id128{1}, Seq(9)}, 8'000, Id128{2}, Serial(3)},
      ClaimReleased{kVip, token.claim, Id128{2}}, ClaimRevoked{kVip, token.claim, "signed"},
      FenceRaised{kVip, Epoch(6)}, ConflictAnnounced{kVip, ConflictKind::takeover, token, rival}};
  for (const ClaimEvent& said : all) {
    const SealedEvent written = writer.write(said, 10);
    const Result<std::optional<ClaimEvent>> read = read_claim_event(written.event);
    REQUIRE_MESSAGE((read && *read), context(read));
    CHECK(draft_of(**read).body == draft_of(said).body);
    CHECK(draft_of(**read).kind == written.event.kind);
  }
}

TEST_CASE("a claim event with a body that its author could not have meant is refused by the field") {
  ClaimWriter writer;
  const SealedEvent first = writer.acquire(2);
  const Token token = ClaimWriter::token(first);
  const Event acquire =
      writer.write(ClaimAcquired{kVip, Epoch(3), token, token.claim, 10'000, Id128{1}, Serial(1)}, 3).event;
  const Event fence = writer.write(FenceRaised{kVip, Epoch(3)}, 3).event;
  const struct {
    Event event;
    std::string key;
    wire::Json value;
  } bad[] = {
      {acquire, "epoch", wire::Json::decimal(0)},
      {acquire, "epoch", wire::Json::decimal(1'000)},
      {acquire, "epoch", wire::Json::decimal(2)},  // not above its prior
      {acquire, "epoch", "x"},
      {acquire, "prior", nullptr},  // and yet an end of it
      {acquire, "prior", wire::Json::object()},
      {acquire, "prior_end", "x"},
      {acquire, "ttl_ms", std::int64_t{7'999}},
      {acquire, "ttl_ms", std::int64_t{60'001}},
      {acquire, "session", "00"},
      {acquire, "resource", std::int64_t{-1}},
      {acquire, "more", std::int64_t{1}},
      {fence, "epoch", wire::Json::decimal(0)},
      {fence, "epoch", wire::Json::decimal(1'000)},
  };
  for (const auto& [event, key, value] : bad) {
    const auto read = read_claim_event(with(event, key, value));
    CHECK_MESSAGE(outcome(read) == "event.invalid", key, " ", context(read));
  }
  CHECK(outcome(read_claim_event(acquire)) == "ok");
}

TEST_CASE("events of other kinds are none of claims") {
  ClaimWriter writer;
  const auto read = read_claim_event(writer.opened.event);
  REQUIRE(read);
  CHECK_FALSE(*read);
}
