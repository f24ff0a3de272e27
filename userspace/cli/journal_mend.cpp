// SPDX-License-Identifier: Apache-2.0
// postern journal repair and adopt: what changes a journal that no agent has open; compact and settle: what
// the agent changes when told to.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/connection.h"
#include "cli/errors.h"
#include "cli/journal.h"
#include "cli/journal_place.h"
#include "cli/reply.h"
#include "cli/wording.h"
#include "core/clock.h"
#include "ledger/event_rules.h"
#include "ledger/machine.h"
#include "ledger/repair.h"
#include "ledger/summary.h"

namespace postern::cli {
namespace {

using wire::Json;

struct Loss {
  std::uint64_t from = 0;
  std::uint64_t known_head = 0;
};

std::string gap_words(const ledger::RepairReport& report) {
  std::string out;
  for (const ledger::Gap& gap : report.gaps) {
    out += "lost        records " + std::to_string(gap.first.value) + " to " +
           std::to_string(gap.last.value) + "\n";
  }
  return out;
}

Outcome repair(const Globals& globals, const Loss& loss) {
  const Result<JournalPlace> place = find_journal(globals);
  if (!place) return refuse(place.error());
  const Result<wire::SecretKey> key = place->node_key();
  if (!key) return refuse(key.error());
  ledger::EventSummary summary(ledger::compaction_rules(), key->public_key());
  const Result<ledger::RepairReport> report = ledger::repair_journal(
      place->options(), {*key, summary, SystemClock().wall_ms(), Lseq(loss.from), Lseq(loss.known_head)});
  if (!report) return refuse(report.error());
  Json gaps = Json::array();
  for (const ledger::Gap& gap : report->gaps) {
    gaps.push(
        Json::object({{"first", Json::decimal(gap.first.value)}, {"last", Json::decimal(gap.last.value)}}));
  }
  Json json = Json::object({{"base", Json::decimal(report->base)},
                            {"gaps", std::move(gaps)},
                            {"path", json_text(place->path.native())},
                            {"rescued", Json::decimal(report->rescued)}});
  return Answer{
      with_schema(std::move(json), "journal-repair"),
      gap_words(*report) + "rescued     " + count_words(report->rescued, "event") +
          " behind the first loss\nThe journal opens again, with a new stream. Until peers have given "
          "back what is lost, this gateway neither claims nor spends.\n"};
}

Outcome adopt(const Globals& globals) {
  const Result<JournalPlace> place = find_journal(globals);
  if (!place) return refuse(place.error());
  ledger::JournalOptions options = place->options();
  const Result<wire::SecretKey> key = place->node_key();
  if (!key) return refuse(key.error());
  options.node = key->public_key();
  const Result<Id128> here = ledger::machine_id();
  if (!here) return refuse(here.error());
  Id128 from{};
  options.before_change = [&](const ledger::JournalEnd& end) -> Result<ledger::Resumption> {
    from = end.machine;
    if (end.machine == *here) {
      return fail(errc::nothing_to_adopt, place->path.string() + " was written on this machine (" +
                                              to_hex(*here) + "); nothing was changed");
    }
    return ledger::Resumption::adopted;
  };
  Result<std::unique_ptr<ledger::Journal>> journal = ledger::Journal::open(options, {});
  if (!journal) return refuse(journal.error());
  const Id128 id = (*journal)->status().journal;
  if (const Result<> closed = (*journal)->close(); !closed) return refuse(closed.error());
  Json json = Json::object({{"from_machine", to_hex(from)},
                            {"journal", to_hex(id)},
                            {"machine", to_hex(*here)},
                            {"path", json_text(place->path.native())}});
  return Answer{
      with_schema(std::move(json), "journal-adopt"),
      "journal " + to_hex(id) + " of machine " + to_hex(from) + " is now this machine's, " + to_hex(*here) +
          "\nThe next start opens a new stream. Never let the other machine serve from it again.\n"};
}

Outcome compact(const Globals& globals) {
  const tl::expected<wire::Json, Refusal> result = ask_agent(globals, "journal-compact");
  if (!result) return tl::unexpected<Refusal>(result.error());
  const Reply report(*result);
  return Answer{wire::encode_canonical(*result),
                report.flag("compacted") ? "base " + report.text("base") + " stands for " +
                                               count_words(report.count("records"), "record") + ", keeps " +
                                               count_words(report.count("kept_events"), "event") + "\n"
                                         : "nothing to compact: no segment was sealed since the last time\n"};
}

Outcome settle(const Globals& globals) {
  const tl::expected<wire::Json, Refusal> result = ask_agent(globals, "journal-settle");
  if (!result) return tl::unexpected<Refusal>(result.error());
  const Reply report(*result);
  return Answer{wire::encode_canonical(*result),
                "record " + report.text("record") + ": what may be missing up to record " +
                    report.text("through") + " is given up (" + report.text("given_up") +
                    ")\nThis gateway spends from its grants again; what it had reserved before counts as "
                    "spent. It does not claim before a sync round with the peers.\n"};
}

}  // namespace

void add_journal_repair(CLI::App& journal, Command& chosen) {
  CLI::App* command = journal.add_subcommand(
      "repair",
      "Have a damaged journal open again without what it lost; the loss is named and must be accepted");
  auto loss = std::make_shared<Loss>();
  command
      ->add_option("--accept-loss-from", loss->from,
                   "The first record that is bad or missing, as `postern journal verify` names it")
      ->type_name("RECORD")
      ->required();
  command
      ->add_option(
          "--known-head", loss->known_head,
          "The last record that others were told of, where posternd's refusal names one: its kernel pin. "
          "Default: as far as the files show")
      ->type_name("RECORD");
  command->callback(
      [&chosen, loss] { chosen = [loss](const Globals& globals) { return repair(globals, *loss); }; });
}

void add_journal_adopt(CLI::App& journal, Command& chosen) {
  CLI::App* command = journal.add_subcommand(
      "adopt",
      "Take over a journal that another machine wrote and will never write again; opens a new stream");
  command->callback([&chosen] { chosen = [](const Globals& globals) { return adopt(globals); }; });
}

void add_journal_compact(CLI::App& journal, Command& chosen) {
  CLI::App* command =
      journal.add_subcommand("compact", "Have the agent replace sealed segments by a signed base now");
  command->callback([&chosen] { chosen = [](const Globals& globals) { return compact(globals); }; });
}

void add_journal_settle(CLI::App& journal, Command& chosen) {
  CLI::App* command = journal.add_subcommand(
      "settle",
      "Give up what a doubtful start may have lost: journaled for good; the gateway spends again, and claims "
      "only after a sync round");
  command->callback([&chosen] { chosen = [](const Globals& globals) { return settle(globals); }; });
}

}  // namespace postern::cli
