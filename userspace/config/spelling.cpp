// SPDX-License-Identifier: Apache-2.0
#include "config/spelling.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/name.h"

namespace postern::config {
namespace {

constexpr std::size_t kLongestWord = 64;
constexpr std::size_t kFarthest = 2;  // edits
constexpr std::size_t kListed = 24;

// Insertions, deletions and substitutions between two words.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string_view> nearest_word(std::string_view unknown,
                                             const std::vector<std::string_view>& known) {
  std::optional<std::string_view> best;
  std::size_t best_distance = kFarthest + 1;
  for (const std::string_view word : known) {
    if (word.size() > unknown.size() + kFarthest || unknown.size() > word.size() + kFarthest) continue;
    const std::size_t distance = edit_distance(unknown.substr(0, kLongestWord), word);
    if (distance >= best_distance || distance >= word.size()) continue;
    best = word;
    best_distance = distance;
  }
  return best;
}

std::string did_you_mean(std::string_view unknown, const std::vector<std::string_view>& known) {
  if (const std::optional<std::string_view> near = nearest_word(unknown, known))
    return "; did you mean " + in_quotes(*near) + "?";
  if (known.empty()) return {};
  std::string out = "; known here are ";
  for (std::size_t i = 0; i < std::min(known.size(), kListed); ++i)
    out.append(i == 0 ? "" : ", ").append(known[i]);
  if (known.size() > kListed)
    out.append(" and ").append(std::to_string(known.size() - kListed)).append(" more");
  return out;
}

}  // namespace postern::config
