// SPDX-License-Identifier: Apache-2.0
// Where a passphrase comes from: the terminal, without echo, or a file descriptor. Never an argument or the
// environment, which other processes can read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"
#include "wire/key_file.h"

namespace CLI {
class App;
}

namespace postern::cli {

struct PassphraseRequest {
  std::optional<int> fd;  // --passphrase-fd; none: the terminal
};

void add_passphrase_option(CLI::App& command, PassphraseRequest& request);

// One line, without its end. `prompt` is shown on the terminal.
Result<wire::Passphrase> read_passphrase(const PassphraseRequest& request, std::string_view prompt);
// The same for a new passphrase: the terminal is asked twice.
Result<wire::Passphrase> read_new_passphrase(const PassphraseRequest& request);

wire::AskPassphrase ask_for(const PassphraseRequest& request, const std::string& key_file);

}  // namespace postern::cli
