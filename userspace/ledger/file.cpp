// SPDX-License-Identifier: Apache-2.0
#include "ledger/file.h"

#include <cerrno>
#include <string>
#include <system_error>

#include "ledger/errors.h"

namespace postern::ledger {

Io<> read_fully(const File& file, std::span<std::uint8_t> into, std::uint64_t offset) {
  while (!into.empty()) {
    const Io<std::size_t> got = file.read_at(into, offset);
    if (!got) return tl::unexpected<int>(got.error());
    if (*got == 0) return tl::unexpected<int>(EIO);
    into = into.subspan(*got);
    offset += *got;
  }
  return {};
}

Io<> write_fully(File& file, ByteView from, std::uint64_t offset) {
  while (!from.empty()) {
    const Io<std::size_t> put = file.write_at(from, offset);
    if (!put) return tl::unexpected<int>(put.error());
    if (*put == 0) return tl::unexpected<int>(EIO);
    from = from.subspan(*put);
    offset += *put;
  }
  return {};
}

tl::unexpected<Error> io_failure(int error, std::string_view what) {
  std::string context = std::string(what) + ": " + std::generic_category().message(error);
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return fail(errc::disk_full, context + "; free space on this file system");
    case ELOOP:
    case EXDEV:
      return fail(errc::unsafe_directory, context + "; symbolic links are not followed: give the real path");
    default:
      return fail(errc::io, std::move(context));
  }
}

}  // namespace postern::ledger
