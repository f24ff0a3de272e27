// SPDX-License-Identifier: Apache-2.0
// The journal's directory (SPEC 4.1): resolved once; every file in it is opened beneath that descriptor. An
// interface, so that tests put recorders and failing disks in its place.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "ledger/file.h"

namespace postern::ledger {

enum class Access {
  read,
  read_disk,  // what the disk holds rather than the page cache (O_DIRECT), where the file system can; aligned
              // reads only
  write,      // reads and writes a file that exists
  create,     // the file must not exist; mode 0600
};

enum class IfThere { refuse, replace };

class Directory {
 public:
  virtual ~Directory() = default;

  virtual const std::string& path() const = 0;
  virtual Io<FileFacts> facts() const = 0;
  virtual Io<std::uint64_t> file_system() const = 0;  // statfs magic
  virtual Io<std::vector<std::string>> list() const = 0;
  // Symbolic links are not followed.
  virtual Io<std::unique_ptr<File>> open(std::string_view name, Access access) const = 0;
  virtual Io<bool> exists(std::string_view name) const = 0;
  // Of the file that the journal's path leads to now: differs from open() when the directory was moved or
  // replaced.
  virtual Io<FileFacts> facts_by_path(std::string_view name) const = 0;
  virtual Io<> rename(std::string_view from, std::string_view to, IfThere if_there) = 0;
  virtual Io<> unlink(std::string_view name) = 0;
  // Names are on the disk when it returns.
  virtual Io<> sync() = 0;
};

// Refuses a directory that others may enter or own (errc::unsafe_directory), and one on a file system whose
// fsync is not known to keep its word (errc::file_system) unless `any_file_system`.
Result<> check_directory(const Directory& directory, bool any_file_system);

// Opens an existing file that is plain, ours, 0600 and has one name; else errc::unsafe_directory.
Result<std::unique_ptr<File>> open_checked(const Directory& directory, std::string_view name, Access access);

}  // namespace postern::ledger
