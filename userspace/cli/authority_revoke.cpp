// SPDX-License-Identifier: Apache-2.0
// postern authority revoke: takes a resource from whoever holds it, signed, before the next snapshot says so
// by a floor (SPEC 10.2).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "authority/revocation.h"
#include "cli/command.h"
#include "cli/errors.h"
#include "cli/signatures.h"
#include "cli/snapshot_file.h"
#include "cli/wording.h"
#include "config/spelling.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/utc.h"

namespace postern::cli {
namespace {

struct RevokeRequest {
  std::string snapshot;
  std::string resource;
  std::uint64_t epoch = 0;
  SignersRequest signers;
  std::string out;
};

Result<ResourceNumber> number_of(const authority::Snapshot& snapshot, const std::string& id) {
  const auto& resources = snapshot.resources;
  const auto found = std::find_if(resources.begin(), resources.end(),
                                  [&](const authority::Resource& resource) { return resource.id == id; });
  if (found != resources.end()) return found->number;
  std::vector<std::string_view> known;
  for (const authority::Resource& resource : resources)
    known.push_back(resource.id);
  return fail(errc::usage, "the snapshot has no resource \"" + id + "\"" + config::did_you_mean(id, known));
}

Outcome revoke(const RevokeRequest& request) {
  const Result<SnapshotFile> file = read_snapshot_file(request.snapshot);
  if (!file) return refuse(file.error());
  const Result<ResourceNumber> number = number_of(file->snapshot, request.resource);
  if (!number) return refuse(number.error());
  const authority::Revocation revocation{.mesh = file->snapshot.mesh,
                                         .resource = *number,
                                         .epoch = Epoch(request.epoch),
                                         .issued = SystemClock().now_utc()};
  const Result<std::string> sealed =
      seal_signed(authority::encode_revocation(revocation), request.signers, wire::domain::revocation);
  if (!sealed) return refuse(sealed.error());
  if (const Result<> written = create_file_durably(request.out, *sealed, 0644); !written)
    return refuse(written.error());
  const std::size_t signatures = request.signers.keys.size();
  wire::Json json = wire::Json::object({{"epoch", wire::Json::decimal(request.epoch)},
                                        {"file", json_text(request.out)},
                                        {"mesh", wire::Json(revocation.mesh)},
                                        {"number", wire::Json(static_cast<std::int64_t>(number->value))},
                                        {"resource", json_text(request.resource)},
                                        {"signatures", wire::Json(static_cast<std::int64_t>(signatures))}});
  return Answer{with_schema(std::move(json), "authority-revoke"),
                request.out + ": revokes all claims of " + request.resource + " in mesh " + revocation.mesh +
                    " up to epoch " + std::to_string(request.epoch) + "; " +
                    count_words(signatures, "signature") + ", " +
                    std::to_string(file->snapshot.root.threshold) +
                    " needed (postern authority sign adds more)\nOn any gateway: postern claims revoke " +
                    request.resource + " --document " + request.out + "\n"};
}

}  // namespace

void add_authority_revoke(CLI::App& authority, Command& chosen) {
  CLI::App* command = authority.add_subcommand(
      "revoke", "Make a signed revocation: takes a resource from a gateway that is gone, or gone mad");
  auto request = std::make_shared<RevokeRequest>();
  command->add_option("SNAPSHOT", request->snapshot, "The snapshot in force; its signatures are not checked")
      ->required()
      ->type_name("");
  command->add_option("RESOURCE", request->resource, "Its id")->required()->type_name("");
  command
      ->add_option("--epoch", request->epoch,
                   "Claims up to this epoch count no more; `postern claims` shows the holder's")
      ->required()
      ->check(CLI::Range(std::uint64_t{1}, UINT64_MAX).description(""))
      ->type_name("N");
  command->add_option("-o,--output", request->out, "Write the revocation here; must not be there yet")
      ->required()
      ->type_name("FILE");
  add_signers_options(*command, request->signers);
  command->callback([&chosen, request] { chosen = [request](const Globals&) { return revoke(*request); }; });
}

}  // namespace postern::cli
