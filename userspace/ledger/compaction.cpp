// SPDX-License-Identifier: Apache-2.0
// Rule 10. What is sealed is read from the disk once more, checked against the headers around it, and summed
// up. The base is durable and read back before its name is; only after the name is durable is anything
// unlinked, and then only what the base before the last one stood on: so the newest base may go bad, and
// nothing is lost.
#include "ledger/compaction.h"

#include <algorithm>
#include <cerrno>

#include "ledger/base_file.h"
#include "ledger/errors.h"
#include "ledger/findings.h"
#include "ledger/segment_reader.h"
#include "ledger/segment_walk.h"

namespace postern::ledger {
namespace {

// Reads the segments from `origin` up to `active`, handing records to `sink`. Fails with errc::damage where
// they do not lead exactly there.
class SealedRecords {
 public:
  SealedRecords(const Directory& directory, const SegmentHeader& active, Id128 journal)
      : reader_(directory), active_(active), journal_(journal) {}

  Result<> read(std::uint64_t from, ChainHead chain, const Visit& visit) {
    if (from == active_.number) return {};
    Result<SegmentHeader> header = header_of(from);
    if (!header) return pass_on(std::move(header));
    for (std::uint64_t number = from; number < active_.number; ++number) {
      Result<SegmentHeader> next = header_of(number + 1);
      if (!next) return pass_on(std::move(next));
      const bool follows = header->first_lseq == chain.next && header->prev == chain.hash;
      Result<ByteView> image = reader_.read(number, kSegmentBytes);
      if (!image) return pass_on(std::move(image));
      Result<Extent> extent = walk_records(*image, *header, next->first_lseq, visit);
      if (!extent) return pass_on(std::move(extent));
      chain = extent->chain;
      if (!follows || chain.next != next->first_lseq || chain.hash != next->prev) {
        return fail(errc::damage,
                    segment_name(number) + " at byte " + std::to_string(extent->end) + ": lseq " +
                        std::to_string(chain.next.value) +
                        " is bad or missing now; nothing was compacted; see `postern journal verify`");
      }
      header = next;
    }
    return {};
  }

 private:
  Result<SegmentHeader> header_of(std::uint64_t number) {
    if (number == active_.number) return active_;
    Result<ByteView> bytes = reader_.read(number, kFirstBatchOffset);
    if (!bytes) return pass_on(std::move(bytes));
    Result<SegmentHeader> header = decode_header(*bytes);
    if (!header) return pass_on(std::move(header), segment_name(number));
    if (header->number != number || header->journal != journal_) {
      return fail(errc::damage, segment_name(number) + " is another one than it was");
    }
    return header;
  }

  SegmentReader reader_;
  const SegmentHeader& active_;
  Id128 journal_;
};

Result<Base> sum_up(const Directory& directory, const Base* earlier, const SegmentHeader& active,
                    const CompactionOrder& order, CompactionReport& report) {
  Findings findings;
  if (earlier != nullptr) {
    findings = Findings(earlier->state);
    if (Result<> started = order.summary.start(earlier->state); !started) return pass_on(std::move(started));
  }
  const auto visit = [&](const RecordHeader& header, std::string_view payload,
                         const Hash256& hash) -> Result<> {
    ++report.records;
    const Record record{header.lseq, header.type, hash, std::string(payload)};
    if (record.type == RecordType::event) return order.summary.add(record);
    return findings.see(record);
  };
  SealedRecords sealed(directory, active, active.journal);
  const std::uint64_t from = earlier != nullptr ? earlier->number : 1;
  const ChainHead chain = earlier != nullptr ? earlier->chain() : ChainHead{};
  if (Result<> read = sealed.read(from, chain, visit); !read) return pass_on(std::move(read));
  Result<BaseState> state = order.summary.finish();
  if (!state) return pass_on(std::move(state));
  Base base;
  base.journal = active.journal;
  base.number = active.number;
  base.lseq = Lseq(active.first_lseq.value - 1);
  base.hash = active.prev;
  base.made_ms = order.now_ms;
  base.key = order.key.public_key();
  base.state = std::move(*state);
  base.state.findings = findings.open_findings();
  base.state.gaps = findings.gaps();
  return base;
}

// Floors, spend and heads never fall (rule 10): a summary that lets one fall is wrong, and is not believed.
Result<> refuse_fall(const BaseState& before, const BaseState& after) {
  for (const auto& [resource, epoch] : before.floors) {
    const auto now = after.floors.find(resource);
    if (now == after.floors.end() || now->second < epoch)
      return fail(errc::base_invalid, "the floor of \"" + resource + "\" would fall");
  }
  for (const auto& [grant, bytes] : before.spend) {
    const auto now = after.spend.find(grant);
    if (now == after.spend.end() || now->second < bytes)
      return fail(errc::base_invalid, "the spend of \"" + grant + "\" would fall");
  }
  for (const auto& [stream, head] : before.streams) {
    const auto now = after.streams.find(stream);
    if (now == after.streams.end() || now->second.seq < head.seq)
      return fail(errc::base_invalid, "the head of stream " + to_hex(stream) + " would fall");
  }
  return {};
}

// Whatever the base before `kept` stood on. Nothing here decides what the journal says, so a failure is only
// told.
void unlink_below(Directory& directory, std::uint64_t kept, CompactionReport& report) {
  const Io<std::vector<std::string>> names = directory.list();
  if (!names) {
    report.leftover = io_failure(names.error(), "listing of " + directory.path()).value().context;
    return;
  }
  std::vector<std::pair<std::uint64_t, std::string>> old;
  for (const std::string& name : *names) {
    std::optional<std::uint64_t> number = segment_number(name);
    if (!number) number = base_number(name);
    if (number && *number < kept) old.emplace_back(*number, name);
  }
  std::sort(old.begin(), old.end());
  for (const auto& [number, name] : old) {
    const Io<> gone = directory.unlink(name);
    if (!gone && gone.error() != ENOENT) {
      report.leftover = io_failure(gone.error(), "removal of " + name).value().context;
      return;
    }
    report.unlinked.push_back(name);
  }
  if (old.empty()) return;
  if (const Io<> synced = directory.sync(); !synced) {
    report.leftover = io_failure(synced.error(), "fsync of the directory").value().context;
  }
}

}  // namespace

Result<Compacted> compact_segments(Directory& directory, const std::shared_ptr<const Base>& earlier,
                                   const SegmentHeader& active, const CompactionOrder& order) {
  Compacted done;
  const std::uint64_t before = earlier ? earlier->number : 1;
  done.report.base = earlier ? earlier->number : 0;
  if (active.number == before) return done;
  if (earlier) {
    // Summing up what another key said would make it this node's word.
    if (Result<> own = refuse_foreign_base(*earlier, order.key.public_key()); !own)
      return pass_on(std::move(own));
  }
  Result<Base> base = sum_up(directory, earlier.get(), active, order, done.report);
  if (!base) return pass_on(std::move(base), "compaction");
  const std::vector<Gap>& gaps = base->state.gaps;
  if (std::any_of(gaps.begin(), gaps.end(), [](const Gap& gap) { return gap.open; })) {
    return fail(errc::gap_open, "a gap in the journal is open; nothing is compacted before it is settled");
  }
  if (earlier) {
    if (Result<> kept = refuse_fall(earlier->state, base->state); !kept) return pass_on(std::move(kept));
  }
  const std::string text = seal_base(*base, order.key);
  if (text.size() > kMaxBaseBytes) {
    return fail(errc::base_invalid, "the base would have " + std::to_string(text.size()) +
                                        " bytes, expected " + std::to_string(kMaxBaseBytes) + " at most");
  }
  if (Result<> written = write_base(directory, base->number, text); !written)
    return pass_on(std::move(written), "compaction");
  done.report.compacted = true;
  done.report.base = base->number;
  done.report.kept_events = base->state.events.size();
  done.base = std::make_shared<const Base>(std::move(*base));
  // One round: what `earlier` stands for is still there as long as the new base is the newest.
  unlink_below(directory, before, done.report);
  return done;
}

}  // namespace postern::ledger
