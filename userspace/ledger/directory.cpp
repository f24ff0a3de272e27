// SPDX-License-Identifier: Apache-2.0
#include "ledger/directory.h"

#include <linux/magic.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "ledger/errors.h"

namespace postern::ledger {
namespace {

constexpr std::uint64_t kXfsMagic = 0x58465342;  // not in linux/magic.h

constexpr std::array<std::uint64_t, 4> kFileSystems = {EXT4_SUPER_MAGIC, kXfsMagic, BTRFS_SUPER_MAGIC,
                                                       F2FS_SUPER_MAGIC};

std::string octal(std::uint32_t mode) {
  char text[16];
  std::snprintf(text, sizeof text, "%04o", mode);
  return text;
}

}  // namespace

Result<> check_directory(const Directory& directory, bool any_file_system) {
  const Io<FileFacts> facts = directory.facts();
  if (!facts) return io_failure(facts.error(), "stat of " + directory.path());
  if (facts->owner != ::geteuid()) {
    return fail(errc::unsafe_directory, directory.path() + " is owned by uid " +
                                            std::to_string(facts->owner) + ", expected " +
                                            std::to_string(::geteuid()) + "; chown it");
  }
  if (facts->mode != 0700) {
    return fail(errc::unsafe_directory,
                directory.path() + " has mode " + octal(facts->mode) + ", expected 0700; chmod 0700 it");
  }
  const Io<std::uint64_t> file_system = directory.file_system();
  if (!file_system) return io_failure(file_system.error(), "statfs of " + directory.path());
  const bool known = std::find(kFileSystems.begin(), kFileSystems.end(), *file_system) != kFileSystems.end();
  if (!known && !any_file_system) {
    char magic[32];
    std::snprintf(magic, sizeof magic, "0x%llx", static_cast<unsigned long long>(*file_system));
    return fail(errc::file_system, directory.path() + " is on a file system of type " + magic +
                                       "; a journal needs ext4, xfs, btrfs or f2fs; move it to one of them");
  }
  return {};
}

Result<std::unique_ptr<File>> open_checked(const Directory& directory, std::string_view name, Access access) {
  const std::string path = directory.path() + "/" + std::string(name);
  Io<std::unique_ptr<File>> file = directory.open(name, access);
  if (!file) return io_failure(file.error(), "open of " + path);
  const Io<FileFacts> facts = (*file)->facts();
  if (!facts) return io_failure(facts.error(), "stat of " + path);
  std::string found;
  if (!facts->is_regular) found = "is no plain file";
  if (facts->owner != ::geteuid()) found = "is owned by uid " + std::to_string(facts->owner);
  if (facts->mode != 0600) found = "has mode " + octal(facts->mode);
  if (facts->links != 1) found = "has " + std::to_string(facts->links) + " names";
  if (!found.empty()) {
    return fail(errc::unsafe_directory, path + " " + found + "; expected a plain file of uid " +
                                            std::to_string(::geteuid()) +
                                            ", mode 0600, with one name; find out who changed it");
  }
  return std::move(*file);
}

}  // namespace postern::ledger
