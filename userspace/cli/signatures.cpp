// SPDX-License-Identifier: Apache-2.0
#include "cli/signatures.h"

#include <CLI/CLI.hpp>

#include "authority/envelope.h"

namespace postern::cli {

void add_signers_options(CLI::App& command, SignersRequest& request) {
  command.add_option("--key", request.keys, "Key files to sign with; default: none yet")
      ->type_name("KEYFILE");
  add_passphrase_option(command, request.passphrase);
}

Result<std::string> seal_signed(std::string_view payload, const SignersRequest& request,
                                std::string_view domain) {
  std::string sealed = authority::seal_envelope({}, payload);
  for (const std::string& path : request.keys) {
    const Result<wire::SecretKey> key = wire::load_key_file(path, ask_for(request.passphrase, path));
    if (!key) return fail(key.error().code, key.error().context);
    Result<std::string> more = authority::add_signature(sealed, *key, domain);
    if (!more) return more;
    sealed = std::move(*more);
  }
  return sealed;
}

}  // namespace postern::cli
