// SPDX-License-Identifier: Apache-2.0
// Whatever opens as a bundle seals to the same bytes, in rising order of serials.
#include <cstdlib>

#include "authority/bundle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace postern::authority;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto entries = open_bundle(text);
  if (!entries) return 0;
  if (!is_bundle(text) || entries->empty() || seal_bundle(*entries) != text) std::abort();
  for (std::size_t i = 1; i < entries->size(); ++i)
    if ((*entries)[i].serial <= (*entries)[i - 1].serial) std::abort();
  return 0;
}
