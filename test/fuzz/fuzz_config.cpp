// SPDX-License-Identifier: Apache-2.0
// Any text is either a configuration with what a gateway needs, or refused as invalid config.
#include <cstdlib>

#include "config/config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace postern;
  const auto config = config::parse_config({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (config) {
    if (config->mesh.empty() || config->gateway.empty() || config->interfaces.size() < 2) std::abort();
  } else if (config.error().code.kind != ErrorKind::config || config.error().context.empty()) {
    std::abort();
  }
  return 0;
}
