// SPDX-License-Identifier: Apache-2.0
#include "cli/edition.h"

#include "cli/errors.h"
#include "cli/snapshot_file.h"
#include "cli/wording.h"
#include "core/utc.h"

namespace postern::cli {
namespace {

constexpr std::string_view kInstantForm = "an instant like 2027-01-31T00:00:00Z";

Result<UtcSeconds> issued_at(const EditionRequest& request, UtcSeconds now) {
  if (request.issued.empty()) return now;
  const std::optional<UtcSeconds> instant = parse_utc(request.issued);
  if (instant) return *instant;
  return fail(errc::usage, "--issued " + request.issued + " is not " + std::string(kInstantForm));
}

Result<UtcSeconds> expires_at(const EditionRequest& request, UtcSeconds issued) {
  if (const std::optional<std::int64_t> span = parse_span(request.expires))
    return UtcSeconds(issued.value + *span);
  const std::optional<UtcSeconds> instant = parse_utc(request.expires);
  if (!instant) {
    return fail(errc::usage, "--expires " + request.expires + " is neither a span like 90d, 12h or 30m nor " +
                                 std::string(kInstantForm));
  }
  if (*instant > issued) return *instant;
  return fail(errc::usage, "--expires " + request.expires + " is not after the snapshot's issue, " +
                               utc_text(issued) + "; give a later one, or an earlier --issued");
}

Result<> follow(const std::string& path, Chained& out) {
  Result<SnapshotFile> file = read_snapshot_file(path);
  if (!file) return pass_on(std::move(file));
  const authority::Snapshot* before = &file->snapshot;
  authority::Adopted predecessor;
  predecessor.serial = before->serial;
  predecessor.hash = file->hash;
  predecessor.root = before->root;
  for (const authority::EpochFloor& floor : before->epoch_floors)
    predecessor.floors.emplace(floor.resource, floor.epoch);
  out.edition.serial = before->serial.next();
  out.edition.prev = predecessor.hash;
  out.predecessor = std::move(predecessor);
  out.predecessor_snapshot = std::move(file->snapshot);
  return {};
}

}  // namespace

Result<Chained> resolve_edition(const EditionRequest& request, UtcSeconds now) {
  Chained out;
  out.edition.serial = Serial(request.serial);
  if (!request.after.empty()) {
    if (Result<> followed = follow(request.after, out); !followed) return pass_on(std::move(followed));
  }
  Result<UtcSeconds> issued = issued_at(request, now);
  if (!issued) return pass_on(std::move(issued));
  Result<UtcSeconds> expires = expires_at(request, *issued);
  if (!expires) return pass_on(std::move(expires));
  out.edition.issued = *issued;
  out.edition.expires = *expires;
  return out;
}

}  // namespace postern::cli
