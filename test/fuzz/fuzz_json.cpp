// SPDX-License-Identifier: Apache-2.0
// Whatever parse_canonical accepts is spelled by encode_canonical as the same bytes; and it accepts just what
// the literal rule accepts.
#include <cstdlib>

#include "support/reference_json.h"
#include "wire/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const postern::Result<postern::wire::Json> value = postern::wire::parse_canonical(text, 1U << 20);
  if (value && postern::wire::encode_canonical(*value) != text) std::abort();
  if (value.has_value() != postern::testing::reference_accepts(text)) std::abort();
  return 0;
}
