// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/bytes.h"
#include "core/result.h"

namespace postern::sync {

// What sync needs of the links (mesh/links.h).
class Carrier {
 public:
  virtual ~Carrier() = default;
  // Whole or not at all; SyncHandler::on_room() follows when the link was full.
  virtual Result<> send(std::string_view gateway, ByteView message) = 0;
  // What the gateway sends waits with it until resume().
  virtual void hold(std::string_view gateway) = 0;
  virtual void resume(std::string_view gateway) = 0;
};

}  // namespace postern::sync
