// SPDX-License-Identifier: Apache-2.0
// Rule 11. The new segment gets its name first, then the base: killed in between, the journal is as damaged
// as before, at the same record, and is repaired again. Everything is read past the damage, record by record:
// a later segment's header says where its records start, and behind a bad record the next whole one is looked
// for. A record found there hangs on no chain, so its event counts only if its signature does.
#include "ledger/repair.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "ledger/errors.h"
#include "ledger/lock.h"
#include "ledger/machine.h"
#include "ledger/posix_directory.h"
#include "ledger/recovery.h"
#include "ledger/segment_reader.h"
#include "ledger/spare.h"

namespace postern::ledger {
namespace {

constexpr std::string_view kRepaired = "repaired";

Result<> check_order(const Examination& examined, const RepairOrder& order, const std::string& path) {
  const Classification& found = examined.found;
  if (Result<> refused = found.condition == Condition::fork
                             ? Result<>(fail(errc::fork, path + ": " + found.finding +
                                                             "; a fork is not repaired; " + remedy(examined)))
                             : Result<>();
      !refused) {
    return refused;
  }
  if (remedy(examined).empty()) {
    return fail(errc::nothing_to_repair, path + " is " + std::string(condition_name(found.condition)) +
                                             ": posternd starts on it as it is");
  }
  if (order.accept_loss_from != found.first_bad) {
    return fail(errc::wrong_loss, path + ": the first lost record is " +
                                      std::to_string(found.first_bad.value) + ", not " +
                                      std::to_string(order.accept_loss_from.value) + " (" + found.finding +
                                      "); nothing was changed; accept the loss from there on");
  }
  return {};
}

// Collects what is whole behind the first loss, and what is not.
class Rescue {
 public:
  Rescue(Summary& summary, Findings& findings, Lseq first_lost)
      : summary_(summary), findings_(findings), next_(first_lost), head_(first_lost) {}

  // One segment, up to what its successor cut off.
  Result<> search(ByteView image, const SegmentHeader& segment, Lseq until) {
    raise_head(Lseq(segment.first_lseq.value - 1));
    std::size_t offset = kFirstBatchOffset;
    while (offset < image.size()) {
      const std::optional<RecordHeader> record = decode_record_header(image, offset, segment.salt);
      if (!record) {
        offset += kRecordAlignment;
        continue;
      }
      raise_head(std::max(record->durable_upto, record->lseq < until ? record->lseq : Lseq()));
      const bool whole = payload_is_whole(image, offset, *record);
      if (whole && record->lseq >= next_ && record->lseq < until) {
        if (Result<> taken = take(*record, record_payload(image, offset, *record)); !taken) return taken;
      }
      offset = whole ? record_end(offset, *record) : offset + kRecordAlignment;
    }
    return {};
  }

  // Up to `known` at least. What was not found until here is missing.
  void finish(Lseq known) {
    raise_head(known);
    if (next_ <= head_) gaps_.push_back({next_, head_, true});
  }

  Lseq head() const { return head_; }
  std::uint64_t rescued() const { return rescued_; }
  const std::vector<Gap>& gaps() const { return gaps_; }

 private:
  void raise_head(Lseq lseq) { head_ = std::max(head_, lseq); }

  Result<> take(const RecordHeader& header, std::string_view payload) {
    const Record record{header.lseq, header.type, chain_hash(header.lseq, header.type, header.prev, payload),
                        std::string(payload)};
    if (record.type == RecordType::event) {
      Result<bool> proven = summary_.rescue(record);
      if (!proven) return pass_on(std::move(proven));
      if (!*proven) return {};
      ++rescued_;
    } else if (Result<> seen = findings_.see(record); !seen) {
      return seen;
    }
    if (next_ < record.lseq) gaps_.push_back({next_, Lseq(record.lseq.value - 1), true});
    next_ = record.lseq.next();
    return {};
  }

  Summary& summary_;
  Findings& findings_;
  Lseq next_;  // the lowest that was not found yet
  Lseq head_;  // the highest that may have been acknowledged; the first lost one may
  std::vector<Gap> gaps_;
  std::uint64_t rescued_ = 0;
};

Result<> search_segments(const Directory& directory, const Examination& examined, Id128 journal,
                         Rescue& rescue) {
  std::map<std::uint64_t, SegmentHeader> headers;
  SegmentReader reader(directory);
  for (const std::uint64_t number : examined.segments) {
    if (number < examined.first_live()) continue;
    const Result<ByteView> bytes = reader.read(number, kFirstBatchOffset);
    const Result<SegmentHeader> header = bytes ? decode_header(*bytes) : fail(errc::damage, "");
    if (header && header->number == number && header->journal == journal) headers.emplace(number, *header);
  }
  for (const auto& [number, header] : headers) {
    const auto next = headers.find(number + 1);
    const Lseq until = next == headers.end() ? Lseq(UINT64_MAX) : next->second.first_lseq;
    const Result<ByteView> image = reader.read(number, kSegmentBytes);
    if (!image) continue;
    if (Result<> searched = rescue.search(*image, header, until); !searched) return searched;
  }
  return {};
}

// Base and header of the new start. Everything before the loss is summed up as a compaction does it.
struct NewStart {
  Base base;
  SegmentHeader segment;
  std::vector<Gap> gaps;  // the new ones
  std::uint64_t rescued = 0;
};

Result<NewStart> make_start(const Directory& directory, const Examination& examined, const RepairOrder& order,
                            const SegmentHeader& last) {
  NewStart start;
  const Base* earlier = examined.base.base.get();
  Findings findings;
  if (earlier != nullptr) {
    findings = Findings(earlier->state);
    if (Result<> begun = order.summary.start(earlier->state); !begun) return pass_on(std::move(begun));
  }
  Result<Examination> again = examine(directory, [&](const Record& record) -> Result<> {
    if (record.from_base) return {};
    return record.type == RecordType::event ? order.summary.add(record) : findings.see(record);
  });
  if (!again) return pass_on(std::move(again));
  const Id128 journal = earlier != nullptr ? earlier->journal : last.journal;
  Rescue rescue(order.summary, findings, examined.found.first_bad);
  if (Result<> searched = search_segments(directory, examined, journal, rescue); !searched)
    return pass_on(std::move(searched));
  rescue.finish(std::max(order.known_head, examined.found.proven));
  Result<BaseState> state = order.summary.finish();
  if (!state) return pass_on(std::move(state));

  const std::uint64_t last_base = examined.bases.empty() ? 0 : examined.bases.back();
  Base& base = start.base;
  base.journal = journal;
  base.number = std::max(examined.segments.empty() ? 0 : examined.segments.back(), last_base) + 1;
  base.lseq = rescue.head();
  base.hash = chain_hash(base.lseq, RecordType::open, again->found.chain.hash, kRepaired);
  base.made_ms = order.now_ms;
  base.key = order.key.public_key();
  base.state = std::move(*state);
  base.state.findings = findings.open_findings();
  base.state.gaps = findings.gaps();
  base.state.gaps.insert(base.state.gaps.end(), rescue.gaps().begin(), rescue.gaps().end());
  start.segment.journal = journal;
  start.segment.number = base.number;
  start.segment.salt = new_salt();
  start.segment.first_lseq = base.lseq.next();
  start.segment.prev = base.hash;
  start.segment.machine = last.machine;
  start.gaps = rescue.gaps();
  start.rescued = rescue.rescued();
  return start;
}

// Any whole header says which journal this is, and on which machine it was written.
Result<SegmentHeader> identity(const Directory& directory, const Examination& examined,
                               const Id128& machine) {
  SegmentReader reader(directory);
  for (auto number = examined.segments.rbegin(); number != examined.segments.rend(); ++number) {
    const Result<ByteView> bytes = reader.read(*number, kFirstBatchOffset);
    const Result<SegmentHeader> header = bytes ? decode_header(*bytes) : fail(errc::damage, "");
    if (!header) continue;
    if (header->machine == machine) return header;
    return fail(errc::foreign_machine, directory.path() + " was written on machine " +
                                           to_hex(header->machine) + ", this is " + to_hex(machine) +
                                           "; repair it where it comes from");
  }
  return fail(errc::damage,
              directory.path() +
                  ": no segment's header is whole, so nothing says which journal this was; bring a " +
                  "copy of it back, or move it away and run `postern init`");
}

}  // namespace

Result<RepairReport> repair_journal(const JournalOptions& options, const RepairOrder& order) {
  Result<std::unique_ptr<Directory>> directory = PosixDirectory::open(options.directory);
  if (!directory) return pass_on(std::move(directory));
  return repair_journal(**directory, options, order);
}

Result<RepairReport> repair_journal(Directory& directory, const JournalOptions& options,
                                    const RepairOrder& order) {
  if (Result<> good = check_directory(directory, options.any_file_system); !good)
    return pass_on(std::move(good));
  Result<Lock> lock = Lock::take(directory);
  if (!lock) return pass_on(std::move(lock));
  if (const Io<> synced = directory.sync(); !synced)
    return io_failure(synced.error(), "fsync of the directory");
  Result<Id128> machine = options.machine ? *options.machine : machine_id();
  if (!machine) return pass_on(std::move(machine));
  Result<Examination> examined = examine(directory, {});
  if (!examined) return pass_on(std::move(examined), directory.path());
  if (const Base* base = examined->base.base.get()) {
    Result<> own = refuse_foreign_base(*base, order.key.public_key());
    if (!own) return pass_on(std::move(own), directory.path());
  }
  if (Result<> fits = check_order(*examined, order, directory.path()); !fits) return pass_on(std::move(fits));
  Result<SegmentHeader> last = identity(directory, *examined, *machine);
  if (!last) return pass_on(std::move(last));
  Result<NewStart> start = make_start(directory, *examined, order, *last);
  if (!start) return pass_on(std::move(start), "repair");

  lock->name_holder();
  if (Result<> spare = ensure_spare(directory); !spare) return pass_on(std::move(spare), "repair");
  ChainHead chain{start->segment.first_lseq, start->segment.prev};
  Bytes batch;
  append_record(batch, chain, chain.next, RecordType::open, true,
                open_payload(kRepaired, order.accept_loss_from, start->rescued), start->segment.salt);
  Result<std::unique_ptr<File>> segment = raise_segment(directory, start->segment, batch);
  if (!segment) return pass_on(std::move(segment), "repair");
  Result<> written = write_base(directory, start->base.number, seal_base(start->base, order.key));
  if (!written) return pass_on(std::move(written), "repair");
  return RepairReport{start->base.number, std::move(start->gaps), start->rescued};
}

}  // namespace postern::ledger
