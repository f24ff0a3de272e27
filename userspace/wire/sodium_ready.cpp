// SPDX-License-Identifier: Apache-2.0
#include "wire/sodium_ready.h"

#include <sodium.h>

#include <cstdlib>

namespace postern::wire {

void sodium_ready() {
  static const bool ready = ::sodium_init() >= 0;
  if (!ready) std::abort();
}

}  // namespace postern::wire
