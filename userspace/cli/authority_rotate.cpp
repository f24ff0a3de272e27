// SPDX-License-Identifier: Apache-2.0
// postern authority rotate: the next snapshot of a mesh, alike in all but whose signatures count from then
// on. Both the old and the new keys sign it (SPEC 3.4).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "authority/root_codec.h"
#include "cli/command.h"
#include "cli/edition.h"
#include "cli/errors.h"
#include "cli/snapshot_file.h"
#include "cli/wording.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/utc.h"

namespace postern::cli {
namespace {

struct RotateRequest {
  std::vector<std::string> add;
  std::vector<std::string> remove;  // public keys or key ids
  std::uint32_t threshold = 0;      // 0: as before
  std::string out;
  EditionRequest edition;
};

Result<> add_key(const std::string& text, authority::Root& root) {
  const std::optional<wire::PublicKey> key = wire::PublicKey::parse(text);
  if (!key) {
    return fail(
        errc::usage,
        "--add " + text + " is no public key: expected base64 of 32 bytes, as `postern keygen` prints it");
  }
  if (std::find(root.keys.begin(), root.keys.end(), *key) != root.keys.end())
    return fail(errc::usage, "--add " + text + " is a key of the authority already");
  root.keys.push_back(*key);
  return {};
}

Result<> remove_key(const std::string& text, authority::Root& root) {
  const auto removed = std::erase_if(
      root.keys, [&text](const wire::PublicKey& key) { return key.text() == text || key.id() == text; });
  if (removed == 1) return {};
  return fail(errc::usage, "--remove " + text +
                               " is no key of the authority; `postern authority show` lists the ids of all");
}

Result<authority::Root> rotated(const RotateRequest& request, const authority::Root& before) {
  authority::Root root = before;
  for (const std::string& text : request.remove) {
    if (Result<> r = remove_key(text, root); !r) return pass_on(std::move(r));
  }
  for (const std::string& text : request.add) {
    if (Result<> r = add_key(text, root); !r) return pass_on(std::move(r));
  }
  if (request.threshold != 0) root.threshold = request.threshold;
  std::sort(root.keys.begin(), root.keys.end());
  if (root == before) {
    return fail(errc::usage, "nothing would change; name keys to --add or --remove, or another --threshold");
  }
  if (Result<> sound = authority::check_root(root); !sound)
    return fail(errc::usage, std::move(sound).error().context);
  return root;
}

std::string signers(const authority::Root& root, std::string_view which) {
  std::string out = std::string(which) + "  " + std::to_string(root.threshold) + " of\n";
  for (const wire::PublicKey& key : root.keys)
    out += "         " + key.id() + "\n";
  return out;
}

Outcome rotate(const RotateRequest& request) {
  Result<Chained> chained = resolve_edition(request.edition, SystemClock().now_utc());
  if (!chained) return refuse(chained.error());
  authority::Snapshot& next = *chained->predecessor_snapshot;
  const authority::Root before = next.root;
  Result<authority::Root> root = rotated(request, before);
  if (!root) return refuse(root.error());
  next.root = std::move(*root);
  next.serial = chained->edition.serial;
  next.prev = chained->edition.prev;
  next.issued = chained->edition.issued;
  next.expires = chained->edition.expires;
  const std::string payload = authority::encode_snapshot(next);
  const Result<> written = create_file_durably(request.out, authority::seal_envelope({}, payload), 0644);
  if (!written) return refuse(written.error());
  const Hash256 hash = authority::payload_hash(payload);
  wire::Json json = wire::Json::object({{"expires", wire::Json(utc_text(next.expires))},
                                        {"file", json_text(request.out)},
                                        {"hash", wire::Json(to_hex(hash))},
                                        {"keys", authority::root_keys(next.root)},
                                        {"mesh", wire::Json(next.mesh)},
                                        {"serial", wire::Json(static_cast<std::int64_t>(next.serial.value))},
                                        {"threshold", wire::Json(next.root.threshold)}});
  return Answer{
      with_schema(std::move(json), "authority-rotate"),
      request.out + ": serial " + std::to_string(next.serial.value) + " of mesh " + next.mesh +
          " changes the root, no signature yet\nhash " + to_hex(hash) +
          "\nBoth sides sign it (postern authority sign):\n" + signers(before, "old keys") +
          signers(next.root, "new keys") +
          "Write the new keys and threshold into the policy too, or its next snapshot changes them back.\n"};
}

}  // namespace

void add_authority_rotate(CLI::App& authority, Command& chosen) {
  CLI::App* command = authority.add_subcommand(
      "rotate", "Make the next snapshot with other authority keys, to be signed by the old and the new ones");
  auto request = std::make_shared<RotateRequest>();
  command->add_option("--after", request->edition.after, "The snapshot in force")
      ->required()
      ->type_name("FILE");
  command->add_option("--add", request->add, "Public key to count from now on")->type_name("BASE64");
  command->add_option("--remove", request->remove, "Key that no longer counts, as public key or key id")
      ->type_name("KEY");
  command
      ->add_option("--threshold", request->threshold,
                   "How many keys must sign from now on; default: as before")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, authority::kMaxRootKeys).description(""));
  command->add_option("-o,--output", request->out, "Write it here; an existing file is never replaced")
      ->required()
      ->type_name("FILE");
  command->add_option("--expires", request->edition.expires, "As for `authority compile`; default: 90d")
      ->type_name("WHEN");
  command->callback([&chosen, request] { chosen = [request](const Globals&) { return rotate(*request); }; });
}

}  // namespace postern::cli
