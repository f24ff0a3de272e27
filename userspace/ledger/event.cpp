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

// Headers show it in the place of the body.
std::string hash_of_body(const wire::Json& body) {
  return to_hex(wire::blake2b({as_bytes(wire::encode_canonical(body))}));
}

wire::Json envelope(const Event& event, wire::Json body) {
  return wire::Json::object({
      {"at_ms", event.at_ms},
      {"body", std::move(body)},
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

enum class Form { whole, header };

void check_body(wire::Fields& fields, const wire::Json& body, Form form) {
  if (form == Form::whole && body.as_object() == nullptr) fields.reject("body", "expected an object");
  if (form == Form::whole) return;
  const std::string* digest = body.as_string();
  if (digest == nullptr || !array_from_hex<32>(*digest))
    fields.reject("body", "expected the body's hash in hex");
}

Result<SignedEvent> parse_event(std::string_view sealed, Form form) {
  const std::size_t limit_bytes = form == Form::whole ? kMaxEventBytes : kMaxEventHeaderBytes;
  const Result<wire::Json> json = wire::parse_canonical(sealed, limit_bytes);
  if (!json) return fail(errc::event_invalid, json.error().message());
  wire::Fields fields(*json, "event");
  SignedEvent read;
  Event& event = read.event;
  fields.integer("v", kVersion, kVersion);
  event.at_ms = fields.integer("at_ms", 0, wire::kMaxInteger);
  event.body = fields.any("body");
  check_body(fields, event.body, form);
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

Result<> check_signature(const Event& event, wire::Json body_hash, const wire::Signature& signature) {
  const std::string bytes = wire::encode_canonical(envelope(event, std::move(body_hash)));
  if (wire::verify(event.key, wire::domain::event, as_bytes(bytes), signature)) return {};
  return fail(errc::event_signature, "event " + to_hex(event.stream) + "/" + std::to_string(event.seq.value) +
                                         " (" + event.kind + ") is not signed by the key it names");
}

using StreamAuthor = std::array<std::uint8_t, 8>;

StreamAuthor author_part(const wire::PublicKey& author) {
  const Hash256 id = wire::blake2b({author.bytes});
  StreamAuthor part{};
  std::copy_n(id.begin(), part.size(), part.begin());
  return part;
}

}  // namespace

Hash256 event_hash(std::string_view sealed) {
  return wire::blake2b({as_bytes(sealed)});
}

std::string seal_event(const Event& event, const wire::SecretKey& key) {
  wire::Json sealed = envelope(event, hash_of_body(event.body));
  const std::string bytes = wire::encode_canonical(sealed);
  sealed.set("body", event.body);
  sealed.set("sig", wire::base64_encode(key.sign(wire::domain::event, as_bytes(bytes))));
  return wire::encode_canonical(sealed);
}

Result<Event> read_event(std::string_view sealed) {
  Result<SignedEvent> read = parse_event(sealed, Form::whole);
  if (!read) return pass_on(std::move(read));
  return std::move(read->event);
}

Result<Event> open_event(std::string_view sealed) {
  Result<SignedEvent> read = parse_event(sealed, Form::whole);
  if (!read) return pass_on(std::move(read));
  const Result<> good = check_signature(read->event, hash_of_body(read->event.body), read->signature);
  if (!good) return tl::unexpected<Error>(good.error());
  return std::move(read->event);
}

Result<std::string> header_of(std::string_view sealed) {
  Result<SignedEvent> read = parse_event(sealed, Form::whole);
  if (!read) return pass_on(std::move(read));
  wire::Json header = envelope(read->event, hash_of_body(read->event.body));
  header.set("sig", wire::base64_encode(read->signature));
  return wire::encode_canonical(header);
}

Result<Event> open_event_header(std::string_view header) {
  Result<SignedEvent> read = parse_event(header, Form::header);
  if (!read) return pass_on(std::move(read));
  const Result<> good = check_signature(read->event, read->event.body, read->signature);
  if (!good) return tl::unexpected<Error>(good.error());
  return std::move(read->event);
}

Id128 new_stream_id(const wire::PublicKey& author) {
  Id128 id = wire::random_id();
  const StreamAuthor part = author_part(author);
  std::copy(part.begin(), part.end(), id.begin());
  return id;
}

bool stream_belongs_to(const Id128& stream, const wire::PublicKey& author) {
  const StreamAuthor part = author_part(author);
  return std::equal(part.begin(), part.end(), stream.begin());
}

}  // namespace postern::ledger
