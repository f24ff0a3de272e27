// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace postern::agent {

// What comes behind the answer to a question that is answered on and on: lines, which the caller's connection
// sends as fast as they are taken.
class Outlet {
 public:
  virtual ~Outlet() = default;
  // False when its reader is so far behind that there is no room; the line is then lost. Never waits.
  virtual bool offer(std::string_view line) = 0;
};

}  // namespace postern::agent
