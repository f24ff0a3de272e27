// SPDX-License-Identifier: Apache-2.0
#include "wire/base64.h"

#include <doctest/doctest.h>

using namespace postern;
using namespace postern::wire;

TEST_CASE("base64 comes out as RFC 4648 section 10 has it") {
  const std::pair<const char*, const char*> pairs[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"}};
  for (const auto& [text, encoded] : pairs) {
    CHECK(base64_encode(as_bytes(text)) == encoded);
    CHECK(as_text(base64_decode(encoded).value()) == text);
  }
  const Bytes high = {0xfb, 0xef, 0xff};
  CHECK(base64_encode(high) == "++//");
}

TEST_CASE("a second base64 spelling of the same bytes is refused") {
  for (const std::string_view bad : {"Zg", "Zg=", "Zh==", "Zm9=", "Zm9v ", " Zm9v", "Zm9v\n", "Zm-_", "=Zm9",
                                     "Z===", "====", "Zg==Zg==", "Zm9v====", "Z=g="}) {
    CAPTURE(bad);
    CHECK_FALSE(base64_decode(bad));
  }
}
