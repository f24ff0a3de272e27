// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace postern::observe {

// Whether the gateway does its work, and what an operator should look at. Problems need not make it unready.
struct Health {
  bool ready = false;  // a snapshot is active, all interfaces are attached, the journal accepts
  std::vector<std::string> problems;
};

// "ok\n"; or one problem a line, after "degraded" when the gateway is ready none the less.
std::string health_text(const Health& health);

}  // namespace postern::observe
