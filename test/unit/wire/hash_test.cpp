// SPDX-License-Identifier: Apache-2.0
#include "wire/hash.h"

#include <doctest/doctest.h>

using namespace postern;
using namespace postern::wire;

TEST_CASE("BLAKE2b-256 gives the published digests, in one part or several") {
  CHECK(to_hex(blake2b({})) == "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  CHECK(to_hex(blake2b({as_bytes("abc")})) ==
        "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
  CHECK(blake2b({as_bytes("a"), {}, as_bytes("bc")}) == blake2b({as_bytes("abc")}));
}

TEST_CASE("the checksum is XXH3 with the salt as seed") {
  CHECK(checksum({}, 0) == 0x2d06800538d394c2U);
  CHECK(checksum(as_bytes("postern"), 1) != checksum(as_bytes("postern"), 2));
  CHECK(checksum(as_bytes("postern"), 1) != checksum(as_bytes("posterm"), 1));
}

TEST_CASE("identifiers do not repeat") {
  CHECK(random_id() != random_id());
}
