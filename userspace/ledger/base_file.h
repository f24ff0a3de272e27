// SPDX-License-Identifier: Apache-2.0
// The files of bases (SPEC 4.8): `base-N`, and what is left of older ones.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "ledger/base.h"
#include "ledger/directory.h"

namespace postern::ledger {

struct BaseChoice {
  std::shared_ptr<const Base> base;  // the newest whole one; null: none
  std::string trouble;               // why newer ones were passed over; ""
  bool unreadable = false;           // the disk could not read one of them
};

// `names`: the directory's. Numbers of all bases, ascending; errc::damage for a name that only looks like
// one.
Result<std::vector<std::uint64_t>> list_bases(const std::vector<std::string>& names, const std::string& path);

// The newest base that is whole. One that is not is passed over: the one before it and its segments are still
// there (rule 10), and say the same. Fails with errc::newer_format and errc::unsafe_directory.
Result<BaseChoice> choose_base(const Directory& directory, const std::vector<std::uint64_t>& numbers);

// Written, flushed, read back from the disk, renamed, name flushed. A failure of the last step has
// errc::poisoned: which names the disk holds is then unknown. Any other leaves the directory as it was.
Result<> write_base(Directory& directory, std::uint64_t number, std::string_view text);

}  // namespace postern::ledger
