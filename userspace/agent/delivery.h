// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "core/ids.h"
#include "core/result.h"
#include "wire/hash.h"

namespace postern::agent {

// What became of the last document of one kind that a source brought. Old news is what was offered last,
// unless it was refused: then it is due again after a while, since clocks and disks mend, and as soon as
// another snapshot is adopted, since that may be what it waited for.
class Delivery {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  bool is_old_news(std::string_view text, Serial adopted, Instant now) const;
  // `taken`: how it went through the door, and `adopted` what is adopted since.
  void note(std::string_view text, Serial adopted, const Result<>& taken, Instant now);

  void set_problem(std::string problem) { problem_ = std::move(problem); }
  const std::string& problem() const { return problem_; }

 private:
  std::string problem_;
  std::optional<Hash256> offered_;
  Serial adopted_;
  std::optional<Instant> retry_at_;  // it was refused
};

}  // namespace postern::agent
