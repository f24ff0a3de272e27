// SPDX-License-Identifier: Apache-2.0
// postern authority: the signer's side of a mesh, offline. authority_compile.cpp has the first step.
#include <CLI/CLI.hpp>
#include <memory>

#include "authority/adoption_rules.h"
#include "authority/envelope.h"
#include "authority/snapshot_codec.h"
#include "cli/authority_conflict.h"
#include "cli/command.h"
#include "cli/errors.h"
#include "cli/snapshot_summary.h"
#include "cli/wording.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/utc.h"

namespace postern::cli {
namespace {

constexpr std::size_t kMaxRootBytes = 1U << 20;
constexpr std::size_t kMaxFileBytes = authority::kMaxSnapshotBytes + authority::kMaxSignatureBytes;

struct RootRequest {
  std::string mesh;
  std::uint32_t threshold = 1;
  std::vector<std::string> keys;
  std::string out = "root.json";
};

Outcome write_root(const RootRequest& request) {
  authority::TrustAnchor anchor{.mesh = request.mesh, .root = {.threshold = request.threshold, .keys = {}}};
  for (const std::string& text : request.keys) {
    const std::optional<wire::PublicKey> key = wire::PublicKey::parse(text);
    if (!key) {
      return refuse(
          errc::usage,
          "--key " + text + " is no public key: expected base64 of 32 bytes, as `postern keygen` prints it");
    }
    anchor.root.keys.push_back(*key);
  }
  std::sort(anchor.root.keys.begin(), anchor.root.keys.end());
  const std::string text = authority::encode_trust_anchor(anchor);
  if (const Result<authority::TrustAnchor> sound = authority::parse_trust_anchor(text); !sound) {
    return refuse(errc::usage, sound.error().context);
  }
  const Result<> made = create_file_durably(request.out, text + "\n", 0644);
  if (!made) return refuse(made.error());
  wire::Json ids = wire::Json::array();
  std::string lines;
  for (const wire::PublicKey& key : anchor.root.keys) {
    ids.push(wire::Json(key.id()));
    lines += "  " + key.id() + "\n";
  }
  wire::Json json = wire::Json::object({{"file", json_text(request.out)},
                                        {"keys", std::move(ids)},
                                        {"mesh", wire::Json(request.mesh)},
                                        {"threshold", wire::Json(request.threshold)}});
  return Answer{with_schema(std::move(json), "authority-root"),
                request.out + ": trust anchor of mesh " + request.mesh + ", " +
                    std::to_string(request.threshold) + " of " + count_words(anchor.root.keys.size(), "key") +
                    "\n" + lines};
}

struct VerifyRequest {
  std::string file;
  std::string root;
  std::string at;  // UTC instant; empty: now
};

Result<UtcSeconds> instant_of(const VerifyRequest& request) {
  if (request.at.empty()) return SystemClock().now_utc();
  if (const std::optional<UtcSeconds> at = parse_utc(request.at)) return *at;
  return fail(errc::usage, "--at " + request.at + " is not an instant like 2027-01-31T00:00:00Z");
}

// Keys of the root whose signature stands in the envelope and is good.
std::vector<std::string> good_signers(const authority::Envelope& envelope, const authority::Root& root) {
  std::vector<std::string> out;
  for (const wire::PublicKey& key : root.keys) {
    const std::string id = key.id();
    const bool good =
        std::any_of(envelope.signatures.begin(), envelope.signatures.end(), [&](const auto& entry) {
          return entry.key_id == id &&
                 wire::verify(key, wire::domain::snapshot, as_bytes(envelope.payload), entry.signature);
        });
    if (good) out.push_back(id);
  }
  return out;
}

Outcome verify(const VerifyRequest& request) {
  const Result<UtcSeconds> at = instant_of(request);
  if (!at) return refuse(at.error());
  const Result<std::string> root_text = read_file(request.root, kMaxRootBytes);
  if (!root_text) return refuse(root_text.error());
  const Result<authority::TrustAnchor> anchor = authority::parse_trust_anchor(*root_text);
  if (!anchor) return refuse(anchor.error().code, request.root + ": " + anchor.error().context);
  const Result<std::string> file = read_file(request.file, kMaxFileBytes);
  if (!file) return refuse(file.error());
  const Result<authority::Candidate> candidate =
      authority::verify_snapshot(*file, anchor->root, anchor->mesh);
  if (!candidate) return refuse(candidate.error().code, request.file + ": " + candidate.error().context);
  if (const Result<> fit = authority::may_adopt(*candidate, std::nullopt, *at); !fit) {
    return refuse(fit.error().code, request.file + ": " + fit.error().context);
  }
  const Result<authority::Envelope> envelope = authority::open_envelope(*file);
  if (!envelope) return refuse(envelope.error());

  wire::Json signers = wire::Json::array();
  std::string lines;
  for (const std::string& id : good_signers(*envelope, anchor->root)) {
    signers.push(wire::Json(id));
    lines += "signed   by " + id + "\n";
  }
  const authority::Snapshot& snapshot = candidate->snapshot;
  wire::Json json =
      wire::Json::object({{"expires", wire::Json(utc_text(snapshot.expires))},
                          {"file", json_text(request.file)},
                          {"hash", wire::Json(to_hex(candidate->hash))},
                          {"mesh", wire::Json(snapshot.mesh)},
                          {"serial", wire::Json(static_cast<std::int64_t>(snapshot.serial.value))},
                          {"signers", std::move(signers)},
                          {"threshold", wire::Json(anchor->root.threshold)}});
  return Answer{with_schema(std::move(json), "authority-verify"),
                request.file + ": good; the trusted root needs " +
                    count_words(anchor->root.threshold, "signature") + " of its " +
                    count_words(anchor->root.keys.size(), "key") + "\n" + lines +
                    snapshot_headline(snapshot, candidate->hash, *at)};
}

Outcome show(const std::string& path) {
  const Result<std::string> file = read_file(path, kMaxFileBytes);
  if (!file) return refuse(file.error());
  const Result<authority::Envelope> envelope = authority::open_envelope(*file);
  if (!envelope) return refuse(envelope.error().code, path + ": " + envelope.error().context);
  const Result<authority::Snapshot> snapshot = authority::parse_snapshot(envelope->payload);
  if (!snapshot) return refuse(snapshot.error().code, path + ": " + snapshot.error().context);
  const UtcSeconds now = SystemClock().now_utc();
  return Answer{std::string(envelope->payload),
                snapshot_headline(*snapshot, authority::payload_hash(envelope->payload), now) + "signed   " +
                    count_words(envelope->signatures.size(), "signature") +
                    " in the file, not checked here (postern authority verify)\n" +
                    snapshot_details(*snapshot, now)};
}

void add_root(CLI::App& authority, Command& chosen) {
  CLI::App* command = authority.add_subcommand("root", "Write the trust anchor that gateways start from");
  auto request = std::make_shared<RootRequest>();
  command->add_option("--mesh", request->mesh, "Name of the mesh")->required()->type_name("NAME");
  command
      ->add_option("--threshold", request->threshold, "How many of the keys must sign a snapshot; default: 1")
      ->type_name("N");
  command
      ->add_option("--key", request->keys,
                   "Public keys of the authority, base64, as `postern keygen` prints them")
      ->required()
      ->type_name("BASE64");
  command
      ->add_option("-o,--output", request->out,
                   "Write it here; an existing file is never replaced; default: root.json")
      ->type_name("FILE");
  command->callback(
      [&chosen, request] { chosen = [request](const Globals&) { return write_root(*request); }; });
}

void add_verify(CLI::App& authority, Command& chosen) {
  CLI::App* command = authority.add_subcommand(
      "verify", "Say who signed a snapshot, and whether a new gateway would take it (exit 5)");
  auto request = std::make_shared<VerifyRequest>();
  command->add_option("FILE", request->file, "The signed snapshot")->required()->type_name("");
  command->add_option("--root", request->root, "Trust anchor to judge by")->required()->type_name("FILE");
  command
      ->add_option("--at", request->at, "UTC instant to judge expiry at (2027-01-31T00:00:00Z); default: now")
      ->type_name("WHEN");
  command->callback([&chosen, request] { chosen = [request](const Globals&) { return verify(*request); }; });
}

void add_show(CLI::App& authority, Command& chosen) {
  CLI::App* command =
      authority.add_subcommand("show", "Put a snapshot into words; with --json print its payload");
  auto path = std::make_shared<std::string>();
  auto conflict = std::make_shared<bool>(false);
  auto* file =
      command->add_option("FILE", *path, "The snapshot; its signatures are not checked")->type_name("");
  auto* flag = command
                   ->add_flag("--conflict", *conflict,
                              "Instead of a file: the two snapshots of one serial that the running gateway "
                              "has seen")
                   ->excludes(file);
  command->callback([&chosen, path, conflict, file, flag] {
    if (file->count() + flag->count() == 0) throw CLI::RequiredError("FILE");
    chosen = [path, conflict](const Globals& globals) {
      return *conflict ? show_conflict(globals) : show(*path);
    };
  });
}

}  // namespace

void add_authority(CLI::App& app, Command& chosen) {
  CLI::App* authority =
      app.add_subcommand("authority", "Compile, test, sign, verify and show snapshots, offline");
  authority->group(group::authority);
  authority->require_subcommand(1);
  add_root(*authority, chosen);
  add_authority_compile(*authority, chosen);
  add_authority_test(*authority, chosen);
  add_authority_diff(*authority, chosen);
  add_authority_sign(*authority, chosen);
  add_verify(*authority, chosen);
  add_show(*authority, chosen);
  add_authority_recover(*authority, chosen);
  add_authority_rotate(*authority, chosen);
  add_authority_timestamp(*authority, chosen);
  add_authority_revoke(*authority, chosen);
}

}  // namespace postern::cli
