// SPDX-License-Identifier: Apache-2.0
#include "ledger/event.h"

#include <algorithm>

#include "ledger/format.h"
#include "wire/base64.h"
#include "wire/fields.h"
#include "wire/hash.h"

namespace postern::ledger {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::size_t kMaxNameBytes = 64;  // of a kind and of a mesh

wire::Json unsigned_envelope(const Event& event) {
  return wire::Json::object({
      {"at_ms", event.at_ms},
      {"body", event.body},
      {"critical", event.critical},
      {"key", event.key.text()},
      {"kind", event.kind},
      {"lamport", static_cast<std::int64_t>(event.lamport.value)},
      {"mesh", event.mesh},
      {"prev", to_hex(event.prev)},
      {"seq", static_cast<std::int64_t>(event.seq.value)},
      {"stream", to_hex(event.stream)},
      {"v", kVersion},
  });
}

template <std::size_t N>
std::array<std::uint8_t, N> read_hex(wire::Fields& fields, std::string_view key) {
  const auto bytes = array_from_hex<N>(fields.text(key));
  if (!bytes) fields.reject(key, "expected " + std::to_string(2 * N) + " lower-case hex digits");
  return bytes.value_or(std::array<std::uint8_t, N>{});
}

std::string read_name(wire::Fields& fields, std::string_view key) {
  std::string name = fields.text(key);
  if (name.empty() || name.size() > kMaxNameBytes) {
    fields.reject(key, "expected 1 to " + std::to_string(kMaxNameBytes) + " bytes");
  }
  return name;
}

wire::Signature read_signature(wire::Fields& fields) {
  wire::Signature signature{};
  const std::optional<Bytes> bytes = wire::base64_decode(fields.text("sig"));
  if (!bytes || bytes->size() != signature.size()) {
    fields.reject("sig", "expected 64 bytes in base64");
  } else {
    std::copy(bytes->begin(), bytes->end(), signature.begin());
  }
  return signature;
}

// An event's own numbers and the rule that the first of a stream, and only it, has nothing before it.
void check_place(wire::Fields& fields, const Event& event) {
  const bool first = event.seq == Seq(1);
  if (first != (event.prev == Hash256{})) {
    fields.reject("prev", "expected zeros for seq 1, and for no other");
  }
}

struct SignedEvent {
  Event event;
  wire::Signature signature{};
};

Result<SignedEvent> parse_event(std::string_view sealed) {
  const Result<wire::Json> json = wire::parse_canonical(sealed, kMaxEventBytes);
  if (!json) return fail(errc::event_invalid, json.error().message());
  wire::Fields fields(*json, "event");
  SignedEvent read;
  Event& event = read.event;
  fields.integer("v", kVersion, kVersion);
  event.at_ms = fields.integer("at_ms", 0, wire::kMaxInteger);
  event.body = fields.any("body");
  if (event.body.as_object() == nullptr) fields.reject("body", "expected an object");
  event.critical = fields.boolean("critical");
  const std::optional<wire::PublicKey> key = wire::PublicKey::parse(fields.text("key"));
  if (!key) fields.reject("key", "expected an Ed25519 public key in base64");
  event.key = key.value_or(wire::PublicKey{});
  event.kind = read_name(fields, "kind");
  event.lamport = Lamport(static_cast<std::uint64_t>(fields.integer("lamport", 1, wire::kMaxInteger)));
  event.mesh = read_name(fields, "mesh");
  event.prev = read_hex<32>(fields, "prev");
  event.seq = Seq(static_cast<std::uint64_t>(fields.integer("seq", 1, wire::kMaxInteger)));
  event.stream = read_hex<16>(fields, "stream");
  read.signature = read_signature(fields);
  check_place(fields, event);
  if (const Result<> done = fields.finish(); !done) return fail(errc::event_invalid, done.error().message());
  return read;
}

}  // namespace

Hash256 event_hash(std::string_view sealed) {
  return wire::blake2b({as_bytes(sealed)});
}

std::string seal_event(const Event& event, const wire::SecretKey& key) {
  wire::Json envelope = unsigned_envelope(event);
  const std::string bytes = wire::encode_canonical(envelope);
  envelope.set("sig", wire::base64_encode(key.sign(wire::domain::event, as_bytes(bytes))));
  return wire::encode_canonical(envelope);
}

Result<Event> read_event(std::string_view sealed) {
  Result<SignedEvent> read = parse_event(sealed);
  if (!read) return pass_on(std::move(read));
  return std::move(read->event);
}

Result<Event> open_event(std::string_view sealed) {
  Result<SignedEvent> read = parse_event(sealed);
  if (!read) return pass_on(std::move(read));
  Event& event = read->event;
  const std::string bytes = wire::encode_canonical(unsigned_envelope(event));
  if (!wire::verify(event.key, wire::domain::event, as_bytes(bytes), read->signature)) {
    return fail(errc::event_signature, "event " + to_hex(event.stream) + "/" +
                                           std::to_string(event.seq.value) + " (" + event.kind +
                                           ") is not signed by the key it names");
  }
  return std::move(event);
}

}  // namespace postern::ledger
