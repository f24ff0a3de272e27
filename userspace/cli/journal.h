// SPDX-License-Identifier: Apache-2.0
// The subcommands of `postern journal` (SPEC 7.6), a file each.
#pragma once

#include "cli/command.h"

namespace postern::cli {

void add_journal_verify(CLI::App& journal, Command& chosen);
void add_journal_show(CLI::App& journal, Command& chosen);
void add_journal_export(CLI::App& journal, Command& chosen);
void add_journal_import(CLI::App& journal, Command& chosen);
void add_journal_repair(CLI::App& journal, Command& chosen);
void add_journal_adopt(CLI::App& journal, Command& chosen);
void add_journal_compact(CLI::App& journal, Command& chosen);
void add_journal_settle(CLI::App& journal, Command& chosen);

}  // namespace postern::cli
