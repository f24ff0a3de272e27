// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string_view>
#include <vector>

#include "mesh/limits.h"
#include "mesh/noise_handshake.h"
#include "unit/mesh/scripted_randomness.h"
#include "unit/outcome.h"

using namespace postern;
using namespace postern::mesh;
using testing::outcome;
using testing::ScriptedRandomness;
using testing::SeededRandomness;

namespace {

struct Step {
  std::string_view payload;
  std::string_view message;
};

struct Case {
  NoisePattern pattern;
  std::string_view prologue;
  std::string_view initiator_static;
  std::string_view initiator_ephemeral;
  std::string_view responder_static;
  std::string_view responder_ephemeral;
  std::string_view hash;
  std::vector<Step> steps;
};

const Case kCases[] = {
#include "unit/mesh/noise_cases.inc"
};

Bytes bytes_of(std::string_view hex) {
  return from_hex(hex).value();
}

StaticKey static_key(std::string_view hex) {
  StaticKey out;
  out.secret = make_guarded<DhSecret>();
  *out.secret = array_from_hex<32>(hex).value();
  out.public_key = dh_public(*out.secret);
  return out;
}

StaticKey some_key(std::uint8_t with) {
  StaticKey out;
  out.secret = make_guarded<DhSecret>();
  out.secret->fill(with);
  out.public_key = dh_public(*out.secret);
  return out;
}

// Both ends of an IK handshake.
struct Pair {
  StaticKey own = some_key(1);
  StaticKey other = some_key(2);
  SeededRandomness randomness{7};
  NoiseHandshake initiator;
  NoiseHandshake responder;
  explicit Pair(std::string_view first = "p", std::string_view second = "p")
      : initiator(NoisePattern::ik, Side::initiator, as_bytes(first), own, other.public_key),
        responder(NoisePattern::ik, Side::responder, as_bytes(second), other) {}
  Bytes first_message() { return initiator.write({}, randomness).value(); }
};

}  // namespace

TEST_CASE("every published Noise vector comes out byte for byte, handshake hash and transport messages too") {
  for (const Case& c : kCases) {
    const StaticKey own = static_key(c.initiator_static);
    const StaticKey other = static_key(c.responder_static);
    const bool known = c.pattern == NoisePattern::ik;
    NoiseHandshake initiator(c.pattern, Side::initiator, bytes_of(c.prologue), own,
                             known ? std::optional(other.public_key) : std::nullopt);
    NoiseHandshake responder(c.pattern, Side::responder, bytes_of(c.prologue), other);
    ScriptedRandomness of_initiator(bytes_of(c.initiator_ephemeral));
    ScriptedRandomness of_responder(bytes_of(c.responder_ephemeral));
    std::size_t step = 0;
    for (; !initiator.finished(); ++step) {
      NoiseHandshake& writer = step % 2 == 0 ? initiator : responder;
      NoiseHandshake& reader = step % 2 == 0 ? responder : initiator;
      const Result<Bytes> message =
          writer.write(bytes_of(c.steps[step].payload), step % 2 == 0 ? of_initiator : of_responder);
      REQUIRE(outcome(message) == "ok");
      CHECK(to_hex(*message) == c.steps[step].message);
      const Result<Bytes> payload = reader.read(*message);
      REQUIRE(outcome(payload) == "ok");
      CHECK(to_hex(*payload) == c.steps[step].payload);
    }
    REQUIRE(responder.finished());
    CHECK(to_hex(initiator.hash()) == c.hash);
    CHECK(to_hex(responder.hash()) == c.hash);
    CHECK(initiator.remote_static() == other.public_key);
    CHECK(responder.remote_static() == own.public_key);

    const Guarded<NoiseKeys> keys_of_initiator = initiator.split();
    const Guarded<NoiseKeys> keys_of_responder = responder.split();
    NoiseCipher sealers[] = {NoiseCipher(keys_of_initiator->send), NoiseCipher(keys_of_responder->send)};
    NoiseCipher openers[] = {NoiseCipher(keys_of_responder->receive),
                             NoiseCipher(keys_of_initiator->receive)};
    for (; step < c.steps.size(); ++step) {
      const Bytes payload = bytes_of(c.steps[step].payload);
      Bytes sealed(payload.size() + kNoiseTagBytes);
      REQUIRE(sealers[step % 2].seal({}, payload, sealed.data()));
      CHECK(to_hex(sealed) == c.steps[step].message);
      Bytes opened(payload.size());
      REQUIRE(openers[step % 2].open({}, sealed, opened.data()));
      CHECK(opened == payload);
    }
  }
}

TEST_CASE("a handshake under another prologue does not open") {
  Pair pair("prologue", "prologuf");
  CHECK(outcome(pair.responder.read(pair.first_message())) == "noise.authentication");
}

TEST_CASE("a handshake message that is cut short or altered anywhere is refused") {
  Pair whole;
  const Bytes message = whole.first_message();
  for (std::size_t size = 0; size < message.size(); ++size) {
    Pair pair;
    CHECK_FALSE(pair.responder.read(ByteView(message).first(size)));
  }
  for (std::size_t at = 0; at < message.size(); ++at) {
    Pair pair;
    Bytes altered = message;
    altered[at] ^= 1;
    CHECK(outcome(pair.responder.read(altered)) == "noise.authentication");
  }
}

TEST_CASE("a handshake with a key of small order is refused") {
  for (const char* point : {"0000000000000000000000000000000000000000000000000000000000000000",
                            "0100000000000000000000000000000000000000000000000000000000000000",
                            "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"}) {
    Pair pair;
    Bytes message = pair.first_message();
    const Bytes small = bytes_of(point);
    std::copy(small.begin(), small.end(), message.begin());
    CHECK(outcome(pair.responder.read(message)) == "noise.authentication");
  }
}

TEST_CASE("a handshake goes in its order and is over after a failure") {
  Pair pair;
  CHECK(outcome(pair.responder.write({}, pair.randomness)) == "noise.order");
  CHECK(outcome(pair.initiator.read(Bytes(96))) == "noise.order");
  const Bytes first = pair.first_message();
  Bytes altered = first;
  altered.back() ^= 1;
  CHECK(outcome(pair.responder.read(altered)) == "noise.authentication");
  CHECK(outcome(pair.responder.read(first)) == "noise.order");
}

TEST_CASE("a nonce is used once: two texts alike are sealed differently, and a sealed text opens once") {
  const NoiseKey key{1, 2, 3};
  NoiseCipher sealer(key);
  NoiseCipher opener(key);
  Bytes first(5 + kNoiseTagBytes);
  Bytes second(5 + kNoiseTagBytes);
  Bytes text(5);
  REQUIRE(sealer.seal({}, as_bytes("hello"), first.data()));
  REQUIRE(sealer.seal({}, as_bytes("hello"), second.data()));
  CHECK(first != second);
  REQUIRE(opener.open({}, first, text.data()));
  CHECK(outcome(opener.open({}, first, text.data())) == "noise.authentication");
  REQUIRE(opener.open({}, second, text.data()));
}

TEST_CASE("when the nonces are used up nothing is sealed or opened any more") {
  const NoiseKey key{1};
  NoiseCipher sealer(key, UINT64_MAX - 1);
  NoiseCipher opener(key, UINT64_MAX - 1);
  Bytes sealed(kNoiseTagBytes);
  REQUIRE(sealer.seal({}, {}, sealed.data()));
  CHECK(outcome(sealer.seal({}, {}, sealed.data())) == "noise.nonce_exhausted");
  REQUIRE(opener.open({}, sealed, nullptr));
  CHECK(outcome(opener.open({}, sealed, nullptr)) == "noise.nonce_exhausted");
}

TEST_CASE("a node key's two halves convert to the two halves of one link key") {
  const wire::SecretKey node = wire::SecretKey::generate();
  const Result<DhPublic> converted = link_key(node.public_key());
  REQUIRE(converted);
  CHECK(*converted == link_key(node).public_key);
  wire::PublicKey small;
  small.bytes[0] = 1;
  CHECK(outcome(link_key(small)) == "link.node_key");
}
