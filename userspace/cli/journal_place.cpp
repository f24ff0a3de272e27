// SPDX-License-Identifier: Apache-2.0
#include "cli/journal_place.h"

#include "ledger/errors.h"
#include "ledger/posix_directory.h"

namespace postern::cli {

ledger::JournalOptions JournalPlace::options() const {
  ledger::JournalOptions options;
  options.directory = path;
  options.mesh = config.mesh;
  return options;
}

Result<wire::SecretKey> JournalPlace::node_key() const {
  return wire::SecretKey::load(config.state / "node.key");
}

std::string JournalPlace::foreign_base(const ledger::Scan& scan) const {
  const Result<wire::SecretKey> key = node_key();
  if (!scan.base || !key) return "";
  const Result<> own = ledger::refuse_foreign_base(*scan.base, key->public_key());
  return own ? "" : own.error().context;
}

Result<JournalPlace> find_journal(const Globals& globals) {
  Result<config::Config> config = config::load_config(globals.config);
  if (!config) return pass_on(std::move(config));
  std::filesystem::path path = config->state / "journal";
  return JournalPlace{std::move(*config), std::move(path)};
}

Result<HeldJournal> hold_journal(const JournalPlace& place) {
  HeldJournal held;
  Result<std::unique_ptr<ledger::Directory>> directory = ledger::PosixDirectory::open(place.path);
  if (!directory) return pass_on(std::move(directory));
  held.directory = std::move(*directory);
  Result<ledger::Lock> lock = ledger::Lock::take(*held.directory);
  if (lock) {
    held.lock = std::make_unique<ledger::Lock>(std::move(*lock));
  } else if (lock.error().code == ledger::errc::contended) {
    held.holder = lock.error().context;
  } else {
    return pass_on(std::move(lock));
  }
  return held;
}

}  // namespace postern::cli
