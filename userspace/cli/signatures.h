// SPDX-License-Identifier: Apache-2.0
// The signatures that a document gets when it is made: of one key file after another.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/passphrase.h"
#include "core/result.h"

namespace CLI {
class App;
}

namespace postern::cli {

struct SignersRequest {
  std::vector<std::string> keys;  // paths of key files; none: others sign later
  PassphraseRequest passphrase;
};

void add_signers_options(CLI::App& command, SignersRequest& request);

// `payload` in an envelope, signed in this domain by all of them.
Result<std::string> seal_signed(std::string_view payload, const SignersRequest& request,
                                std::string_view domain);

}  // namespace postern::cli
