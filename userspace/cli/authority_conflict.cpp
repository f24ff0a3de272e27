// SPDX-License-Identifier: Apache-2.0
// postern authority show --conflict: both sides of an equivocation, as the gateway keeps them.
#include "cli/authority_conflict.h"

#include "authority/envelope.h"
#include "authority/snapshot_codec.h"
#include "cli/connection.h"
#include "cli/reply.h"
#include "cli/snapshot_summary.h"
#include "core/clock.h"
#include "core/file.h"

namespace postern::cli {
namespace {

// The side's snapshot in words, as far as its file may be read here.
std::string side_text(const Reply& side) {
  const std::string path = side.text("file");
  std::string out = "\nhash     " + side.text("hash") + "\nfile     " + path + "\n";
  const Result<std::string> file =
      read_file(path, authority::kMaxSnapshotBytes + authority::kMaxSignatureBytes);
  if (!file) return out + "         not readable here (" + file.error().context + ")\n";
  const Result<authority::Envelope> envelope = authority::open_envelope(*file);
  if (!envelope) return out + "         " + envelope.error().context + "\n";
  const Result<authority::Snapshot> snapshot = authority::parse_snapshot(envelope->payload);
  if (!snapshot) return out + "         " + snapshot.error().context + "\n";
  out += "signed by\n";
  for (const authority::EnvelopeSignature& entry : envelope->signatures)
    out += "         " + entry.key_id + "\n";
  const UtcSeconds now = SystemClock().now_utc();
  return out + snapshot_headline(*snapshot, authority::payload_hash(envelope->payload), now) +
         snapshot_details(*snapshot, now);
}

}  // namespace

Outcome show_conflict(const Globals& globals) {
  const tl::expected<wire::Json, Refusal> result = ask_agent(globals, "conflict");
  if (!result) return tl::unexpected<Refusal>(result.error());
  const Reply reply(*result);
  if (!reply.has("conflict")) {
    return Answer{wire::encode_canonical(*result),
                  "the authority has vouched for one snapshot a serial; no "
                  "conflict stands\n"};
  }
  const Reply conflict = reply.at("conflict");
  std::string text = "the authority vouched for two snapshots of serial " + conflict.text("serial") +
                     "; nothing is adopted until a recovery\n";
  for (const Reply& side : conflict.list("sides"))
    text += side_text(side);
  if (conflict.has("timestamp"))
    text += "\na signed timestamp is one side:\n" + conflict.text("timestamp") + "\n";
  return Answer{wire::encode_canonical(*result), text};
}

}  // namespace postern::cli
