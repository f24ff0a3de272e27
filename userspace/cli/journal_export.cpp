// SPDX-License-Identifier: Apache-2.0
// postern journal export and import: the one way to back a journal up and to bring it back. A copied
// directory would go on with the same stream from an older state; an import never does.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/archive_file.h"
#include "cli/journal.h"
#include "cli/journal_place.h"
#include "cli/live_export.h"
#include "cli/wording.h"
#include "core/clock.h"
#include "ledger/errors.h"
#include "ledger/export.h"
#include "ledger/import.h"

namespace postern::cli {
namespace {

using wire::Json;

std::string totals_words(const ledger::ArchiveTotals& totals) {
  return count_words(totals.events, "event") + " and " + count_words(totals.files, "file") + ", " +
         size_words(totals.bytes);
}

Json totals_json(const ledger::ArchiveTotals& totals, const std::filesystem::path& file) {
  return Json::object({{"bytes", Json::decimal(totals.bytes)},
                       {"events", Json::decimal(totals.events)},
                       {"file", json_text(file.native())},
                       {"files", Json::decimal(totals.files)}});
}

using Exported = tl::expected<ledger::ArchiveTotals, Refusal>;

// Of a journal that somebody writes, the agent has to tell what is durable.
Exported export_it(const Globals& globals, const HeldJournal& held, const ledger::ExportOrder& order,
                   const ledger::ArchiveWriter::Put& put) {
  if (held.lock) {
    const Result<ledger::ArchiveTotals> totals = ledger::export_journal(*held.directory, order, put);
    return totals ? Exported(*totals) : Exported(refuse(totals.error()));
  }
  Exported totals = export_live(globals, *held.directory, order, put);
  if (!totals && totals.error().exit == exit_code(ErrorKind::unreachable))
    return refuse(ledger::errc::contended, held.holder + ", and " + totals.error().message);
  return totals;
}

Outcome export_to(const Globals& globals, const std::filesystem::path& file) {
  const Result<JournalPlace> place = find_journal(globals);
  if (!place) return refuse(place.error());
  const Result<wire::SecretKey> key = place->node_key();
  if (!key) return refuse(key.error());
  Result<HeldJournal> held = hold_journal(*place);
  if (!held) return refuse(held.error());
  Result<ArchiveFileWriter> writer = ArchiveFileWriter::create(file);
  if (!writer) return refuse(writer.error());
  const Exported totals = export_it(globals, *held, {*key, place->config.mesh, SystemClock().wall_ms()},
                                    [&writer](std::string_view line) { return writer->put(line); });
  if (!totals) return tl::unexpected<Refusal>(totals.error());
  if (const Result<> published = writer->publish(); !published) return refuse(published.error());
  return Answer{with_schema(totals_json(*totals, file), "journal-export"),
                file.string() + ": " + totals_words(*totals) +
                    "\nThe node key is not in it: keep a copy of node.key too, in a safe place.\n"};
}

Outcome import_from(const Globals& globals, const std::filesystem::path& file) {
  const Result<JournalPlace> place = find_journal(globals);
  if (!place) return refuse(place.error());
  const Result<wire::SecretKey> key = place->node_key();
  if (!key)
    return refuse(key.error().code, key.error().context +
                                        "; an archive comes back under the key of the node that wrote it: "
                                        "put that node.key in place first");
  Result<ArchiveFileReader> reader = ArchiveFileReader::open(file);
  if (!reader) return refuse(reader.error());
  const SystemClock clock;
  const Result<ledger::ImportReport> report = ledger::import_journal(
      place->options(), {*key, clock, place->config.mesh}, [&reader] { return reader->next(); });
  if (!report) return refuse(report.error().code, file.string() + ": " + report.error().context);
  Json json = totals_json(report->totals, file);
  json.set("from_journal", to_hex(report->from.journal));
  json.set("journal", to_hex(report->journal));
  json.set("path", json_text(place->path.native()));
  json.set("stream", to_hex(report->stream));
  return Answer{with_schema(std::move(json), "journal-import"),
                place->path.string() + " is journal " + to_hex(report->journal) + ", out of " +
                    file.string() + ": " + totals_words(report->totals) + "\nIt goes on with a new stream, " +
                    to_hex(report->stream) +
                    "; reserves in it count as spent, claims are to be acquired anew.\nIf this host still "
                    "serves under the old journal, take that down first: posternd --detach\n"};
}

using Action = Outcome (*)(const Globals&, const std::filesystem::path&);

void add_with_file(CLI::App& journal, Command& chosen, const char* name, const char* help,
                   const char* file_help, Action action) {
  CLI::App* command = journal.add_subcommand(name, help);
  auto file = std::make_shared<std::string>();
  command->add_option("file", *file, file_help)->type_name("FILE")->required();
  command->callback([&chosen, file, action] {
    chosen = [file, action](const Globals& globals) { return action(globals, *file); };
  });
}

}  // namespace

void add_journal_export(CLI::App& journal, Command& chosen) {
  add_with_file(journal, chosen, "export", "Write the journal and the snapshots beside it to one signed file",
                "The archive to make; never replaced", export_to);
}

void add_journal_import(CLI::App& journal, Command& chosen) {
  add_with_file(
      journal, chosen, "import",
      "Make a new journal out of an archive: a new stream, reserves spent, claims to be acquired anew",
      "The archive to read; taken whole or not at all", import_from);
}

}  // namespace postern::cli
