// SPDX-License-Identifier: Apache-2.0
// Every single-bit flip of the last acknowledged batch's records, and one a byte of what follows in its block
// (SPEC 4.11).
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace postern::ledger::sim {

struct Flips {
  std::uint64_t tried = 0;
  std::map<std::string, std::uint64_t> verdicts;  // "record: suspect", "elsewhere: clean", ...
  std::string violation;                          // names the bit; empty: none
};

// Of a journal whose last batch is followed by nothing, by a torn batch, and one that recovery has copied. A
// flip in a record must be refused or said, one in the padding may be passed over; none is ever accepted as
// another content.
Flips flip_each_bit_of_the_last_batch();

}  // namespace postern::ledger::sim
