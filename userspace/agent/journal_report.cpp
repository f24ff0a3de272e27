// SPDX-License-Identifier: Apache-2.0
#include "agent/journal_report.h"

#include <array>
#include <optional>

#include "agent/errors.h"
#include "ledger/event_rules.h"
#include "wire/fields.h"

namespace postern::agent {
namespace {

using wire::Json;

constexpr std::int64_t kMaxEvents = 10'000;
constexpr std::size_t kMaxPageBytes = 8U << 20;

template <std::size_t N>
bool read_hex(const Json& json, std::array<std::uint8_t, N>& into) {
  const std::string* text = json.as_string();
  const auto bytes = text != nullptr ? array_from_hex<N>(*text) : std::nullopt;
  if (bytes) into = *bytes;
  return bytes.has_value();
}

}  // namespace

Result<wire::Json> journal_page(const ledger::Journal& journal, const wire::Json& arguments) {
  wire::Fields fields(arguments, "arguments");
  ledger::PageLimits limits;
  limits.events = static_cast<std::size_t>(fields.integer("limit", 1, kMaxEvents));
  limits.bytes = kMaxPageBytes;
  ledger::Cursor from;
  from.next = Lseq(fields.decimal("next"));
  // Of a page before; a number alone is not compared with anything.
  const Json* hash = fields.optional("hash");
  const Json* of = fields.optional("journal");
  if ((hash != nullptr && !read_hex(*hash, from.hash)) || (of != nullptr && !read_hex(*of, from.journal)))
    return fail(errc::control_bad_argument, "arguments.hash, journal: expected those of a page before");
  if (Result<> done = fields.finish(); !done) return fail(errc::control_bad_argument, done.error().context);
  const ledger::JournalStatus status = journal.status();
  Result<ledger::Page> page = journal.read_page(from, limits);
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
                       {"hash", to_hex(page->next.hash)},
                       {"head", Json::decimal(status.head.value)},
                       {"head_hash", to_hex(status.head_hash)},
                       {"journal", to_hex(page->next.journal)},
                       {"missing", std::move(missing)},
                       {"next", Json::decimal(page->next.next.value)},
                       {"reset", page->reset},
                       {"schema", "postern/journal-page/v1"}});
}

Result<wire::Json> compact_journal(Foundation& base, const Clock& clock) {
  ledger::EventSummary summary(ledger::compaction_rules(), base.key->public_key());
  Result<ledger::CompactionReport> report =
      base.lineage.journal->compact({*base.key, summary, clock.wall_ms()});
  if (!report) return pass_on(std::move(report));
  if (report->in_force) base.lineage.replica.compacted(*report->in_force);
  return Json::object({{"base", Json::decimal(report->base)},
                       {"compacted", report->compacted},
                       {"kept_events", Json::decimal(report->kept_events)},
                       {"leftover", report->leftover},
                       {"records", Json::decimal(report->records)},
                       {"schema", "postern/journal-compact/v1"},
                       {"unlinked", static_cast<std::int64_t>(report->unlinked.size())}});
}

Result<wire::Json> settle_journal(Foundation& base) {
  ledger::Journal& journal = *base.lineage.journal;
  const ledger::JournalStatus status = journal.status();
  if (base.restraint.may_spend() && !status.needs_sync_round) {
    return fail(ledger::errc::nothing_to_settle,
                base.restraint.may_claim()
                    ? "nothing is missing that anybody knows of; this gateway spends"
                    : "it is settled already, and this gateway spends; for claims only "
                      "a sync round with the peers will do");
  }
  const std::string why = base.restraint.why();
  const Result<Lseq> written = journal.settle(status.head, ledger::SettledBy::an_operator);
  if (!written) return tl::unexpected(written.error());
  base.restraint.operator_allows_spending();
  return Json::object({{"given_up", why},
                       {"may_claim", base.restraint.may_claim()},
                       {"may_spend", base.restraint.may_spend()},
                       {"record", Json::decimal(written->value)},
                       {"schema", "postern/journal-settle/v1"},
                       {"through", Json::decimal(status.head.value)}});
}

}  // namespace postern::agent
