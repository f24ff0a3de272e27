// SPDX-License-Identifier: Apache-2.0
#include "cli/checks.h"
#include "cli/journal_place.h"
#include "ledger/scan.h"

namespace postern::cli {

void check_journal(const config::Config& config, Checks& checks) {
  const JournalPlace place{config, config.state / "journal"};
  const Result<HeldJournal> held = hold_journal(place);
  if (!held) {
    checks.push_back(wire::check_fail("journal", held.error().context, "see what it names"));
    return;
  }
  if (!held->lock) {
    checks.push_back(
        wire::check_warn("journal", held->holder, "ask again once that process answers or is gone"));
    return;
  }
  const Result<ledger::Scan> scan = ledger::scan_journal(*held->directory, {});
  if (!scan) {
    checks.push_back(
        wire::check_fail("journal", scan.error().context, "nothing was changed; see what it names"));
    return;
  }
  const std::string found = std::string(condition_name(scan->condition)) + ", ends at record " +
                            std::to_string(scan->head.value) +
                            (scan->clean_stop ? " with a clean stop" : " without a clean stop");
  const std::string foreign_base = place.foreign_base(*scan);
  if (!foreign_base.empty()) {
    checks.push_back(wire::check_fail("journal", foreign_base, "see what it names; posternd does not start"));
  } else if (!scan->remedy.empty()) {
    checks.push_back(wire::check_fail("journal", found + "; " + scan->finding, scan->remedy));
  } else if (scan->foreign_machine) {
    checks.push_back(wire::check_fail("journal", found + ", and was written on another machine",
                                      "if that one will never serve from it again: `postern journal adopt`"));
  } else if (scan->condition == ledger::Condition::suspect || !scan->base_trouble.empty()) {
    checks.push_back(wire::check_warn("journal", found + "; " + scan->finding + scan->base_trouble,
                                      "`postern journal verify` tells more; posternd starts on it"));
  } else {
    checks.push_back(wire::check_ok("journal", found));
  }
}

}  // namespace postern::cli
