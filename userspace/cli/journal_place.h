// SPDX-License-Identifier: Apache-2.0
// The journal that the config names, for the commands that work on its files.
#pragma once

#include <memory>
#include <string>

#include "cli/command.h"
#include "config/config.h"
#include "ledger/journal.h"
#include "ledger/lock.h"
#include "ledger/scan.h"
#include "wire/sign.h"

namespace postern::cli {

struct JournalPlace {
  config::Config config;
  std::filesystem::path path;

  // For opening it as its one writer.
  ledger::JournalOptions options() const;
  Result<wire::SecretKey> node_key() const;
  // Why the base in force is not this node's; "" when it is, or nobody can tell.
  std::string foreign_base(const ledger::Scan& scan) const;
};

Result<JournalPlace> find_journal(const Globals& globals);

// The journal held still, or not: a reader may go on without the lock and has to say so.
struct HeldJournal {
  std::unique_ptr<ledger::Directory> directory;
  std::unique_ptr<ledger::Lock> lock;  // null: somebody else writes
  std::string holder;                  // what is known of him then
};

// Takes the lock if it is free. Changes nothing.
Result<HeldJournal> hold_journal(const JournalPlace& place);

}  // namespace postern::cli
