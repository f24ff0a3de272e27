// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "core/unique_fd.h"

namespace postern {
namespace {

std::string because(int error) {
  return std::strerror(error);
}

std::filesystem::path directory_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

// A file beside its target that goes away again unless it got the target's name.
class TemporaryFile {
 public:
  static Result<TemporaryFile> beside(const std::filesystem::path& target) {
    std::string name = (directory_of(target) / ("." + target.filename().string() + ".XXXXXX")).string();
    UniqueFd fd(::mkostemp(name.data(), O_CLOEXEC));
    if (!fd) return fail(errc::file_unwritable, "cannot create " + name + ": " + because(errno));
    return TemporaryFile(std::move(name), std::move(fd));
  }

  TemporaryFile(TemporaryFile&& other) noexcept
      : name_(std::exchange(other.name_, {})), fd_(std::move(other.fd_)) {}
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }

  Result<> fill(std::string_view content, unsigned mode) {
    if (!write_all(fd_.get(), content))
      return fail(errc::file_unwritable, "cannot write " + name_ + ": " + because(errno));
    if (::fchmod(fd_.get(), static_cast<mode_t>(mode)) != 0 || ::fsync(fd_.get()) != 0 ||
        ::close(fd_.release()) != 0) {
      return fail(errc::file_unwritable, "cannot make " + name_ + " durable: " + because(errno));
    }
    return {};
  }

  Result<> rename_to(const std::filesystem::path& target) {
    if (::rename(name_.c_str(), target.c_str()) != 0) {
      return fail(errc::file_unwritable, "cannot replace " + target.string() + ": " + because(errno));
    }
    name_.clear();
    return {};
  }

  Result<> link_as(const std::filesystem::path& target) {
    if (::link(name_.c_str(), target.c_str()) == 0) return {};
    if (errno == EEXIST) {
      return fail(errc::file_exists,
                  target.string() + " is there already; move it away or name another file");
    }
    return fail(errc::file_unwritable, "cannot create " + target.string() + ": " + because(errno));
  }

 private:
  TemporaryFile(std::string name, UniqueFd fd) : name_(std::move(name)), fd_(std::move(fd)) {}

  std::string name_;
  UniqueFd fd_;
};

Result<> sync_directory_of(const std::filesystem::path& path) {
  const std::filesystem::path directory = directory_of(path);
  const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) {
    return fail(errc::file_unwritable,
                "cannot make " + path.string() + "'s directory entry durable: " + because(errno));
  }
  return {};
}

}  // namespace

tl::unexpected<Error> too_large_file(const std::filesystem::path& path, std::size_t limit_bytes) {
  return fail(errc::file_too_large,
              path.string() + " is larger than " + std::to_string(limit_bytes) + " bytes");
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit_bytes) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail(errc::file_unreadable, "cannot open " + path.string() + ": " + because(errno));
  struct stat status {};
  std::string content;
  if (::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode)) {
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size > limit_bytes) return too_large_file(path, limit_bytes);
    content.reserve(size + 1);
  }
  std::vector<char> buffer(64U << 10);
  for (;;) {
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errc::file_unreadable, "cannot read " + path.string() + ": " + because(errno));
    if (got == 0) return content;
    if (static_cast<std::size_t>(got) > limit_bytes - content.size())
      return too_large_file(path, limit_bytes);
    content.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

Result<> write_file_durably(const std::filesystem::path& path, std::string_view content, unsigned mode) {
  Result<TemporaryFile> file = TemporaryFile::beside(path);
  if (!file) return pass_on(std::move(file));
  if (Result<> filled = file->fill(content, mode); !filled) return filled;
  if (Result<> renamed = file->rename_to(path); !renamed) return renamed;
  return sync_directory_of(path);
}

Result<> create_file_durably(const std::filesystem::path& path, std::string_view content, unsigned mode) {
  Result<TemporaryFile> file = TemporaryFile::beside(path);
  if (!file) return pass_on(std::move(file));
  if (Result<> filled = file->fill(content, mode); !filled) return filled;
  if (Result<> linked = file->link_as(path); !linked) return linked;
  return sync_directory_of(path);
}

}  // namespace postern
