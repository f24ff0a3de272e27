// SPDX-License-Identifier: Apache-2.0
// Of the troubles of a life that ends in a violation, few that still lead to one.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace postern::sim {

// A step of a life and what befalls it there; the same number is the same trouble, whatever else befalls.
using Trouble = std::uint64_t;

struct Outcome {
  std::string violation;          // or ""
  std::vector<Trouble> troubles;  // up to there, in order
};

// A life without those that are spared it.
using Retell = std::function<Outcome(const std::set<Trouble>& spared)>;

struct Shrunk {
  Outcome outcome;
  std::set<Trouble> spared;
  std::size_t lives = 0;  // that it took
};

// Takes out halves, then quarters and so on down to single ones, as long as any can go.
Shrunk shrink(const Retell& retell);

}  // namespace postern::sim
