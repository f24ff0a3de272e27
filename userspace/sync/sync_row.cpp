// SPDX-License-Identifier: Apache-2.0
#include "sync/sync_row.h"

namespace postern::sync {

std::vector<SyncCount> named(const SyncCounts& counts) {
  std::vector<SyncCount> out;
  for (std::size_t i = 0; i < SyncCounts::kOffers; ++i)
    out.push_back({ledger::offer_name(static_cast<ledger::Offer>(i)), counts.offers[i]});
  out.insert(out.end(), {{"forged", counts.forged},
                         {"unread", counts.unread},
                         {"malformed", counts.malformed},
                         {"unknown", counts.unknown},
                         {"overdrawn", counts.overdrawn},
                         {"passed_over", counts.passed_over},
                         {"skipped", counts.skipped},
                         {"dropped_early", counts.dropped_early},
                         {"stepped", counts.stepped},
                         {"step_waits", counts.step_waits},
                         {"step_unproven", counts.step_unproven},
                         {"step_dropped", counts.step_dropped}});
  return out;
}

}  // namespace postern::sync
