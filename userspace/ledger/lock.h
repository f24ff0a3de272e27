// SPDX-License-Identifier: Apache-2.0
// One writer (SPEC 4.2). Two agents on one journal would fork its stream, so the lock comes before anything
// is read or changed, and whatever is not certainly a held lock is a refusal.
#pragma once

#include <memory>
#include <string_view>

#include "ledger/directory.h"

namespace postern::ledger {

inline constexpr std::string_view kLockName = "LOCK";

enum class LockOutcome { held, contended, unsupported };

// What an flock call means; `error` is 0 when it succeeded. Anything but success and "another holds it" is
// unsupported: a file system that cannot lock fails closed.
LockOutcome lock_outcome(int error);

// Holds the exclusive lock for as long as it lives. LOCK itself is never renamed or unlinked: an opener that
// waits on the old inode and one that makes a new file would both hold "the" lock.
class Lock {
 public:
  // Opens LOCK, which must exist, and locks it. errc::absent, errc::contended (naming the holder),
  // errc::lock_unsupported, errc::unsafe_directory when the locked file is not the one that the path names.
  static Result<Lock> take(const Directory& directory);
  // Makes LOCK first unless it is there.
  static Result<Lock> take_or_make(Directory& directory);

  // Fails when the journal's path leads to another LOCK now. Asked at open, at each roll, and when idle.
  Result<> still_named(const Directory& directory) const;

  // Writes "pid boot-id host" for the message that a contender prints. Best effort, overwritten in place.
  void name_holder();

 private:
  explicit Lock(std::unique_ptr<File> file) : file_(std::move(file)) {}

  std::unique_ptr<File> file_;
};

}  // namespace postern::ledger
