// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "sync/snapshot_exchange.h"

namespace postern::agent {

// How it stands with the snapshots that travel over the links; part of `postern links` and metrics.
struct SnapshotExchangeStatus {
  sync::SnapshotCounts counts;
  std::string from;     // the gateway that one is being fetched from; "" for none
  std::string problem;  // why the last one that came was not adopted; "" when it was
};

}  // namespace postern::agent
