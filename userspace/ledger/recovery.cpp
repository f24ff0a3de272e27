// SPDX-License-Identifier: Apache-2.0
// A journal that ends in records whose flush may not have returned cannot simply go on after them: the next
// batch would claim them durable, and a page that the disk refused once looks written until it is read from
// the disk. So recovery leaves the old segment as it is and raises a new one, whose header cuts the old one
// off before the first unproven record. The whole ones among them are copied, OPEN says what was found, and
// all of it is on the disk before the new segment has its name. A crash before the rename leaves the old
// state, a crash after it the new one.
#include "ledger/recovery.h"

#include <algorithm>

#include "ledger/errors.h"
#include "ledger/segment_reader.h"
#include "ledger/segment_walk.h"
#include "ledger/spare.h"
#include "wire/hash.h"

namespace postern::ledger {
namespace {

// Where the page cache, which can show what the disk refused (rule 9) or has not got yet, is zero from.
std::size_t used_end_in_cache(const File& file, std::size_t from) {
  Bytes tail(kSegmentBytes - from);
  if (!read_fully(file, tail, from)) return kSegmentBytes;
  return from + used_end(tail, 0);
}

std::string_view class_name(const Classification& found, Resumption resumption) {
  switch (resumption) {
    case Resumption::continued:
      break;
    case Resumption::adopted:
      return "adopted";
    case Resumption::went_back:
      return "went_back";
  }
  return condition_name(found.condition);
}

// Copies of the kept records and OPEN, as one batch. It is stamped with its own last lseq: nobody reads it
// before the segment has its name, and by then it is flushed (rule 1). So the next start finds nothing
// unproven in it.
Bytes recovery_batch(const Classification& found, Resumption resumption, ChainHead& chain,
                     std::uint64_t salt) {
  const Lseq first = chain.next;
  const Lseq last(first.value + found.unproven.size());
  Bytes batch;
  for (const UnprovenRecord& record : found.unproven) {
    append_record(batch, chain, last, record.type, false, record.payload, salt);
  }
  append_record(batch, chain, last, RecordType::open, true,
                open_payload(class_name(found, resumption), first, found.unproven.size()), salt);
  return batch;
}

// Numbers of the segments, ascending. errc::damage for a name that looks like a segment's and is not.
Result<std::vector<std::uint64_t>> list_segments(const std::vector<std::string>& names,
                                                 const std::string& path) {
  std::vector<std::uint64_t> numbers;
  for (const std::string& name : names) {
    if (!name.starts_with("seg-")) continue;
    const std::optional<std::uint64_t> number = segment_number(name);
    if (!number) {
      return fail(errc::damage, path + "/" + name +
                                    " is no segment's name; nothing was changed; find out who put " +
                                    "it there, and move it away");
    }
    numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// Base first, then the segments from its number on (rule 10: what is below plays no part).
Result<> read_live(const Directory& directory, const RecordSink& sink, const BaseSink& on_base,
                   Examination& examined) {
  Origin origin;
  if (const Base* base = examined.base.base.get()) {
    origin = {base->number, base->journal, base->chain()};
    examined.findings = examined.sealed_findings = Findings(base->state);
    if (on_base) on_base(*base);
    for (const KeptEvent& kept : base->state.events) {
      if (!sink) break;
      Result<> taken = sink(Record{kept.lseq, RecordType::event, kept.hash, kept.payload, true});
      if (!taken) return taken;
    }
  }
  const auto first = std::lower_bound(examined.segments.begin(), examined.segments.end(), origin.number);
  SegmentReader reader(directory);
  Result<Classification> found = classify(
      {first, examined.segments.end()},
      [&reader](std::uint64_t number, std::size_t bytes) { return reader.read(number, bytes); },
      [&examined, &sink](const Record& record) -> Result<> {
        if (Result<> seen = examined.findings.see(record); !seen) return seen;
        if (record.sealed) (void)examined.sealed_findings.see(record);  // as just now
        return sink ? sink(record) : Result<>();
      },
      origin);
  if (!found) return pass_on(std::move(found));
  examined.found = std::move(*found);
  examined.unreadable = reader.unreadable();
  return {};
}

// An unreadable block that matters shows as a bad record, and a bad record that is only unreadable is not to
// be cut off (rule 11): it may be whole on a better day.
bool is_refused(const Examination& examined) {
  const Condition condition = examined.found.condition;
  if (condition == Condition::clean) return false;
  return examined.unreadable || condition == Condition::damage || condition == Condition::fork;
}

}  // namespace

std::uint64_t new_salt() {
  return load_le<std::uint64_t>(wire::random_id(), 0);
}

Result<Examination> examine(const Directory& directory, const RecordSink& sink, const BaseSink& on_base) {
  const Io<std::vector<std::string>> names = directory.list();
  if (!names) return io_failure(names.error(), "listing of " + directory.path());
  Result<std::vector<std::uint64_t>> segments = list_segments(*names, directory.path());
  if (!segments) return pass_on(std::move(segments));
  Result<std::vector<std::uint64_t>> bases = list_bases(*names, directory.path());
  if (!bases) return pass_on(std::move(bases));
  // Snapshots without segments: a journal was here, and its fences are not to be forgotten.
  const bool was_here =
      !bases->empty() || std::any_of(names->begin(), names->end(),
                                     [](const std::string& name) { return name.starts_with("auth-"); });
  if (segments->empty() && !was_here)
    return fail(errc::absent, "no segments; `postern init` creates a journal");

  Examination examined;
  examined.segments = std::move(*segments);
  examined.bases = std::move(*bases);
  Result<BaseChoice> choice = choose_base(directory, examined.bases);
  if (!choice) return pass_on(std::move(choice));
  examined.base = std::move(*choice);
  Result<> read = read_live(directory, sink, on_base, examined);
  if (!read) return pass_on(std::move(read));
  return examined;
}

Result<Examination> examine_end(const Directory& directory, Examination before, std::uint64_t last_segment,
                                const RecordSink& sink) {
  const SegmentHeader last = before.found.last;
  std::vector<std::uint64_t> numbers = {last.number};
  if (last_segment != last.number) {
    numbers.push_back(last_segment);
    before.segments.push_back(last_segment);
  }
  before.findings = before.sealed_findings;
  SegmentReader reader(directory);
  Result<Classification> found = classify(
      numbers, [&reader](std::uint64_t number, std::size_t bytes) { return reader.read(number, bytes); },
      [&before, &sink](const Record& record) -> Result<> {
        if (Result<> seen = before.findings.see(record); !seen) return seen;
        return sink ? sink(record) : Result<>();
      },
      {last.number, last.journal, {last.first_lseq, last.prev}});
  if (!found) return pass_on(std::move(found));
  std::vector<SegmentHeader> headers = std::move(before.found.headers);
  headers.pop_back();
  headers.insert(headers.end(), found->headers.begin(), found->headers.end());
  before.found = std::move(*found);
  before.found.headers = std::move(headers);
  before.unreadable = reader.unreadable();
  return before;
}

std::string remedy(const Examination& examined) {
  switch (examined.found.condition) {
    case Condition::clean:
    case Condition::torn:
    case Condition::suspect:
      if (!is_refused(examined)) return "";
      return "copy the directory to a good disk and start there; what cannot be read for good is given up "
             "with "
             "`postern journal repair --accept-loss-from " +
             std::to_string(examined.found.first_bad.value) + "`";
    case Condition::damage:
      return "keep a copy of the directory and check the disk; bring the whole files back from where they "
             "are, or "
             "give up what is lost with `postern journal repair --accept-loss-from " +
             std::to_string(examined.found.first_bad.value) + "`";
    case Condition::fork:
      break;
  }
  return "find the second writer and stop it; keep a copy of the directory, then move it away and give the "
         "gateway a "
         "new journal with `postern init`";
}

Result<> accept(const Examination& examined, const Directory& directory) {
  if (!is_refused(examined)) return {};
  const Classification& found = examined.found;
  std::string text = directory.path() + ": ";
  if (!examined.base.trouble.empty()) text += examined.base.trouble + "; ";
  text += found.finding + " (first lost lseq: " + std::to_string(found.first_bad.value) + "); ";
  if (examined.unreadable) text += "the disk cannot read " + *examined.unreadable + "; ";
  text += "nothing was changed; " + remedy(examined);
  if (found.condition == Condition::fork) return fail(errc::fork, std::move(text));
  return fail(examined.unreadable ? errc::io : errc::damage, std::move(text));
}

Result<WritePosition> recover(Directory& directory, const Classification& found, const Id128& machine,
                              Resumption resumption) {
  Result<std::unique_ptr<File>> last =
      open_checked(directory, segment_name(found.last.number), Access::write);
  if (!last) return pass_on(std::move(last));
  const std::size_t end = used_end_in_cache(**last, found.sealed_end);
  const bool settled =
      resumption == Resumption::continued && found.condition == Condition::clean && found.unproven.empty();
  if (settled && end == found.end) return WritePosition{found.last, std::move(*last), found.end, found.chain};
  if (Result<> spare = ensure_spare(directory); !spare) return pass_on(std::move(spare), "recovery");
  WritePosition position;
  position.chain = {Lseq(found.chain.next.value - found.unproven.size()),
                    found.unproven.empty() ? found.chain.hash : found.unproven.front().prev};
  position.segment.journal = found.last.journal;
  position.segment.number = found.last.number + 1;
  position.segment.salt = new_salt();
  position.segment.first_lseq = position.chain.next;
  position.segment.prev = position.chain.hash;
  position.segment.sealed_end = end;
  position.segment.machine = machine;
  const Bytes batch = recovery_batch(found, resumption, position.chain, position.segment.salt);
  if (batch.size() > kSegmentBytes - kFirstBatchOffset) {
    return fail(errc::damage,
                directory.path() + ": " + std::to_string(found.unproven.size()) +
                    " unproven records do not fit a segment; nothing was changed; no version of this "
                    "program writes that: keep a copy of the directory");
  }
  Result<std::unique_ptr<File>> file = raise_segment(directory, position.segment, batch);
  if (!file) return pass_on(std::move(file), "recovery");
  position.file = std::move(*file);
  position.offset = kFirstBatchOffset + round_up(batch.size(), kBlockBytes);
  return position;
}

}  // namespace postern::ledger
