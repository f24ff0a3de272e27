// SPDX-License-Identifier: Apache-2.0
// A new journal out of an archive (SPEC 7.6). It is made in a directory of another name, which gets the
// journal's own only when the archive has been read to its signed end and all is on the disk. The journal
// gets a new id and opens a new stream: the archive may be older than what its node wrote last.
#pragma once

#include <filesystem>
#include <string>

#include "core/clock.h"
#include "ledger/archive.h"
#include "ledger/journal.h"

namespace postern::ledger {

struct ImportOrder {
  const wire::SecretKey& key;  // the node's: the archive must be signed by it
  const Clock& clock;
  std::string mesh;  // the archive must be of it
};

struct ImportReport {
  ArchiveHeader from;
  ArchiveTotals totals;
  Id128 journal{};  // the new one's
  Id128 stream{};
};

// `options.directory` must not exist: errc::exists. After a failure nothing of that name exists, and what was
// begun beside it is gone.
Result<ImportReport> import_journal(const JournalOptions& options, const ImportOrder& order,
                                    const NextLine& next);

}  // namespace postern::ledger
