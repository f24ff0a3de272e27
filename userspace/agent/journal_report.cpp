// SPDX-License-Identifier: Apache-2.0
#include "agent/journal_report.h"

#include <limits>

#include "agent/errors.h"
#include "ledger/event_rules.h"
#include "wire/fields.h"

namespace postern::agent {
namespace {

using wire::Json;

constexpr std::int64_t kMaxEvents = 10'000;
constexpr std::size_t kMaxPageBytes = 8U << 20;

}  // namespace

Result<wire::Json> journal_page(const ledger::Journal& journal, const wire::Json& arguments) {
  wire::Fields fields(arguments, "arguments");
  ledger::PageLimits limits;
  limits.events = static_cast<std::size_t>(fields.integer("limit", 1, kMaxEvents));
  limits.bytes = kMaxPageBytes;
  const Lseq next(fields.decimal("next"));
  if (Result<> done = fields.finish(); !done) return fail(errc::control_bad_argument, done.error().context);
  const ledger::JournalStatus status = journal.status();
  Result<ledger::Page> page = journal.read_page({status.journal, next}, limits);
  if (!page) return pass_on(std::move(page));
  Json events = Json::array();
  for (ledger::Record& record : page->events) {
    events.push(
        Json::object({{"event", std::move(record.payload)}, {"lseq", Json::decimal(record.lseq.value)}}));
  }
  Json missing = Json::array();
  for (const ledger::Gap& gap : page->missing) {
    missing.push(
        Json::object({{"first", Json::decimal(gap.first.value)}, {"last", Json::decimal(gap.last.value)}}));
  }
  return Json::object({{"at_end", page->at_end},
                       {"base", Json::decimal(status.base)},
                       {"events", std::move(events)},
                       {"head", Json::decimal(status.head.value)},
                       {"head_hash", to_hex(status.head_hash)},
                       {"journal", to_hex(page->next.journal)},
                       {"missing", std::move(missing)},
                       {"next", Json::decimal(page->next.next.value)},
                       {"schema", "postern/journal-page/v1"}});
}

Result<wire::Json> compact_journal(Foundation& base, const Clock& clock) {
  ledger::EventSummary summary(ledger::compaction_rules());
  Result<ledger::CompactionReport> report =
      base.lineage.journal->compact({*base.key, summary, clock.wall_ms()});
  if (!report) return pass_on(std::move(report));
  return Json::object({{"base", Json::decimal(report->base)},
                       {"compacted", report->compacted},
                       {"kept_events", Json::decimal(report->kept_events)},
                       {"leftover", report->leftover},
                       {"records", Json::decimal(report->records)},
                       {"schema", "postern/journal-compact/v1"},
                       {"unlinked", static_cast<std::int64_t>(report->unlinked.size())}});
}

}  // namespace postern::agent
