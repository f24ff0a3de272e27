// SPDX-License-Identifier: Apache-2.0
#include "ledger/page_reader.h"

#include <algorithm>
#include <optional>

#include "ledger/errors.h"
#include "ledger/record.h"

namespace postern::ledger {
namespace {

constexpr std::size_t kWindowBytes = 1U << 20;
static_assert(kWindowBytes >= record_field::size + kMaxEventBytes + kRecordAlignment);

// The records of one segment that is or was written by this process, through a window that moves along.
class SegmentRecords {
 public:
  SegmentRecords(std::unique_ptr<File> file, const SegmentHeader& header)
      : file_(std::move(file)), header_(header) {}

  // The next record, in order, without its payload's checksum being looked at.
  Result<RecordHeader> next() {
    std::optional<RecordHeader> record = decode();
    if (!record) {
      if (Result<> moved = move_window(); !moved) return pass_on(std::move(moved));
      record = decode();
    }
    if (!record) return fail(errc::damage, where() + ": no record stands there any more; check the disk");
    at_ = offset_;
    offset_ = record_end(offset_, *record);
    return *record;
  }

  // Of what next() returned last.
  Result<std::string> payload(const RecordHeader& record) const {
    if (!payload_is_whole(window_, at_ - window_at_, record)) {
      return fail(errc::damage, where() + ": lseq " + std::to_string(record.lseq.value) +
                                    " is bad now; check the disk, and see `postern journal verify`");
    }
    return std::string(record_payload(window_, at_ - window_at_, record));
  }

 private:
  std::string where() const { return segment_name(header_.number) + " at byte " + std::to_string(at_); }

  std::optional<RecordHeader> decode() const {
    if (offset_ < window_at_) return std::nullopt;
    return decode_record_header(window_, offset_ - window_at_, header_.salt);
  }

  Result<> move_window() {
    at_ = offset_;
    window_at_ = offset_;
    window_.resize(offset_ < kSegmentBytes ? std::min(kWindowBytes, kSegmentBytes - offset_) : 0);
    const Io<> got = read_fully(*file_, window_, window_at_);
    if (!got) return io_failure(got.error(), "read of " + segment_name(header_.number));
    return {};
  }

  std::unique_ptr<File> file_;
  const SegmentHeader& header_;
  Bytes window_;
  std::size_t window_at_ = 0;
  std::size_t at_ = kFirstBatchOffset;      // of the record given last
  std::size_t offset_ = kFirstBatchOffset;  // of the next one
};

class PageBuilder {
 public:
  // `from` is of the source's journal, and not above its head.
  PageBuilder(const Directory& directory, const PageSource& source, const Cursor& from,
              const PageLimits& limits)
      : directory_(directory), source_(source), limits_(limits) {
    page_.next = {source.journal, std::max(from.next, Lseq(1)), from.hash};
    if (from.hash != Hash256{} && page_.next.next > Lseq(1)) before_ = from.hash;
  }

  // None: the record before the cursor's is not known to be the one that the reader had.
  Result<std::optional<Page>> build() && {
    if (!may_follow()) return std::optional<Page>();
    if (Result<> kept = add_compacted(); !kept) return pass_on(std::move(kept));
    for (std::size_t i = 0; i < source_.segments.size() && !full_; ++i) {
      const Lseq end =
          i + 1 < source_.segments.size() ? source_.segments[i + 1].first_lseq : source_.durable.next();
      if (page_.next.next >= end) continue;
      if (Result<> read = add_segment(source_.segments[i], end); !read) return pass_on(std::move(read));
      if (diverged_) return std::optional<Page>();
    }
    page_.at_end = !full_ && page_.next.next == source_.durable.next();
    // Of a number alone nothing may have been read; what is given out is compared next time all the same.
    if (page_.at_end) page_.next.hash = source_.durable_hash;
    return std::optional<Page>(std::move(page_));
  }

 private:
  // At the head, and where a base stands in for the records; elsewhere the next record tells.
  bool may_follow() {
    if (!before_) return true;
    const Lseq next = page_.next.next;
    if (next == source_.durable.next()) return *before_ == source_.durable_hash;
    if (next >= source_.segments.front().first_lseq) return true;
    if (!source_.base) return false;
    const std::vector<KeptEvent>& kept = source_.base->state.events;
    const auto found = std::find_if(kept.begin(), kept.end(),
                                    [next](const KeptEvent& event) { return event.lseq.next() == next; });
    const bool same = found != kept.end() && found->hash == *before_;
    before_.reset();
    return same;
  }

  // False: the page is full, and the event goes to the next one.
  bool add(Record record) {
    const bool fits = page_.events.size() < limits_.events && bytes_ + record.payload.size() <= limits_.bytes;
    if (!page_.events.empty() && !fits) {
      full_ = true;
      return false;
    }
    bytes_ += record.payload.size();
    page_.next.next = record.lseq.next();
    page_.next.hash = record.hash;
    page_.events.push_back(std::move(record));
    return true;
  }

  // What stood below the segments: said to be gone, and what the base keeps of it.
  Result<> add_compacted() {
    const Lseq first = source_.segments.front().first_lseq;
    if (page_.next.next >= first) return {};
    const Lseq from = page_.next.next;
    if (source_.base) {
      for (const KeptEvent& kept : source_.base->state.events) {
        if (kept.lseq < from || kept.lseq >= first) continue;
        if (!add(Record{kept.lseq, RecordType::event, kept.hash, kept.payload, true})) break;
      }
    }
    if (!full_) {
      page_.next.next = first;
      page_.next.hash = source_.segments.front().prev;
    }
    page_.missing.push_back({from, Lseq(page_.next.next.value - 1), false});
    return {};
  }

  Result<> add_segment(const SegmentHeader& header, Lseq end) {
    Result<std::unique_ptr<File>> file = open_checked(directory_, segment_name(header.number), Access::read);
    if (!file) {
      const Io<bool> there = directory_.exists(segment_name(header.number));
      if (there && !*there)
        return fail(errc::absent, segment_name(header.number) + " was compacted meanwhile");
      return pass_on(std::move(file));
    }
    SegmentRecords records(std::move(*file), header);
    while (page_.next.next < end && !full_) {
      Result<RecordHeader> record = records.next();
      if (!record) return pass_on(std::move(record));
      if (record->lseq < page_.next.next) continue;
      if (before_ && record->prev != *before_) {
        diverged_ = true;
        return {};
      }
      before_.reset();
      Result<std::string> payload = records.payload(*record);
      if (!payload) return pass_on(std::move(payload));
      const Hash256 hash = chain_hash(record->lseq, record->type, record->prev, *payload);
      if (record->type == RecordType::event) {
        add(Record{record->lseq, record->type, hash, std::move(*payload)});
      } else {
        page_.next.next = record->lseq.next();
        page_.next.hash = hash;
      }
    }
    return {};
  }

  const Directory& directory_;
  const PageSource& source_;
  const PageLimits& limits_;
  Page page_;
  std::optional<Hash256> before_;  // of the record before the cursor's, until it was compared
  std::size_t bytes_ = 0;
  bool full_ = false;
  bool diverged_ = false;
};

}  // namespace

Result<Page> read_page(const Directory& directory, const PageSource& source, const Cursor& from,
                       const PageLimits& limits) {
  const bool ours = from.journal == source.journal || from.journal == Id128{};
  // Nothing durable was ever given out above the head: such a cursor is of another life of this journal.
  if (ours && from.next <= source.durable.next()) {
    Result<std::optional<Page>> page = PageBuilder(directory, source, from, limits).build();
    if (!page) return pass_on(std::move(page));
    if (*page) return std::move(**page);
  }
  Result<std::optional<Page>> page = PageBuilder(directory, source, {}, limits).build();
  if (!page) return pass_on(std::move(page));
  (*page)->reset = true;
  return std::move(**page);
}

}  // namespace postern::ledger
