// SPDX-License-Identifier: Apache-2.0
#include "authority/envelope.h"

#include <doctest/doctest.h>

#include "unit/outcome.h"
#include "wire/base64.h"
#include "wire/hash.h"

using namespace postern;
using namespace postern::authority;
using namespace postern::testing;
using wire::SecretKey;

namespace {

constexpr std::string_view kPayload = R"({"mesh":"demo","v":1})";
constexpr std::string_view kDomain = wire::domain::snapshot;

EnvelopeSignature signature_of(const SecretKey& key, std::string_view payload = kPayload) {
  return {key.public_key().id(), key.sign(kDomain, as_bytes(payload))};
}

std::string verdict(const std::vector<EnvelopeSignature>& signatures, const Root& root) {
  const std::string file = seal_envelope(signatures, kPayload);
  const Envelope envelope = open_envelope(file).value();
  return outcome(verify_threshold(envelope, root, kDomain));
}

}  // namespace

TEST_CASE("a sealed file opens to the same signatures and payload bytes") {
  const SecretKey a = SecretKey::generate();
  const SecretKey b = SecretKey::generate();
  const std::vector<EnvelopeSignature> signatures = {signature_of(a), signature_of(b)};
  const std::string file = seal_envelope(signatures, kPayload);
  CHECK(file.starts_with(R"({"signatures":[{"key":")"));
  CHECK(file.ends_with(R"(],"signed":{"mesh":"demo","v":1}})"));
  const Envelope envelope = open_envelope(file).value();
  CHECK(envelope.payload == kPayload);
  CHECK(envelope.payload.data() >= file.data());
  REQUIRE(envelope.signatures.size() == 2);
  CHECK(envelope.signatures[1].key_id == signatures[1].key_id);
  CHECK(envelope.signatures[1].signature == signatures[1].signature);
  CHECK(open_envelope(seal_envelope({}, kPayload)).value().signatures.empty());
}

TEST_CASE("the payload is never looked into: any bytes between the braces are handed on") {
  const std::string payload = std::string("{\xff\x00garbage", 10) + "}";
  CHECK(open_envelope(seal_envelope({}, payload)).value().payload == payload);
}

TEST_CASE("a file that departs from the one form of an envelope is refused with the byte") {
  const SecretKey key = SecretKey::generate();
  const std::string good = seal_envelope({signature_of(key)}, kPayload);
  const auto broken = [&good](std::string_view from, std::string_view to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return open_envelope(text.replace(at, from.size(), to));
  };
  const std::string id = key.public_key().id();
  for (const auto& change : std::vector<std::pair<std::string, std::string>>{
           {"{\"signatures\"", " {\"signatures\""},
           {"\"signatures\":[", "\"signatures\": ["},
           {"\"signatures\"", "\"Signatures\""},
           {"\"key\":", "\"kid\":"},
           {id, "A" + id.substr(1)},
           {id, id.substr(1)},
           {id, id + "0"},
           {"\",\"sig\":\"", "\",\"sgi\":\""},
           {"\"sig\":\"", "\"sig\":\"A"},
           {"\"}],\"signed\":", "\"},],\"signed\":"},
           {"\"}],\"signed\":", "\",\"x\":1}],\"signed\":"},
           {"],\"signed\":", "],\"signe\":"},
           {"],\"signed\":{", "],\"signed\":["},
           {"],\"signed\":{", "],\"signed\": {"},
       }) {
    CAPTURE(change.second);
    CHECK(outcome(broken(change.first, change.second)) == "snapshot.envelope");
  }
  CHECK(outcome(open_envelope(good + "\n")) == "snapshot.envelope");
  CHECK(outcome(open_envelope(good + "}x")) == "snapshot.envelope");
  CHECK(says(broken("{\"signatures\"", "x\"signatures\""), "byte 0"));
}

TEST_CASE("a file that is cut short anywhere before its payload's end is refused") {
  const std::string good = seal_envelope({signature_of(SecretKey::generate())}, kPayload);
  for (std::size_t size = 0; size < good.size() - 1; ++size) {
    CHECK(outcome(open_envelope(std::string_view(good).substr(0, size))) == "snapshot.envelope");
  }
}

TEST_CASE("a signature's second spelling in base64 is refused") {
  std::string file = seal_envelope({signature_of(SecretKey::generate())}, kPayload);
  const std::size_t padding = file.find("==\"}");
  REQUIRE(padding != std::string::npos);
  // The last digit before the padding uses two of its six bits.
  file[padding - 1] = file[padding - 1] == 'B' ? 'C' : 'B';
  CHECK(outcome(open_envelope(file)) == "snapshot.envelope");
}

TEST_CASE("a signatures part beyond its limit is refused without a look at the rest") {
  const EnvelopeSignature one = signature_of(SecretKey::generate());
  const std::string file = seal_envelope(std::vector<EnvelopeSignature>(500, one), kPayload);
  CHECK(outcome(open_envelope(file)) == "snapshot.envelope");
  CHECK(says(open_envelope(file), "more than 65536 bytes"));
  CHECK(outcome(open_envelope(seal_envelope(std::vector<EnvelopeSignature>(300, one), kPayload))) == "ok");
}

TEST_CASE("the threshold counts distinct keys of the root") {
  const SecretKey a = SecretKey::generate();
  const SecretKey b = SecretKey::generate();
  const SecretKey stranger = SecretKey::generate();
  const Root one{1, {a.public_key(), b.public_key()}};
  const Root two{2, {a.public_key(), b.public_key()}};
  CHECK(verdict({signature_of(b)}, one) == "ok");
  CHECK(verdict({signature_of(a), signature_of(b)}, two) == "ok");
  CHECK(verdict({signature_of(a)}, two) == "snapshot.threshold");
  CHECK(verdict({signature_of(a), signature_of(a)}, two) == "snapshot.threshold");
  CHECK(verdict({signature_of(a), signature_of(stranger)}, two) == "snapshot.threshold");
  CHECK(verdict({signature_of(stranger)}, one) == "snapshot.threshold");
  CHECK(verdict({}, one) == "snapshot.threshold");
  CHECK(verdict({signature_of(a)}, Root{2, {a.public_key(), a.public_key()}}) == "snapshot.threshold");
  CHECK(verdict({signature_of(a)}, Root{0, {a.public_key()}}) == "snapshot.threshold");
}

TEST_CASE("unknown and repeated ids do not harm a good signature") {
  const SecretKey a = SecretKey::generate();
  const Root root{1, {a.public_key()}};
  EnvelopeSignature bad = signature_of(a);
  bad.signature[5] ^= 1;
  CHECK(verdict({signature_of(SecretKey::generate()), bad, signature_of(a)}, root) == "ok");
}

TEST_CASE("a signature of other bytes, or under another domain, is said to be wrong") {
  const SecretKey a = SecretKey::generate();
  const Root root{1, {a.public_key()}};
  CHECK(verdict({signature_of(a, R"({"mesh":"demo","v":2})")}, root) == "snapshot.signature");
  EnvelopeSignature other = signature_of(a);
  other.signature = a.sign(wire::domain::event, as_bytes(kPayload));
  CHECK(verdict({other}, root) == "snapshot.signature");
}

TEST_CASE("a key id that somebody else's signature borrows is of no use") {
  const SecretKey a = SecretKey::generate();
  EnvelopeSignature borrowed = signature_of(SecretKey::generate());
  borrowed.key_id = a.public_key().id();
  CHECK(verdict({borrowed}, Root{1, {a.public_key()}}) == "snapshot.signature");
}

TEST_CASE("adding signatures keeps the order of ids and replaces one's own") {
  const SecretKey a = SecretKey::generate();
  const SecretKey b = SecretKey::generate();
  std::string file = seal_envelope({}, kPayload);
  file = add_signature(file, a, kDomain).value();
  file = add_signature(file, b, kDomain).value();
  const std::string both = file;
  file = add_signature(file, a, kDomain).value();
  CHECK(file == both);
  const Envelope envelope = open_envelope(file).value();
  REQUIRE(envelope.signatures.size() == 2);
  CHECK(envelope.signatures[0].key_id < envelope.signatures[1].key_id);
  CHECK(outcome(verify_threshold(envelope, Root{2, {a.public_key(), b.public_key()}}, kDomain)) == "ok");
  CHECK(outcome(add_signature("{}", a, kDomain)) == "snapshot.envelope");
}

TEST_CASE("a payload's hash is the BLAKE2b of its bytes, whoever signed it") {
  CHECK(payload_hash(kPayload) == wire::blake2b({as_bytes(kPayload)}));
}

TEST_CASE("a trust anchor comes back as it was, with or without a newline") {
  const TrustAnchor anchor{"demo",
                           {1, {SecretKey::generate().public_key(), SecretKey::generate().public_key()}}};
  const std::string text = encode_trust_anchor(anchor);
  CHECK(text.starts_with(R"({"keys":[")"));
  CHECK(text.ends_with(R"("],"mesh":"demo","threshold":1,"v":1})"));
  for (const std::string& spelled : {text, text + "\n"}) {
    const TrustAnchor back = parse_trust_anchor(spelled).value();
    CHECK(back.mesh == "demo");
    CHECK(back.root == anchor.root);
  }
}

TEST_CASE("a trust anchor that is not well formed is refused") {
  const std::string key = SecretKey::generate().public_key().text();
  const auto anchor = [](std::string_view keys, std::string_view rest) {
    return outcome(parse_trust_anchor("{\"keys\":[" + std::string(keys) + "]," + std::string(rest) + "}"));
  };
  const std::string one = "\"" + key + "\"";
  const std::string_view rest = R"("mesh":"demo","threshold":1,"v":1)";
  REQUIRE(anchor(one, rest) == "ok");
  CHECK(anchor("", rest) == "root.invalid");
  CHECK(anchor(one + "," + one, rest) == "root.invalid");
  CHECK(anchor("\"AAAA\"", rest) == "root.invalid");
  CHECK(anchor("1", rest) == "root.invalid");
  CHECK(anchor(one, R"("mesh":"demo","threshold":2,"v":1)") == "root.invalid");
  CHECK(anchor(one, R"("mesh":"demo","threshold":0,"v":1)") == "root.invalid");
  CHECK(anchor(one, R"("mesh":"Demo","threshold":1,"v":1)") == "root.invalid");
  CHECK(anchor(one, R"("mesh":"demo","threshold":1,"v":2)") == "root.invalid");
  CHECK(anchor(one, R"("mesh":"demo","threshold":1)") == "root.invalid");
  CHECK(anchor(one, R"("mesh":"demo","threshold":1,"v":1,"x":1)") == "root.invalid");
  CHECK(anchor(one, R"("mesh":"demo", "threshold":1,"v":1)") == "root.invalid");
  CHECK(outcome(parse_trust_anchor("")) == "root.invalid");
  CHECK(outcome(parse_trust_anchor(std::string(70'000, ' '))) == "root.invalid");
}
