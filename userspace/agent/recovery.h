// SPDX-License-Identifier: Apache-2.0
// Recovery at the start (SPEC 3.10): the kernel was promised more than the disk remembers, and an operator
// has laid down a bundle that ends at or above what the kernel serves.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "agent/state_directory.h"
#include "authority/chain.h"
#include "core/ids.h"
#include "core/result.h"
#include "ledger/authority_log.h"
#include "ledger/journal.h"
#include "ledger/stream.h"

namespace postern::agent {

// What the kernel holds from before.
struct KernelPromise {
  Serial serial;  // 0 for none
  std::map<ResourceNumber, Epoch> fences;
};

// The bundle that `postern authority recover` laid down; none is there as a rule.
Result<std::optional<std::string>> read_recovery_bundle(const StateDirectory& state);
// Nothing happens when it is gone already.
Result<> remove_recovery_bundle(const StateDirectory& state);

// Verifies the bundle against what the disk remembers and the kernel was promised. Changes nothing.
// errc::disk_went_back when it ends below the kernel's serial. `text` must outlive the result.
Result<authority::Chain> check_recovery(std::string_view text, const authority::Root& trusted,
                                        const std::string& mesh, const ledger::AuthorityState& state,
                                        const KernelPromise& kernel, UtcSeconds wall);

// Makes the disk remember: the file, then AuthorityAdopted together with all fences of the kernel.
Result<> record_recovery(const authority::Chain& chain, const KernelPromise& kernel, const std::string& mesh,
                         ledger::Journal& journal, ledger::Stream& stream, ledger::AuthorityState& state);

}  // namespace postern::agent
