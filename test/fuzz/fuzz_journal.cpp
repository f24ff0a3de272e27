// SPDX-License-Identifier: Apache-2.0
// Recovery of mutated real journals (SPEC 4.11). The input is a list of mutations of one of a few journals
// that the program itself wrote: bytes and bits at random, and changes that know the format, with checksums
// repaired, so that they come further than to the first checksum. Whatever becomes of it, the journal opens
// or is refused by name, with nothing changed; what opens takes an event, and opens again to the same records
// and that one.
#include <cstdio>
#include <cstdlib>
#include <set>

#include "ledger/errors.h"
#include "ledger/segment_header.h"
#include "ledger/segmented_journal.h"
#include "sim/journals.h"
#include "sim/simulated_directory.h"
#include "wire/hash.h"

namespace {

using namespace postern;
using namespace postern::ledger;
using namespace postern::ledger::sim;

// Reads the input; zeros behind its end.
class Script {
 public:
  Script(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

  bool over() const { return left_ == 0; }
  std::size_t below(std::size_t bound) {
    std::size_t value = 0;
    for (std::size_t range = bound; range > 1; range >>= 8)
      value = value << 8 | byte();
    return bound == 0 ? 0 : value % bound;
  }
  std::uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i)
      value = value << 8 | byte();
    // Small numbers and those near the limits are the interesting ones.
    switch (value & 3) {
      case 0:
        return value >> 56;
      case 1:
        return ~(value >> 60);
      default:
        return value;
    }
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

using Image = SimulatedDisk::Image;

Bytes& pick(Image& image, Script& script) {
  auto at = image.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(script.below(image.size())));
  return at->second;
}

std::string pick_name(const Image& image, Script& script) {
  auto at = image.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(script.below(image.size())));
  return at->first;
}

void set_field(std::span<std::uint8_t> bytes, std::size_t offset, std::size_t width, std::uint64_t value) {
  for (std::size_t i = 0; i < width; ++i)
    bytes[offset + i] = static_cast<std::uint8_t>(value >> (8 * i));
}

// A field of a segment's header, in one copy or both, its checksum made right.
void change_header(Bytes& segment, Script& script) {
  static constexpr std::pair<std::size_t, std::size_t> kFields[] = {
      {segment_field::format, 4}, {segment_field::min_reader, 4}, {segment_field::journal, 8},
      {segment_field::number, 8}, {segment_field::salt, 8},       {segment_field::first_lseq, 8},
      {segment_field::prev, 8},   {segment_field::sealed_end, 8}, {segment_field::machine, 8},
  };
  if (segment.size() < kFirstBatchOffset) return;
  const auto [offset, width] = kFields[script.below(std::size(kFields))];
  const std::uint64_t value = script.number();
  const std::size_t copies = script.below(3);
  for (std::size_t copy = 0; copy < kSegmentHeaderCopies; ++copy) {
    if (copies != 2 && copies != copy) continue;
    const auto header = std::span<std::uint8_t>(segment).subspan(copy * kBlockBytes, kBlockBytes);
    set_field(header, offset, width, value);
    store_le(header, segment_field::checksum, wire::checksum(header.first(segment_field::checksum), 0));
  }
}

// A field of a record's header at some block's start, its checksum made right.
void change_record(Bytes& segment, Script& script) {
  static constexpr std::pair<std::size_t, std::size_t> kFields[] = {
      {record_field::length, 4},   {record_field::payload_checksum, 8},
      {record_field::lseq, 8},     {record_field::durable_upto, 8},
      {record_field::type, 2},     {record_field::flags, 2},
      {record_field::reserved, 4}, {record_field::prev, 8},
  };
  const std::size_t blocks = segment.size() / kBlockBytes;
  if (blocks <= kSegmentHeaderCopies) return;
  const std::size_t block = kSegmentHeaderCopies + script.below(blocks - kSegmentHeaderCopies);
  const auto record = std::span<std::uint8_t>(segment).subspan(block * kBlockBytes, record_field::size);
  const auto [offset, width] = kFields[script.below(std::size(kFields))];
  set_field(record, offset, width, script.number());
  store_le(record, record_field::magic, kRecordMagic);
  store_le(record, record_field::header_checksum, std::uint64_t{0});
  const std::uint64_t salt = load_le<std::uint64_t>(segment, segment_field::salt);
  store_le(record, record_field::header_checksum, wire::checksum(record, salt));
}

void change_bytes(Bytes& bytes, Script& script) {
  if (bytes.empty()) return;
  switch (script.below(5)) {
    case 0: {
      const std::size_t bit = script.below(bytes.size() * 8);
      bytes[bit / 8] = static_cast<std::uint8_t>(bytes[bit / 8] ^ (1U << (bit % 8)));
      return;
    }
    case 1:
      bytes[script.below(bytes.size())] = script.byte();
      return;
    case 2: {
      const std::size_t sector = script.below(bytes.size() / kSectorBytes + 1) * kSectorBytes;
      const std::size_t end = std::min(sector + kSectorBytes, bytes.size());
      std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(std::min(sector, end)),
                bytes.begin() + static_cast<std::ptrdiff_t>(end), 0);
      return;
    }
    case 3: {  // a block over another, as a misdirected write has it
      if (bytes.size() < kBlockBytes) return;
      const std::size_t blocks = bytes.size() / kBlockBytes;
      const Bytes block(bytes.begin() + static_cast<std::ptrdiff_t>(script.below(blocks) * kBlockBytes),
                        bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size()));
      std::copy_n(block.begin(), std::min(kBlockBytes, block.size()),
                  bytes.begin() + static_cast<std::ptrdiff_t>(script.below(blocks) * kBlockBytes));
      return;
    }
    default:
      bytes.resize(script.below(2) == 0 ? script.below(bytes.size() + 1) : kSegmentBytes);
  }
}

void change_names(Image& image, Script& script) {
  if (image.empty()) return;
  const std::string one = pick_name(image, script);
  const std::string other = pick_name(image, script);
  switch (script.below(5)) {
    case 0:
      image.erase(one);
      return;
    case 1:
      image[one].swap(image[other]);
      return;
    case 2:
      image[one] = image[other];
      return;
    case 3:
      image["seg-" + std::to_string(script.number() % 40)] = image[one];
      return;
    default:
      image["base-" + std::to_string(script.number() % 40)] = image[one];
  }
}

Image mutated(Script& script) {
  static const std::vector<Image> originals = written_journals();
  Image image = originals[script.below(originals.size())];
  while (!script.over() && !image.empty()) {
    switch (script.below(6)) {
      case 0:
        change_names(image, script);
        break;
      case 1:
        change_header(pick(image, script), script);
        break;
      case 2:
      case 3:
        change_record(pick(image, script), script);
        break;
      default:
        change_bytes(pick(image, script), script);
    }
  }
  return image;
}

[[noreturn]] void violation(const std::string& what) {
  std::fprintf(stderr, "fuzz_journal: %s\n", what.c_str());
  std::abort();
}

bool is_named(const ErrorCode& code) {
  for (const ErrorCode& known : {errc::absent, errc::damage, errc::suspect, errc::fork, errc::newer_format,
                                 errc::foreign_machine, errc::io})
    if (code == known) return true;
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Script script(data, std::min<std::size_t>(size, 256));
  SimulatedDisk disk({}, 1);
  disk.put_back(mutated(script));
  const Image before = disk.visible_image();
  std::vector<std::string> first;
  {
    const OpenedJournal journal = open_on(disk, first);
    if (!journal) {
      if (!is_named(journal.error().code)) violation("refused as " + journal.error().message());
      if (disk.visible_image() != before)
        violation("a refusal changed something: " + journal.error().message());
      return 0;
    }
    const std::vector<std::string> event = {"{\"after\":1}"};
    if (!(*journal)->append(event)) return 0;  // "second writer": what it found behind its end
    first.push_back(event[0]);
  }
  std::vector<std::string> second;
  const OpenedJournal again = open_on(disk, second);
  if (!again) violation("opened once, then refused: " + again.error().message());
  if (first != second) violation("opened to other records the second time");
  return 0;
}
