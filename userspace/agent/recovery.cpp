// SPDX-License-Identifier: Apache-2.0
#include "agent/recovery.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "agent/authority_record.h"
#include "agent/errors.h"
#include "agent/snapshot_files.h"
#include "authority/signed_clock.h"
#include "core/file.h"

namespace postern::agent {

Result<std::optional<std::string>> read_recovery_bundle(const StateDirectory& state) {
  struct stat seen {};
  if (::lstat(state.recovery_bundle().c_str(), &seen) != 0 && errno == ENOENT)
    return std::optional<std::string>();
  Result<std::string> text = read_file(state.recovery_bundle(), authority::kMaxBundleBytes);
  if (!text) return pass_on(std::move(text));
  return std::optional<std::string>(std::move(*text));
}

Result<> remove_recovery_bundle(const StateDirectory& state) {
  if (::unlink(state.recovery_bundle().c_str()) == 0 || errno == ENOENT) return {};
  return fail(postern::errc::file_unwritable,
              "cannot remove " + state.recovery_bundle().string() + ": " + std::strerror(errno));
}

Result<authority::Chain> check_recovery(std::string_view text, const authority::Root& trusted,
                                        const std::string& mesh, const ledger::AuthorityState& state,
                                        const KernelPromise& kernel, UtcSeconds wall) {
  Result<authority::Chain> chain = authority::follow_chain(text, trusted, mesh, state.adopted);
  if (!chain) return pass_on(std::move(chain), "recovery");
  const authority::Snapshot& snapshot = chain->last.snapshot;
  const UtcSeconds now = authority::trusted_now(wall, std::max(state.clock_floor, snapshot.issued));
  if (Result<> allowed = authority::may_recover(chain->last, chain->base, now); !allowed)
    return pass_on(std::move(allowed), "recovery");
  if (snapshot.serial < kernel.serial) {
    return fail(errc::disk_went_back,
                "recovery: the bundle ends at serial " + std::to_string(snapshot.serial.value) +
                    ", the kernel serves serial " + std::to_string(kernel.serial.value) +
                    "; give `postern authority recover` the newest snapshot");
  }
  return chain;
}

Result<> record_recovery(const authority::Chain& chain, const KernelPromise& kernel, const std::string& mesh,
                         ledger::Journal& journal, ledger::Stream& stream, ledger::AuthorityState& state) {
  const authority::Candidate& candidate = chain.last;
  const ledger::SnapshotId id{candidate.snapshot.serial, candidate.hash};
  SnapshotFiles files(journal, mesh);
  if (Result<> put = files.put(id, chain.file); !put) return put;
  std::vector<ledger::AuthorityEvent> events;
  for (ledger::AuthorityFloors& rise :
       ledger::rises(state, {authority::remembered(candidate).floors, kernel.fences}))
    events.emplace_back(std::move(rise));
  ledger::AuthorityAdopted adopted;
  adopted.id = id;
  adopted.root = candidate.snapshot.root;
  adopted.issued = candidate.snapshot.issued;
  adopted.expires = candidate.snapshot.expires;
  adopted.recovered = true;
  events.emplace_back(std::move(adopted));
  return AuthorityRecord(stream, state).write(events);
}

}  // namespace postern::agent
