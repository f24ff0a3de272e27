// SPDX-License-Identifier: Apache-2.0
#include "ledger/machine.h"

#include <filesystem>

#include "core/file.h"
#include "ledger/errors.h"

namespace postern::ledger {

Result<Id128> machine_id() {
  constexpr const char* kPath = "/etc/machine-id";
  std::error_code ignored;  // "cannot tell" goes on to the read, which says why
  if (std::filesystem::status(kPath, ignored).type() == std::filesystem::file_type::not_found) return Id128{};
  Result<std::string> text = read_file(kPath, 64);
  if (!text) return pass_on(std::move(text));
  const std::optional<Id128> id = array_from_hex<16>(text->substr(0, text->find('\n')));
  if (!id) {
    return fail(errc::foreign_machine,
                std::string(kPath) + " holds \"" + text->substr(0, 40) +
                    "\", expected 32 lower-case hex digits; run systemd-machine-id-setup");
  }
  return *id;
}

}  // namespace postern::ledger
