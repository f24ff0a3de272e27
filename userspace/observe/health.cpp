// SPDX-License-Identifier: Apache-2.0
#include "observe/health.h"

namespace postern::observe {

std::string health_text(const Health& health, bool good) {
  if (good) return "ok\n";
  std::string text;
  for (const std::string& problem : health.problems)
    text += problem + "\n";
  return text.empty() ? "not ready\n" : text;
}

}  // namespace postern::observe
