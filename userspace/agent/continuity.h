// SPDX-License-Identifier: Apache-2.0
// Does the disk know at least what the kernel was promised (SPEC 3.5, 4.7)? Pure decisions over both sides.
// After any crash the disk is ahead of the kernel or level with it; a kernel that is ahead means that the
// disk was replaced by an older copy. Serving then could let a withdrawn peer back in, so the kernel is left
// as it is.
#pragma once

#include <map>
#include <optional>

#include "core/bytes.h"
#include "core/ids.h"
#include "core/result.h"
#include "dataplane/journal_pin.h"
#include "ledger/journal.h"

namespace postern::agent {

// Before the journal is changed: is it the pinned one, and does it reach as far?
Result<> check_journal_pin(const std::optional<dataplane::JournalPin>& pin, const ledger::JournalEnd& end);
// While it is replayed: is the record at the pinned place the pinned one?
Result<> check_pinned_record(const std::optional<dataplane::JournalPin>& pin, Lseq lseq, const Hash256& hash);

// `kernel`: the serial that the active generation was compiled from, 0 for none.
Result<> check_serial(Serial kernel, std::optional<Serial> adopted);

// Fails when the kernel fences a resource higher than the adopted snapshot does.
Result<> check_fences(const std::map<ResourceNumber, Epoch>& kernel,
                      const std::map<ResourceNumber, Epoch>& adopted);

}  // namespace postern::agent
