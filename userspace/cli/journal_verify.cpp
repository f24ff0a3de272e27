// SPDX-License-Identifier: Apache-2.0
// postern journal verify: reads every record, checks every signature, and changes nothing. What an agent
// writes meanwhile is not final, so with one running the end is the agent's to tell (`postern status`).
#include <CLI/CLI.hpp>

#include "cli/journal.h"
#include "cli/journal_place.h"
#include "cli/stream_audit.h"
#include "cli/wording.h"
#include "ledger/scan.h"

namespace postern::cli {
namespace {

using ledger::Condition;
using ledger::Scan;
using wire::Json;

constexpr std::size_t kLabelColumn = 14;

std::string line(std::string_view label, const std::string& text) {
  std::string out(label);
  out.resize(kLabelColumn, ' ');
  return out + text + "\n";
}

bool may_be_unfinished(const Scan& scan, const HeldJournal& held) {
  const bool end = scan.condition == Condition::torn || scan.condition == Condition::suspect;
  return !held.lock && end;
}

Json gaps_json(const std::vector<ledger::Gap>& gaps) {
  Json list = Json::array();
  for (const ledger::Gap& gap : gaps) {
    list.push(Json::object({{"first", Json::decimal(gap.first.value)},
                            {"last", Json::decimal(gap.last.value)},
                            {"open", gap.open}}));
  }
  return list;
}

Json findings_json(const std::vector<ledger::Finding>& findings) {
  Json list = Json::array();
  for (const ledger::Finding& finding : findings) {
    list.push(Json::object({{"class", finding.condition},
                            {"first_unproven", Json::decimal(finding.first_unproven.value)},
                            {"given_up", finding.given_up},
                            {"kept", Json::decimal(finding.kept)},
                            {"lseq", Json::decimal(finding.lseq.value)}}));
  }
  return list;
}

// What verify says, and what it is said of.
struct Verdict {
  const Scan& scan;
  const HeldJournal& held;
  const StreamAudit& audit;
  std::string foreign_base;
};

Json scan_json(const Verdict& verdict) {
  const auto& [scan, held, audit, foreign_base] = verdict;
  Json json = Json::object({{"base", nullptr},
                            {"base_trouble", json_text(scan.base_trouble)},
                            {"bytes", Json::decimal(scan.bytes)},
                            {"clean_stop", scan.clean_stop},
                            {"condition", ledger::condition_name(scan.condition)},
                            {"conclusive", !may_be_unfinished(scan, held)},
                            {"events", Json::decimal(scan.events)},
                            {"finding", json_text(scan.finding)},
                            {"findings", findings_json(scan.findings)},
                            {"first_bad", nullptr},
                            {"foreign_base", json_text(foreign_base)},
                            {"foreign_machine", scan.foreign_machine},
                            {"forks", audit.forks_json()},
                            {"gaps", gaps_json(scan.gaps)},
                            {"head", Json::decimal(scan.head.value)},
                            {"head_hash", to_hex(scan.head_hash)},
                            {"journal", to_hex(scan.journal)},
                            {"kept_events", Json::decimal(scan.kept_events)},
                            {"last_recovery", audit.last_recovery()},
                            {"lock_holder", nullptr},
                            {"path", json_text(scan.path)},
                            {"proven", Json::decimal(scan.proven.value)},
                            {"records", Json::decimal(scan.records)},
                            {"remedy", json_text(scan.remedy)},
                            {"segments", static_cast<std::int64_t>(scan.segments.size())},
                            {"spare", scan.spare},
                            {"streams", static_cast<std::int64_t>(audit.streams())},
                            {"torn", Json::decimal(scan.torn_records)},
                            {"unproven", Json::decimal(scan.unproven_records)}});
  if (scan.base) json.set("base", Json::decimal(scan.base->number));
  if (scan.first_bad) json.set("first_bad", Json::decimal(scan.first_bad->value));
  if (!held.lock) json.set("lock_holder", json_text(held.holder));
  Json strays = Json::array();
  for (const std::string& name : scan.strays)
    strays.push(json_text(name));
  json.set("strays", std::move(strays));
  return json;
}

std::string gap_lines(const Scan& scan) {
  std::string out;
  for (const ledger::Gap& gap : scan.gaps) {
    out +=
        line("gap", "records " + std::to_string(gap.first.value) + " to " + std::to_string(gap.last.value) +
                        (gap.open ? " are lost, and nobody has given them back yet" : ", dealt with"));
  }
  return out;
}

std::string page(const Verdict& verdict) {
  const auto& [scan, held, audit, foreign_base] = verdict;
  std::string out = "journal " + to_hex(scan.journal) + " in " + scan.path + ": ";
  out +=
      may_be_unfinished(scan, held) ? "being written\n" : std::string(condition_name(scan.condition)) + "\n";
  if (!held.lock) out += line("in use", held.holder + "; looked at without the lock");
  if (!scan.finding.empty()) out += line("finding", scan.finding);
  if (!scan.remedy.empty()) out += line("remedy", scan.remedy);
  out += line("records", std::to_string(scan.records) + " whole, " + count_words(scan.events, "event") +
                             " among them; all signatures are good");
  out += line("head", "record " + std::to_string(scan.head.value) + ", proven on the disk up to " +
                          std::to_string(scan.proven.value) +
                          (scan.clean_stop ? "; ends with a clean stop" : ""));
  if (scan.unproven_records != 0) out += line("unproven", count_words(scan.unproven_records, "record"));
  if (scan.torn_records != 0)
    out += line("torn", count_words(scan.torn_records, "record") + ", never acknowledged");
  out += line("last start", "found it " + audit.last_recovery());
  if (scan.base)
    out +=
        line("base", std::to_string(scan.base->number) + ", keeps " + count_words(scan.kept_events, "event"));
  if (!scan.base_trouble.empty()) out += line("passed over", scan.base_trouble);
  out += gap_lines(scan);
  for (const ledger::Finding& finding : scan.findings)
    out += line(finding.given_up ? "given up" : "unsettled",
                "a start found it " + finding.condition + " at record " +
                    std::to_string(finding.first_unproven.value) +
                    (finding.given_up ? "; an operator lets it spend, claims wait for a sync round" : ""));
  out += audit.fork_lines();
  out += line("streams", std::to_string(audit.streams()));
  out += line("size", size_words(scan.bytes) + " in " + count_words(scan.segments.size(), "segment") +
                          (scan.spare ? ", with a spare" : ", without a spare: nothing can be journaled"));
  for (const std::string& name : scan.strays)
    out += line("stray", name + " is none of the journal's files");
  if (!foreign_base.empty()) out += line("base", foreign_base);
  if (scan.foreign_machine) out += line("machine", "written on another machine than this one");
  return out;
}

Outcome verify(const Globals& globals) {
  const Result<JournalPlace> place = find_journal(globals);
  if (!place) return refuse(place.error());
  Result<HeldJournal> held = hold_journal(*place);
  if (!held) return refuse(held.error());
  StreamAudit audit(place->config.mesh);
  const Result<Scan> scan = ledger::scan_journal(
      *held->directory, [&audit](const ledger::Record& record) { return audit.add(record); });
  if (!scan) return refuse(scan.error());
  const bool lost = scan->condition != Condition::clean && scan->condition != Condition::torn;
  const Verdict verdict{*scan, *held, audit, place->foreign_base(*scan)};
  const bool bad =
      (lost && !may_be_unfinished(*scan, *held)) || audit.forked() || !verdict.foreign_base.empty();
  return Answer{with_schema(scan_json(verdict), "journal-verify"), page(verdict),
                bad ? exit_code(ErrorKind::failure) : 0};
}

}  // namespace

void add_journal_verify(CLI::App& journal, Command& chosen) {
  CLI::App* command = journal.add_subcommand(
      "verify",
      "Read every record and check every signature; exit 1 when something acknowledged may be lost");
  command->callback([&chosen] { chosen = [](const Globals& globals) { return verify(globals); }; });
}

}  // namespace postern::cli
