// SPDX-License-Identifier: Apache-2.0
#include "wire/ed25519.h"

#include <doctest/doctest.h>

#include <string_view>

using namespace postern;
using namespace postern::wire;

namespace {

struct Case {
  std::string_view key;
  std::string_view message;
  std::string_view signature;
  bool good;
};

constexpr Case kCases[] = {
#include "unit/wire/ed25519_cases.inc"
};

bool verified(std::string_view key, std::string_view message, std::string_view signature) {
  return ed25519_verify(from_hex(key).value(), from_hex(message).value(), from_hex(signature).value());
}

}  // namespace

TEST_CASE("every published case is judged as given, malleable and non-canonical signatures among them") {
  std::size_t good = 0;
  for (const Case& c : kCases) {
    CAPTURE(c.signature);
    CHECK(verified(c.key, c.message, c.signature) == c.good);
    good += c.good ? 1 : 0;
  }
  CHECK(std::size(kCases) == 151);
  CHECK(good == 88);
}

TEST_CASE("a key of small order verifies nothing") {
  // The neutral element as key, with R the neutral element and S zero: the equation holds for every message.
  const std::string neutral = "01" + std::string(62, '0');
  CHECK_FALSE(verified(neutral, "78", neutral + std::string(64, '0')));
  // The same point in an encoding whose y is not reduced.
  const std::string unreduced = "ee" + std::string(60, 'f') + "7f";
  CHECK_FALSE(verified(unreduced, "78", neutral + std::string(64, '0')));
}

TEST_CASE("a key of the wrong size verifies nothing") {
  const Case& c = kCases[0];
  REQUIRE(verified(c.key, c.message, c.signature));
  CHECK_FALSE(verified(c.key.substr(2), c.message, c.signature));
  CHECK_FALSE(verified("", c.message, c.signature));
}
