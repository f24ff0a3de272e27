// SPDX-License-Identifier: Apache-2.0
// Whatever reads as a timestamp is encoded as the same bytes, and no unsigned one is taken.
#include <cstdlib>

#include "authority/timestamp.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace postern::authority;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto timestamp = parse_timestamp(text);
  if (timestamp && encode_timestamp(*timestamp) != text) std::abort();
  if (verify_timestamp(text, Root{1, {}}, "demo")) std::abort();
  return 0;
}
