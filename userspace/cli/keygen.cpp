// SPDX-License-Identifier: Apache-2.0
// postern keygen: key files for authorities and gateways.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/errors.h"
#include "cli/passphrase.h"
#include "wire/key_file.h"

namespace postern::cli {
namespace {

Answer key_answer(const std::string& path, const wire::PublicKey& key, bool created) {
  wire::Json json = wire::Json::object({{"created", wire::Json(created)},
                                        {"file", json_text(path)},
                                        {"id", wire::Json(key.id())},
                                        {"public", wire::Json(key.text())}});
  return {with_schema(std::move(json), "key"),
          "secret key  " + path + (created ? " (new; keep it secret, there is no second copy)" : "") +
              "\npublic key  " + key.text() + "\nkey id      " + key.id() + "\n"};
}

struct KeygenRequest {
  std::string fresh;
  std::string existing;
  bool with_passphrase = false;
  PassphraseRequest passphrase;
};

Outcome generate(const KeygenRequest& request) {
  const wire::SecretKey key = wire::SecretKey::generate();
  if (request.with_passphrase || request.passphrase.fd) {
    const Result<wire::Passphrase> passphrase = read_new_passphrase(request.passphrase);
    if (!passphrase) return refuse(passphrase.error());
    if (const Result<> saved = wire::save_sealed_key(key, request.fresh, *passphrase); !saved)
      return refuse(saved.error());
  } else if (const Result<> saved = key.save(request.fresh); !saved) {
    return refuse(saved.error());
  }
  return key_answer(request.fresh, key.public_key(), true);
}

Outcome show_public(const KeygenRequest& request) {
  const Result<wire::SecretKey> key =
      wire::load_key_file(request.existing, ask_for(request.passphrase, request.existing));
  if (!key) return refuse(key.error());
  return key_answer(request.existing, key->public_key(), false);
}

}  // namespace

void add_keygen(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("keygen", "Make an Ed25519 key file, or show the public key of one");
  command->group(group::set_up);
  auto request = std::make_shared<KeygenRequest>();
  command
      ->add_option("FILE", request->fresh, "Key file to make, mode 0600; an existing file is never replaced")
      ->type_name("");
  command
      ->add_option("--public", request->existing,
                   "Make nothing: print the public key and id of this key file")
      ->type_name("FILE");
  command->add_flag("--passphrase", request->with_passphrase,
                    "Protect the new key with a passphrase: for an authority's keys, not for a gateway's");
  add_passphrase_option(*command, request->passphrase);
  command->callback([&chosen, request] {
    chosen = [request](const Globals&) -> Outcome {
      if (request->fresh.empty() == request->existing.empty()) {
        return refuse(
            errc::usage,
            "keygen takes one of the two: FILE, a key file to make, or --public FILE, one to look at");
      }
      return request->fresh.empty() ? show_public(*request) : generate(*request);
    };
  });
}

}  // namespace postern::cli
