// SPDX-License-Identifier: Apache-2.0
// postern authority timestamp: says, signed, that a snapshot is the newest for now (SPEC 3.6).
#include <CLI/CLI.hpp>
#include <memory>

#include "authority/timestamp.h"
#include "cli/command.h"
#include "cli/edition.h"
#include "cli/errors.h"
#include "cli/passphrase.h"
#include "cli/snapshot_file.h"
#include "cli/wording.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/utc.h"

namespace postern::cli {
namespace {

struct TimestampRequest {
  std::string snapshot;
  std::vector<std::string> keys;
  std::string out;
  EditionRequest edition{1, "", "", "1d"};
  PassphraseRequest passphrase;
};

Outcome timestamp(const TimestampRequest& request) {
  const Result<SnapshotFile> file = read_snapshot_file(request.snapshot);
  if (!file) return refuse(file.error());
  const Result<Chained> when = resolve_edition(request.edition, SystemClock().now_utc());
  if (!when) return refuse(when.error());
  const authority::Timestamp stamp{.mesh = file->snapshot.mesh,
                                   .serial = file->snapshot.serial,
                                   .hash = file->hash,
                                   .issued = when->edition.issued,
                                   .expires = when->edition.expires};
  std::string sealed = authority::seal_envelope({}, authority::encode_timestamp(stamp));
  for (const std::string& path : request.keys) {
    const Result<wire::SecretKey> key = wire::load_key_file(path, ask_for(request.passphrase, path));
    if (!key) return refuse(key.error());
    Result<std::string> more = authority::add_signature(sealed, *key, wire::domain::timestamp);
    if (!more) return refuse(more.error());
    sealed = std::move(*more);
  }
  if (const Result<> written = write_file_durably(request.out, sealed, 0644); !written)
    return refuse(written.error());
  wire::Json json =
      wire::Json::object({{"expires", wire::Json(utc_text(stamp.expires))},
                          {"file", json_text(request.out)},
                          {"hash", wire::Json(to_hex(stamp.hash))},
                          {"mesh", wire::Json(stamp.mesh)},
                          {"serial", wire::Json(static_cast<std::int64_t>(stamp.serial.value))},
                          {"signatures", wire::Json(static_cast<std::int64_t>(request.keys.size()))}});
  const std::uint32_t threshold = file->snapshot.root.threshold;
  return Answer{with_schema(std::move(json), "authority-timestamp"),
                request.out + ": serial " + std::to_string(stamp.serial.value) + " of mesh " + stamp.mesh +
                    " is the newest until " + utc_text(stamp.expires) + "; " +
                    count_words(request.keys.size(), "signature") + ", " + std::to_string(threshold) +
                    " needed (postern authority sign adds more)\n"};
}

}  // namespace

void add_authority_timestamp(CLI::App& authority, Command& chosen) {
  CLI::App* command = authority.add_subcommand(
      "timestamp", "Make a signed timestamp: this snapshot is the newest for now. Refresh it often");
  auto request = std::make_shared<TimestampRequest>();
  command->add_option("FILE", request->snapshot, "The newest snapshot; its signatures are not checked")
      ->required()
      ->type_name("");
  command->add_option("--key", request->keys, "Key files to sign with; default: none yet")
      ->type_name("KEYFILE");
  command->add_option("-o,--output", request->out, "Write the timestamp here; replaced if there")
      ->required()
      ->type_name("FILE");
  command->add_option("--expires", request->edition.expires, "As for `authority compile`; default: 1d")
      ->type_name("WHEN");
  add_passphrase_option(*command, request->passphrase);
  command->callback(
      [&chosen, request] { chosen = [request](const Globals&) { return timestamp(*request); }; });
}

}  // namespace postern::cli
