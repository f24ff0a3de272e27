// SPDX-License-Identifier: Apache-2.0
#include "authority/timestamp.h"

#include <doctest/doctest.h>

#include "authority/envelope.h"
#include "core/utc.h"
#include "unit/outcome.h"
#include "wire/sign.h"

using namespace postern;
using namespace postern::authority;
using namespace postern::testing;
using wire::SecretKey;

namespace {

Timestamp sample() {
  Timestamp out;
  out.mesh = "demo";
  out.serial = Serial(7);
  out.hash.fill(0xab);
  out.issued = parse_utc("2026-01-01T00:00:00Z").value();
  out.expires = parse_utc("2026-01-01T01:00:00Z").value();
  return out;
}

struct Signer {
  SecretKey key = SecretKey::generate();
  Root root{1, {key.public_key()}};

  std::string file(std::string_view payload, std::string_view domain = wire::domain::timestamp) const {
    return add_signature(seal_envelope({}, payload), key, domain).value();
  }
  std::string verdict(std::string_view payload) const {
    return outcome(verify_timestamp(file(payload), root, "demo"));
  }
};

std::string with(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a timestamp that is written and signed is read back the same") {
  const Signer signer;
  CHECK(encode_timestamp(sample()) ==
        R"({"expires":"2026-01-01T01:00:00Z","hash":")" + to_hex(sample().hash) +
            R"(","issued":"2026-01-01T00:00:00Z","mesh":"demo","serial":7,"v":1})");
  CHECK(verify_timestamp(signer.file(encode_timestamp(sample())), signer.root, "demo").value() == sample());
}

TEST_CASE("a timestamp is verified before it is parsed") {
  const Signer signer;
  const Signer stranger;
  const std::string junk = "{not json}";
  CHECK(outcome(verify_timestamp(stranger.file(junk), signer.root, "demo")) == "snapshot.threshold");
  CHECK(outcome(verify_timestamp(signer.file(junk), signer.root, "demo")) == "json.syntax");
  CHECK(
      outcome(verify_timestamp(with(signer.file(encode_timestamp(sample())), "\"serial\":7", "\"serial\":8"),
                               signer.root, "demo")) == "snapshot.signature");
}

TEST_CASE("a signature made for anything but timestamps does not make a timestamp") {
  const Signer signer;
  for (const std::string_view domain : {wire::domain::snapshot, wire::domain::revocation, wire::domain::event,
                                        wire::domain::beat, wire::domain::base, wire::domain::link}) {
    CAPTURE(domain);
    CHECK(outcome(verify_timestamp(signer.file(encode_timestamp(sample()), domain), signer.root, "demo")) ==
          "snapshot.signature");
  }
}

TEST_CASE("a timestamp needs the root's threshold of distinct keys") {
  const Signer a;
  const Signer b;
  const Root both{2, {a.key.public_key(), b.key.public_key()}};
  const std::string one = a.file(encode_timestamp(sample()));
  CHECK(outcome(verify_timestamp(one, both, "demo")) == "snapshot.threshold");
  const std::string two = add_signature(one, b.key, wire::domain::timestamp).value();
  CHECK(outcome(verify_timestamp(two, both, "demo")) == "ok");
}

TEST_CASE("a timestamp with anything but its six fields in their one form is refused") {
  const Signer signer;
  const std::string good = encode_timestamp(sample());
  CHECK(signer.verdict(with(good, "\"v\":1", "\"v\":2")) != "ok");
  CHECK(signer.verdict(with(good, ",\"v\":1", ",\"v\":1,\"x\":1")) != "ok");
  CHECK(signer.verdict(with(good, "\"serial\":7", "\"serial\":0")) != "ok");
  CHECK(signer.verdict(with(good, "\"serial\":7", "\"serial\":\"7\"")) != "ok");
  CHECK(signer.verdict(with(good, "\"serial\":7,", "")) != "ok");
  CHECK(signer.verdict(with(good, "\"mesh\":\"demo\"", "\"mesh\": \"demo\"")) != "ok");
  CHECK(signer.verdict(with(good, "00:00:00Z", "00:00:00")) != "ok");
  CHECK(signer.verdict(with(good, "T01:00:00Z", "T00:00:00Z")) != "ok");
  CHECK(signer.verdict(with(good, "\"demo\"", "\"other\"")) == "snapshot.wrong_mesh");
  CHECK(outcome(verify_timestamp(std::string(kMaxTimestampBytes + 1, '{'), signer.root, "demo")) ==
        "snapshot.too_large");
}
