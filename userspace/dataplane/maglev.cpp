// SPDX-License-Identifier: Apache-2.0
#include "dataplane/maglev.h"

#include <algorithm>
#include <numeric>
#include <string_view>

namespace postern::dataplane {
namespace {

// FNV-1a with a finish: all gateways must agree, on any machine and for ever.
std::uint64_t hash(std::string_view text, std::uint64_t seed) {
  std::uint64_t value = 0xcbf29ce484222325ULL ^ seed;
  for (const char c : text) {
    value ^= static_cast<unsigned char>(c);
    value *= 0x100000001b3ULL;
  }
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccdULL;
  return value ^ value >> 33;
}

struct Turn {
  std::uint8_t position;  // in the caller's list
  std::uint32_t place;    // next in its order of preference
  std::uint32_t skip;
  std::uint64_t weight;
  std::uint64_t due = 0;  // picks when this reaches the greatest weight
};

}  // namespace

MaglevTable maglev(const std::vector<MaglevBackend>& backends) {
  MaglevTable table;
  table.fill(PT_NO_BACKEND);
  std::vector<std::size_t> by_name(backends.size());
  std::iota(by_name.begin(), by_name.end(), std::size_t{0});
  std::sort(by_name.begin(), by_name.end(),
            [&](std::size_t a, std::size_t b) { return backends[a].name < backends[b].name; });
  std::vector<Turn> turns;
  std::uint64_t heaviest = 0;
  for (const std::size_t position : by_name) {
    const MaglevBackend& backend = backends[position];
    if (backend.weight == 0) continue;
    turns.push_back({static_cast<std::uint8_t>(position),
                     static_cast<std::uint32_t>(hash(backend.name, 0) % PT_MAGLEV_SIZE),
                     static_cast<std::uint32_t>(hash(backend.name, 0x5bd1e995) % (PT_MAGLEV_SIZE - 1) + 1),
                     backend.weight});
    heaviest = std::max<std::uint64_t>(heaviest, backend.weight);
  }
  if (turns.empty()) return table;
  for (std::size_t filled = 0; filled < table.size();) {
    for (Turn& turn : turns) {
      turn.due += turn.weight;
      if (turn.due < heaviest || filled == table.size()) continue;
      turn.due -= heaviest;
      while (table[turn.place] != PT_NO_BACKEND)
        turn.place = (turn.place + turn.skip) % PT_MAGLEV_SIZE;
      table[turn.place] = turn.position;
      ++filled;
    }
  }
  return table;
}

}  // namespace postern::dataplane
