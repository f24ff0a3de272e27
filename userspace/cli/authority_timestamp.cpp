// SPDX-License-Identifier: Apache-2.0
// postern authority timestamp: says, signed, that a snapshot is the newest for now (SPEC 3.6).
#include <CLI/CLI.hpp>
#include <memory>

#include "authority/timestamp.h"
#include "cli/command.h"
#include "cli/edition.h"
#include "cli/errors.h"
#include "cli/signatures.h"
#include "cli/snapshot_file.h"
#include "cli/wording.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/utc.h"

namespace postern::cli {
namespace {

struct TimestampRequest {
  std::string snapshot;
  SignersRequest signers;
  std::string out;
  EditionRequest edition{1, "", "", "1d"};
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
  const Result<std::string> sealed =
      seal_signed(authority::encode_timestamp(stamp), request.signers, wire::domain::timestamp);
  if (!sealed) return refuse(sealed.error());
  if (const Result<> written = write_file_durably(request.out, *sealed, 0644); !written)
    return refuse(written.error());
  wire::Json json = wire::Json::object(
      {{"expires", wire::Json(utc_text(stamp.expires))},
       {"file", json_text(request.out)},
       {"hash", wire::Json(to_hex(stamp.hash))},
       {"mesh", wire::Json(stamp.mesh)},
       {"serial", wire::Json(static_cast<std::int64_t>(stamp.serial.value))},
       {"signatures", wire::Json(static_cast<std::int64_t>(request.signers.keys.size()))}});
  const std::uint32_t threshold = file->snapshot.root.threshold;
  return Answer{with_schema(std::move(json), "authority-timestamp"),
                request.out + ": serial " + std::to_string(stamp.serial.value) + " of mesh " + stamp.mesh +
                    " is the newest until " + utc_text(stamp.expires) + "; " +
                    count_words(request.signers.keys.size(), "signature") + ", " + std::to_string(threshold) +
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
  command->add_option("-o,--output", request->out, "Write the timestamp here; replaced if there")
      ->required()
      ->type_name("FILE");
  command->add_option("--expires", request->edition.expires, "As for `authority compile`; default: 1d")
      ->type_name("WHEN");
  add_signers_options(*command, request->signers);
  command->callback(
      [&chosen, request] { chosen = [request](const Globals&) { return timestamp(*request); }; });
}

}  // namespace postern::cli
