// SPDX-License-Identifier: Apache-2.0
#include "ledger/skeleton.h"

#include "ledger/errors.h"
#include "wire/fields.h"
#include "wire/hash.h"

namespace postern::ledger {

void Skeleton::add(std::string_view kind, Seq seq, const Hash256& hash) {
  if (is_condensable(kind)) return;
  std::array<std::uint8_t, sizeof(seq.value)> number{};
  store_le(number, 0, seq.value);
  digest = wire::blake2b({digest, number, hash});
  ++events;
}

void OwnSkeleton::add(std::string_view kind, Seq seq, const Hash256& hash, std::size_t bytes) {
  skeleton.add(kind, seq, hash);
  if (kind == kStreamCondensed) {
    condensable_since = 0;
    bytes_since = 0;
    return;
  }
  condensable_since += is_condensable(kind) ? 1 : 0;
  bytes_since += bytes;
}

wire::Json body_of(const Skeleton& skeleton) {
  return wire::Json::object(
      {{"digest", to_hex(skeleton.digest)}, {"events", wire::Json::decimal(skeleton.events)}});
}

Result<Skeleton> read_condensed(const Event& event) {
  wire::Fields fields(event.body, "body");
  Skeleton out;
  const auto digest = array_from_hex<32>(fields.text("digest"));
  if (!digest) fields.reject("digest", "expected 64 lower-case hex digits");
  out.digest = digest.value_or(Hash256{});
  out.events = fields.decimal("events");
  if (const Result<> done = fields.finish(); !done) return fail(errc::event_invalid, done.error().message());
  return out;
}

}  // namespace postern::ledger
