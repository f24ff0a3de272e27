// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"
#include "core/unique_fd.h"

namespace postern::dataplane {

// Waits until every packet that is under way now has ended (SPEC 2.3). There is no system call for that, but
// after any update of a map of maps from user space the kernel waits out an RCU grace period before it
// returns; this owns a map of maps of its own that no program sees, to have one at hand.
class GracePeriod {
 public:
  static Result<GracePeriod> create();
  Result<> wait() const;

 private:
  GracePeriod(UniqueFd outer, UniqueFd inner) : outer_(std::move(outer)), inner_(std::move(inner)) {}

  UniqueFd outer_;
  UniqueFd inner_;
};

}  // namespace postern::dataplane
