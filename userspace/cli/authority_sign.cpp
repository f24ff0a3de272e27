// SPDX-License-Identifier: Apache-2.0
// postern authority sign: one more signature on a snapshot, a timestamp or a revocation. Several people sign
// one after another, each with the file that the one before handed on.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "cli/authority_documents.h"
#include "cli/command.h"
#include "cli/errors.h"
#include "cli/passphrase.h"
#include "cli/snapshot_file.h"
#include "cli/snapshot_summary.h"
#include "cli/wording.h"
#include "core/clock.h"
#include "core/file.h"

namespace postern::cli {
namespace {

struct SignRequest {
  std::string file;
  std::string key;
  std::string out;  // empty: in place
  PassphraseRequest passphrase;
};

std::size_t signatures_in(const std::string& file) {
  const Result<authority::Envelope> envelope = authority::open_envelope(file);
  return envelope ? envelope->signatures.size() : 0;
}

bool has_signed(const authority::Envelope& envelope, const std::string& id) {
  return std::any_of(envelope.signatures.begin(), envelope.signatures.end(),
                     [&id](const authority::EnvelopeSignature& entry) { return entry.key_id == id; });
}

Outcome sign(const SignRequest& request) {
  const Result<std::string> file = read_file(request.file, kMaxSnapshotFileBytes);
  if (!file) return refuse(file.error());
  const Result<authority::Envelope> envelope = authority::open_envelope(*file);
  if (!envelope) return refuse(envelope.error().code, request.file + ": " + envelope.error().context);
  const Result<Document> document = read_document(envelope->payload);
  if (!document) {
    return refuse(document.error().code,
                  request.file + ": " + document.error().context + " (not signed: no gateway would take it)");
  }
  const Result<wire::SecretKey> key =
      wire::load_key_file(request.key, ask_for(request.passphrase, request.key));
  if (!key) return refuse(key.error());
  const std::string id = key->public_key().id();
  const bool again = has_signed(*envelope, id);
  const Result<std::string> sealed = authority::add_signature(*file, *key, document->domain);
  if (!sealed) return refuse(sealed.error());
  const std::string& out = request.out.empty() ? request.file : request.out;
  if (const Result<> written = write_file_durably(out, *sealed, 0644); !written)
    return refuse(written.error());
  const std::size_t signatures = signatures_in(*sealed);
  wire::Json json =
      wire::Json::object({{"file", json_text(out)},
                          {"hash", wire::Json(to_hex(authority::payload_hash(envelope->payload)))},
                          {"key", wire::Json(id)},
                          {"signatures", wire::Json(static_cast<std::int64_t>(signatures))},
                          {"signed_before", wire::Json(again)}});
  return Answer{with_schema(std::move(json), "authority-sign"),
                document->headline + out + ": signed by " + id + ", " + count_words(signatures, "signature") +
                    " in all" + (again ? "; this key had signed it before, so nothing was added\n" : "\n")};
}

}  // namespace

void add_authority_sign(CLI::App& authority, Command& chosen) {
  CLI::App* command =
      authority.add_subcommand("sign", "Add a signature to a compiled snapshot, a timestamp or a revocation");
  auto request = std::make_shared<SignRequest>();
  command->add_option("FILE", request->file, "The document, signed by others already or not")
      ->required()
      ->type_name("");
  command->add_option("--key", request->key, "Key file to sign with (postern keygen)")
      ->required()
      ->type_name("KEYFILE");
  command->add_option("-o,--output", request->out, "Write the result here; default: replace FILE")
      ->type_name("FILE");
  add_passphrase_option(*command, request->passphrase);
  command->callback([&chosen, request] { chosen = [request](const Globals&) { return sign(*request); }; });
}

}  // namespace postern::cli
