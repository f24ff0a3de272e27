// SPDX-License-Identifier: Apache-2.0
// An archive on a disk: written beside its name and named when it is whole, read line by line.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/result.h"
#include "core/unique_fd.h"

namespace postern::cli {

class ArchiveFileWriter {
 public:
  // errc::file_exists when something of that name is there: a backup is never replaced.
  static Result<ArchiveFileWriter> create(const std::filesystem::path& path);
  ArchiveFileWriter(ArchiveFileWriter&& other) noexcept;
  ArchiveFileWriter& operator=(ArchiveFileWriter&&) = delete;
  ~ArchiveFileWriter();  // what was not published is gone

  Result<> put(std::string_view line);
  // Durable under its name when it returns.
  Result<> publish();

 private:
  ArchiveFileWriter(std::filesystem::path path, UniqueFd fd);
  Result<> flush();

  std::filesystem::path path_;
  UniqueFd fd_;
  std::string pending_;
};

class ArchiveFileReader {
 public:
  static Result<ArchiveFileReader> open(const std::filesystem::path& path);

  // As ledger::NextLine: with its newline, empty at the end. A line that is longer than an archive has is
  // refused.
  Result<std::string> next();

 private:
  ArchiveFileReader(std::filesystem::path path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  std::filesystem::path path_;
  UniqueFd fd_;
  std::string pending_;
};

}  // namespace postern::cli
