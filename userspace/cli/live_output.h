// SPDX-License-Identifier: Apache-2.0
// Standard output of commands that go on until somebody ends them, and the ways in which that happens:
// SIGINT, SIGTERM, and a reader that is gone.
#pragma once

#include <chrono>
#include <string_view>

#include "core/result.h"
#include "core/unique_fd.h"

namespace postern::cli {

class LiveOutput {
 public:
  // From here on the process no longer dies of those signals.
  static Result<LiveOutput> open();

  // Readable once a signal asked for the end.
  int stop_fd() const { return stop_.get(); }
  bool stop_asked() const;
  // Waits. False when it was cut short: a signal asked for the end, or nobody reads any more.
  bool pause(std::chrono::milliseconds span) const;
  static int fd();  // what is written to
  // At once, unbuffered. False when nobody reads any more, or it cannot be written.
  bool write(std::string_view bytes);
  int problem() const { return problem_; }  // why not; 0: nobody reads, which is nobody's fault

 private:
  explicit LiveOutput(UniqueFd stop) : stop_(std::move(stop)) {}

  UniqueFd stop_;
  int problem_ = 0;
};

}  // namespace postern::cli
