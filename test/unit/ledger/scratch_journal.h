// SPDX-License-Identifier: Apache-2.0
// A real journal in a directory that goes away with the test.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ledger/journal.h"
#include "unit/ledger/recording_directory.h"

namespace postern::ledger {

class ScratchJournal {
 public:
  // In memory where the system has a tmpfs: no power is cut here, and flushing to a disk takes its time. What
  // a disk is needed for says so (disk_journal_test.cpp, test/crash). Created empty unless told otherwise.
  explicit ScratchJournal(bool create = true);
  ~ScratchJournal();
  ScratchJournal(const ScratchJournal&) = delete;
  ScratchJournal& operator=(const ScratchJournal&) = delete;

  const std::filesystem::path& path() const { return options.directory; }
  std::filesystem::path file(const std::string& name) const { return options.directory / name; }

  // Opens it; payloads that were replayed are in `replayed` afterwards.
  Result<std::unique_ptr<Journal>> open();
  // The same through a recorder.
  Result<std::unique_ptr<Journal>> open(std::shared_ptr<Recording> recording);

  // Name, mode and content hash of everything in the directory.
  std::map<std::string, std::string> contents() const;
  // Overwrites bytes in a file, as a fault would.
  void overwrite(const std::string& name, std::size_t offset, std::string_view bytes) const;
  // A new file of the journal's kind.
  void create(const std::string& name, std::string_view content) const;
  std::string read(const std::string& name, std::size_t offset, std::size_t bytes) const;

  JournalOptions options;
  std::vector<std::string> replayed;
};

}  // namespace postern::ledger
