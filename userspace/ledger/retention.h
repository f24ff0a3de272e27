// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "ledger/event.h"

namespace postern::ledger {

// What a compaction keeps of the events of some kinds, decided as they come by (SPEC 4.8), so that nothing
// has to hold all of them.
class Retention {
 public:
  virtual ~Retention() = default;

  virtual std::vector<std::string> kinds() const = 0;
  // The next event of these kinds, whichever stream it is of, and where it stands. In the journal's order.
  virtual Result<> see(Lseq at, const Event& event) = 0;
  // Where those stand that a replay still needs. What is not among them now never is again, whatever comes.
  virtual std::set<Lseq> needed() const = 0;
};

}  // namespace postern::ledger
