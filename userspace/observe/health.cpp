// SPDX-License-Identifier: Apache-2.0
#include "observe/health.h"

namespace postern::observe {

std::string health_text(const Health& health) {
  if (health.problems.empty()) return health.ready ? "ok\n" : "not ready\n";
  std::string text = health.ready ? "degraded\n" : "";
  for (const std::string& problem : health.problems)
    text += problem + "\n";
  return text;
}

}  // namespace postern::observe
