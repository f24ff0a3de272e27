// SPDX-License-Identifier: Apache-2.0
#include "cli/snapshot_file.h"

#include "core/file.h"

namespace postern::cli {

Result<SnapshotFile> read_snapshot_file(const std::string& path) {
  Result<std::string> text = read_file(path, kMaxSnapshotFileBytes);
  if (!text) return pass_on(std::move(text));
  return parse_snapshot_file(*text, path);
}

Result<SnapshotFile> parse_snapshot_file(std::string_view text, const std::string& path) {
  const Result<authority::Envelope> envelope = authority::open_envelope(text);
  if (!envelope) return fail(envelope.error().code, path + ": " + envelope.error().context);
  Result<authority::Snapshot> snapshot = authority::parse_snapshot(envelope->payload);
  if (!snapshot) return pass_on(std::move(snapshot), path);
  return SnapshotFile{std::move(*snapshot), authority::payload_hash(envelope->payload)};
}

}  // namespace postern::cli
