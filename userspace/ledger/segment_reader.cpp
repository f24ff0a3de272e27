// SPDX-License-Identifier: Apache-2.0
#include "ledger/segment_reader.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "ledger/errors.h"
#include "ledger/segment_header.h"

namespace postern::ledger {
namespace {

// A dying disk takes seconds for each block that it cannot read: after so many, the rest of a segment counts
// as lost.
constexpr int kMaxUnreadableBlocks = 64;
constexpr std::uint8_t kUnreadable = 0xEE;

}  // namespace

SegmentReader::SegmentReader(const Directory& directory)
    : directory_(directory), blocks_(std::make_unique<Block[]>(kSegmentBytes / kBlockBytes)) {}

Result<ByteView> SegmentReader::read(std::uint64_t number, std::size_t bytes) {
  const std::string name = segment_name(number);
  const Io<bool> there = directory_.exists(name);
  if (!there) return io_failure(there.error(), "stat of " + name);
  if (!*there) return fail(errc::damage, name + " is missing");
  Result<std::unique_ptr<File>> file = open_checked(directory_, name, Access::read_disk);
  if (!file) return pass_on(std::move(file));
  const Io<FileFacts> facts = (*file)->facts();
  if (!facts) return io_failure(facts.error(), "stat of " + name);
  if (facts->bytes != kSegmentBytes) {
    return fail(errc::damage, name + " has " + std::to_string(facts->bytes) + " bytes, expected " +
                                  std::to_string(kSegmentBytes));
  }
  const std::span<std::uint8_t> buffer(blocks_[0].bytes.data(), bytes);
  if (!read_fully(**file, buffer, 0)) read_blocks(**file, name, buffer);
  return ByteView(buffer);
}

void SegmentReader::read_blocks(const File& file, const std::string& name, std::span<std::uint8_t> into) {
  int failures = 0;
  for (std::size_t offset = 0; offset < into.size(); offset += kBlockBytes) {
    const std::span<std::uint8_t> block = into.subspan(offset, kBlockBytes);
    const Io<> got =
        failures < kMaxUnreadableBlocks ? read_fully(file, block, offset) : tl::unexpected<int>(EIO);
    if (got) continue;
    ++failures;
    std::fill(block.begin(), block.end(), kUnreadable);
    if (!unreadable_) {
      unreadable_ =
          name + " at byte " + std::to_string(offset) + ": " + std::generic_category().message(got.error());
    }
  }
}

}  // namespace postern::ledger
