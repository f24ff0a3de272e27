// SPDX-License-Identifier: Apache-2.0
#include "agent/lineage.h"

#include "agent/continuity.h"
#include "agent/errors.h"
#include "ledger/event_replay.h"
#include "ledger/own_lineage.h"

namespace postern::agent {
namespace {

Result<> take(Lineage& lineage, ledger::OwnLineage& written, const LineageOrder& order,
              const ledger::Record& record, const ledger::Event& event) {
  if (event.mesh != order.mesh) {
    return fail(errc::foreign_mesh, "it is of mesh \"" + event.mesh + "\", the config says \"" + order.mesh +
                                        "\"; set `state` to this mesh's own directory");
  }
  lineage.replica.replay(record, event);
  // What a gateway adopted, others may tell of, but only what it wrote itself makes it remember.
  if (written.wrote(event, record.from_base)) {
    if (Result<> folded = ledger::apply_event(lineage.authority, event); !folded) return folded;
  }
  return lineage.history.add(event, record);
}

// Passes on what is not for a recovery bundle to make up for.
Result<> bear(Result<> checked, const LineageOrder& order, Lineage& lineage) {
  if (checked || !order.may_recover || checked.error().code != errc::disk_went_back) return checked;
  lineage.went_back = std::move(checked).error();
  return {};
}

// A repair has to know how much may have been acknowledged; nobody but the kernel can tell when the files
// cannot.
Error with_known_head(Error error, const std::filesystem::path& pins) {
  if (error.code != ledger::errc::damage && error.code != ledger::errc::io) return error;
  const Result<std::optional<dataplane::JournalPin>> pin = dataplane::peek_journal_pin(pins);
  if (!pin || !*pin) return error;
  const std::string head = std::to_string((*pin)->head.value);
  error.context +=
      "; the kernel was served from record " + head + ": add --known-head " + head + " to a repair";
  return error;
}

}  // namespace

Result<Lineage> open_lineage(LineageOrder order) {
  Lineage lineage;
  lineage.replica = ledger::Replica(order.mesh);
  lineage.history = ledger::StreamHistory(order.key.value_or(wire::PublicKey{}));
  std::optional<dataplane::JournalPin> pin;
  ledger::JournalOptions options;
  options.directory = order.state.journal();
  options.mesh = order.mesh;
  options.node = order.key;
  options.after_flush = std::move(order.after_flush);
  options.once_locked = [&]() -> Result<> {
    Result<std::optional<dataplane::JournalPin>> found = dataplane::peek_journal_pin(order.pins);
    if (found) pin = *found;
    return found ? Result<>() : pass_on(std::move(found));
  };
  // Whose pin it is comes first: another journal's says nothing of this one's records.
  options.on_base = [&](const ledger::Base& base) { lineage.replica.begin(base); };
  std::optional<Hash256> at_pin;
  bool compared = false;
  options.before_change = [&](const ledger::JournalEnd& end) -> Result<ledger::Resumption> {
    Result<> level = check_journal_pin(pin, end);
    if (level && at_pin) level = check_pinned_record(pin, pin->head, *at_pin);
    if (Result<> borne = bear(std::move(level), order, lineage); !borne) return pass_on(std::move(borne));
    compared = true;
    return ledger::Resumption::continued;
  };
  ledger::OwnLineage written(order.key);
  ledger::EventReplay replay([&](const ledger::Record& record, const ledger::Event& event) -> Result<> {
    Result<> taken = take(lineage, written, order, record, event);
    return taken ? std::move(taken)
                 : pass_on(std::move(taken), "journal record " + std::to_string(record.lseq.value));
  });
  Result<std::unique_ptr<ledger::Journal>> journal =
      ledger::Journal::open(options, [&](const ledger::Record& record) -> Result<> {
        if (pin && pin->head == record.lseq) at_pin = record.hash;
        Result<> same =
            compared ? bear(check_pinned_record(pin, record.lseq, record.hash), order, lineage) : Result<>();
        if (!same) return same;
        return replay.add(record);
      });
  if (!journal) return tl::unexpected(with_known_head(std::move(journal).error(), order.pins));
  if (Result<> done = replay.finish(); !done) return pass_on(std::move(done));
  lineage.journal = std::move(*journal);
  lineage.pinned = pin.has_value() && !lineage.went_back;
  const ledger::RecoveryReport& recovery = lineage.journal->recovery();
  if (Result<> whole = lineage.history.finish(recovery.base.get()); !whole) return pass_on(std::move(whole));
  const Lseq opened_at = lineage.history.own() ? lineage.history.own()->opened_at : Lseq();
  lineage.broken = ledger::why_broken(recovery.findings, recovery.gaps, opened_at);
  return lineage;
}

ledger::Continuation continuation_of(const Lineage& lineage) {
  ledger::ContinuityEvidence evidence;
  evidence.broken = !lineage.broken.empty();
  evidence.pinned = lineage.pinned;
  evidence.clean_stop = lineage.journal->recovery().clean_stop;
  // A start does not wait for its peers. What they hold beyond the journal they give back as soon as they are
  // linked; then the stream is given up (SPEC 9.5).
  evidence.alone = true;
  return ledger::decide_continuation(evidence);
}

std::string restraint_words(const Lineage& lineage) {
  if (lineage.went_back) return "the disk went back in time";
  if (!lineage.broken.empty()) return lineage.broken;
  const ledger::RecoveryReport& recovery = lineage.journal->recovery();
  if (recovery.claims_wait && !recovery.needs_sync_round)
    return "what an earlier start could not prove was given up by an operator";
  return recovery.gaps.empty() ? "an earlier start could not prove that nothing was forgotten"
                               : "records of the journal are lost, and nobody has given them back yet";
}

}  // namespace postern::agent
