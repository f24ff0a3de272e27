// SPDX-License-Identifier: Apache-2.0
#include "ledger/side_files.h"

#include <algorithm>
#include <cerrno>

#include "ledger/errors.h"

namespace postern::ledger {
namespace {

constexpr std::string_view kPrefix = "auth-";
constexpr std::string_view kUnfinished = ".tmp";
constexpr std::size_t kMaxNameBytes = 200;

Result<> write_unfinished(Directory& directory, const std::string& name, std::string_view content) {
  const Io<std::unique_ptr<File>> file = directory.open(name, Access::create);
  if (!file) return io_failure(file.error(), "creation of " + name);
  if (const Io<> written = write_fully(**file, as_bytes(content), 0); !written) {
    return io_failure(written.error(), "write of " + name);
  }
  if (const Io<> synced = (*file)->datasync(); !synced)
    return io_failure(synced.error(), "fdatasync of " + name);
  return {};
}

}  // namespace

Result<> check_side_file_name(std::string_view name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
  if (plain && name.starts_with(kPrefix) && name.size() <= kMaxNameBytes) return {};
  return fail(errc::file_name, "\"" + std::string(name) +
                                   "\" is no name for a file beside the journal; expected \"" +
                                   std::string(kPrefix) + "\" and then a-z, 0-9 and '-'");
}

Result<> put_side_file(Directory& directory, std::string_view name, std::string_view content) {
  if (Result<> good = check_side_file_name(name); !good) return good;
  const std::string unfinished = std::string(name) + std::string(kUnfinished);
  (void)directory.unlink(unfinished);  // left by a killed attempt; usually absent
  if (Result<> written = write_unfinished(directory, unfinished, content); !written) {
    (void)directory.unlink(unfinished);  // gives the space back; the first error is the one to tell
    return written;
  }
  const Io<> renamed = directory.rename(unfinished, name, IfThere::replace);
  if (!renamed) return io_failure(renamed.error(), "rename of " + unfinished);
  if (const Io<> synced = directory.sync(); !synced)
    return io_failure(synced.error(), "fsync of the directory");
  return {};
}

Result<std::string> get_side_file(const Directory& directory, std::string_view name,
                                  std::size_t limit_bytes) {
  const std::string_view finished =
      name.ends_with(kUnfinished) ? name.substr(0, name.size() - kUnfinished.size()) : name;
  if (Result<> good = check_side_file_name(finished); !good) return pass_on(std::move(good));
  Result<std::unique_ptr<File>> file = open_checked(directory, name, Access::read);
  if (!file) return pass_on(std::move(file));
  const Io<FileFacts> facts = (*file)->facts();
  if (!facts) return io_failure(facts.error(), "stat of " + std::string(name));
  if (facts->bytes > limit_bytes) {
    return fail(errc::io, directory.path() + "/" + std::string(name) + " has " +
                              std::to_string(facts->bytes) + " bytes, expected " +
                              std::to_string(limit_bytes) + " at most");
  }
  std::string content(facts->bytes, '\0');
  const Io<> got =
      read_fully(**file, {reinterpret_cast<std::uint8_t*>(content.data()), content.size()}, std::uint64_t{0});
  if (!got) return io_failure(got.error(), "read of " + std::string(name));
  return content;
}

Result<std::vector<std::string>> list_side_files(const Directory& directory, std::string_view prefix) {
  Io<std::vector<std::string>> names = directory.list();
  if (!names) return io_failure(names.error(), "listing of " + directory.path());
  std::erase_if(*names, [prefix](const std::string& name) {
    return !name.starts_with(kPrefix) || !name.starts_with(prefix) || name.ends_with(kUnfinished);
  });
  std::sort(names->begin(), names->end());
  return std::move(*names);
}

Result<> remove_side_file(Directory& directory, std::string_view name) {
  if (Result<> good = check_side_file_name(name); !good) return good;
  const Io<> gone = directory.unlink(name);
  if (!gone && gone.error() != ENOENT) return io_failure(gone.error(), "removal of " + std::string(name));
  if (const Io<> synced = directory.sync(); !synced)
    return io_failure(synced.error(), "fsync of the directory");
  return {};
}

}  // namespace postern::ledger
