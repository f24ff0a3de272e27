// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "core/unique_fd.h"
#include "ledger/directory.h"

namespace postern::ledger {

// The real thing, by system calls. Every descriptor is close-on-exec.
class PosixDirectory final : public Directory {
 public:
  // Refuses a symbolic link in any part of the path (errc::unsafe_directory). errc::absent when it is not
  // there.
  static Result<std::unique_ptr<Directory>> open(const std::filesystem::path& path);
  // Makes it first (0700, its name durable), unless it is there.
  static Result<std::unique_ptr<Directory>> make(const std::filesystem::path& path);

  PosixDirectory(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  const std::string& path() const override { return path_; }
  Io<FileFacts> facts() const override;
  Io<std::uint64_t> file_system() const override;
  Io<std::vector<std::string>> list() const override;
  Io<std::unique_ptr<File>> open(std::string_view name, Access access) const override;
  Io<bool> exists(std::string_view name) const override;
  Io<FileFacts> facts_by_path(std::string_view name) const override;
  Io<> rename(std::string_view from, std::string_view to, IfThere if_there) override;
  Io<> unlink(std::string_view name) override;
  Io<> sync() override;

 private:
  std::string path_;  // absolute
  UniqueFd fd_;
};

}  // namespace postern::ledger
