// SPDX-License-Identifier: Apache-2.0
#include "agent/events_report.h"

#include <algorithm>

#include "agent/errors.h"
#include "agent/event_question.h"
#include "ledger/cursor_text.h"
#include "ledger/event_standing.h"

namespace postern::agent {
namespace {

using wire::Json;

// What one question may cost the loop.
constexpr std::size_t kExaminedEvents = 1000;
constexpr std::size_t kExaminedBytes = std::size_t{1} << 20;

tl::unexpected<Error> reset(const ledger::Cursor& from, const Id128& journal) {
  constexpr const char* kRemedy =
      ": what was read with it may not have happened; give up what you made of it, and begin without a "
      "cursor";
  if (from.journal != journal) {
    return fail(errc::events_unknown_journal, "the cursor is of journal " + to_hex(from.journal) +
                                                  ", this gateway writes journal " + to_hex(journal) +
                                                  kRemedy);
  }
  return fail(errc::events_history_changed,
              "the journal does not hold any more what the cursor was given out behind, up to record " +
                  std::to_string(from.next.value - 1) + ": it was lost, or compacted too long ago" + kRemedy);
}

// A page of the journal on its way to the caller.
class PageReport {
 public:
  PageReport(const EventSource& source, const EventQuestion& question, ledger::Page page)
      : source_(source), question_(question), page_(std::move(page)) {}

  Result<Json> build() && {
    for (const ledger::Record& record : page_.events) {
      const Result<ledger::Event> event = ledger::read_event(record.payload);
      if (!event) {
        return fail(event.error().code,
                    "record " + std::to_string(record.lseq.value) + ": " + event.error().context);
      }
      const Hash256 hash = ledger::event_hash(record.payload);
      const ledger::EventStanding standing = ledger::standing_of(source_.replica->fold(), *event, hash);
      if (standing == ledger::EventStanding::waiting && source_.replica->lands(event->stream)) {
        // It will count, or not, in a moment: until then nobody gets past it.
        stop_before(record);
        page_.at_end = true;
        break;
      }
      if (matches(question_.filter, *event)) {
        if (shown_.size() == question_.limit) {
          stop_before(record);
          page_.at_end = false;
          break;
        }
        shown_.push_back(event_json(record, *event, hash, standing));
      }
      behind_ = {page_.next.journal, record.lseq.next(), record.hash};
    }
    return answer();
  }

 private:
  void stop_before(const ledger::Record& record) {
    const bool first = behind_.journal == Id128{};
    page_.next = first ? question_.from : behind_;
    page_.next.journal = source_.journal->status().journal;
    for (ledger::Gap& gap : page_.missing)
      gap.last = std::min(gap.last, Lseq(record.lseq.value - 1));
    std::erase_if(page_.missing, [](const ledger::Gap& gap) { return gap.last < gap.first; });
  }

  Json event_json(const ledger::Record& record, const ledger::Event& event, const Hash256& hash,
                  ledger::EventStanding standing) const {
    const auto name = source_.names->find(event.key);
    return Json::object(
        {{"at_ms", event.at_ms},
         {"author", name != source_.names->end() ? Json(name->second) : Json(nullptr)},
         {"body", event.body},
         {"counts", standing == ledger::EventStanding::counts},
         {"critical", event.critical},
         {"cursor", ledger::cursor_text({page_.next.journal, record.lseq.next(), record.hash})},
         {"hash", to_hex(hash)},
         {"key", event.key.text()},
         {"kind", event.kind},
         {"lamport", static_cast<std::int64_t>(event.lamport.value)},
         {"lseq", Json::decimal(record.lseq.value)},
         {"mesh", event.mesh},
         {"prev", to_hex(event.prev)},
         {"schema", "postern/event/v1"},
         {"seq", static_cast<std::int64_t>(event.seq.value)},
         {"standing", ledger::standing_name(standing)},
         {"stream", to_hex(event.stream)}});
  }

  Json answer() {
    Json missing = Json::array();
    for (const ledger::Gap& gap : page_.missing) {
      missing.push(
          Json::object({{"first", Json::decimal(gap.first.value)}, {"last", Json::decimal(gap.last.value)}}));
    }
    return Json::object({{"at_end", page_.at_end},
                         {"cursor", ledger::cursor_text(page_.next)},
                         {"events", Json::array(std::move(shown_))},
                         {"missing", std::move(missing)},
                         {"schema", "postern/events-page/v1"}});
  }

  const EventSource& source_;
  const EventQuestion& question_;
  ledger::Page page_;
  Json::Array shown_;
  ledger::Cursor behind_;  // the last event that was looked at; of no journal before the first
};

}  // namespace

Result<wire::Json> events_page(const EventSource& source, const wire::Json& arguments) {
  Result<EventQuestion> question = read_event_question(arguments, *source.names);
  if (!question) return pass_on(std::move(question));
  Result<ledger::Page> page = source.journal->read_page(question->from, {kExaminedEvents, kExaminedBytes});
  if (!page) return pass_on(std::move(page));
  if (page->reset) return reset(question->from, page->next.journal);
  return PageReport(source, *question, std::move(*page)).build();
}

}  // namespace postern::agent
