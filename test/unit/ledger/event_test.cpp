// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "ledger/event.h"
#include "ledger/format.h"
#include "wire/base64.h"
#include "wire/hash.h"

namespace postern::ledger {
namespace {

Event sample(const wire::SecretKey& key) {
  Event event;
  event.mesh = "blue";
  event.stream.fill(3);
  event.seq = Seq(2);
  event.prev.fill(5);
  event.lamport = Lamport(9);
  event.at_ms = 1'796'000'000'000;
  event.key = key.public_key();
  event.kind = "FenceRaised";
  event.body = wire::Json::object({{"epoch", "7"}});
  return event;
}

wire::Json parsed(const std::string& sealed) {
  return *wire::parse_canonical(sealed, kMaxEventBytes);
}

// Signs a changed envelope, so that only the change can be what is refused.
std::string resign(wire::Json envelope, const wire::SecretKey& key) {
  wire::Json bare = wire::Json::object();
  for (const auto& [name, value] : *envelope.as_object()) {
    if (name != "sig") bare.set(name, value);
  }
  if (const wire::Json* body = envelope.find("body"); body != nullptr)
    bare.set("body", to_hex(wire::blake2b({as_bytes(wire::encode_canonical(*body))})));
  envelope.set("sig",
               wire::base64_encode(key.sign(wire::domain::event, as_bytes(wire::encode_canonical(bare)))));
  return wire::encode_canonical(envelope);
}

ErrorCode refusal(const std::string& sealed) {
  const Result<Event> event = open_event(sealed);
  REQUIRE(!event);
  return event.error().code;
}

}  // namespace

TEST_CASE("an event that was sealed opens as it was") {
  const wire::SecretKey key = wire::SecretKey::generate();
  const Event event = sample(key);
  const std::string sealed = seal_event(event, key);
  const Result<Event> opened = open_event(sealed);
  REQUIRE_MESSAGE(opened, (opened ? "" : opened.error().message()));
  CHECK(*opened == event);
  CHECK(seal_event(*opened, key) == sealed);
  CHECK(event_hash(sealed) != event_hash(sealed + " "));
}

TEST_CASE("an event changed after it was signed, or signed by another key, is refused") {
  const wire::SecretKey key = wire::SecretKey::generate();
  const wire::SecretKey other = wire::SecretKey::generate();
  const std::string sealed = seal_event(sample(key), key);
  wire::Json changed = parsed(sealed);
  changed.set("lamport", 10);
  CHECK(refusal(wire::encode_canonical(changed)) == errc::event_signature);
  CHECK(refusal(resign(parsed(sealed), other)) == errc::event_signature);
}

TEST_CASE("an event that is not exactly an event is refused, though its signature is good") {
  const wire::SecretKey key = wire::SecretKey::generate();
  const std::string sealed = seal_event(sample(key), key);
  CHECK(open_event(resign(parsed(sealed), key)));
  const std::vector<std::pair<std::string, wire::Json>> wrong = {
      {"extra", 1},
      {"v", 2},
      {"body", "text"},
      {"critical", 0},
      {"kind", ""},
      {"mesh", ""},
      {"kind", std::string(65, 'k')},
      {"lamport", 0},
      {"seq", 0},
      {"at_ms", -1},
      {"stream", "00"},
      {"prev", std::string(64, '0')},
      {"seq", 1},
      {"key", "AAAA"},
  };
  for (const auto& [name, value] : wrong) {
    CAPTURE(name);
    wire::Json envelope = parsed(sealed);
    envelope.set(name, value);
    CHECK(refusal(resign(std::move(envelope), key)) == errc::event_invalid);
  }
  const wire::Json whole = parsed(sealed);
  for (const auto& [name, value] : *whole.as_object()) {
    CAPTURE(name);
    wire::Json fewer = wire::Json::object();
    for (const auto& [other, kept] : *whole.as_object()) {
      if (other != name) fewer.set(other, kept);
    }
    const std::string text = name == "sig" ? wire::encode_canonical(fewer) : resign(std::move(fewer), key);
    CHECK(refusal(text) == errc::event_invalid);
  }
  CHECK(refusal(" " + sealed) == errc::event_invalid);
  CHECK(refusal("") == errc::event_invalid);
  CHECK(refusal("[]") == errc::event_invalid);
}

TEST_CASE("an event larger than a record may be is refused") {
  const wire::SecretKey key = wire::SecretKey::generate();
  Event event = sample(key);
  event.body.set("fill", std::string(kMaxEventBytes, 'x'));
  CHECK(refusal(seal_event(event, key)) == errc::event_invalid);
}

}  // namespace postern::ledger
