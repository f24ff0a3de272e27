// SPDX-License-Identifier: Apache-2.0
// Whatever parse_snapshot accepts is encoded as the same bytes.
#include <cstdlib>

#include "authority/snapshot_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view payload(reinterpret_cast<const char*>(data), size);
  const auto snapshot = postern::authority::parse_snapshot(payload);
  if (snapshot && postern::authority::encode_snapshot(*snapshot) != payload) std::abort();
  return 0;
}
