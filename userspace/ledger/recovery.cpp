// SPDX-License-Identifier: Apache-2.0
// A journal that ends in records whose flush may not have returned cannot simply go on after them: the next
// batch would claim them durable, and a page that the disk refused once looks written until it is read from
// the disk. So recovery leaves the old segment as it is and raises a new one, whose header cuts the old one
// off before the first unproven record. The whole ones among them are copied, OPEN says what was found, and
// all of it is on the disk before the new segment has its name. A crash before the rename leaves the old
// state, a crash after it the new one.
#include "ledger/recovery.h"

#include <algorithm>
#include <array>

#include "ledger/errors.h"
#include "ledger/side_files.h"
#include "ledger/spare.h"
#include "wire/hash.h"
#include "wire/json.h"

namespace postern::ledger {
namespace {

constexpr std::size_t kReadBytes = 1U << 20;

struct alignas(kBlockBytes) Block {
  std::array<std::uint8_t, kBlockBytes> bytes;
};

// Reads segments into one buffer that is aligned as O_DIRECT wants it.
class SegmentReader {
 public:
  explicit SegmentReader(const Directory& directory)
      : directory_(directory), blocks_(std::make_unique<Block[]>(kSegmentBytes / kBlockBytes)) {}

  Result<ByteView> read(std::uint64_t number, std::size_t bytes) {
    const std::string name = segment_name(number);
    Result<std::unique_ptr<File>> file = open_checked(directory_, name, Access::read_disk);
    if (!file) return pass_on(std::move(file));
    const Io<FileFacts> facts = (*file)->facts();
    if (!facts) return io_failure(facts.error(), "stat of " + name);
    if (facts->bytes != kSegmentBytes) {
      return fail(errc::damage, name + " has " + std::to_string(facts->bytes) + " bytes, expected " +
                                    std::to_string(kSegmentBytes));
    }
    const std::span<std::uint8_t> buffer(blocks_[0].bytes.data(), kSegmentBytes);
    const Io<> got = read_fully(**file, buffer.first(bytes), 0);
    if (!got) {
      Error error = io_failure(got.error(), "read of " + name).value();
      error.context +=
          "; an unreadable segment is not an end of the journal: copy the directory to a good disk";
      return tl::unexpected<Error>(std::move(error));
    }
    return ByteView(buffer.first(bytes));
  }

 private:
  const Directory& directory_;
  std::unique_ptr<Block[]> blocks_;
};

// The page cache can show what the disk refused (rule 9); such bytes are as dead as a torn record.
bool reads_as_zeros(const File& file, std::size_t from) {
  Bytes buffer(kReadBytes);
  while (from < kSegmentBytes) {
    const std::span<std::uint8_t> part = std::span(buffer).first(std::min(kReadBytes, kSegmentBytes - from));
    if (!read_fully(file, part, from) || !all_zero(part)) return false;
    from += part.size();
  }
  return true;
}

std::string open_payload(const Classification& found) {
  return wire::encode_canonical(wire::Json::object({
      {"class", condition_name(found.condition)},
      {"first_unproven", wire::Json::decimal(found.chain.next.value - found.unproven.size())},
      {"kept", wire::Json::decimal(found.unproven.size())},
  }));
}

// Copies of the kept records and OPEN, as one batch. It is stamped with its own last lseq: nobody reads it
// before the segment has its name, and by then it is flushed (rule 1). So the next start finds nothing
// unproven in it.
Bytes recovery_batch(const Classification& found, ChainHead& chain, std::uint64_t salt) {
  const Lseq last(chain.next.value + found.unproven.size());
  Bytes batch;
  for (const UnprovenRecord& record : found.unproven) {
    append_record(batch, chain, last, record.type, false, record.payload, salt);
  }
  append_record(batch, chain, last, RecordType::open, true, open_payload(found), salt);
  return batch;
}

}  // namespace

std::uint64_t new_salt() {
  return load_le<std::uint64_t>(wire::random_id(), 0);
}

Result<std::vector<std::uint64_t>> list_segments(const Directory& directory) {
  const Io<std::vector<std::string>> names = directory.list();
  if (!names) return io_failure(names.error(), "listing of " + directory.path());
  std::vector<std::uint64_t> numbers;
  for (const std::string& name : *names) {
    if (!name.starts_with("seg-")) continue;
    const std::optional<std::uint64_t> number = segment_number(name);
    if (!number) {
      return fail(errc::damage, directory.path() + "/" + name +
                                    " is no segment's name; nothing was changed; find out " +
                                    "who put it there, and move it away");
    }
    numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Result<Classification> examine(const Directory& directory, const RecordSink& sink) {
  Result<std::vector<std::uint64_t>> numbers = list_segments(directory);
  if (!numbers) return pass_on(std::move(numbers));
  if (numbers->empty()) {
    Result<std::vector<std::string>> files = list_side_files(directory, "");
    if (!files) return pass_on(std::move(files));
    // Snapshots without segments: a journal was here, and its fences are not to be forgotten.
    if (files->empty()) return fail(errc::absent, "no segments; `postern init` creates a journal");
  }
  SegmentReader reader(directory);
  return classify(
      *numbers, [&reader](std::uint64_t number, std::size_t bytes) { return reader.read(number, bytes); },
      sink);
}

Result<> accept(const Classification& found, const Directory& directory) {
  const std::string text = directory.path() + ": " + found.finding + "; nothing was changed; ";
  const std::string remedy =
      "keep a copy of the directory, then move it away and give the gateway a new journal with "
      "`postern init`";
  switch (found.condition) {
    case Condition::clean:
    case Condition::torn:
      return {};
    case Condition::suspect:
      return fail(errc::suspect, text + remedy);
    case Condition::damage:
      return fail(errc::damage, text + "check the disk; " + remedy);
    case Condition::fork:
      return fail(errc::fork, text + "find the second writer and stop it; " + remedy);
  }
  return fail(errc::damage, text + remedy);
}

Result<WritePosition> recover(Directory& directory, const Classification& found, const Id128& machine) {
  const bool settled = found.condition == Condition::clean && found.unproven.empty();
  if (settled) {
    Result<std::unique_ptr<File>> file =
        open_checked(directory, segment_name(found.last.number), Access::write);
    if (!file) return pass_on(std::move(file));
    if (reads_as_zeros(**file, found.end)) {
      return WritePosition{found.last, std::move(*file), found.end, found.chain};
    }
  }
  if (Result<> spare = ensure_spare(directory); !spare) return pass_on(std::move(spare), "recovery");
  WritePosition position;
  position.chain = {Lseq(found.chain.next.value - found.unproven.size()),
                    found.unproven.empty() ? found.chain.hash : found.unproven.front().prev};
  position.segment.journal = found.last.journal;
  position.segment.number = found.last.number + 1;
  position.segment.salt = new_salt();
  position.segment.first_lseq = position.chain.next;
  position.segment.prev = position.chain.hash;
  position.segment.sealed_end = found.end;
  position.segment.machine = machine;
  const Bytes batch = recovery_batch(found, position.chain, position.segment.salt);
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
