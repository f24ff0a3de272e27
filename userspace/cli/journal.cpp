// SPDX-License-Identifier: Apache-2.0
#include "cli/journal.h"

#include <CLI/CLI.hpp>

namespace postern::cli {

void add_journal(CLI::App& app, Command& chosen) {
  CLI::App* journal = app.add_subcommand(
      "journal", "Look into the gateway's journal, keep a copy of it elsewhere, mend it after a loss");
  journal->group(group::journal);
  journal->require_subcommand(1);
  add_journal_verify(*journal, chosen);
  add_journal_show(*journal, chosen);
  add_journal_export(*journal, chosen);
  add_journal_import(*journal, chosen);
  add_journal_repair(*journal, chosen);
  add_journal_adopt(*journal, chosen);
  add_journal_compact(*journal, chosen);
  add_journal_settle(*journal, chosen);
}

}  // namespace postern::cli
