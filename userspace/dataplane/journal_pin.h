// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
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
// The same from the pins in `directory`, before a plane is opened. None where this version has no pins.
Result<std::optional<JournalPin>> peek_journal_pin(const std::filesystem::path& directory);
Result<> write_journal_pin(const Plane& plane, const JournalPin& pin);

}  // namespace postern::dataplane
