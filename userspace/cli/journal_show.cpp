// SPDX-License-Identifier: Apache-2.0
// postern journal show: events as their nodes signed them, page by page. From the agent where one runs, which
// shows what is durable and nothing else; otherwise from the files.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/connection.h"
#include "cli/errors.h"
#include "cli/journal.h"
#include "cli/journal_place.h"
#include "cli/reply.h"
#include "cli/table.h"
#include "cli/wording.h"
#include "core/utc.h"
#include "ledger/cursor_text.h"
#include "ledger/event.h"
#include "ledger/scan.h"

namespace postern::cli {
namespace {

using wire::Json;

constexpr std::int64_t kMaxEvents = 10'000;
constexpr std::size_t kShortStream = 8;

struct Question {
  std::uint64_t from = 1;
  std::string cursor;  // of a page before; "" when `from` counts
  std::int64_t limit = 1000;
};

struct ShownEvent {
  Lseq lseq;
  std::string payload;
};

struct ShownPage {
  std::vector<ShownEvent> events;
  ledger::Cursor next;
  bool at_end = false;
  bool reset = false;  // the cursor led nowhere: this is the beginning
  std::string source;  // "agent" or "files"
};

Result<ledger::Cursor> cursor_of(const Question& question) {
  if (question.cursor.empty()) return ledger::Cursor{{}, Lseq(question.from), {}};
  Result<ledger::Cursor> cursor = ledger::parse_cursor(question.cursor);
  if (!cursor) return pass_on(std::move(cursor), "--cursor");
  return cursor;
}

// Whether the record before the cursor's is still the one that its reader had.
Result<bool> leads_on(const HeldJournal& held, const ledger::Cursor& cursor) {
  if (cursor.hash == Hash256{}) return true;
  bool found = false;
  const Result<ledger::Scan> scan =
      ledger::scan_journal(*held.directory, [&](const ledger::Record& record) -> Result<> {
        found = found || (record.lseq.next() == cursor.next && record.hash == cursor.hash);
        return {};
      });
  if (!scan) return tl::unexpected(scan.error());
  return found && scan->journal == cursor.journal;
}

Result<ShownPage> read_files(const HeldJournal& held, const Question& question) {
  ShownPage page;
  page.source = "files";
  const Result<ledger::Cursor> cursor = cursor_of(question);
  if (!cursor) return tl::unexpected(cursor.error());
  const Result<bool> goes_on = leads_on(held, *cursor);
  if (!goes_on) return tl::unexpected(goes_on.error());
  page.reset = !*goes_on;
  if (!page.reset) page.next = *cursor;
  const Lseq from = page.next.next;
  page.at_end = true;
  const auto limit = static_cast<std::size_t>(question.limit);
  const Result<ledger::Scan> scan =
      ledger::scan_journal(*held.directory, [&](const ledger::Record& record) -> Result<> {
        if (record.lseq.next() == from) page.next.hash = record.hash;
        if (record.type != ledger::RecordType::event || record.lseq < from) return {};
        if (page.events.size() == limit) {
          page.at_end = false;
          return {};
        }
        page.events.push_back({record.lseq, record.payload});
        page.next.next = record.lseq.next();
        page.next.hash = record.hash;
        return {};
      });
  if (!scan) return tl::unexpected(scan.error());
  page.next.journal = scan->journal;
  if (scan->condition == ledger::Condition::damage || scan->condition == ledger::Condition::fork) {
    // What was read before the bad place is whole, and shown; that it is not all must not be missed.
    page.at_end = false;
    page.source = "files, which are not whole: " + scan->finding;
  }
  return page;
}

tl::expected<ShownPage, Refusal> ask_for_page(const Globals& globals, const Question& question) {
  const Result<ledger::Cursor> cursor = cursor_of(question);
  if (!cursor) return refuse(cursor.error());
  Json arguments = Json::object({{"limit", question.limit}, {"next", Json::decimal(cursor->next.value)}});
  if (!question.cursor.empty()) {
    arguments.set("hash", to_hex(cursor->hash));
    arguments.set("journal", to_hex(cursor->journal));
  }
  const tl::expected<Json, Refusal> result = ask_agent(globals, "journal-page", std::move(arguments));
  if (!result) return tl::unexpected<Refusal>(result.error());
  const Reply reply(*result);
  ShownPage page;
  page.source = "agent";
  page.next = {array_from_hex<16>(reply.text("journal")).value_or(Id128{}), Lseq(reply.count("next")),
               array_from_hex<32>(reply.text("hash")).value_or(Hash256{})};
  page.reset = reply.flag("reset");
  page.at_end = reply.flag("at_end");
  for (const Reply& event : reply.list("events"))
    page.events.push_back({Lseq(event.count("lseq")), event.text("event")});
  return page;
}

Json event_json(const ShownEvent& shown, const ledger::Event& event) {
  return Json::object({{"at_ms", event.at_ms},
                       {"body", event.body},
                       {"critical", event.critical},
                       {"hash", to_hex(ledger::event_hash(shown.payload))},
                       {"key", event.key.text()},
                       {"kind", event.kind},
                       {"lamport", static_cast<std::int64_t>(event.lamport.value)},
                       {"lseq", Json::decimal(shown.lseq.value)},
                       {"mesh", event.mesh},
                       {"prev", to_hex(event.prev)},
                       {"seq", static_cast<std::int64_t>(event.seq.value)},
                       {"stream", to_hex(event.stream)}});
}

// People get a table, programs a line an event and one about the page.
Outcome answer(const ShownPage& page) {
  Table table(
      {{"RECORD", Table::Side::right}, {"STREAM"}, {"SEQ", Table::Side::right}, {"AT"}, {"KIND"}, {"BODY"}});
  std::string lines;
  for (const ShownEvent& shown : page.events) {
    const Result<ledger::Event> event = ledger::open_event(shown.payload);
    if (!event) {
      return refuse(event.error().code,
                    "record " + std::to_string(shown.lseq.value) + ": " + event.error().context);
    }
    lines += with_schema(event_json(shown, *event), "journal-event") + "\n";
    table.add({std::to_string(shown.lseq.value), to_hex(event->stream).substr(0, kShortStream),
               std::to_string(event->seq.value), utc_text(UtcSeconds(event->at_ms / 1000)), event->kind,
               body_words(event->body)});
  }
  const std::string next = std::to_string(page.next.next.value);
  Json about = Json::object({{"at_end", page.at_end},
                             {"cursor", ledger::cursor_text(page.next)},
                             {"next", next},
                             {"reset", page.reset},
                             {"source", json_text(page.source)}});
  lines += with_schema(std::move(about), "journal-page");
  std::string text = table.empty() ? "no events from there on\n" : table.text();
  if (page.reset)
    text = "the cursor is of what this journal does not hold any more: from the beginning\n" + text;
  if (!page.at_end) text += "more: --from " + next + "\n";
  if (page.source != "agent") text += "read from " + page.source + "\n";
  return Answer{std::move(lines), std::move(text)};
}

Outcome show(const Globals& globals, const Question& question) {
  tl::expected<ShownPage, Refusal> live = ask_for_page(globals, question);
  if (live) return answer(*live);
  if (live.error().exit != exit_code(ErrorKind::unreachable)) return tl::unexpected<Refusal>(live.error());
  const Result<JournalPlace> place = find_journal(globals);
  if (!place) return refuse(place.error());
  Result<HeldJournal> held = hold_journal(*place);
  if (!held) return refuse(held.error());
  Result<ShownPage> page = read_files(*held, question);
  if (!page) return refuse(page.error());
  if (!held->lock) page->source += " without the lock: " + held->holder;
  return answer(*page);
}

}  // namespace

void add_journal_show(CLI::App& journal, Command& chosen) {
  CLI::App* command = journal.add_subcommand(
      "show", "Print events; with --json a line an event, and a last one that says where to go on");
  auto question = std::make_shared<Question>();
  command->add_option("--from", question->from, "The record to begin with; default: 1")->type_name("RECORD");
  command
      ->add_option("--cursor", question->cursor,
                   "Go on after a page: its `cursor` of --json. Starts again, and says so, when what stood "
                   "there was lost")
      ->type_name("CURSOR");
  command->add_option("--limit", question->limit, "How many events at most, 1 to 10000; default: 1000")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, kMaxEvents).description(""));
  command->callback([&chosen, question] {
    chosen = [question](const Globals& globals) { return show(globals, *question); };
  });
}

}  // namespace postern::cli
