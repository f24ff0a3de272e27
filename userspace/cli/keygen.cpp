// SPDX-License-Identifier: Apache-2.0
// postern keygen: key files for authorities and gateways.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.h"
#include "cli/errors.h"
#include "wire/sign.h"

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

Outcome generate(const std::string& path) {
  const wire::SecretKey key = wire::SecretKey::generate();
  if (const Result<> saved = key.save(path); !saved) return refuse(saved.error());
  return key_answer(path, key.public_key(), true);
}

Outcome show_public(const std::string& path) {
  const Result<wire::SecretKey> key = wire::SecretKey::load(path);
  if (!key) return refuse(key.error());
  return key_answer(path, key->public_key(), false);
}

}  // namespace

void add_keygen(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand("keygen", "Make an Ed25519 key file, or show the public key of one");
  command->group(group::set_up);
  struct Paths {
    std::string fresh;
    std::string existing;
  };
  auto paths = std::make_shared<Paths>();
  command->add_option("FILE", paths->fresh, "Key file to make, mode 0600; an existing file is never replaced")
      ->type_name("");
  command
      ->add_option("--public", paths->existing, "Make nothing: print the public key and id of this key file")
      ->type_name("FILE");
  command->callback([&chosen, paths] {
    chosen = [paths](const Globals&) -> Outcome {
      if (paths->fresh.empty() == paths->existing.empty()) {
        return refuse(
            errc::usage,
            "keygen takes one of the two: FILE, a key file to make, or --public FILE, one to look at");
      }
      return paths->fresh.empty() ? show_public(paths->existing) : generate(paths->fresh);
    };
  });
}

}  // namespace postern::cli
