// SPDX-License-Identifier: Apache-2.0
#include "ledger/scan.h"

#include <algorithm>

#include "ledger/errors.h"
#include "ledger/lock.h"
#include "ledger/machine.h"
#include "ledger/recovery.h"
#include "ledger/segment_reader.h"
#include "ledger/spare.h"

namespace postern::ledger {
namespace {

constexpr std::size_t kMaxStrays = 20;  // listed by name; a heap of others needs no full list

// Sizes and names of all that is there, whatever state it is in.
Result<> list_files(const Directory& directory, Scan& scan) {
  const Io<std::vector<std::string>> names = directory.list();
  if (!names) return io_failure(names.error(), "listing of " + directory.path());
  for (const std::string& name : *names) {
    const Io<std::unique_ptr<File>> file = directory.open(name, Access::read);
    const Io<FileFacts> facts = file ? (*file)->facts() : tl::unexpected<int>(file.error());
    const std::uint64_t bytes = facts ? facts->bytes : 0;
    if (const std::optional<std::uint64_t> number = segment_number(name)) {
      SegmentFacts segment;
      segment.number = *number;
      segment.bytes = bytes;
      scan.segments.push_back(segment);
    } else if (const std::optional<std::uint64_t> base = base_number(name)) {
      scan.bases.push_back(*base);
    } else if (name == kSpareName) {
      scan.spare = bytes == kSegmentBytes;
    } else if (name.starts_with("auth-") && !name.ends_with(".tmp")) {
      scan.side_files.push_back(name);
    } else if (name != kLockName) {
      if (scan.strays.size() < kMaxStrays) scan.strays.push_back(name);
      continue;
    }
    scan.bytes += bytes;
  }
  std::sort(scan.segments.begin(), scan.segments.end(),
            [](const SegmentFacts& a, const SegmentFacts& b) { return a.number < b.number; });
  std::sort(scan.bases.begin(), scan.bases.end());
  std::sort(scan.side_files.begin(), scan.side_files.end());
  std::sort(scan.strays.begin(), scan.strays.end());
  return {};
}

void read_headers(const Directory& directory, std::uint64_t first_live, Scan& scan) {
  SegmentReader reader(directory);
  SegmentFacts* before = nullptr;
  for (SegmentFacts& segment : scan.segments) {
    segment.live = segment.number >= first_live;
    const Result<ByteView> bytes = reader.read(segment.number, kFirstBatchOffset);
    const Result<SegmentHeader> header = bytes ? decode_header(*bytes) : fail(errc::damage, "");
    segment.header_whole = header.has_value();
    if (header) {
      segment.format = header->format;
      segment.first_lseq = header->first_lseq;
      if (before != nullptr && before->number + 1 == segment.number) before->sealed_end = header->sealed_end;
    }
    before = &segment;
  }
}

void describe(const Examination& examined, Scan& scan) {
  const Classification& found = examined.found;
  scan.journal = examined.base.base ? examined.base.base->journal : found.last.journal;
  scan.machine = found.last.machine;
  scan.condition = found.condition;
  scan.finding = found.finding;
  scan.remedy = remedy(examined);
  if (found.condition != Condition::clean) scan.first_bad = found.first_bad;
  scan.unreadable = examined.unreadable && found.condition != Condition::clean;
  if (scan.unreadable) scan.finding += "; the disk cannot read " + *examined.unreadable;
  scan.head = Lseq(found.chain.next.value - 1);
  scan.head_hash = found.chain.hash;
  scan.proven = found.proven;
  scan.records = found.records;
  scan.torn_records = found.torn_records;
  scan.unproven_records = found.unproven.size();
  scan.clean_stop = found.clean_stop;
  scan.base = examined.base.base;
  scan.base_trouble = examined.base.trouble;
  scan.findings = examined.findings.open_findings();
  scan.gaps = examined.findings.gaps();
}

}  // namespace

Result<Scan> scan_journal(const Directory& directory, const RecordSink& sink) {
  Scan scan;
  scan.path = directory.path();
  if (Result<> listed = list_files(directory, scan); !listed) return pass_on(std::move(listed));
  Result<Examination> examined = examine(directory, [&scan, &sink](const Record& record) -> Result<> {
    if (record.from_base) {
      ++scan.kept_events;
    } else if (record.type == RecordType::event) {
      ++scan.events;
    }
    return sink ? sink(record) : Result<>();
  });
  if (!examined) return pass_on(std::move(examined), directory.path());
  describe(*examined, scan);
  read_headers(directory, examined->first_live(), scan);
  const Result<Id128> machine = machine_id();
  scan.foreign_machine = machine && *machine != scan.machine;
  return scan;
}

}  // namespace postern::ledger
