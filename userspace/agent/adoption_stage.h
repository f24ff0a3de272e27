// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace postern::agent {

// The steps of an adoption, in their order. The names are the metric's `stage`.
enum class Stage { verify, rules, compile, capacity, persist, journal, fence, swap, active };
inline constexpr std::array<std::string_view, 9> kStageNames{
    "verify", "rules", "compile", "capacity", "persist", "journal", "fence", "swap", "active"};

// How often each step failed.
class StageFailures {
 public:
  void count(Stage stage) { ++counts_[static_cast<std::size_t>(stage)]; }
  std::vector<std::pair<std::string_view, std::uint64_t>> by_stage() const {
    std::vector<std::pair<std::string_view, std::uint64_t>> named;
    for (std::size_t i = 0; i < kStageNames.size(); ++i)
      named.emplace_back(kStageNames[i], counts_[i]);
    return named;
  }

 private:
  std::array<std::uint64_t, kStageNames.size()> counts_{};
};

}  // namespace postern::agent
