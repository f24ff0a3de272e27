// SPDX-License-Identifier: Apache-2.0
#include "ledger/journal.h"

#include "ledger/posix_directory.h"
#include "ledger/segmented_journal.h"

namespace postern::ledger {

std::string_view recovery_class_name(RecoveryClass found) {
  switch (found) {
    case RecoveryClass::clean:
      return "clean";
    case RecoveryClass::torn:
      return "torn";
    case RecoveryClass::suspect:
      return "suspect";
  }
  return "unknown";
}

Result<> Journal::create(const JournalOptions& options) {
  Result<std::unique_ptr<Directory>> directory = PosixDirectory::make(options.directory);
  if (!directory) return pass_on(std::move(directory));
  return SegmentedJournal::create(std::move(*directory), options);
}

Result<std::unique_ptr<Journal>> Journal::open(const JournalOptions& options,
                                               const std::function<Result<>(const Record&)>& replay) {
  Result<std::unique_ptr<Directory>> directory = PosixDirectory::open(options.directory);
  if (!directory) return pass_on(std::move(directory));
  return SegmentedJournal::open(std::move(*directory), options, replay);
}

}  // namespace postern::ledger
