// SPDX-License-Identifier: Apache-2.0
#include "ledger/lock.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "core/file.h"
#include "ledger/errors.h"

namespace postern::ledger {
namespace {

// The text is padded to this, so that it can be replaced by one write in place, also on a full disk.
constexpr std::size_t kHolderBytes = 512;

std::string boot_id() {
  const Result<std::string> text = read_file("/proc/sys/kernel/random/boot_id", 64);
  return text ? text->substr(0, text->find('\n')) : "unknown-boot";
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown-host";
}

std::string read_holder(const File& file) {
  std::string text(kHolderBytes, ' ');
  const Io<std::size_t> got = file.read_at({reinterpret_cast<std::uint8_t*>(text.data()), text.size()}, 0);
  text.resize(got ? *got : 0);
  text.resize(text.find_last_not_of(" \n") + 1);
  return text.empty() ? "a process that has not written its name yet" : "pid, boot and host " + text;
}

}  // namespace

LockOutcome lock_outcome(int error) {
  if (error == 0) return LockOutcome::held;
  if (error == EWOULDBLOCK) return LockOutcome::contended;
  return LockOutcome::unsupported;
}

Result<Lock> Lock::take(const Directory& directory) {
  const std::string path = directory.path() + "/" + std::string(kLockName);
  const Io<bool> there = directory.exists(kLockName);
  if (there && !*there) {
    return fail(errc::absent,
                path +
                    " does not exist; `postern init` creates a journal; if segments are here, the "
                    "directory is an incomplete copy: import it instead");
  }
  Result<std::unique_ptr<File>> file = open_checked(directory, kLockName, Access::write);
  if (!file) return pass_on(std::move(file));
  const Io<> locked = (*file)->lock_exclusive();
  const int error = locked ? 0 : locked.error();
  switch (lock_outcome(error)) {
    case LockOutcome::held:
      break;
    case LockOutcome::contended:
      return fail(errc::contended, path + " is held by " + read_holder(**file) + "; stop that process first");
    case LockOutcome::unsupported:
      return fail(errc::lock_unsupported, path + " cannot be locked (errno " + std::to_string(error) +
                                              "); move the journal to a local ext4, xfs, btrfs or f2fs");
  }
  Lock lock(std::move(*file));
  if (Result<> named = lock.still_named(directory); !named) return pass_on(std::move(named));
  return lock;
}

Result<Lock> Lock::take_or_make(Directory& directory) {
  const Io<bool> there = directory.exists(kLockName);
  if (there && !*there) {
    const Io<std::unique_ptr<File>> made = directory.open(kLockName, Access::create);
    if (!made && made.error() != EEXIST) return io_failure(made.error(), "creation of LOCK");
    if (const Io<> synced = directory.sync(); !synced)
      return io_failure(synced.error(), "fsync of the directory");
  }
  return take(directory);
}

Result<> Lock::still_named(const Directory& directory) const {
  const Io<FileFacts> held = file_->facts();
  const Io<FileFacts> named = directory.facts_by_path(kLockName);
  if (held && named && held->same_file(*named)) return {};
  return fail(errc::unsafe_directory,
              directory.path() + "/" + std::string(kLockName) +
                  " is no longer the file that is locked: the directory was moved or "
                  "replaced under a running process; stop both and keep the older one");
}

void Lock::name_holder() {
  std::string text = std::to_string(::getpid()) + " " + boot_id() + " " + host_name();
  text.resize(kHolderBytes - 1, ' ');
  text += '\n';
  (void)file_->write_at(as_bytes(text), 0);  // a full disk must not keep a gateway from starting
}

}  // namespace postern::ledger
