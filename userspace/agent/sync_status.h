// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "agent/snapshot_exchange_status.h"
#include "sync/sync_row.h"

namespace postern::agent {

// How it stands with the events that travel over the links; part of status, health and metrics.
struct SyncStatus {
  std::vector<sync::SyncRow> rows;
  sync::SyncCounts counts;
  SnapshotExchangeStatus snapshots;

  // Null for a gateway that was never linked.
  const sync::SyncRow* find(std::string_view gateway) const {
    for (const sync::SyncRow& row : rows)
      if (row.gateway == gateway) return &row;
    return nullptr;
  }
};

}  // namespace postern::agent
