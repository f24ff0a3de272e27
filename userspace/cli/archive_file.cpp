// SPDX-License-Identifier: Apache-2.0
#include "cli/archive_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/file.h"
#include "ledger/archive.h"
#include "ledger/errors.h"

namespace postern::cli {
namespace {

constexpr std::size_t kBufferBytes = 1U << 20;

tl::unexpected<Error> cannot(std::string_view what, const std::filesystem::path& path) {
  const int error = errno;
  return fail(postern::errc::file_unwritable,
              "cannot " + std::string(what) + " " + path.string() + ": " + std::strerror(error));
}

std::filesystem::path unfinished(const std::filesystem::path& path) {
  return path.string() + ".unfinished";
}

tl::unexpected<Error> is_there(const std::filesystem::path& path) {
  return fail(postern::errc::file_exists, path.string() + " is there already; name a new file");
}

}  // namespace

ArchiveFileWriter::ArchiveFileWriter(std::filesystem::path path, UniqueFd fd)
    : path_(std::move(path)), fd_(std::move(fd)) {}

ArchiveFileWriter::ArchiveFileWriter(ArchiveFileWriter&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::move(other.fd_)), pending_(std::move(other.pending_)) {}

ArchiveFileWriter::~ArchiveFileWriter() {
  if (fd_) ::unlink(unfinished(path_).c_str());
}

Result<ArchiveFileWriter> ArchiveFileWriter::create(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::exists(std::filesystem::symlink_status(path, ignored))) return is_there(path);
  const std::filesystem::path name = unfinished(path);
  UniqueFd fd(::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return cannot("make", name);
  return ArchiveFileWriter(path, std::move(fd));
}

Result<> ArchiveFileWriter::put(std::string_view line) {
  pending_ += line;
  return pending_.size() < kBufferBytes ? Result<>() : flush();
}

Result<> ArchiveFileWriter::flush() {
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const ssize_t written = ::write(fd_.get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return cannot("write", unfinished(path_));
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  pending_.clear();
  return {};
}

Result<> ArchiveFileWriter::publish() {
  if (Result<> flushed = flush(); !flushed) return flushed;
  const std::filesystem::path name = unfinished(path_);
  if (::fsync(fd_.get()) != 0) return cannot("fsync", name);
  if (::renameat2(AT_FDCWD, name.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) != 0)
    return errno == EEXIST ? is_there(path_) : cannot("rename", name);
  fd_ = UniqueFd();
  const std::filesystem::path parent = path_.has_parent_path() ? path_.parent_path() : ".";
  const UniqueFd directory(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory || ::fsync(directory.get()) != 0) return cannot("fsync", parent);
  return {};
}

Result<ArchiveFileReader> ArchiveFileReader::open(const std::filesystem::path& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    return fail(postern::errc::file_unreadable, "cannot read " + path.string() + ": " + std::strerror(errno));
  }
  return ArchiveFileReader(path, std::move(fd));
}

Result<std::string> ArchiveFileReader::next() {
  std::size_t searched = 0;
  for (;;) {
    const std::size_t end = pending_.find('\n', searched);
    if (end != std::string::npos) {
      std::string line = pending_.substr(0, end + 1);
      pending_.erase(0, end + 1);
      return line;
    }
    if (pending_.size() > ledger::kMaxArchiveLine) {
      return fail(ledger::errc::archive_invalid, path_.string() + " has a line of more than " +
                                                     std::to_string(ledger::kMaxArchiveLine) +
                                                     " bytes: it is no archive of a journal");
    }
    searched = pending_.size();
    pending_.resize(searched + (64U << 10));
    const ssize_t got = ::read(fd_.get(), pending_.data() + searched, pending_.size() - searched);
    const int error = errno;
    pending_.resize(searched + static_cast<std::size_t>(got < 0 ? 0 : got));
    if (got < 0 && error == EINTR) continue;
    if (got < 0) {
      return fail(postern::errc::file_unreadable,
                  "cannot read " + path_.string() + ": " + std::strerror(error));
    }
    if (got == 0) return std::exchange(pending_, std::string());
  }
}

}  // namespace postern::cli
