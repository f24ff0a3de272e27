// SPDX-License-Identifier: Apache-2.0
// Journals on simulated disks, as the program writes them, for those who break them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ledger/journal.h"
#include "sim/simulated_disk.h"

namespace postern::ledger::sim {

using OpenedJournal = Result<std::unique_ptr<Journal>>;

// Opens the one on `disk`; payloads of its events go to `found`.
OpenedJournal open_on(SimulatedDisk& disk, std::vector<std::string>& found);

// A fresh one; one of a few batches; one with a torn end; one of several segments after a recovery; one that
// was compacted twice.
std::vector<SimulatedDisk::Image> written_journals();

}  // namespace postern::ledger::sim
