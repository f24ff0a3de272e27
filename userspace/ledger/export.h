// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "ledger/archive.h"
#include "ledger/directory.h"

namespace postern::ledger {

struct ExportOrder {
  const wire::SecretKey& key;  // the node's
  std::string mesh;
  std::int64_t now_ms = 0;
};

// Writes the journal in `directory` and the files beside it as an archive. Changes nothing; the caller holds
// the lock. A journal that is damaged or forked is refused with the remedy: it would be archived without what
// it lost. A torn or suspect end is left out, as a start would.
Result<ArchiveTotals> export_journal(const Directory& directory, const ExportOrder& order,
                                     ArchiveWriter::Put put);

// One file of the directory, under the name that it has in the archive.
Result<> archive_file(const Directory& directory, const std::string& from, std::string_view name,
                      ArchiveWriter& archive);

}  // namespace postern::ledger
