// SPDX-License-Identifier: Apache-2.0
#include "agent/snapshot_files.h"

#include <set>
#include <vector>

#include "agent/errors.h"
#include "authority/envelope.h"
#include "authority/snapshot_codec.h"

namespace postern::agent {
namespace {

constexpr std::size_t kMaxFileBytes = authority::kMaxSnapshotBytes + authority::kMaxSignatureBytes;

std::set<std::string> needed_by(const ledger::AuthorityState& state) {
  std::set<std::string> names;
  if (state.adopted) names.insert(ledger::snapshot_file_name({state.adopted->serial, state.adopted->hash}));
  if (state.previous) names.insert(ledger::snapshot_file_name(state.previous->id));
  if (state.conflict) {
    names.insert(ledger::snapshot_file_name(state.conflict->id));
    names.insert(ledger::snapshot_file_name({state.conflict->id.serial, state.conflict->other}));
  }
  return names;
}

}  // namespace

Result<> SnapshotFiles::put(const ledger::SnapshotId& id, std::string_view file) {
  return journal_->put_file(ledger::snapshot_file_name(id), file);
}

Result<authority::Candidate> SnapshotFiles::get(const ledger::SnapshotId& id,
                                                const authority::Root& root) const {
  const std::string name = ledger::snapshot_file_name(id);
  std::string file;
  Result<authority::Candidate> candidate = read(name, id, root, file);
  if (candidate) return candidate;
  const Result<authority::Candidate> unfinished = read(name + ".tmp", id, root, file);
  if (!unfinished) return candidate;
  if (Result<> put = journal_->put_file(name, file); !put) return pass_on(std::move(put));
  return *unfinished;
}

Result<authority::Candidate> SnapshotFiles::read(const std::string& name, const ledger::SnapshotId& id,
                                                 const authority::Root& root, std::string& file) const {
  Result<std::string> text = journal_->get_file(name, kMaxFileBytes);
  if (!text) return pass_on(std::move(text), "the adopted snapshot's file");
  file = std::move(*text);
  Result<authority::Candidate> candidate = authority::verify_snapshot(file, root, mesh_);
  if (!candidate) return pass_on(std::move(candidate), name);
  if (candidate->hash != id.hash) {
    return fail(errc::snapshot_changed, name + " holds a snapshot with hash " + to_hex(candidate->hash) +
                                            ", the journal adopted " + to_hex(id.hash) +
                                            "; put the original file there, or apply a newer snapshot");
  }
  return candidate;
}

Result<> SnapshotFiles::prune(const ledger::AuthorityState& state) {
  Result<std::vector<std::string>> names = journal_->list_files("auth-");
  if (!names) return pass_on(std::move(names));
  const std::set<std::string> kept = needed_by(state);
  for (const std::string& name : *names) {
    if (kept.count(name) != 0) continue;
    if (Result<> removed = journal_->remove_file(name); !removed) return removed;
  }
  return {};
}

}  // namespace postern::agent
