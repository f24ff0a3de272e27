// SPDX-License-Identifier: Apache-2.0
// A journal is read front to back. Each segment's header says which record it starts with and what the
// chain's hash is there, so a sealed segment must lead exactly to its successor's header: anything else is
// DAMAGE (rule 2). Bytes of a sealed segment at or above the successor's first_lseq are dead: recovery copied
// what was whole of them.
//
// In the last segment the first record that is not whole, k, decides (rule 5). A record says how far the
// flushes had returned when it was written, so later records prove earlier ones. They stand on block
// boundaries, and so are found behind a bad one. If k is proven, it was acknowledged and is gone: DAMAGE. If
// k was never acknowledged, either nothing of it was written (CLEAN), or a part: then, a disk writing whole
// sectors, at least one sector of it still holds the zeros that the segment was made with (TORN; every sector
// of a whole record holds something else, as payloads have no NUL bytes). A bad record without such a sector
// was whole once, and may have been acknowledged: SUSPECT.
#include "ledger/classify.h"

#include <algorithm>
#include <limits>

#include "ledger/errors.h"
#include "ledger/segment_walk.h"

namespace postern::ledger {
namespace {

// The highest durable_upto at and behind the first bad record. A header's own checksum is enough to believe
// it.
Lseq stamps_behind(ByteView image, const SegmentHeader& segment, std::size_t from) {
  Lseq highest;
  const auto look_at = [&](std::size_t offset) {
    const std::optional<RecordHeader> record = decode_record_header(image, offset, segment.salt);
    if (record) highest = std::max(highest, record->durable_upto);
  };
  look_at(from);
  for (std::size_t offset = round_up(from, kBlockBytes); offset < image.size(); offset += kBlockBytes)
    look_at(offset);
  return highest;
}

// Rule 5: a sector that belongs to the record at `offset` was never written.
bool has_unwritten_sector(ByteView image, const SegmentHeader& segment, std::size_t offset) {
  const std::optional<RecordHeader> record = decode_record_header(image, offset, segment.salt);
  const std::size_t known = record_field::size + (record ? record->length : 0);
  const std::size_t end = std::min(offset + known, image.size());
  while (offset < end) {
    const std::size_t sector_end = round_up(offset + 1, kSectorBytes);
    if (all_zero(image.subspan(offset, sector_end - offset))) return true;
    offset = sector_end;
  }
  return false;
}

// Records that a torn batch left traces of, from the first bad one on.
std::uint64_t count_torn(ByteView image, const SegmentHeader& segment, std::size_t offset) {
  std::uint64_t count = 1;
  std::optional<RecordHeader> record = decode_record_header(image, offset, segment.salt);
  while (record && !record->batch_end) {
    offset = record_end(offset, *record);
    record = decode_record_header(image, offset, segment.salt);
    if (record) ++count;
  }
  return count;
}

class Classifier {
 public:
  Classifier(std::span<const std::uint64_t> numbers, const ReadSegment& read, const RecordSink& sink,
             const Origin& origin)
      : numbers_(numbers), read_(read), sink_(sink), origin_(origin) {}

  Result<Classification> run() && {
    result_.first_bad = origin_.chain.next;
    Result<> headers = read_headers();
    if (!headers && headers.error().code != errc::damage) return pass_on(std::move(headers));
    Result<> done;
    for (std::size_t i = 0; done && settled() && i + 1 < headers_.size(); ++i)
      done = check_sealed(i);
    if (done && settled() && !headers_.empty()) done = headers ? check_last() : count_before_loss();
    if (done && settled() && !headers) done = std::move(headers);
    if (!done && done.error().code == errc::damage) {
      conclude(Condition::damage, done.error().context);
    } else if (!done) {
      return pass_on(std::move(done));
    }
    result_.headers = std::move(headers_);
    return std::move(result_);
  }

 private:
  bool settled() const { return result_.condition == Condition::clean; }

  void conclude(Condition condition, std::string finding) {
    result_.condition = condition;
    result_.finding = std::move(finding);
  }

  // Rule 2: every number is there, and every header is good and where it belongs.
  Result<> read_headers() {
    for (const std::uint64_t number : numbers_) {
      const std::string name = segment_name(number);
      const std::string expected = segment_name(origin_.number + headers_.size());
      if (name != expected) return fail(errc::damage, expected + " is missing, and " + name + " is there");
      Result<ByteView> bytes = read_(number, kFirstBatchOffset);
      if (!bytes) return pass_on(std::move(bytes));
      Result<SegmentHeader> header = decode_header(*bytes);
      if (!header) return pass_on(std::move(header), name);
      if (header->number != number) {
        return fail(errc::damage, name + " says that it is " + segment_name(header->number));
      }
      if (Result<> follows = check_place(*header, name); !follows) return follows;
      headers_.push_back(*header);
      result_.last = *header;
    }
    if (headers_.empty()) return fail(errc::damage, segment_name(origin_.number) + " is missing");
    return {};
  }

  Result<> check_place(const SegmentHeader& header, const std::string& name) const {
    const std::optional<Id128> journal = headers_.empty() ? origin_.journal : headers_.front().journal;
    if (journal && header.journal != *journal) {
      return fail(errc::damage, name + " belongs to another journal than " +
                                    (headers_.empty() ? "the base" : segment_name(origin_.number)));
    }
    if (!headers_.empty()) return {};
    if (header.first_lseq != origin_.chain.next) {
      return fail(errc::damage,
                  name + " does not start with lseq " + std::to_string(origin_.chain.next.value));
    }
    if (header.prev != origin_.chain.hash) {
      return fail(errc::damage, name + " does not follow what stands before it");
    }
    return {};
  }

  Result<> hand_on(const RecordHeader& record, std::string_view payload, const Hash256& hash, bool sealed) {
    ++result_.records;
    if (!sink_) return {};
    return sink_(Record{record.lseq, record.type, hash, std::string(payload), false, sealed});
  }

  // Rule 2: a sealed segment leads to its successor's header. Rule 6: nobody wrote after its end.
  Result<> check_sealed(std::size_t index) {
    const SegmentHeader& segment = headers_[index];
    const SegmentHeader& next = headers_[index + 1];
    const std::string name = segment_name(segment.number);
    Result<ByteView> image = read_(segment.number, kSegmentBytes);
    if (!image) return pass_on(std::move(image));
    Result<Extent> extent = walk_records(*image, segment, next.first_lseq,
                                         [this](const RecordHeader& r, std::string_view p, const Hash256& h) {
                                           return hand_on(r, p, h, true);
                                         });
    if (!extent) return pass_on(std::move(extent));
    result_.first_bad = extent->chain.next;
    result_.chain = extent->chain;
    if (extent->chain.next != next.first_lseq || extent->chain.hash != next.prev) {
      return fail(errc::damage, name + " at byte " + std::to_string(extent->end) + ": lseq " +
                                    std::to_string(extent->chain.next.value) + " is bad or missing, and " +
                                    segment_name(next.number) + " goes on with lseq " +
                                    std::to_string(next.first_lseq.value));
    }
    if (next.sealed_end < extent->end || next.sealed_end > kSegmentBytes) {
      return fail(errc::damage, segment_name(next.number) + " says that " + name + " ends at byte " +
                                    std::to_string(next.sealed_end) + ", its records end at " +
                                    std::to_string(extent->end));
    }
    const std::optional<RecordHeader> beyond = decode_record_header(*image, next.sealed_end, segment.salt);
    if (beyond && payload_is_whole(*image, next.sealed_end, *beyond)) {
      result_.first_bad = beyond->lseq;
      conclude(Condition::fork, name + " at byte " + std::to_string(next.sealed_end) +
                                    ": a second writer put lseq " + std::to_string(beyond->lseq.value) +
                                    " after the segment was sealed");
    }
    return {};
  }

  // The segment after this one is lost, so nothing says where this one was cut. What is whole of it stands
  // before the loss.
  Result<> count_before_loss() {
    Result<ByteView> image = read_(headers_.back().number, kSegmentBytes);
    if (!image) return pass_on(std::move(image));
    Result<Extent> extent =
        walk_records(*image, headers_.back(), Lseq(std::numeric_limits<std::uint64_t>::max()),
                     [this](const RecordHeader& r, std::string_view p, const Hash256& h) {
                       return hand_on(r, p, h, false);
                     });
    if (!extent) return pass_on(std::move(extent));
    result_.first_bad = extent->chain.next;
    result_.chain = extent->chain;
    return {};
  }

  Result<> check_last() {
    const SegmentHeader& segment = headers_.back();
    Result<ByteView> image = read_(segment.number, kSegmentBytes);
    if (!image) return pass_on(std::move(image));
    const auto visit = [this](const RecordHeader& record, std::string_view payload,
                              const Hash256& hash) -> Result<> {
      result_.unproven.push_back({record.type, record.prev, std::string(payload)});
      return hand_on(record, payload, hash, false);
    };
    Result<Extent> extent =
        walk_records(*image, segment, Lseq(std::numeric_limits<std::uint64_t>::max()), visit);
    if (!extent) return pass_on(std::move(extent));
    result_.end = extent->end;
    result_.chain = extent->chain;
    result_.first_bad = extent->chain.next;
    result_.clean_stop = extent->last_type == RecordType::close;
    // Rule 4.
    result_.proven = std::max({Lseq(segment.first_lseq.value - 1), extent->durable_upto,
                               stamps_behind(*image, segment, extent->end)});
    // What is left of a batch is nobody's once this segment is sealed: a second writer writes to zeros (rule
    // 6).
    result_.sealed_end = used_end(*image, extent->end);
    judge_end(*image, segment, *extent);
    return {};
  }

  // Rule 5.
  void judge_end(ByteView image, const SegmentHeader& segment, const Extent& extent) {
    const Lseq bad = extent.chain.next;
    const std::string where = segment_name(segment.number) + " at byte " + std::to_string(extent.end) +
                              ": lseq " + std::to_string(bad.value) + " ";
    if (result_.proven >= bad) {
      return conclude(Condition::damage, where +
                                             "is bad or missing, and was acknowledged: the flush of lseq " +
                                             std::to_string(result_.proven.value) + " had returned");
    }
    const std::uint64_t kept = bad.value - 1 - result_.proven.value;
    result_.unproven.erase(result_.unproven.begin(),
                           result_.unproven.end() - static_cast<std::ptrdiff_t>(kept));
    if (!extent.in_batch && all_zero(image.subspan(extent.end))) return;
    if (has_unwritten_sector(image, segment, extent.end)) {
      result_.torn_records = count_torn(image, segment, extent.end);
      return conclude(Condition::torn, where + "was being written when the machine stopped");
    }
    conclude(Condition::suspect, where + "is bad, and nothing tells whether it was acknowledged");
  }

  std::span<const std::uint64_t> numbers_;
  const ReadSegment& read_;
  const RecordSink& sink_;
  const Origin& origin_;
  std::vector<SegmentHeader> headers_;
  Classification result_;
};

}  // namespace

std::string_view condition_name(Condition condition) {
  switch (condition) {
    case Condition::clean:
      return "clean";
    case Condition::torn:
      return "torn";
    case Condition::suspect:
      return "suspect";
    case Condition::damage:
      return "damage";
    case Condition::fork:
      return "fork";
  }
  return "unknown";
}

Result<Classification> classify(std::span<const std::uint64_t> numbers, const ReadSegment& read,
                                const RecordSink& sink, const Origin& origin) {
  return Classifier(numbers, read, sink, origin).run();
}

}  // namespace postern::ledger
