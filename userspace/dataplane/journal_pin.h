// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/bytes.h"
#include "core/ids.h"
#include "core/result.h"
#include "dataplane/plane.h"

namespace postern::dataplane {

// The journal behind this data path, as pinned in the kernel (SPEC 4.7).
struct JournalPin {
  Id128 journal{};
  Lseq head;
  Hash256 hash{};
};
Result<std::optional<JournalPin>> read_journal_pin(const Plane& plane);
Result<> write_journal_pin(const Plane& plane, const JournalPin& pin);

}  // namespace postern::dataplane
