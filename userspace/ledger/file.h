// SPDX-License-Identifier: Apache-2.0
// An open file as the journal sees it: single calls that fail with an errno. The real one is
// posix_directory.cpp's; tests put recorders and failing disks here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tl/expected.hpp>

#include "core/bytes.h"
#include "core/result.h"

namespace postern::ledger {

// The error is an errno.
template <class T = void>
using Io = tl::expected<T, int>;

struct FileFacts {
  bool is_regular = false;
  bool is_directory = false;
  std::uint32_t owner = 0;
  std::uint32_t mode = 0;  // permission bits alone
  std::uint64_t links = 0;
  std::uint64_t bytes = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;

  bool same_file(const FileFacts& other) const { return device == other.device && inode == other.inode; }
};

class File {
 public:
  virtual ~File() = default;

  virtual Io<FileFacts> facts() const = 0;
  // One call each: both may do less than asked for. Reading at the end of the file yields 0.
  virtual Io<std::size_t> read_at(std::span<std::uint8_t> into, std::uint64_t offset) const = 0;
  virtual Io<std::size_t> write_at(ByteView from, std::uint64_t offset) = 0;
  // Content and size are on the disk when it returns. Never call it again after it failed (SPEC 4.5 rule 9).
  virtual Io<> datasync() = 0;
  // flock(LOCK_EX | LOCK_NB); released when the file is closed, also by death.
  virtual Io<> lock_exclusive() = 0;
};

// Reads until `into` is full; a file that ends before is EIO.
Io<> read_fully(const File& file, std::span<std::uint8_t> into, std::uint64_t offset);
// Writes on after short writes. For files that nothing relies on yet: a batch is written by one call.
Io<> write_fully(File& file, ByteView from, std::uint64_t offset);

// errc::disk_full for ENOSPC and EDQUOT, errc::unsafe_directory for what a refused symlink gives, else
// errc::io. `what` says which call on which file: "fdatasync of seg-3".
tl::unexpected<Error> io_failure(int error, std::string_view what);

}  // namespace postern::ledger
