// SPDX-License-Identifier: Apache-2.0
#include "ledger/posix_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "ledger/errors.h"

namespace postern::ledger {
namespace {

tl::unexpected<int> last_error() {
  return tl::unexpected<int>(errno);
}

UniqueFd open_at(int directory, const std::string& name, int flags, unsigned mode, std::uint64_t resolve) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.mode = mode;
  how.resolve = resolve;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, directory, name.c_str(), &how, sizeof how)));
}

Io<FileFacts> facts_of(int fd) {
  struct stat s {};
  if (::fstat(fd, &s) != 0) return last_error();
  FileFacts facts;
  facts.is_regular = S_ISREG(s.st_mode);
  facts.is_directory = S_ISDIR(s.st_mode);
  facts.owner = s.st_uid;
  facts.mode = s.st_mode & 07777;
  facts.links = s.st_nlink;
  facts.bytes = static_cast<std::uint64_t>(s.st_size);
  facts.device = s.st_dev;
  facts.inode = s.st_ino;
  return facts;
}

class PosixFile final : public File {
 public:
  explicit PosixFile(UniqueFd fd) : fd_(std::move(fd)) {}

  Io<FileFacts> facts() const override { return facts_of(fd_.get()); }

  Io<std::size_t> read_at(std::span<std::uint8_t> into, std::uint64_t offset) const override {
    const ssize_t got = ::pread(fd_.get(), into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0) return last_error();
    return static_cast<std::size_t>(got);
  }

  Io<std::size_t> write_at(ByteView from, std::uint64_t offset) override {
    const ssize_t put = ::pwrite(fd_.get(), from.data(), from.size(), static_cast<off_t>(offset));
    if (put < 0) return last_error();
    return static_cast<std::size_t>(put);
  }

  Io<> datasync() override {
    if (::fdatasync(fd_.get()) != 0) return last_error();
    return {};
  }

  Io<> lock_exclusive() override {
    if (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) return last_error();
    return {};
  }

 private:
  UniqueFd fd_;
};

Result<> make_directory(const std::filesystem::path& path) {
  if (::mkdir(path.c_str(), 0700) != 0) {
    if (errno == EEXIST) return {};
    return io_failure(errno, "mkdir of " + path.string());
  }
  const std::string parent = path.parent_path().string();
  const UniqueFd fd = open_at(AT_FDCWD, parent, O_RDONLY | O_DIRECTORY, 0, 0);
  if (!fd || ::fsync(fd.get()) != 0) return io_failure(errno, "fsync of " + parent);
  return {};
}

std::filesystem::path absolute_path(const std::filesystem::path& path) {
  std::error_code
      ignored;  // fails only when the working directory is gone: then the path as given fails to open
  const std::filesystem::path absolute = std::filesystem::absolute(path, ignored).lexically_normal();
  const std::filesystem::path& chosen = absolute.empty() ? path : absolute;
  return chosen.has_filename() ? chosen : chosen.parent_path();  // "dir/" is "dir"
}

}  // namespace

Result<std::unique_ptr<Directory>> PosixDirectory::open(const std::filesystem::path& path) {
  const std::string absolute = absolute_path(path).string();
  UniqueFd fd = open_at(AT_FDCWD, absolute, O_RDONLY | O_DIRECTORY, 0, RESOLVE_NO_SYMLINKS);
  if (!fd && errno == ENOENT) {
    return fail(errc::absent, absolute + " does not exist; `postern init` creates a journal");
  }
  if (!fd) return io_failure(errno, "open of " + absolute);
  return std::make_unique<PosixDirectory>(absolute, std::move(fd));
}

Result<std::unique_ptr<Directory>> PosixDirectory::make(const std::filesystem::path& path) {
  if (Result<> made = make_directory(absolute_path(path)); !made) return pass_on(std::move(made));
  return open(path);
}

Io<FileFacts> PosixDirectory::facts() const {
  return facts_of(fd_.get());
}

Io<std::uint64_t> PosixDirectory::file_system() const {
  struct statfs s {};
  if (::fstatfs(fd_.get(), &s) != 0) return last_error();
  return static_cast<std::uint64_t>(s.f_type);
}

Io<std::vector<std::string>> PosixDirectory::list() const {
  // A descriptor of its own: fdopendir takes it over, and its position is nobody else's.
  UniqueFd own = open_at(fd_.get(), ".", O_RDONLY | O_DIRECTORY, 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
  if (!own) return last_error();
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(own.get()), ::closedir);
  if (!stream) return last_error();
  (void)own.release();
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return last_error();
  return names;
}

Io<std::unique_ptr<File>> PosixDirectory::open(std::string_view name, Access access) const {
  // O_NONBLOCK: a FIFO put in a file's place must not hang the opener.
  int flags =
      O_NOFOLLOW | O_NONBLOCK | (access == Access::read || access == Access::read_disk ? O_RDONLY : O_RDWR);
  if (access == Access::create) flags |= O_CREAT | O_EXCL;
  const unsigned mode = access == Access::create ? 0600 : 0;
  const std::uint64_t beneath = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
  const std::string file(name);
  UniqueFd fd;
  if (access == Access::read_disk) fd = open_at(fd_.get(), file, flags | O_DIRECT, mode, beneath);
  if (!fd && (access != Access::read_disk || errno == EINVAL))
    fd = open_at(fd_.get(), file, flags, mode, beneath);
  if (!fd) return last_error();
  return std::make_unique<PosixFile>(std::move(fd));
}

Io<bool> PosixDirectory::exists(std::string_view name) const {
  struct stat s {};
  if (::fstatat(fd_.get(), std::string(name).c_str(), &s, AT_SYMLINK_NOFOLLOW) == 0) return true;
  if (errno == ENOENT) return false;
  return last_error();
}

Io<FileFacts> PosixDirectory::facts_by_path(std::string_view name) const {
  const UniqueFd fd = open_at(AT_FDCWD, path_ + "/" + std::string(name), O_PATH, 0, RESOLVE_NO_SYMLINKS);
  if (!fd) return last_error();
  return facts_of(fd.get());
}

Io<> PosixDirectory::rename(std::string_view from, std::string_view to, IfThere if_there) {
  const unsigned flags = if_there == IfThere::refuse ? RENAME_NOREPLACE : 0;
  if (::renameat2(fd_.get(), std::string(from).c_str(), fd_.get(), std::string(to).c_str(), flags) != 0) {
    return last_error();
  }
  return {};
}

Io<> PosixDirectory::unlink(std::string_view name) {
  if (::unlinkat(fd_.get(), std::string(name).c_str(), 0) != 0) return last_error();
  return {};
}

Io<> PosixDirectory::sync() {
  if (::fsync(fd_.get()) != 0) return last_error();
  return {};
}

}  // namespace postern::ledger
