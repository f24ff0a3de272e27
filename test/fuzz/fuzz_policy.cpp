// SPDX-License-Identifier: Apache-2.0
// Whatever policy compiles gives a snapshot that the reader of documents accepts and reads back as it was.
#include <cstdlib>

#include "authority/policy.h"
#include "authority/snapshot_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace postern;
  const auto policy = config::parse_policy_file({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!policy) return 0;
  authority::Edition edition;
  edition.serial = Serial(1);
  edition.expires = UtcSeconds(1);
  const auto snapshot = authority::compile_policy(*policy, "fuzz", edition);
  if (!snapshot) return 0;
  const auto again = authority::parse_snapshot(authority::encode_snapshot(*snapshot));
  if (!again || *again != *snapshot) std::abort();
  return 0;
}
