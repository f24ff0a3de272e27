// SPDX-License-Identifier: Apache-2.0
#include "cli/authority_documents.h"

#include "authority/envelope.h"
#include "authority/revocation.h"
#include "authority/snapshot_codec.h"
#include "authority/timestamp.h"
#include "cli/snapshot_summary.h"
#include "cli/wording.h"
#include "core/clock.h"
#include "core/utc.h"

namespace postern::cli {
namespace {

// Canonical JSON sorts keys: a snapshot begins with its classes, a timestamp with its expiry, a revocation
// with its epoch.
constexpr std::string_view kTimestampHead = "{\"expires\":";
constexpr std::string_view kRevocationHead = "{\"epoch\":";

}  // namespace

Result<Document> read_document(std::string_view payload) {
  if (payload.starts_with(kTimestampHead)) {
    const Result<authority::Timestamp> timestamp = authority::parse_timestamp(payload);
    if (!timestamp) return tl::unexpected<Error>(timestamp.error());
    return Document{wire::domain::timestamp, "timestamp of mesh " + timestamp->mesh + ": serial " +
                                                 std::to_string(timestamp->serial.value) + ", hash " +
                                                 to_hex(timestamp->hash) + ", vouched for until " +
                                                 utc_text(timestamp->expires) + "\n"};
  }
  if (payload.starts_with(kRevocationHead)) {
    const Result<authority::Revocation> revocation = authority::parse_revocation(payload);
    if (!revocation) return tl::unexpected<Error>(revocation.error());
    return Document{wire::domain::revocation, "revocation in mesh " + revocation->mesh +
                                                  ": all claims of resource number " +
                                                  std::to_string(revocation->resource.value) +
                                                  " up to epoch " + std::to_string(revocation->epoch.value) +
                                                  ", made " + utc_text(revocation->issued) + "\n"};
  }
  const Result<authority::Snapshot> snapshot = authority::parse_snapshot(payload);
  if (!snapshot) return tl::unexpected<Error>(snapshot.error());
  return Document{wire::domain::snapshot,
                  snapshot_headline(*snapshot, authority::payload_hash(payload), SystemClock().now_utc())};
}

}  // namespace postern::cli
