// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "cli/checks.h"
#include "cli/wording.h"
#include "ledger/format.h"

namespace postern::cli {
namespace {

namespace fs = std::filesystem;
using wire::check_fail;
using wire::check_ok;

std::string octal(unsigned mode) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%04o", mode);
  return text.data();
}

enum class Kind { directory, file };

// What is wrong with `path`; none when it is ours alone.
std::optional<std::string> fault_of(const fs::path& path, Kind kind) {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) return path.string() + ": " + std::strerror(errno);
  const bool right_kind = kind == Kind::directory ? S_ISDIR(facts.st_mode) : S_ISREG(facts.st_mode);
  if (!right_kind) return path.string() + " is no " + (kind == Kind::directory ? "directory" : "plain file");
  if (facts.st_uid != ::geteuid()) {
    return path.string() + " belongs to uid " + std::to_string(facts.st_uid) + ", expected " +
           std::to_string(::geteuid());
  }
  const unsigned mode = facts.st_mode & 07777U;
  const unsigned expected = kind == Kind::directory ? 0700 : 0600;
  if (mode != expected) return path.string() + " has mode " + octal(mode) + ", expected " + octal(expected);
  if (kind == Kind::file && facts.st_nlink != 1)
    return path.string() + " has " + std::to_string(facts.st_nlink) + " names, expected one";
  return std::nullopt;
}

std::optional<std::string> fault_below(const fs::path& journal) {
  std::error_code error;
  fs::directory_iterator entry(journal, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (std::optional<std::string> fault = fault_of(entry->path(), Kind::file)) return fault;
  }
  if (error) return journal.string() + " cannot be listed: " + error.message();
  return std::nullopt;
}

}  // namespace

void check_state(const config::Config& config, Checks& checks) {
  const fs::path journal = config.state / "journal";
  std::optional<std::string> fault = fault_of(config.state, Kind::directory);
  std::error_code ignored;
  if (fault && !fs::exists(fs::symlink_status(config.state, ignored))) {
    checks.push_back(check_fail("files", *fault, "`postern init` makes the state directory"));
    return;
  }
  if (!fault) fault = fault_of(config.state / "node.key", Kind::file);
  if (!fault) fault = fault_of(journal, Kind::directory);
  if (!fault) fault = fault_below(journal);
  if (fault) {
    checks.push_back(
        check_fail("files", *fault,
                   "run as the owner of the state (usually root); if that is not it, find out who "
                   "changed this before you change it back"));
    return;
  }
  checks.push_back(
      check_ok("files", config.state.string() + " is its owner's alone, with all that is in it"));
}

void check_space(const config::Config& config, Checks& checks) {
  struct statvfs facts {};
  if (::statvfs(config.state.c_str(), &facts) != 0) return;  // check_state() says what is wrong with it
  const std::uint64_t free_bytes = std::uint64_t{facts.f_bavail} * facts.f_frsize;
  struct stat spare {};
  const fs::path spare_path = config.state / "journal" / "spare";
  const bool has_spare = ::lstat(spare_path.c_str(), &spare) == 0 &&
                         static_cast<std::uint64_t>(spare.st_size) == ledger::kSegmentBytes;
  const std::string found = size_words(free_bytes) + " free for " + config.state.string() +
                            (has_spare ? ", the spare segment is there" : ", there is no spare segment");
  const std::string remedy = "free space: a segment takes " + size_words(ledger::kSegmentBytes) +
                             ", and without a spare one nothing is journaled (forwarding goes on)";
  // A spare, and room for the one after it, for a snapshot, and for a compaction's base.
  constexpr std::uint64_t kComfortable = 16 * ledger::kSegmentBytes;
  if (free_bytes >= kComfortable) {
    checks.push_back(check_ok("disk.space", found));
  } else if (has_spare || free_bytes >= 2 * ledger::kSegmentBytes) {
    checks.push_back(wire::check_warn("disk.space", found, remedy));
  } else {
    checks.push_back(check_fail("disk.space", found, remedy));
  }
}

}  // namespace postern::cli
