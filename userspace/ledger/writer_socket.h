// SPDX-License-Identifier: Apache-2.0
// The second guard against a second writer (SPEC 4.2). Two overlays over one directory, or a copy of it, have
// LOCK files of their own, and both can be locked. What the two cannot both have is one name in the network
// namespace that they serve: an abstract socket, which needs no file and goes away with its process.
#pragma once

#include <string>
#include <string_view>

#include "core/unique_fd.h"
#include "ledger/lock.h"

namespace postern::ledger {

// What a bind call means; `error` is 0 when it succeeded. Anything but success and "in use" is unsupported.
LockOutcome bind_outcome(int error);

// Holds the name of `mesh` in this network namespace for as long as it lives.
class WriterSocket {
 public:
  // errc::contended, naming the process that has it; errc::lock_unsupported.
  static Result<WriterSocket> hold(std::string_view mesh);

 private:
  explicit WriterSocket(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace postern::ledger
