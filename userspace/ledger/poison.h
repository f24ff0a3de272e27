// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>

#include "core/result.h"
#include "ledger/errors.h"

namespace postern::ledger {

// Why this process journals nothing any more (SPEC 4.5 rule 9). Set once, never cleared; any thread may ask
// and set.
class Poison {
 public:
  explicit Poison(std::string path) : path_(std::move(path)) {}

  // Returns the error for whoever waits for the batch in flight. The first reason stays.
  Error set(const std::string& reason) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (reason_.empty()) reason_ = path_ + ": " + reason;
    return Error{errc::poisoned,
                 reason_ + "; outcome unknown: this batch is stored or not; restart to find out"};
  }

  // "" while all is well.
  std::string reason() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return reason_;
  }

  Result<> check() const {
    const std::string found = reason();
    if (found.empty()) return {};
    return fail(errc::poisoned, found + "; nothing is journaled until a restart has recovered the journal");
  }

 private:
  const std::string path_;
  mutable std::mutex mutex_;
  std::string reason_;
};

}  // namespace postern::ledger
