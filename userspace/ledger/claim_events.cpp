// SPDX-License-Identifier: Apache-2.0
#include "ledger/claim_events.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ledger/event_kinds.h"
#include "wire/fields.h"
#include "wire/hash.h"

namespace postern::ledger {
namespace {

using wire::Fields;
using wire::Json;

constexpr std::array<std::string_view, 2> kConflictKinds{"collision", "takeover"};

// ---- writing

Json json_of(const EventId& id) {
  return Json::object({{"seq", Json::decimal(id.seq.value)}, {"stream", to_hex(id.stream)}});
}

Json json_of(const Token& token) {
  Json json = json_of(token.claim);
  json.set("epoch", Json::decimal(token.epoch.value));
  json.set("tie", to_hex(token.tie));
  return json;
}

template <class T>
Json json_or_null(const std::optional<T>& value) {
  return value ? json_of(*value) : Json(nullptr);
}

Json resource_json(ResourceNumber resource) {
  return Json::object({{"resource", static_cast<std::int64_t>(resource.value)}});
}

std::pair<std::string_view, Json> write(const ClaimAcquired& event) {
  Json body = resource_json(event.resource);
  body.set("epoch", Json::decimal(event.epoch.value));
  body.set("prior", json_or_null(event.prior));
  body.set("prior_end", json_or_null(event.prior_end));
  body.set("serial", Json::decimal(event.serial.value));
  body.set("session", to_hex(event.session));
  body.set("ttl_ms", static_cast<std::int64_t>(event.ttl_ms));
  return {kClaimAcquired, std::move(body)};
}

std::pair<std::string_view, Json> write(const ClaimReleased& event) {
  Json body = resource_json(event.resource);
  body.set("claim", json_of(event.claim));
  body.set("session", to_hex(event.session));
  return {kClaimReleased, std::move(body)};
}

std::pair<std::string_view, Json> write(const ClaimRevoked& event) {
  Json body = resource_json(event.resource);
  body.set("claim", json_of(event.claim));
  body.set("document", event.document.empty() ? Json(nullptr) : Json(event.document));
  return {kClaimRevoked, std::move(body)};
}

std::pair<std::string_view, Json> write(const FenceRaised& event) {
  Json body = resource_json(event.resource);
  body.set("epoch", Json::decimal(event.epoch.value));
  return {kFenceRaised, std::move(body)};
}

std::pair<std::string_view, Json> write(const ConflictAnnounced& event) {
  Json body = resource_json(event.resource);
  body.set("claim", json_of(event.claim));
  body.set("kind", word_of(event.kind));
  body.set("rival", json_of(event.rival));
  return {kConflictAnnounced, std::move(body)};
}

// ---- reading

Id128 read_id(Fields& fields, std::string_view key) {
  const auto id = array_from_hex<16>(fields.text(key));
  if (!id) fields.reject(key, "expected 32 lower-case hex digits");
  return id.value_or(Id128{});
}

EventId read_place(Fields& fields) {
  EventId id;
  id.seq = Seq(fields.decimal("seq"));
  id.stream = read_id(fields, "stream");
  if (id.seq == Seq()) fields.reject("seq", "expected one from 1 on");
  return id;
}

EventId read_event_id(Fields& parent, std::string_view key) {
  Fields fields(parent.any(key), parent, key);
  const EventId id = read_place(fields);
  if (Result<> done = fields.finish(); !done) parent.adopt(std::move(done).error());
  return id;
}

Token read_token(Fields& parent, std::string_view key) {
  Fields fields(parent.any(key), parent, key);
  Token token;
  token.epoch = Epoch(fields.decimal("epoch"));
  token.claim = read_place(fields);
  token.tie = read_id(fields, "tie");
  if (Result<> done = fields.finish(); !done) parent.adopt(std::move(done).error());
  return token;
}

ResourceNumber read_resource(Fields& fields) {
  return ResourceNumber(static_cast<std::uint32_t>(fields.integer("resource", 0, UINT32_MAX)));
}

// Nobody can take an epoch that is ahead of the mesh's clock, so nobody can use them up.
Epoch read_epoch(Fields& fields, const Event& event) {
  const Epoch epoch(fields.decimal("epoch"));
  if (epoch == Epoch()) fields.reject("epoch", "expected one from 1 on");
  if (epoch.value > event.lamport.value) fields.reject("epoch", "is above the event's lamport");
  return epoch;
}

ClaimEvent read_acquired(Fields& fields, const Event& event) {
  ClaimAcquired out;
  out.epoch = read_epoch(fields, event);
  if (!fields.any("prior").is_null()) out.prior = read_token(fields, "prior");
  if (!fields.any("prior_end").is_null()) out.prior_end = read_event_id(fields, "prior_end");
  out.resource = read_resource(fields);
  out.serial = Serial(fields.decimal("serial"));
  out.session = read_id(fields, "session");
  out.ttl_ms = static_cast<std::uint32_t>(fields.integer("ttl_ms", kMinClaimTtl_ms, kMaxClaimTtl_ms));
  if (out.prior && out.prior->epoch >= out.epoch) fields.reject("prior", "is not below the claim's epoch");
  if (out.prior_end && !out.prior) fields.reject("prior_end", "expected null, as nothing came before");
  return out;
}

ClaimEvent read_released(Fields& fields) {
  ClaimReleased out;
  out.claim = read_event_id(fields, "claim");
  out.resource = read_resource(fields);
  out.session = read_id(fields, "session");
  return out;
}

ClaimEvent read_revoked(Fields& fields) {
  ClaimRevoked out;
  out.claim = read_event_id(fields, "claim");
  if (!fields.any("document").is_null()) out.document = fields.text("document");
  out.resource = read_resource(fields);
  return out;
}

ClaimEvent read_fence(Fields& fields, const Event& event) {
  FenceRaised out;
  out.epoch = read_epoch(fields, event);
  out.resource = read_resource(fields);
  return out;
}

ClaimEvent read_conflict(Fields& fields) {
  ConflictAnnounced out;
  out.claim = read_token(fields, "claim");
  const std::string kind = fields.text("kind");
  const auto* const known = std::find(kConflictKinds.begin(), kConflictKinds.end(), kind);
  if (known == kConflictKinds.end()) fields.reject("kind", "expected collision or takeover");
  out.kind = known == kConflictKinds.begin() ? ConflictKind::collision : ConflictKind::takeover;
  out.resource = read_resource(fields);
  out.rival = read_token(fields, "rival");
  if (out.rival <= out.claim) fields.reject("rival", "is not above the claim");
  return out;
}

}  // namespace

std::string_view word_of(ConflictKind kind) {
  return kConflictKinds[static_cast<std::size_t>(kind)];
}

Draft draft_of(const ClaimEvent& event) {
  auto [kind, body] = std::visit([](const auto& said) { return write(said); }, event);
  return {std::string(kind), std::move(body)};
}

Result<std::optional<ClaimEvent>> read_claim_event(const Event& event) {
  Fields fields(event.body, event.kind);
  std::optional<ClaimEvent> out;
  if (event.kind == kClaimAcquired)
    out = read_acquired(fields, event);
  else if (event.kind == kClaimReleased)
    out = read_released(fields);
  else if (event.kind == kClaimRevoked)
    out = read_revoked(fields);
  else if (event.kind == kFenceRaised)
    out = read_fence(fields, event);
  else if (event.kind == kConflictAnnounced)
    out = read_conflict(fields);
  else
    return out;
  if (const Result<> done = fields.finish(); !done) return fail(errc::event_invalid, done.error().message());
  return out;
}

// The event before is fixed by the stream's chain, and the resource and epoch by what others did: an author
// who wants a better tie has to write events for it.
Token token_of(const Event& event, const ClaimAcquired& acquired) {
  std::array<std::uint8_t, 4 + 8> numbers{};
  store_le(numbers, 0, acquired.resource.value);
  store_le(numbers, 4, acquired.epoch.value);
  const Hash256 hash = wire::blake2b(
      {as_bytes("postern/token/v1"), as_bytes(event.mesh), numbers, event.prev, event.key.bytes});
  Token token{acquired.epoch, {}, {event.stream, event.seq}};
  std::copy_n(hash.begin(), token.tie.size(), token.tie.begin());
  return token;
}

}  // namespace postern::ledger
