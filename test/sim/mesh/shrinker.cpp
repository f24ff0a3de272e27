// SPDX-License-Identifier: Apache-2.0
#include "sim/mesh/shrinker.h"

#include <algorithm>

namespace postern::sim {
namespace {

// Whether a life without these too still ends badly; then it is the one to go on with.
bool spare(const Retell& retell, Shrunk& so_far, std::size_t at, std::size_t count) {
  std::set<Trouble> spared = so_far.spared;
  const std::vector<Trouble>& troubles = so_far.outcome.troubles;
  for (std::size_t i = at; i < std::min(at + count, troubles.size()); ++i)
    spared.insert(troubles[i]);
  Outcome outcome = retell(spared);
  ++so_far.lives;
  if (outcome.violation.empty()) return false;
  so_far.outcome = std::move(outcome);
  so_far.spared = std::move(spared);
  return true;
}

}  // namespace

Shrunk shrink(const Retell& retell) {
  Shrunk out{retell({}), {}, 1};
  if (out.outcome.violation.empty()) return out;
  std::size_t piece = (out.outcome.troubles.size() + 1) / 2;
  while (piece > 0) {
    bool any = false;
    for (std::size_t at = 0; at < out.outcome.troubles.size();) {
      if (spare(retell, out, at, piece))
        any = true;
      else
        at += piece;
    }
    if (piece == 1 && !any) break;
    piece = piece == 1 ? 1 : piece / 2;
  }
  return out;
}

}  // namespace postern::sim
