// SPDX-License-Identifier: Apache-2.0
// A directory that writes down every call made to it and to its files, lets chosen calls fail, and passes the
// rest on.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ledger/directory.h"

namespace postern::ledger {

// What was called, in order, and what is to fail. A call reads "datasync seg-1", "write seg-1", "open seg-1",
// "lock LOCK", "rename spare seg-2", "sync", "list", ...; a file goes by the name that it has now.
struct Recording {
  std::vector<std::string> calls;
  // errno that the call is to fail with instead of being made; 0: make it. May be empty.
  std::function<int(const std::string& call)> fault;
  // The same for a read of these bytes. May be empty.
  std::function<int(const std::string& name, std::uint64_t offset, std::size_t bytes)> read_fault;
  // Bytes that a write is to stop after. Empty: all.
  std::function<std::size_t(const std::string& call, std::size_t bytes)> shorten;
  // Instead of the true ones, if set.
  std::uint64_t file_system = 0;
  // Applied to what is read past the page cache.
  std::function<void(const std::string& name, std::span<std::uint8_t> bytes, std::uint64_t offset)> disk_view;

  int note(std::string call);
  // Index of the first call that starts with `prefix`, at or after `from`; calls.size() if there is none.
  std::size_t index_of(std::string_view prefix, std::size_t from = 0) const;
  std::size_t count(std::string_view prefix) const;
};

class RecordingDirectory final : public Directory {
 public:
  RecordingDirectory(std::unique_ptr<Directory> real, std::shared_ptr<Recording> recording);

  const std::string& path() const override { return real_->path(); }
  Io<FileFacts> facts() const override { return real_->facts(); }
  Io<std::uint64_t> file_system() const override;
  Io<std::vector<std::string>> list() const override;
  Io<std::unique_ptr<File>> open(std::string_view name, Access access) const override;
  Io<bool> exists(std::string_view name) const override;
  Io<FileFacts> facts_by_path(std::string_view name) const override;
  Io<> rename(std::string_view from, std::string_view to, IfThere if_there) override;
  Io<> unlink(std::string_view name) override;
  Io<> sync() override;

 private:
  std::unique_ptr<Directory> real_;
  std::shared_ptr<Recording> recording_;
  mutable std::map<std::string, std::shared_ptr<std::string>> names_;  // of open files
};

}  // namespace postern::ledger
