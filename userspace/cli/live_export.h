// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/answer.h"
#include "cli/journal_place.h"
#include "ledger/export.h"

namespace postern::cli {

// An archive of a journal that an agent writes meanwhile: what was durable when it began. Events come from
// the agent page by page, base and snapshots from `directory`: they never change under their names.
tl::expected<ledger::ArchiveTotals, Refusal> export_live(const Globals& globals,
                                                         const ledger::Directory& directory,
                                                         const ledger::ExportOrder& order,
                                                         ledger::ArchiveWriter::Put put);

}  // namespace postern::cli
